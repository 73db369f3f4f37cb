"""CCD-L1: the l1-regularised squared hinge by liblinear's cyclic coordinate descent (`-s 5`).

Fan, Chang, Hsieh, Wang & Lin, LIBLINEAR: A Library for Large Linear Classification, JMLR 9, 2008.
The same objective as `ProXML`; here for comparison, as the reference.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import for_liblinear
from longtail.errors import ConvergenceWarning, warn
from longtail.methods._by_count import ByCount, l1_strength
from longtail.methods._independent import IndependentLabels, points_of_labels
from longtail.methods._linear import LinearClassifier
from longtail.methods._weights import ClassWeight, WeightedFit, of_problems
from longtail.methods.linear._multiclass_base import Processes
from longtail.parameters import Count, Positive
from longtail.runtime.estimates import WORKSPACE, Estimate
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.solvers import LinearFit, fit_linear
from longtail.solvers.columns import Arrays, columns_of, matrix_of
from longtail.solvers.costs import SWEEP, liblinear_bytes, weights_kept
from longtail.solvers.liblinear import (
    L1_KINDS,
    REPORT,
    l1_task,
    label_blocks,
    point_weights,
    solvable,
    solve_l1_labels,
    solve_with_liblinear,
)

SWEEPS = 200  # over X per label, usually


class CCDL1(WeightedFit, IndependentLabels, LinearClassifier):
    """One-vs-rest with an l1 penalty, each label by liblinear through scikit-learn.

    For each label, strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)² is minimised by
    `LinearSVC(penalty="l1", dual=False, C=1/strength)`, with a constant feature for the bias,
    penalised like every weight. Slow; `ProXML` minimises the same and `certify` compares the two.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last.
    objective_, gap_, violation_, n_iter_ : arrays of shape (L,)
        Objective, proven relative gap, violation of the optimality conditions relative to the
        strength, all recomputed from liblinear's weights, and sweeps of each label.

    Notes
    -----
    Training costs O(nnz(X)) per sweep, and tens to a thousand sweeps per label. liblinear needs two
    classes: our accelerated solver trains labels that every row has, and labels without a positive
    get the best bias and no weights, as in `ProXML`. A score is a margin: labels with at least 0
    are predicted.

    Examples
    --------
    >>> from longtail.methods.linear import CCDL1
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tagger = CCDL1().fit(X, [["sea", "sun"], ["snow"], ["sea"], ["snow", "sun"]])
    >>> tagger.predict([[1, 0, 1]])
    [('sea', 'sun')]
    """

    method: ClassVar[str] = "ccd-l1"
    paper: ClassVar[str] = "Fan et al. 2008"

    def __init__(
        self,
        *,
        strength: Annotated[
            Positive | ByCount, "Weight of the penalty, liblinear's 1/C; or a pair as in `ProXML`."
        ] = 0.5,
        tol: Annotated[
            Positive,
            "liblinear's eps; 0.01 is its default for this solver, scikit-learn's is 0.0001. A "
            "label counts as solved when the sum of its violations has fallen to eps·(share of "
            "positives) of what the first sweep saw.",
        ] = 0.01,
        max_iter: Annotated[Count, "Limit on sweeps per label; 1000 in liblinear."] = 1000,
        class_weight: ClassWeight = None,
        n_jobs: Processes = None,
    ) -> None:
        self.strength = strength
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        processes, trained = thread_count(self.n_jobs), int(np.count_nonzero(counts))
        strength = l1_strength(X, counts, self.strength)
        kept = weights_kept(
            X, counts, loss="squared_hinge", penalty="l1", prune=0.0, strength=strength
        ).sum()
        return Estimate(
            int(liblinear_bytes(X, l1=True, processes=processes) + 48 * kept + WORKSPACE),
            int(8 * kept),
            SWEEPS * SWEEP * X.nnz * trained / processes,
            f"{trained:,} problems of liblinear on {X.shape[0]:,} points",
        )

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any) -> LinearFit:
        targets = sp.csc_array(Y)
        hard = solvable(X, np.diff(targets.indptr))
        weights = self._weights_of(Y, run, sample_weight)["sample_weight"]
        counts = points_of_labels(Y, sample_weight)
        strength = np.broadcast_to(l1_strength(X, counts, self.strength), len(counts))
        task = l1_task(for_liblinear(X), self.tol, self.max_iter, point_weights(weights))
        easy = fit_linear(
            X, targets[:, ~hard], penalty="l1", strength=strength[~hard], solver="accelerated",
            tol=1e-4, max_iter=1000, sample_weight=of_problems(weights, ~hard),
        )  # fmt: skip
        report = {name: getattr(easy, name) for name in REPORT}
        found = [columns_of(easy.weights, **report)]
        blocks = label_blocks(targets, np.flatnonzero(hard), weights, strength=strength)
        found += solve_with_liblinear(
            solve_l1_labels, task, blocks, kinds=L1_KINDS, total=targets.shape[1],
            n_jobs=self.n_jobs, run=run, Y=targets, weights=weights, strength=strength,
        )  # fmt: skip
        fit = _assembled(found, np.argsort(hard, kind="stable"), X.shape[1], strength)
        self.violation_ = fit.violation
        _warn(fit, run)
        return fit


def _assembled(
    found: list[Arrays], places: NDArray[np.int64], n_features: int, strength: NDArray[Any]
) -> LinearFit:
    """Columns, those of the labels `places`, in the form that `fit_linear` returns."""
    norms = np.zeros(len(places))
    report: dict[str, NDArray[Any]] = {
        name: np.zeros(len(places), dtype=kind) for name, kind in REPORT.items()
    }
    first = 0
    for block in found:
        width = len(block["ends"]) - 1
        labels = places[first : first + width]
        of = np.repeat(np.arange(width), np.diff(block["ends"]))
        norms[labels] = np.bincount(of, np.abs(block["values"]), width)
        for name in REPORT:
            report[name][labels] = block[name]
        first += width
    objective, violation = report["objective"], report["violation"]
    with np.errstate(invalid="ignore", divide="ignore"):
        reach = norms * strength / objective + 1.0
    return LinearFit(
        weights=matrix_of(found, (n_features + 1, len(places)), np.float32, places),
        gap=np.where(objective > 0, violation * reach, objective),
        **report,
    )


def _warn(fit: LinearFit, run: Run) -> None:
    left = np.flatnonzero(~fit.converged).tolist()
    if left:
        names = range(len(fit.gap)) if run.names is None else run.names
        shown = ", ".join(str(names[label]) for label in left[:3])
        warn(
            f"liblinear ended {len(left)} of {len(fit.gap)} labels at its limit on sweeps, with "
            f"optimality violated by up to {np.nanmax(fit.violation[left]):.1e} of the strength "
            f"(label {shown}{', ...' if len(left) > 3 else ''}); raise max_iter or use ProXML.",
            ConvergenceWarning,
        )
