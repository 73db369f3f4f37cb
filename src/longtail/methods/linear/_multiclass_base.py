"""What the classifiers through liblinear share: parameters, limits on memory, solved blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ConvergenceWarning, warn
from longtail.parameters import Count, ErrorWeight, Jobs, MemoryLimit, Positive
from longtail.runtime.estimates import WORKSPACE, Estimate
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.solvers.columns import Arrays
from longtail.solvers.costs import STORED, SWEEP, liblinear_bytes
from longtail.solvers.liblinear import KINDS, LiblinearTask, solve_with_liblinear

if TYPE_CHECKING:
    from longtail.base import ExtremeClassifier as Classifier
else:
    Classifier = object

FOR_LESS = "use a method for many classes, such as mrb or dismec, or select features"
SWEEPS = 12  # over X per problem, usually

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


class LiblinearProblems(Classifier):
    """Mixin of the three classifiers by liblinear; they state their problems in `_fit`."""

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
        """Memory and time of problems on all of X that together keep so many weights."""
        processes = thread_count(self.n_jobs) if n_problems > 1 else 1
        held = liblinear_bytes(X, processes=processes) + 4.0 * (X.shape[1] + 1)
        return Estimate(
            int(held + 2 * STORED * stored + WORKSPACE),
            int(STORED * stored),
            SWEEPS * SWEEP * X.nnz * n_problems / processes,
            why,
        )

    def _settings(self) -> dict[str, Any]:
        """Arguments of every `LinearSVC`: l2 penalty, squared hinge, dual, and a fixed seed."""
        return {
            "C": float(self.C), "tol": float(self.tol), "dual": True, "random_state": 0,
        }  # fmt: skip

    def _solved(
        self, solve: Any, X: sp.csr_array, labels: NDArray[Any], blocks: list[Any], total: int,
        run: Run, weights: Any = None, **parts: Any,
    ) -> list[Arrays]:  # fmt: skip
        """The solutions of all blocks, in order; `parts` are those of the task."""
        return solve_with_liblinear(
            solve, LiblinearTask(X, self._settings(), **parts), blocks, kinds=KINDS, total=total,
            n_jobs=self.n_jobs, run=run, labels=labels, weights=weights,
        )  # fmt: skip


class SweepLimit(LiblinearProblems):
    """Classifiers for which liblinear obeys a limit on sweeps and reports their number."""

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
            warn(
                f"liblinear ended {left} of {len(sweeps)} {what} at its limit on sweeps; scale the "
                "features, lower C or raise max_iter.",
                ConvergenceWarning,
            )
