"""ProXML with its strength chosen by cross-validation along a path of warm starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.data.split import fold_of_rows
from longtail.errors import InputError, ModelError, ParameterError
from longtail.labels import EncodedLabels, decode_labels, propensities
from longtail.methods._by_count import l1_strength
from longtail.methods._independent import points_of_labels
from longtail.methods._soundness import are_columns
from longtail.methods._weights import ClassWeight
from longtail.methods.linear._strength_path import FoldPath, Steps, chosen, fell_behind, summary
from longtail.methods.linear.proxml import (
    BY_COUNT,
    Loss,
    MaxSeconds,
    MaxSteps,
    PenalizeBias,
    ProXML,
    Solver,
    StartFrom,
    Violation,
)
from longtail.metrics import Scorer, evaluate, scorer
from longtail.parameters import (
    POSITIVE,
    Count,
    CountFromTwo,
    Jobs,
    Must,
    Prune,
    Seed,
    at_least,
    each,
    is_count,
    is_number,
)
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.run import Run
from longtail.solvers import LinearFit, fit_linear
from longtail.solvers.costs import linear_estimate

GRID = (2.0, 0.1)
"""Strongest and weakest strength of a grid, for rows of unit length."""

RANKS = (1, 3, 5)
MEASURES = ("P", "nDCG", "PSP", "C")
"""Metrics of `cv_results_`, each at every rank."""

_OF_CLASSES = ("accuracy", "maf1", "covered_classes")
_SHARED = ("loss", "penalize_bias", "solver", "prune", "tol", "max_iter", "max_seconds", "n_jobs")


class ProXMLCV(ProXML):
    """ProXML that chooses its strength by cross-validation.

    For every fold, models are trained on the other folds from the strongest penalty towards the
    weakest, each starting from the weights of the one before, and measured on the fold; once for
    each exponent. Then the model is trained on everything, at the strength that did best: it is the
    model that `ProXML(strength=model.strength)` learns. `exponents=[0]` tries the paper's strengths
    only, which are alike for all labels.

    Attributes
    ----------
    strength_, exponent_ : float
        What was chosen; as `ProXML` takes it, a number or a pair, it is the property `strength`.
    cv_results_ : dict of str to array of shape (S,)
        What was measured at each of the S strengths tried, by exponent, the strongest first:
        "strength" and "exponent";
        "mean_score" and "std_score" over the folds, and "fold0_score" and so on; mean and std of P,
        nDCG, PSP and C at 1, 3 and 5, such as "mean_P@1"; "nonzeros", the weights of a model, on
        average; "seconds" of training, over all folds and threads. A saved model leaves out the
        seconds, so that equal models are equal files.
    classes_, weights_, objective_, gap_, violation_, n_iter_
        As in `ProXML`.

    Notes
    -----
    A path costs somewhat more than its last and weakest model alone would; see
    `docs/choosing-strength.md` for figures. One model per fold and one copy of X are in memory at a
    time.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail import ProXMLCV
    >>> data = make_longtail(300, 200, 20, random_state=0)
    >>> model = ProXMLCV(strengths=[40.0, 4.0, 0.4], exponents=[0], scoring="P@3")
    >>> model.fit(data.X, data.Y).strength_
    4.0
    >>> model.choice_table().columns[:3]
    ['strength', 'exponent', 'score']
    """

    method: ClassVar[str] = "proxml-cv"

    strength_: float
    exponent_: float
    _given: EncodedLabels

    def __init__(
        self,
        *,
        strengths: Annotated[
            tuple[float, ...] | int,
            Must(
                "a list of positive, finite numbers, or how many of them, from 2 to 1000",
                lambda value: at_least(2, 1000).allows(value) or each(POSITIVE).allows(value),
            ),
            "The strengths to try; or how many, spread evenly on a logarithmic scale from 2 to "
            "0.1 times the median length of the rows of X.",
        ] = 6,
        exponents: Annotated[
            tuple[float, ...],
            Must(
                "a list of different numbers from 0 to 1",
                lambda values: (
                    isinstance(values, list | tuple | np.ndarray)
                    and len(values) > 0
                    and all(is_number(value) and 0 <= value <= 1 for value in values)
                    and len(set(values)) == len(values)
                ),
            ),
            "How a strength may grow with the number n of a label's points: each strength a is "
            "tried as (a, b), see `ProXML`, for every exponent b; as a alone where b is zero.",
        ] = (0.0, BY_COUNT[1]),
        folds: Annotated[
            CountFromTwo,
            "Parts that the points are cut into, each held out in turn. A row that is the only "
            "one with some label is never held out.",
        ] = 3,
        scoring: Annotated[
            str | Callable[[Any, Any, Any], float] | None,
            Must(
                "the name of a metric, such as 'P@1', or a function of (estimator, X, Y)",
                lambda value: isinstance(value, str) or callable(value),
            ),
            'What decides: a name that `longtail.metrics.scorer` knows, such as "P@1", "PSP@5" or '
            '"f1_micro", propensities being those of the training labels; or a function of '
            '(estimator, X, Y), greater being better. None is "P@1".',
        ] = "P@1",
        rule: Annotated[
            Literal["best", "one_standard_error"],
            "The strength of the best mean score, the stronger of equals; or the strongest whose "
            "mean score is within one standard error of the best, for a smaller model.",
        ] = "best",
        patience: Annotated[
            Count | None,
            "After so many strengths in a row whose mean score is more than a standard error "
            "below the best, weaker ones, which take longest, are not tried. None tries all.",
        ] = 2,
        loss: Loss = "squared_hinge",
        penalize_bias: PenalizeBias = True,
        solver: Solver = "working_set",
        start_from: Annotated[StartFrom, "As in `ProXML`, for the final model alone."] = None,
        prune: Prune = 0.0,
        tol: Violation = 0.01,
        max_iter: MaxSteps = 200,
        max_seconds: MaxSeconds = None,
        class_weight: ClassWeight = None,
        random_state: Annotated[Seed, "Seed of the folds."] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.strengths = strengths
        self.exponents = exponents
        self.folds = folds
        self.scoring = scoring
        self.rule = rule
        self.patience = patience
        self.loss = loss
        self.penalize_bias = penalize_bias
        self.solver = solver
        self.start_from = start_from
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def strength(self) -> Any:  # type: ignore[override]
        """The chosen strength as `ProXML` takes it; NaN before training."""
        return _as_given(getattr(self, "strength_", math.nan), getattr(self, "exponent_", 0.0))

    def _check_parameters(self) -> None:
        if isinstance(self.scoring, str):
            _scorer(self.scoring, np.ones(1))

    def _training_data(
        self, X: Any, y: Any, label_names: Any
    ) -> tuple[sp.csr_array, EncodedLabels]:
        rows, given = super()._training_data(X, y, label_names)
        if self.scoring in _OF_CLASSES and given.kind != "multiclass":
            raise ParameterError(
                f"{self.scoring} is for one class per row; for label sets choose P@1 or f1_micro."
            )
        self._given = replace(given, matrix=sp.csr_array((0, 0)))  # names and form, for scorers
        return rows, given

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = points_of_labels(Y)
        tried = [
            linear_estimate(
                X, counts, n_jobs=self.n_jobs,
                **{**self._problem(X, counts), "strength": l1_strength(X, counts, _as_given(a, b))},
            )
            for b, strengths in self._grids(X)
            for a in strengths.tolist()
        ]  # fmt: skip
        largest = max(tried, key=lambda one: one.peak_bytes)
        weights = self.folds * max(one.model_bytes or 0 for one in tried)
        seconds = (self.folds - 1) * sum(one.seconds for one in tried)
        more = largest.plus(matrix_bytes(X, Y) + weights, seconds)
        fits = len(tried) * self.folds
        return replace(more, reason=f"{fits:,} times {largest.reason} to choose the strength")

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any = None) -> None:
        grids = self._grids(X)
        fold_of = fold_of_rows(Y, self.folds, self._seed)
        steps = Steps(run, Y.shape[1], sum(len(grid) for _, grid in grids) * self.folds + 1)
        tried: list[tuple[float, float]] = []
        measured: list[list[dict[str, float]]] = []
        for exponent, strengths in grids:
            paths = [FoldPath(fold_of == fold) for fold in range(self.folds)]
            first = len(measured)
            for strength in strengths.tolist():
                tried.append((strength, exponent))
                measured.append([])
                for fold, path in enumerate(paths):
                    own = steps.next(f"fold-{fold}/strength-{len(tried) - 1}")
                    step = self._step(X, Y, path, _as_given(*tried[-1]), own, sample_weight)
                    measured[-1].append(step)
                if self.patience is not None and fell_behind(measured[first:], self.patience):
                    break
        del paths, self._given
        self.cv_results_ = summary(np.array(tried), measured)
        self.strength_, self.exponent_ = tried[chosen(self.cv_results_, self.folds, self.rule)]
        super()._fit(X, Y, steps.last("final"), sample_weight)

    def _fit_more(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        """New labels are trained at the strength that was chosen."""
        super()._fit(X, Y, run)

    def _grids(self, X: sp.csr_array) -> list[tuple[float, NDArray[np.float64]]]:
        """Every exponent with its strengths, the strongest first."""
        wanted: Any = self.strengths
        squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        usual = float(np.sqrt(np.median(squares[squares > 0]))) if squares.any() else 1.0
        found = []
        for exponent in map(float, self.exponents):
            strengths = wanted
            if is_count(wanted):  # a pair knows the length of the rows, a number does not
                length = usual if exponent == 0.0 else 1.0
                grid = np.geomspace(GRID[0] * length, GRID[1] * length, int(wanted))
                strengths = [float(f"{strength:.3g}") for strength in grid]
            found.append((exponent, np.unique(np.asarray(strengths, dtype=float))[::-1]))
        return found

    def _step(
        self,
        X: sp.csr_array,
        Y: sp.csr_array,
        path: FoldPath,
        strength: Any,
        run: Run,
        sample_weight: Any,
    ) -> dict[str, float]:
        """Train at the next strength of a path, and measure on the rows held out."""
        seen, own = Y[~path.held_out], sample_weight
        if own is not None:
            own = own[~path.held_out]
        rows = X[~path.held_out]
        counts = points_of_labels(seen, own)
        problem = {
            **self._problem(rows, counts), "strength": l1_strength(rows, counts, strength),
            **self._weights_of(seen, run, own),
        }  # fmt: skip
        fit = fit_linear(
            rows, seen, **problem, warm_start=path.weights, n_jobs=self.n_jobs, run=run
        )
        path.weights = fit.weights
        chances = propensities(np.bincount(Y.indices, minlength=Y.shape[1]), Y.shape[0])
        model = self._model(strength, fit, seen)
        return {
            **self._measure(model, X[path.held_out], Y[path.held_out], chances),
            "nonzeros": float(fit.weights.nnz),
            "seconds": float(fit.seconds.sum()),
        }

    def _model(self, strength: Any, fit: LinearFit, Y: sp.csr_array) -> ProXML:
        """One model of the path as a fitted estimator, for scorers."""
        model = ProXML(strength=strength, **{name: getattr(self, name) for name in _SHARED})
        model._replace(
            weights_=fit.weights,
            n_features_in_=int(fit.weights.shape[0] - 1),
            n_points_=int(Y.shape[0]),
            label_counts_=np.bincount(Y.indices, minlength=Y.shape[1]),
            classes_=self._given.classes,
            label_kind_=self._given.kind,
        )
        return model

    def _measure(
        self, model: ProXML, X: sp.csr_array, Y: sp.csr_array, chances: NDArray[np.float64]
    ) -> dict[str, float]:
        scores = model.predict_topk(X, max(RANKS))
        values = evaluate(Y, Y_score=scores, k=RANKS, propensities=chances)
        found = {f"{name}@{k}": values[f"{name}@{k}"] for name in MEASURES for k in RANKS}
        scoring = "P@1" if self.scoring is None else self.scoring
        if isinstance(scoring, str) and scoring in found:
            score = found[scoring]
        else:
            score = self._score(scoring, model, X, Y, chances)
        if not np.isfinite(score):
            raise InputError(f"scoring gave {score} for a fold; it must give a finite number.")
        return {"score": score, **found}

    def _score(
        self,
        scoring: str | Callable[[Any, Any, Any], float],
        model: ProXML,
        X: sp.csr_array,
        Y: sp.csr_array,
        chances: NDArray[np.float64],
    ) -> float:
        """The scoring function, if it is none of the usual metrics."""
        if callable(scoring):
            kind = self._given.kind
            return float(scoring(model, X, decode_labels(Y, self._given.classes, kind)))
        metric = _scorer(scoring, chances)
        if "@" not in scoring and self._given.kind == "multiclass":
            return metric(model, X, decode_labels(Y, self._given.classes, "multiclass"))
        model.label_kind_ = "sparse"
        return metric(model, X, Y)

    def choice_table(self) -> pl.DataFrame:
        """A summary of `cv_results_` as a table: one row per strength, the chosen one marked.

        Examples
        --------
        >>> from longtail import ProXMLCV
        >>> X = [[1, 0], [0, 1]] * 4
        >>> model = ProXMLCV(strengths=[1.0, 0.5], exponents=[0], folds=2)
        >>> model = model.fit(X, ["sea", "snow"] * 4)
        >>> model.choice_table().select("strength", "score", "chosen").rows()
        [(1.0, 1.0, True), (0.5, 1.0, False)]
        """
        check_is_fitted(self)
        found = self.cv_results_
        return pl.DataFrame(
            {
                "strength": found["strength"],
                "exponent": found["exponent"],
                "score": found["mean_score"].round(4),
                "std": found["std_score"].round(4),
                **{name: found[f"mean_{name}"].round(4) for name in ("P@1", "P@5", "PSP@5")},
                "nonzeros": np.rint(found["nonzeros"]).astype(np.int64),
                "chosen": (found["strength"] == self.strength_)
                & (found["exponent"] == self.exponent_),
            }
        )

    def to_state(self) -> dict[str, Any]:
        """As for every estimator, but without what differs from run to run or cannot be stored."""
        state = super().to_state()
        scoring = state["parameters"]["scoring"]
        if isinstance(scoring, Scorer):
            state["parameters"]["scoring"] = scoring.name
        elif callable(scoring):
            state["parameters"]["scoring"] = None
        if "cv_results_" in state["learned"]:
            state["learned"]["cv_results_"] = {
                name: values for name, values in self.cv_results_.items() if name != "seconds"
            }
        return state

    def _check_state(self) -> None:
        super()._check_state()
        results = getattr(self, "cv_results_", None)
        a, b = (getattr(self, name, None) for name in ("strength_", "exponent_"))
        if not (isinstance(a, float) and isinstance(b, float) and 0 < a < np.inf and 0 <= b <= 1):
            raise ModelError("The strength of the model is not a strength; it was altered.")
        wanted = {"strength", "exponent", "mean_score", "std_score", "nonzeros"}
        wanted |= {f"mean_{measure}@{k}" for measure in MEASURES for k in RANKS}
        if (
            not isinstance(results, dict)
            or not wanted <= set(results)
            or not are_columns(*results.values())
            or not (np.abs(results["nonzeros"]) < 2**53).all()
        ):
            raise ModelError("The cv_results_ of the model do not fit each other; it was altered.")


def _as_given(a: float, b: float) -> float | tuple[float, float]:
    """The strength as `ProXML` takes it."""
    return a if b == 0.0 else (a, b)


def _scorer(name: str, chances: NDArray[np.float64]) -> Scorer:
    weighted = name.partition("@")[0] in ("PSP", "PSnDCG")
    return scorer(name, propensities=chances if weighted else None)
