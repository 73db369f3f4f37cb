"""One block of ridge regressions: a direct solution where there is a factor, conjugate gradients.

Each column is solved as if it were alone: the conjugate gradients of a column give the same bits
whatever other columns are in the block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.runtime.libraries import one_thread
from longtail.runtime.workers import check_running
from longtail.solvers._product_kernels import add_transposed, column_dots
from longtail.solvers.ridge._ridge_kernels import (
    normal_times,
    take_step,
    turn,
)

RESTARTS = 5  # looks at the true residual, should that of the recursion have drifted away

_Array = NDArray[Any]


class Targets(Protocol):
    """Targets that are made when they are needed, a block of columns at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """Points and problems."""

    def columns(self, first: int, last: int) -> NDArray[np.float64]:
        """The targets of the problems `first` to `last - 1`."""

    def parts(self) -> dict[str, Any]:
        """What decides the targets, for the fingerprint of a checkpoint."""


@dataclass(frozen=True)
class RidgeTask:
    """Checked input, as the kernels read it.

    The factor is of X̃'X̃ + strength·I, or of X̃X̃' + strength·I, where the solver wants one.
    """

    rows: sp.csr_array
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[Any]
    targets: Targets
    strength: float
    bias: float
    tol: float
    max_iter: int
    solver: str
    dtype: str  # of the weights
    factor: tuple[_Array, bool] | None = None
    preconditioner: _Array | None = None  # see `inverse_diagonal`

    @property
    def points(self) -> tuple[_Array, _Array, _Array, float]:
        """X̃ by rows."""
        return self.indptr, self.indices, self.data, self.bias

    @property
    def n_weights(self) -> int:
        return int(self.rows.shape[1]) + 1

    @property
    def n_problems(self) -> int:
        return int(self.targets.shape[1])


def prepared(task: RidgeTask) -> RidgeTask:
    """The task with what all blocks share: the factor, where one is wanted, and the diagonal."""
    return replace(task, factor=_factor(task), preconditioner=inverse_diagonal(task))


def _factor(task: RidgeTask) -> tuple[_Array, bool] | None:
    """What solves a block directly; None where that is not wanted, or fails."""
    if task.solver == "conjugate_gradient":
        return None
    constant = sp.csr_array(np.full((task.rows.shape[0], 1), task.bias))
    wide = sp.csr_array(sp.hstack([task.rows.astype(np.float64), constant], format="csr"))
    if task.solver == "dual":
        wide = sp.csr_array(wide.T)
    square = (wide.T @ wide).toarray()
    square[np.diag_indices_from(square)] += task.strength
    try:
        with one_thread():
            return scipy.linalg.cho_factor(square, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]
    except scipy.linalg.LinAlgError:
        return None


def _direct(task: RidgeTask, rhs: _Array, Z: _Array) -> _Array:
    """Weights from the right-hand sides X̃'Z and the targets Z, by the factor; zero without one."""
    if task.factor is None:
        return np.zeros_like(rhs)
    known = rhs if task.solver == "primal" else Z
    solved = np.ascontiguousarray(scipy.linalg.cho_solve(task.factor, known, check_finite=False))
    if task.solver == "primal":
        return solved
    out = np.zeros_like(rhs)
    add_transposed(*task.points, solved, 0, out)
    return out


def inverse_diagonal(task: RidgeTask) -> NDArray[np.float64]:
    """The inverse of the diagonal of X̃'X̃ + strength·I, the preconditioner. O(nnz)."""
    squares = np.bincount(
        task.indices, weights=task.data.astype(np.float64) ** 2, minlength=task.n_weights
    )
    squares[-1] += task.bias**2 * task.rows.shape[0]
    return np.asarray(1.0 / (task.strength + squares), dtype=np.float64)


def solve_block(task: RidgeTask, block: range) -> dict[str, _Array]:
    """Solve a block of problems."""
    first, last = block.start, block.stop
    Z = np.ascontiguousarray(task.targets.columns(first, last), dtype=np.float64)
    if not np.isfinite(Z).all():
        raise InputError("The targets contain NaN or infinity; replace these values first.")
    rhs = np.zeros((task.n_weights, last - first))
    add_transposed(*task.points, Z, 0, rhs)
    squares = np.empty(last - first)
    column_dots(Z, Z, squares)
    W = _direct(task, rhs, Z)
    del Z
    iterations = np.zeros(last - first, dtype=np.int64)
    for _ in range(RESTARTS):
        _, _, steps = _descend(task, W, rhs, squares, task.max_iter - iterations)
        iterations += steps
        if not steps.any():
            break
    no_more = np.zeros_like(iterations)
    objective, gap, _ = _descend(task, W, rhs, squares, no_more)
    if not np.isfinite(W).all():
        raise InputError("A regression overflowed; scale the features and the targets to about 1.")
    return {
        "weights": W.astype(task.dtype), "objective": objective, "gap": gap,
        "iterations": iterations, "converged": gap <= task.tol,
    }  # fmt: skip


def _descend(
    task: RidgeTask,
    W: _Array,
    rhs: _Array,
    squares: _Array,
    limits: NDArray[np.int64],
) -> tuple[_Array, _Array, NDArray[np.int64]]:
    """Conjugate gradients on W, in place: objective and gap on entry, and the steps taken.

    Each column goes on until the residual of the recursion meets the tolerance, or its limit.
    """
    preconditioner = task.preconditioner
    HP = np.empty_like(W)
    normal_times(*task.points, task.strength, W, np.empty(W.shape[1]), HP)
    R = rhs - HP
    sums = np.empty((4, W.shape[1]))
    take_step(W, R, R, R, rhs, preconditioner, np.zeros(W.shape[1]), sums)
    objective, gap = _objective_and_gap(sums, squares, task.strength)
    steps = np.zeros(W.shape[1], dtype=np.int64)
    going = np.flatnonzero(~(gap <= task.tol) & (limits > 0))
    if not len(going):
        return objective, gap, steps
    w, r, b = (np.ascontiguousarray(array[:, going]) for array in (W, R, rhs))
    p, hp = np.zeros_like(w), np.empty_like(w)
    turn(r, preconditioner, np.zeros(len(going)), p)
    sums = np.ascontiguousarray(sums[:, going])
    active = np.ones(len(going), dtype=bool)
    while active.any():
        check_running()
        if 2 * active.sum() <= len(active):  # carry on with half the columns
            W[:, going] = w
            going = going[active]
            w, r, b, p, hp = (np.ascontiguousarray(a[:, active]) for a in (w, r, b, p, hp))
            sums, active = np.ascontiguousarray(sums[:, active]), active[active]
        normal_times(*task.points, task.strength, p, np.empty(len(going)), hp)
        curvature, before = np.empty(len(going)), sums[1].copy()
        column_dots(p, hp, curvature)
        step = np.where(active & (curvature > 0), before / np.where(curvature > 0, curvature, 1), 0)
        take_step(w, r, p, hp, b, preconditioner, step, sums)
        steps[going[active]] += 1
        _, now = _objective_and_gap(sums, squares[going], task.strength)
        active &= (now > task.tol) & (steps[going] < limits[going]) & (step > 0)
        turn(r, preconditioner, np.where(active, sums[1] / np.where(active, before, 1), 0), p)
    W[:, going] = w
    return objective, gap, steps


def _objective_and_gap(sums: _Array, squares: _Array, strength: float) -> tuple[_Array, _Array]:
    """From the sums of `take_step` and z·z.

    The objective is ½z·z - ½w·(b + r), and no less than ½·strength·‖w‖²; the larger one is taken,
    since the first loses digits where the fit is close.
    """
    objective = np.maximum(0.5 * squares - 0.5 * sums[2], 0.5 * strength * sums[3])
    bound = sums[0] / (2.0 * strength)
    least = objective - bound
    with np.errstate(divide="ignore", invalid="ignore"):
        return objective, np.where(bound == 0, 0.0, np.where(least > 0, bound / least, np.inf))
