"""What the classifiers through liblinear share: parameters, limits on memory, solved blocks."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import ConvergenceWarning, ModelError
from longtail.labels import TailRanking
from longtail.parameters import Count, ErrorWeight, Jobs, MemoryLimit, Positive
from longtail.runtime.estimates import WORKSPACE, Estimate
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.search import LinearIndex, index_for
from longtail.solvers.columns import Arrays
from longtail.solvers.costs import STORED, SWEEP, liblinear_bytes
from longtail.solvers.liblinear import KINDS, LiblinearTask, solve_with_liblinear

FOR_LESS = "use a method for many classes, such as mrb or dismec, or select features"
SWEEPS = 12  # over X that a problem takes, usually

Eps = Annotated[
    Positive,
    "liblinear's eps: the largest violation of optimality at which a problem counts as solved.",
]
Sweeps = Annotated[Count, "Limit on sweeps over the points."]
Processes = Annotated[
    Jobs,
    "Processes that train and threads that predict, as in scikit-learn: None is one, -1 all cores. "
    "The model does not depend on it.",
]


class LiblinearClassifier(ExtremeClassifier):
    """Base of the three; subclasses say in `_fit` which problems there are."""

    scores_all_labels: ClassVar[bool] = True

    C: float
    tol: float
    memory_limit: float
    n_jobs: int | None

    weights_: sp.csr_array

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        tol: Eps = 1e-4,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Processes = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def _needed(self, X: sp.csr_array, stored: float, n_problems: int, why: str) -> Estimate:
        """What problems on all of X need that keep so many weights between them."""
        processes = thread_count(self.n_jobs) if n_problems > 1 else 1
        held = liblinear_bytes(X, processes=processes) + 4.0 * (X.shape[1] + 1)
        return Estimate(
            int(held + 2 * STORED * stored + WORKSPACE),
            int(STORED * stored),
            SWEEPS * SWEEP * X.nnz * n_problems / processes,
            why,
        )

    def _settings(self) -> dict[str, Any]:
        """Of every `LinearSVC`: l2 penalty, squared hinge, by the dual, and a fixed seed."""
        return {
            "C": float(self.C), "tol": float(self.tol), "dual": True, "random_state": 0,
        }  # fmt: skip

    def _solved(
        self, solve: Any, X: sp.csr_array, labels: NDArray[Any], blocks: list[Any], total: int,
        run: Run, **parts: Any,
    ) -> list[Arrays]:  # fmt: skip
        """The solutions of all blocks, in order; `parts` are those of the task."""
        return solve_with_liblinear(
            solve, LiblinearTask(X, self._settings(), **parts), blocks, kinds=KINDS, total=total,
            n_jobs=self.n_jobs, run=run, labels=labels,
        )  # fmt: skip

    def _check_weights(self, n_columns: int) -> None:
        weights = getattr(self, "weights_", None)
        if (
            not isinstance(weights, sp.csr_array)
            or weights.shape != (self.n_features_in_ + 1, n_columns)
            or weights.data.dtype.kind != "f"
            or not np.isfinite(weights.data).all()
        ):
            raise ModelError("The weights of the model do not fit its labels; it was altered.")


class SweepLimit(LiblinearClassifier):
    """Those of which liblinear heeds a limit on sweeps, and says how many it took."""

    max_iter: int

    n_iter_: NDArray[np.int64]

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        tol: Eps = 1e-4,
        max_iter: Sweeps = 1000,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Processes = None,
    ) -> None:
        super().__init__(C=C, tol=tol, memory_limit=memory_limit, n_jobs=n_jobs)
        self.max_iter = max_iter

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "max_iter": int(self.max_iter)}

    def _warn(self, sweeps: NDArray[np.int64], what: str) -> None:
        left = int((sweeps >= self.max_iter).sum())
        if left:
            warnings.warn(
                f"liblinear ended {left} of {len(sweeps)} {what} at its limit on sweeps; scale the "
                "features, lower C or raise max_iter.",
                ConvergenceWarning,
                stacklevel=4,
            )


class MarginClassifier(LiblinearClassifier):
    """One weight vector a label, `weights_` (D + 1, L); the score is the margin."""

    def _offered(self) -> NDArray[np.int64]:
        """The columns that may be predicted."""
        return np.arange(len(self.classes_))

    def _index(self) -> LinearIndex:
        def make(weights: sp.csr_array) -> LinearIndex:
            offered = self._offered()
            whole = len(offered) == weights.shape[1]
            return LinearIndex(weights if whole else sp.csr_array(weights[:, offered]))

        return index_for(self, self.weights_, make)

    def _spread(self, scores: sp.csr_array) -> sp.csr_array:
        """Scores of the offered columns as scores of all."""
        offered, n_labels = self._offered(), len(self.classes_)
        if len(offered) == n_labels:
            return scores
        return sp.csr_array(
            (scores.data, offered[scores.indices], scores.indptr),
            shape=(len(scores.indptr) - 1, n_labels),
        )

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        return self._spread(self._index().topk(X, k, n_jobs=self.n_jobs))

    def _topk_ranked(self, X: sp.csr_array, k: int, ranking: TailRanking) -> sp.csr_array:
        offsets = np.asarray(ranking.offsets)[self._offered()]
        ours = TailRanking(ranking.scale, ranking.shift, offsets)
        return self._spread(self._index().topk(X, k, ranking=ours, n_jobs=self.n_jobs))

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._topk(X, 1)

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        weights = self.weights_[:, [column]].toarray().ravel().astype(np.float64)
        return Explanation.by_features(
            self._name_of(column), x, weights[x.indices], names, n, bias=weights[-1]
        )

    def _check_state(self) -> None:
        super()._check_state()
        self._check_weights(len(self.classes_))
