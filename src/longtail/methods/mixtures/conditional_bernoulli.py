"""Conditional Bernoulli mixtures: the joint distribution of all labels as a mixture.

Li, Wang, Pavlu & Aslam, Conditional Bernoulli Mixtures for Multi-Label Classification, ICML 2016,
and its supplement.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from longtail.errors import (
    ConvergenceWarning,
    LongtailWarning,
    ModelError,
    ParameterError,
    warn,
)
from longtail.explanation import Explanation, as_column
from longtail.methods._marginal import MarginalClassifier, log_odds_of
from longtail.methods.mixtures import _options as options
from longtail.methods.mixtures._costs import FOR_LESS, mixture_estimate
from longtail.methods.mixtures.boosting import BoostedExperts, BoostedGate
from longtail.methods.mixtures.decoding import (
    LikelySets,
    label_correlations,
    marginals,
    most_probable_sets,
)
from longtail.methods.mixtures.em import Experts, Gate, History, block_size, maximise
from longtail.methods.mixtures.logistic import LogisticExperts, LogisticGate
from longtail.methods.mixtures.starts import first_shares
from longtail.methods.mixtures.targets import above_threshold, best_threshold, optimal_sets
from longtail.parameters import (
    Count,
    Jobs,
    MemoryLimit,
    Positive,
)
from longtail.runtime.estimates import Estimate, refuse_beyond
from longtail.runtime.kept import kept_for
from longtail.runtime.run import Run
from longtail.runtime.seeds import row_seeds

GATES: dict[str, Any] = {"logistic": LogisticGate, "boosting": BoostedGate}
EXPERTS: dict[str, Any] = {"logistic": LogisticExperts, "boosting": BoostedExperts}
ALIVE = 0.5  # points that a component needs to be kept
FEW = 0.5  # if a smaller share of the components is left, there is a warning
SHOWN = 4  # components of an explanation
LEAST = 0.01  # smallest probability considered for a threshold
LIKELY = 0.05  # an explanation shows labels of at least this probability


class ConditionalBernoulliMixture(MarginalClassifier):
    """Conditional Bernoulli mixture: p(y | x) = Σ_k π_k(x) Π_l Ber(y_l; b_kl(x)).

    A gate divides the points among K components; within a component the labels are independent, so
    that dependencies between labels are those between components. Both are trained together by
    expectation maximisation. The most probable label set is found exactly.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    n_components_ : int
        Components that are left.
    dropped_ : int
        Components that lost all their points in training; with those left, K or the number of
        training points, whichever is less.
    gate_, experts_ : dict of arrays
        The learned arrays of gate and experts.
    kinds_ : list of str
        The kinds of gate and experts.
    bound_, loss_, held_out_loss_ : arrays, one entry per round
        The bound (7) with the penalties, the negative log-likelihood per training point, and per
        held-out point.
    n_iter_ : int
        Rounds.
    empty_sets_ : bool
        Whether the empty set may be predicted.
    threshold_ : float
        Of `decoding="threshold"`; NaN if the model was not trained for that.

    Notes
    -----
    A round costs an E step, O(N·K·L), and an M step: the gate, O(nnz(X)·K) per step, and for each
    component a weighted binary problem for each label on the points that it is responsible for.
    Points of which a component has less than a thousandth do not count for it, and the labels that
    are constant among its points share one problem. Predicting a point costs the log-odds, O(K·L)
    products with x, and a search that visits a few sets for each component that matters.

    The search for the most probable set is exact unless it exceeds 100,000 sets for a point, which
    happens if dozens of labels have a probability near one half; you then get a warning.

    For target "hamming" the labels with a marginal probability above one half are best, for "f1"
    the set with the highest expectation is found exactly, for "jaccard" by a search. Scores of
    `predict_topk` are log-odds of the marginal probabilities.

    Examples
    --------
    >>> from longtail import ConditionalBernoulliMixture
    >>> X = [[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]] * 5
    >>> Y = [["sea", "sun"], ["sea", "sun"], ["snow"], ["snow"], ["fog"], ["snow"]] * 5
    >>> model = ConditionalBernoulliMixture(n_components=3, C=10).fit(X, Y)
    >>> model.predict([[1, 0], [0, 1]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "cbm"
    paper: ClassVar[str] = "Li et al. 2016"
    any_numbers: ClassVar[tuple[str, ...]] = ("bound_", "loss_", "held_out_loss_", "threshold_")

    gate_: dict[str, Any]
    kinds_: list[str]
    experts_: dict[str, Any]
    n_components_: int
    dropped_: int
    n_iter_: int
    empty_sets_: bool
    threshold_: float

    def __init__(
        self,
        *,
        n_components: Annotated[
            Count,
            "K. One is binary relevance; more than there are distinct label sets is no error, "
            "since components of the same labels may differ in where they apply, and more than "
            "there are training points counts as so many. Components that lose all their points "
            "in training are dropped; if fewer than half are left, a warning says so.",
        ] = 20,
        experts: options.ExpertKind = "logistic",
        gate: options.GateKind = None,
        C: Annotated[
            Positive,
            "Of the logistic regressions: weight of the errors against the penalty ½‖w‖²; the "
            "variance of the paper's Gaussian prior.",
        ] = 1.0,
        leaves: options.Leaves = 5,
        shrinkage: options.Shrinkage = 0.1,
        n_trees: options.TreesPerRound = 10,
        target: options.BestFor = "subset",
        decoding: options.FoundBy = "joint",
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
        self.n_components = n_components
        self.experts = experts
        self.gate = gate
        self.C = C
        self.leaves = leaves
        self.shrinkage = shrinkage
        self.n_trees = n_trees
        self.target = target
        self.decoding = decoding
        self.allow_empty = allow_empty
        self.max_rounds = max_rounds
        self.tol = tol
        self.validation = validation
        self.n_starts = n_starts
        self.n_fits = n_fits
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    # ---- training ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.decoding == "threshold" and self.target not in ("f1", "jaccard"):
            raise ParameterError(
                f"decoding='threshold' is for the targets 'f1' and 'jaccard', not {self.target!r}."
            )

    def _wanted(self) -> tuple[int, float]:
        """Components and C to train with."""
        return self.n_components, self.C

    @property
    def _gate_kind(self) -> str:
        return self.experts if self.gate is None else self.gate

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        return self._estimate_of(X, Y, self._wanted()[0])

    def _estimate_of(self, X: sp.csr_array, Y: sp.csr_array, size: int) -> Estimate:
        """Memory and time of so many components."""
        need = mixture_estimate(
            X, Y, min(size, X.shape[0]), experts=self.experts, gate=self._gate_kind,
            rounds=self.max_rounds, n_trees=self.n_trees, n_jobs=self.n_jobs,
        )  # fmt: skip
        return need.plus(0.0, (self.n_fits - 1) * need.seconds)

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        n = Y.shape[0]
        size = min(self._wanted()[0], n)
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, FOR_LESS)
        if not _vary(Y):
            warn(
                "All training points have the same label set, and so will all predictions.",
                LongtailWarning,
            )
        self.empty_sets_ = self._empty_allowed(Y)
        held_out, train = self._parted(n)
        rows, labels = (X, Y) if held_out is None else (X[train], sp.csr_array(Y[train]))
        unseen = None if held_out is None else (X[held_out], sp.csr_array(Y[held_out]))
        tries = (self._trained(rows, labels, size, unseen, run, at) for at in range(self.n_fits))
        gate, experts, shares, history = min(tries, key=lambda found: found[-1].best)
        alive = np.flatnonzero(shares.sum(axis=0) >= min(ALIVE, len(labels.indptr) / 2 / size))
        if len(alive) < size:
            gate.keep(alive)
            experts.keep(alive)
        self.n_components_, self.dropped_ = len(alive), size - len(alive)
        if len(alive) < FEW * size:
            warn(
                f"{self.dropped_} of {size} components were dropped, since training left them no "
                f"points: the other {len(alive)} explain the labels as well; lower n_components to "
                "save time.",
                LongtailWarning,
            )
        self.kinds_ = [self._gate_kind, self.experts]
        self.gate_, self.experts_ = _stored(gate), _stored(experts)
        self.bound_, self.loss_ = np.array(history.bound), np.array(history.loss)
        self.held_out_loss_ = np.array(history.held_out)
        self.n_iter_ = len(history.bound)
        self.threshold_ = float("nan")
        if self.decoding == "threshold":
            self.threshold_ = self._chosen_threshold(*(unseen or (rows, labels)))

    def _trained(
        self,
        X: sp.csr_array,
        Y: sp.csr_array,
        size: int,
        unseen: tuple[sp.csr_array, sp.csr_array] | None,
        run: Run,
        number: int,
    ) -> tuple[Gate, Experts, NDArray[np.float64], History]:
        """A training run from the start with this number."""
        start = first_shares(
            X, Y, size, n_starts=self.n_starts, random_state=self._seed, number=number
        )
        return maximise(
            *self._new_parts(size, Y.shape[1]), X, Y, start, max_rounds=self.max_rounds,
            tol=self.tol, held_out=unseen, n_jobs=self.n_jobs,
            run=run.part(f"start-{number}") if number else run,
        )  # fmt: skip

    def _empty_allowed(self, Y: sp.csr_array) -> bool:
        if self.allow_empty is not None:
            return bool(self.allow_empty)
        return bool((np.diff(Y.indptr) == 0).any())

    def _parted(self, n: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
        """Rows held out, if any, and the others."""
        number = max(1, int(self.validation * n)) if self.validation else 0
        order = np.random.default_rng(self._seed).permutation(n)
        if not 0 < number < n:
            return None, order
        return np.sort(order[:number]), np.sort(order[number:])

    def _new_parts(self, size: int, n_labels: int) -> tuple[Gate, Experts]:
        settings = {
            "logistic": {"C": self._wanted()[1], "n_jobs": self.n_jobs},
            "boosting": {
                "leaves": self.leaves, "shrinkage": self.shrinkage, "n_trees": self.n_trees,
                "random_state": self._seed, "n_jobs": self.n_jobs,
            },
        }  # fmt: skip
        kind = self._gate_kind
        gate = GATES[kind](size, **settings[kind])
        return gate, EXPERTS[self.experts](size, n_labels, **settings[self.experts])

    def _chosen_threshold(self, X: sp.csr_array, Y: sp.csr_array) -> float:
        gate, experts = self._mixture()
        rows = block_size(self.n_components_, Y.shape[1])
        parts = []
        for at in range(0, X.shape[0], rows):
            block = X[at : at + rows]
            chances = marginals(gate.log_weights(block), experts.log_odds(block))
            parts.append(sp.csr_array(np.where(chances >= LEAST, chances, 0.0)))
        found = sp.csr_array(sp.vstack(parts, format="csr"))
        return float(best_threshold(found, Y, self.target, allow_empty=self.empty_sets_)[0])

    # ---- prediction --------------------------------------------------------------------------

    def _mixture(self) -> tuple[Gate, Experts]:
        gate, experts = self.gate_, self.experts_
        of_gate, of_experts = self.kinds_

        def make() -> tuple[Gate, Experts]:
            return GATES[of_gate].from_arrays(gate), EXPERTS[of_experts].from_arrays(experts)

        return kept_for(self, "mixture", (gate, experts, of_gate, of_experts), make)

    def _point_mixtures(self, X: sp.csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gate, experts = self._mixture()
        return gate.log_weights(X), experts.log_odds(X)

    def _block_rows(self) -> int:
        return block_size(self.n_components_, len(self.classes_))

    def _sets_of(self, X: sp.csr_array) -> NDArray[np.bool_]:
        weights, odds = self._point_mixtures(X)
        if self.decoding == "threshold":
            self._check_parameters()
            if np.isnan(self.threshold_):
                raise ParameterError(
                    "The threshold is chosen in training; fit with decoding='threshold'."
                )
            return above_threshold(
                marginals(weights, odds), self.threshold_, allow_empty=self.empty_sets_
            )
        if self.target == "subset" and self.decoding == "joint":
            found = most_probable_sets(weights, odds, allow_empty=self.empty_sets_)
            _warn_of_inexact(found)
            return found.sets[:, 0]
        return optimal_sets(
            weights, odds, target=self.target, decoding=self.decoding, allow_empty=self.empty_sets_,
            seeds=row_seeds(X, self._seed),
        )  # fmt: skip

    def _scores_of(self, X: sp.csr_array) -> NDArray[np.float64]:
        return log_odds_of(marginals(*self._point_mixtures(X)))

    def _likely_sets(
        self, X: sp.csr_array, n_sets: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        found = most_probable_sets(
            *self._point_mixtures(X), n_sets=n_sets, allow_empty=self.empty_sets_
        )
        _warn_of_inexact(found)
        return found.sets, found.log_probabilities

    # ---- why ---------------------------------------------------------------------------------

    def _best_column(self, row: sp.csr_array) -> int:
        """The most probable label, even of a point to which the empty set is certain."""
        return int(self._scores_of(row)[0].argmax())

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """The log-odds averaged over the components by their weights at this point.

        Beside it the joint distribution: the heaviest components, the probabilities and the
        correlations of the labels that are likely in any of them, and the most probable sets.
        """
        gate, experts = self._mixture()
        log_weights, log_odds = gate.log_weights(x), experts.log_odds(x)
        weights, chances = np.exp(log_weights[0]), expit(log_odds[0])
        ours = np.zeros(x.nnz)
        if isinstance(experts, LogisticExperts):
            ours = experts.average_weights(weights, column)[x.indices]
        heaviest = np.argsort(-weights, kind="stable")[:SHOWN]
        shown = np.flatnonzero((chances[heaviest] >= LIKELY).any(axis=0))
        shown = np.union1d(shown, [column])
        labels = np.array(as_column(self.classes_[shown]))
        first, second = np.triu_indices(len(shown), 1)
        correlations = label_correlations(log_weights[0], log_odds[0][:, shown])[first, second]
        order = np.argsort(-np.abs(correlations), kind="stable")
        found = most_probable_sets(log_weights, log_odds, n_sets=3, allow_empty=self.empty_sets_)
        details = {
            "components": {
                "component": np.repeat(heaviest, len(shown)),
                "weight": np.repeat(weights[heaviest], len(shown)),
                "label": np.tile(labels, len(heaviest)),
                "probability": chances[np.ix_(heaviest, shown)].ravel(),
            },
            "labels": {"label": labels, "probability": weights @ chances[:, shown]},
            "correlations": {
                "label": labels[first[order]],
                "other": labels[second[order]],
                "correlation": correlations[order],
            },
            "sets": {
                "set": [as_column(self.classes_[np.flatnonzero(s)]) for s in found.sets[0]],
                "probability": np.exp(found.log_probabilities[0]),
            },
        }
        return Explanation.by_features(
            self._name_of(column), x, ours, names, n, score=weights @ log_odds[0, :, column],
            details={name: pl.DataFrame(columns) for name, columns in details.items()},
        )  # fmt: skip

    def _check_state(self) -> None:
        super()._check_state()
        wrong = ModelError("The mixture of the model does not fit its labels; it was altered.")
        kinds = getattr(self, "kinds_", None)
        threshold = getattr(self, "threshold_", None)
        if (
            not all(isinstance(getattr(self, name, None), dict) for name in ("gate_", "experts_"))
            or not isinstance(kinds, list)
            or len(kinds) != 2
            or any(kind not in get_args(options.Learner) for kind in kinds)
            or not isinstance(getattr(self, "empty_sets_", None), bool)
            or not isinstance(threshold, float)
            or not (np.isnan(threshold) or 0 <= threshold <= 1)
        ):
            raise wrong
        try:
            gate, experts = self._mixture()
            nothing = sp.csr_array((1, self.n_features_in_))
            shape = experts.log_odds(nothing).shape
            fits = gate.log_weights(nothing).shape == shape[:2]
        except (ValueError, IndexError, TypeError) as error:
            raise wrong from error
        if not fits or shape != (1, getattr(self, "n_components_", 0), len(self.classes_)):
            raise wrong


def _warn_of_inexact(found: LikelySets) -> None:
    missed = int((~found.exact).sum())
    if missed:
        warn(
            f"For {missed} of {len(found.exact)} points the search was given up after "
            f"{found.visits.max():,} sets, so that more probable sets may have been missed: the "
            "labels are nearly independent coins there.",
            ConvergenceWarning,
        )


def _stored(part: Gate | Experts) -> dict[str, Any]:
    """The learned arrays, with regression weights in single precision."""
    return {
        name: value.astype(np.float32) if name == "weights" else value
        for name, value in part.to_arrays().items()
    }


def _vary(Y: sp.csr_array) -> bool:
    """Whether there are points with different labels."""
    counts = np.bincount(Y.indices, minlength=1)
    return bool(((counts > 0) & (counts < Y.shape[0])).any())
