"""CCD-L1: the l1-regularised squared hinge by liblinear's cyclic coordinate descent (`-s 5`).

Fan, Chang, Hsieh, Wang & Lin, LIBLINEAR: A Library for Large Linear Classification, JMLR 9, 2008.
The same objective as `ProXML`; here for comparison, as the reference.
"""

from __future__ import annotations

import warnings
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import for_liblinear
from longtail.errors import ConvergenceWarning
from longtail.methods._independent import IndependentLabels
from longtail.methods._linear import LinearClassifier
from longtail.methods.linear._ccd_labels import Answer, Settings, solve_labels
from longtail.methods.linear._multiclass_base import Processes
from longtail.parameters import Count, Positive
from longtail.runtime.checkpoint import fingerprint
from longtail.runtime.estimates import WORKSPACE, Estimate
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.solvers import LinearFit, fit_linear
from longtail.solvers.costs import SWEEP, liblinear_bytes, weights_kept
from longtail.solvers.liblinear import WEIGHTS, positives_of, solvable, solve_blocks

SWEEPS = 200  # over X that a label takes, usually
BLOCK = 32  # labels that are handed to a process, and checkpointed, together
REPORT: dict[str, type] = {
    "objective": float, "violation": float, "iterations": int, "converged": bool, "seconds": float,
}  # fmt: skip


class CCDL1(IndependentLabels, LinearClassifier):
    """One-vs-rest with an l1 penalty, each label by liblinear through scikit-learn.

    For each label, strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)² is minimised by
    `LinearSVC(penalty="l1", dual=False, C=1/strength)`, with a constant feature for the bias,
    penalised like every weight. Slow; `ProXML` minimises the same and `certify` compares the two.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row a feature, the bias last.
    objective_, gap_, violation_, n_iter_ : arrays of shape (L,)
        Objective, proven relative gap, violation of the optimality conditions relative to the
        strength, all computed anew from liblinear's weights, and sweeps of each label.

    Notes
    -----
    Training costs O(nnz(X)) a sweep, tens to a thousand of them a label. liblinear needs two
    classes: labels that every row has are solved by the engine's accelerated solver instead, and
    labels without a positive get the bias that is best alone, as in `ProXML`. A score is a margin:
    labels from 0 on are predicted.

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

    violation_: NDArray[np.float64]

    def __init__(
        self,
        *,
        strength: Annotated[Positive, "Weight of the penalty; liblinear's 1/C."] = 0.5,
        tol: Annotated[
            Positive,
            "liblinear's eps; 0.01 is its default for this solver, scikit-learn's is 0.0001. A "
            "label counts as solved when the sum of its violations has fallen to eps·(share of "
            "positives) of what the first sweep saw.",
        ] = 0.01,
        max_iter: Annotated[Count, "Limit on sweeps per label; 1000 in liblinear."] = 1000,
        n_jobs: Processes = None,
    ) -> None:
        self.strength = strength
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        processes, trained = thread_count(self.n_jobs), int(np.count_nonzero(counts))
        kept = weights_kept(X, counts, loss="squared_hinge", penalty="l1", prune=0.0).sum()
        return Estimate(
            int(liblinear_bytes(X, l1=True, processes=processes) + 48 * kept + WORKSPACE),
            int(8 * kept),
            SWEEPS * SWEEP * X.nnz * trained / processes,
            f"{trained:,} problems of liblinear on {X.shape[0]:,} points",
        )

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any) -> LinearFit:
        settings = Settings(float(self.strength), float(self.tol), int(self.max_iter))
        targets = sp.csc_array(Y)
        counts = np.diff(targets.indptr)
        hard = solvable(X, counts)
        easy = fit_linear(
            X, targets[:, ~hard], penalty="l1", strength=self.strength, solver="accelerated",
            tol=1e-4, max_iter=1000,
        )  # fmt: skip
        found = _Found(X.shape[1] + 1, len(counts))
        found.add_fit(np.flatnonzero(~hard), easy)
        self._solve(X, targets, np.flatnonzero(hard), settings, run, found)
        fit = found.fit(settings)
        self.violation_ = fit.violation
        _warn(fit, run)
        return fit

    def _solve(
        self,
        X: sp.csr_array,
        targets: sp.csc_array,
        labels: NDArray[np.int64],
        settings: Settings,
        run: Run,
        found: _Found,
    ) -> None:
        """Liblinear on the labels that it can solve, block by block."""
        rows = for_liblinear(X)
        same = tuple(vars(settings).values())
        positives = positives_of(targets, labels)
        spans = [slice(first, first + BLOCK) for first in range(0, len(labels), BLOCK)]
        solve_blocks(
            solve_labels, rows, [positives[span] for span in spans], settings,
            lambda number, arrays: found.add(labels[spans[number]], arrays),
            pack=_packed, kinds=WEIGHTS | REPORT,
            identity=lambda: fingerprint(X=rows, Y=targets, settings=same),
            n_jobs=self.n_jobs, total=targets.shape[1], run=run,
        )  # fmt: skip


class _Found:
    """The weights and the report of all labels, in the order in which they come in."""

    def __init__(self, n_rows: int, n_labels: int) -> None:
        self.shape = (n_rows, n_labels)
        self.features: list[NDArray[np.int64]] = []
        self.values: list[NDArray[np.float32]] = []
        self.labels: list[NDArray[np.int64]] = []
        self.norms = np.zeros(n_labels)
        self.report: dict[str, NDArray[Any]] = {
            name: np.zeros(n_labels, dtype=kind) for name, kind in REPORT.items()
        }

    def add(self, labels: NDArray[np.int64], arrays: dict[str, NDArray[Any]]) -> None:
        """Take in a block."""
        of = np.repeat(np.arange(len(labels)), np.diff(arrays["ends"]))
        self.norms[labels] = np.bincount(of, np.abs(arrays["values"]), len(labels))
        self.features.append(arrays["features"])
        self.values.append(arrays["values"].astype(np.float32))
        self.labels.append(labels[of])
        for name in REPORT:
            self.report[name][labels] = arrays[name]

    def add_fit(self, labels: NDArray[np.int64], fit: LinearFit) -> None:
        """Take in labels that the engine has solved."""
        weights = sp.csc_array(fit.weights)
        arrays = {"features": weights.indices, "values": weights.data, "ends": weights.indptr}
        self.add(labels, {**arrays, **{name: getattr(fit, name) for name in REPORT}})

    def fit(self, settings: Settings) -> LinearFit:
        """All of it in the form that the engine gives."""
        parts = (np.concatenate(part) for part in (self.values, self.features, self.labels))
        values, features, labels = parts
        objective, violation = self.report["objective"], self.report["violation"]
        with np.errstate(invalid="ignore", divide="ignore"):
            reach = self.norms * settings.strength / objective + 1.0
        return LinearFit(
            weights=sp.csr_array((values, (features, labels)), shape=self.shape),
            gap=np.where(objective > 0, violation * reach, objective),
            **self.report,
        )


def _packed(answers: list[Answer]) -> dict[str, NDArray[Any]]:
    """A block as plain arrays."""
    return {
        "features": np.concatenate([answer.features for answer in answers]),
        "values": np.concatenate([answer.values for answer in answers]),
        "ends": np.cumsum([0, *(len(answer.values) for answer in answers)]),
        **{
            name: np.array([getattr(answer, name) for answer in answers], dtype=kind)
            for name, kind in REPORT.items()
        },
    }


def _warn(fit: LinearFit, run: Run) -> None:
    left = np.flatnonzero(~fit.converged).tolist()
    if left:
        names = range(len(fit.gap)) if run.names is None else run.names
        shown = ", ".join(str(names[label]) for label in left[:3])
        warnings.warn(
            f"liblinear ended {len(left)} of {len(fit.gap)} labels at its limit on sweeps, with "
            f"optimality violated by up to {np.nanmax(fit.violation[left]):.1e} of the strength "
            f"(label {shown}{', ...' if len(left) > 3 else ''}); raise max_iter or use ProXML.",
            ConvergenceWarning,
            stacklevel=5,
        )
