"""A conditional Bernoulli mixture that chooses its size and C by cross-validation."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.data.split import fold_of_rows
from longtail.errors import ModelError
from longtail.methods._soundness import are_columns
from longtail.methods.mixtures import _options as options
from longtail.methods.mixtures._costs import FOR_LESS
from longtail.methods.mixtures._saved import packed, unpacked
from longtail.methods.mixtures.conditional_bernoulli import ConditionalBernoulliMixture
from longtail.methods.mixtures.decoding import marginals
from longtail.methods.mixtures.em import Experts, Gate, block_size, maximise
from longtail.methods.mixtures.logistic import LogisticExperts, LogisticGate
from longtail.methods.mixtures.starts import first_shares
from longtail.methods.mixtures.targets import above_threshold, optimal_sets
from longtail.metrics import f1, hamming_loss, jaccard, subset_accuracy
from longtail.parameters import POSITIVE, Folds, Jobs, MemoryLimit, at_least, each, is_count
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.estimates import Estimate, matrix_bytes, refuse_beyond
from longtail.runtime.run import Run
from longtail.runtime.seeds import row_seeds

SCORES = {
    "subset": subset_accuracy,
    "hamming": lambda true, predicted: 1.0 - hamming_loss(true, predicted),
    "f1": lambda true, predicted: f1(true, predicted, average="example"),
    "jaccard": lambda true, predicted: jaccard(true, predicted, average="example"),
}


class ConditionalBernoulliMixtureCV(ConditionalBernoulliMixture):
    """Conditional Bernoulli mixture with K and C chosen by cross-validation.

    For every fold, mixtures are trained on the other folds, for each number of components from the
    smallest C to the largest. All start from the responsibilities of the same Bernoulli mixture of
    the label sets, and the regressions from the weights of the C before. (Responsibilities are not
    carried over: under a strong penalty the components become alike and stay so.) The measure of
    `target` on the held-out fold decides. The final model is the one that
    `ConditionalBernoulliMixture(n_components=chosen_n_components_, C=C_)` learns.

    Attributes
    ----------
    chosen_n_components_, C_ : int, float
        What was chosen; of equal scores the fewest components, then the smallest C. `n_components_`
        of them are left.
    cv_results_ : dict of str to array
        "n_components", "C", "mean_score", "std_score", and "fold0_score" and so on, one entry per
        setting.

    Notes
    -----
    The first M step, which takes longest, is shortened by the weights of the previous C.

    Examples
    --------
    >>> from longtail import ConditionalBernoulliMixtureCV
    >>> X = [[1, 0], [1, 0], [0, 1], [0, 1]] * 6
    >>> Y = [["sea", "sun"], ["fog"], ["snow"], ["snow"]] * 6
    >>> tried = {"numbers_of_components": (1, 2), "Cs": (1.0, 10.0)}
    >>> model = ConditionalBernoulliMixtureCV(**tried).fit(X, Y)
    >>> model.chosen_n_components_ in (1, 2), model.choice_table().columns
    (True, ['n_components', 'C', 'score', 'std', 'chosen'])
    """

    method: ClassVar[str] = "cbm-cv"

    chosen_n_components_: int
    C_: float
    cv_results_: dict[str, NDArray[np.float64]]

    def __init__(
        self,
        *,
        numbers_of_components: Annotated[
            tuple[int, ...],
            each(at_least(1)),
            "Numbers of components to try; the paper's grid is 5, 10, 15 to 60.",
        ] = (5, 10, 20, 30, 40, 50),
        Cs: Annotated[
            tuple[float, ...],
            each(POSITIVE),
            "Values of C to try, of which trees use none; the paper's grid is 0.01 to 10^6.",
        ] = (0.1, 1.0, 10.0, 100.0, 1000.0),
        folds: Folds = 3,
        experts: options.ExpertKind = "logistic",
        gate: options.GateKind = None,
        leaves: options.Leaves = 5,
        shrinkage: options.Shrinkage = 0.1,
        n_trees: options.TreesPerRound = 10,
        target: options.BestFor = "subset",
        decoding: Annotated[
            options.FoundBy,
            "As in `ConditionalBernoulliMixture`. A threshold is chosen for the final model alone; "
            "thresholds of one half decide among settings.",
        ] = "joint",
        allow_empty: options.AllowEmpty = None,
        max_rounds: options.MaxRounds = 20,
        tol: options.BoundTol = 1e-3,
        validation: options.Validation = 0.0,
        n_starts: options.Starts = 10,
        n_fits: options.Fits = 1,
        random_state: options.StartSeed = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        self.numbers_of_components = numbers_of_components
        self.Cs = Cs
        self.folds = folds
        super().__init__(
            experts=experts, gate=gate, leaves=leaves, shrinkage=shrinkage, n_trees=n_trees,
            target=target, decoding=decoding, allow_empty=allow_empty, max_rounds=max_rounds,
            tol=tol, validation=validation, n_starts=n_starts, n_fits=n_fits,
            random_state=random_state, memory_limit=memory_limit, n_jobs=n_jobs,
        )  # fmt: skip

    def _wanted(self) -> tuple[int, float]:
        return getattr(self, "chosen_n_components_", 1), getattr(self, "C_", 1.0)

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        sizes = sorted(set(map(int, self.numbers_of_components)))
        needs = [self._estimate_of(X, Y, size) for size in sizes]
        largest = max(needs, key=lambda need: need.peak_bytes)  # not that of the most components
        tried = sum(need.seconds for need in needs) * len(set(self.Cs)) * (self.folds - 1)
        n_settings = len(self.numbers_of_components) * len(self.Cs)
        reason = f"the largest of {n_settings} settings: {largest.reason}"
        return replace(largest.plus(matrix_bytes(X, Y), tried), reason=reason)

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        sizes = sorted(set(map(int, self.numbers_of_components)))
        Cs = sorted(set(map(float, self.Cs)))
        if "logistic" not in (self.experts, self._gate_kind):
            Cs = Cs[:1]
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, FOR_LESS)
        settings = list(itertools.product(sizes, Cs))
        self.empty_sets_ = self._empty_allowed(Y)
        scores = self._scores(X, Y, settings, run)
        means = scores.mean(axis=0)
        self.cv_results_ = {
            "n_components": np.array([size for size, _ in settings], dtype=np.float64),
            "C": np.array([C for _, C in settings]),
            "mean_score": means,
            "std_score": scores.std(axis=0),
            **{f"fold{fold}_score": scores[fold] for fold in range(self.folds)},
        }
        self.chosen_n_components_, self.C_ = settings[int(np.argmax(means))]
        super()._fit(X, Y, run.part("final"))

    def _scores(
        self, X: sp.csr_array, Y: sp.csr_array, settings: list[tuple[int, float]], run: Run
    ) -> NDArray[np.float64]:
        """The measure of every fold and setting, (folds, settings)."""
        scores = np.full((self.folds, len(settings)), np.nan)
        parameters = self.get_params(deep=False)
        for name in ("memory_limit", "n_jobs"):  # the model does not depend on these
            del parameters[name]
        states = LatestState(
            run.part("choice"),
            lambda: fingerprint(X=X, Y=Y, parameters=sorted(parameters.items())),
        )
        last = states.read(dict) or {}
        if _is_sound(last.get("scores"), scores.shape):
            scores[:] = last["scores"]
        done = int(np.isfinite(scores).sum())
        run.report("settings", done, scores.size)
        fold_of = fold_of_rows(Y, self.folds, self._seed)
        for fold in range(done // len(settings), self.folds):
            held_out = fold_of == fold
            path = _Path(self, X[~held_out], sp.csr_array(Y[~held_out]))
            unseen = X[held_out], sp.csr_array(Y[held_out])
            begun = max(0, done - fold * len(settings))
            if begun and not path.resume(settings[begun - 1][0], last):
                begun = 0
            for at, (size, C) in enumerate(settings[begun:], begun):
                scores[fold, at] = path.score(size, C, *unseen)
                states.write(partial(path.state, scores))
                run.report("settings", fold * len(settings) + at + 1, scores.size)
        return scores

    def _check_state(self) -> None:
        super()._check_state()
        found = getattr(self, "cv_results_", None)
        if (
            not is_count(getattr(self, "chosen_n_components_", None))
            or not isinstance(getattr(self, "C_", None), float)
            or not isinstance(found, dict)
            or not are_columns(
                *(found.get(name) for name in ("n_components", "C", "mean_score", "std_score"))
            )
            or not (np.abs(found["n_components"]) < 2**53).all()
        ):
            raise ModelError("What the model says of its choice makes no sense; it was altered.")

    def choice_table(self) -> pl.DataFrame:
        """One row per setting, the chosen one marked."""
        check_is_fitted(self)
        found = self.cv_results_
        sizes = found["n_components"].astype(np.int64)
        return pl.DataFrame(
            {
                "n_components": sizes,
                "C": found["C"],
                "score": found["mean_score"].round(4),
                "std": found["std_score"].round(4),
                "chosen": (sizes == self.chosen_n_components_) & (found["C"] == self.C_),
            }
        )


def _is_sound(scores: Any, shape: tuple[int, int]) -> bool:
    """Whether these are scores of the first so many settings of the first so many folds."""
    if not isinstance(scores, np.ndarray) or scores.shape != shape or scores.dtype != np.float64:
        return False
    known = np.isfinite(scores).ravel()
    return bool((np.diff(known.astype(int)) <= 0).all())


class _Path:
    """Mixtures on the training part of a fold, of one size at rising C and then the next."""

    def __init__(
        self, model: ConditionalBernoulliMixtureCV, X: sp.csr_array, Y: sp.csr_array
    ) -> None:
        self.model, self.X, self.Y = model, X, Y
        self.size = 0
        self.shares = np.empty((0, 0))  # that mixtures of this size start from
        self.last: tuple[Gate, Experts] | None = None

    def score(self, size: int, C: float, X: sp.csr_array, Y: sp.csr_array) -> float:
        """Train the next setting and measure it on held-out points."""
        model = self.model
        if size != self.size or self.last is None:
            self.size, self.shares = size, self._first_shares(min(size, self.X.shape[0]))
            self.last = None
        gate, experts = model._new_parts(self.shares.shape[1], self.Y.shape[1])
        if self.last is not None:  # trees are never carried over: they would only add up
            gate = copy(self.last[0]) if isinstance(gate, LogisticGate) else gate
            experts = copy(self.last[1]) if isinstance(experts, LogisticExperts) else experts
        for part in (gate, experts):
            if isinstance(part, LogisticGate | LogisticExperts):
                part.C = C
        gate, experts, _, _ = maximise(
            gate, experts, self.X, self.Y, self.shares, max_rounds=model.max_rounds, tol=model.tol,
            n_jobs=model.n_jobs,
        )  # fmt: skip
        self.last = gate, experts
        return float(SCORES[model.target](Y, self._predicted(gate, experts, X)))

    def state(self, scores: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        """The scores so far and what the next setting starts from, for a checkpoint."""
        if self.last is None:
            return {"scores": scores}
        return {"scores": scores} | packed("gate", self.last[0]) | packed("experts", self.last[1])

    def resume(self, size: int, arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Continue as the path of this size that saved these arrays, unless they are invalid."""
        shares = self._first_shares(min(size, self.X.shape[0]))
        parts = self.model._new_parts(shares.shape[1], self.Y.shape[1])
        try:
            self.last = unpacked("gate", arrays, parts[0]), unpacked("experts", arrays, parts[1])
        except ModelError:
            return False
        self.size, self.shares = size, shares
        return True

    def _first_shares(self, size: int) -> NDArray[np.float64]:
        """Responsibilities to start from, as the final model does."""
        return first_shares(
            self.X, self.Y, size, n_starts=self.model.n_starts, random_state=self.model._seed
        )

    def _predicted(self, gate: Gate, experts: Experts, X: sp.csr_array) -> sp.csr_array:
        model, parts = self.model, []
        rows = block_size(self.shares.shape[1], self.Y.shape[1])
        for first in range(0, X.shape[0], rows):
            block = X[first : first + rows]
            weights, odds = gate.log_weights(block), experts.log_odds(block)
            if model.decoding == "threshold":
                sets = above_threshold(marginals(weights, odds), 0.5, allow_empty=model.empty_sets_)
            else:
                sets = optimal_sets(
                    weights, odds, target=model.target, decoding=model.decoding,
                    allow_empty=model.empty_sets_, seeds=row_seeds(block, model._seed),
                    n_jobs=model.n_jobs,
                )  # fmt: skip
            parts.append(sp.csr_array(sets.astype(np.float32)))
        return sp.csr_array(sp.vstack(parts, format="csr"))
