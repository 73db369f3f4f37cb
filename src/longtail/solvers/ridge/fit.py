"""`fit_ridge`: many ridge regressions on one sparse X, in blocks, on threads, resumably.

Problem b minimises ½·strength·‖w‖² + ½‖X̃w - z_b‖², where X̃ is X with a constant feature for the
bias. The normal equations (X̃'X̃ + strength·I) w = X̃'z are solved by a Cholesky factor where the
problem is small on one side, and by conjugate gradients otherwise. With the residual r of these
equations, ‖r‖² / (2·strength) bounds how far the objective is from its minimum: that is the gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import read_only
from longtail.errors import ConvergenceWarning, InputError, ParameterError, warn
from longtail.parameters import check_count, check_positive
from longtail.runtime.blocks import Blocks
from longtail.runtime.checkpoint import fingerprint, is_like
from longtail.runtime.run import Run
from longtail.solvers._product_kernels import scores_of_rows
from longtail.solvers.linear.task import BLOCK, BLOCK_BYTES
from longtail.solvers.points import check_bias, check_same_rows, checked_points
from longtail.solvers.ridge._block import RidgeTask, Targets, prepared, solve_block

SOLVERS = ("primal", "dual", "conjugate_gradient")
SMALL = 2000  # features or points up to which a dense factor is made
STEPS = 50  # conjugate-gradient steps that a problem usually takes, to compare costs
REPORT = {"objective": float, "gap": float, "iterations": int, "converged": bool}

_Array = NDArray[Any]


@dataclass(frozen=True)
class RidgeFit:
    """Weights of all regressions and what happened to each.

    Attributes
    ----------
    weights : array of shape (D + 1, B)
        One column per problem; the last row is the bias.
    objective, gap, iterations, converged : arrays of shape (B,)
        Objective, proven relative distance to its minimum, conjugate-gradient steps (none where
        the equations were solved directly), and whether the gap is within the tolerance.
    """

    weights: NDArray[Any]
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class _Dense:
    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape  # type: ignore[return-value]

    def columns(self, first: int, last: int) -> NDArray[np.float64]:
        return self.array[:, first:last]

    def parts(self) -> dict[str, Any]:
        return {"targets": self.array}


def fit_ridge(
    X: Any,
    Z: Any,
    *,
    strength: float,
    bias: float = 1.0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    solver: str | None = None,
    dtype: Any = np.float32,
    n_jobs: int | None = None,
    run: Run | None = None,
) -> RidgeFit:
    """Minimise ½·strength·‖w‖² + ½‖X̃w - z‖² for every column z of Z.

    Parameters
    ----------
    X : sparse matrix or array of shape (N, D)
        float32 or float64; sums are taken in float64 either way.
    Z : array of shape (N, B), or `Targets`
        Real targets; such as can be made block by block need never be there as a whole.
    strength : float
        Weight of the penalty.
    bias : float
        Value of the constant feature whose weight is the bias (penalised like every weight); 0
        for none.
    tol : float
        A problem is solved once its objective is proven to be within this relative distance of
        the minimum.
    max_iter : int
        Limit on conjugate-gradient steps; problems that hit it are reported in one warning.
    solver : {"primal", "dual", "conjugate_gradient"}, optional
        A Cholesky factor of X̃'X̃ or of X̃X̃', or neither. By default a factor where there are no more
        than 2,000 features, or points, and it costs less than conjugate gradients would.
    dtype : dtype
        Of the weights.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.
    run : Run, optional
        Progress callback and checkpoint folder.

    Returns
    -------
    RidgeFit

    Notes
    -----
    Cost: conjugate gradients take O(nnz(X) + D) per step and problem, in blocks of 32 problems that
    share the reading of X, and some 10 to 100 steps. A factor takes O(Σ nnz(row)² + D³) once and
    O(D² + nnz(X)) per problem; that of the points the same with columns for rows and N for D.
    Memory beside the result: five times (D + 1)·32 and once N·32 numbers per thread. X is never
    made dense.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> fit = fit_ridge(X, [[2.0], [1.0], [3.0]], strength=1e-6)
    >>> fit.weights.round(3).tolist(), bool(fit.converged.all())
    ([[2.0], [1.0], [0.0]], True)
    """
    run = run or Run()
    task = _make_task(X, Z, strength, bias, tol, max_iter, solver, dtype)
    size = ridge_block(task.rows.shape[0], task.n_weights)
    spans = [
        range(first, min(first + size, task.n_problems))
        for first in range(0, task.n_problems, size)
    ]
    weights = np.zeros((task.n_weights, task.n_problems), dtype=task.dtype)
    report: dict[str, Any] = {
        name: np.zeros(task.n_problems, dtype=k) for name, k in REPORT.items()
    }

    def keep(number: int, arrays: dict[str, _Array]) -> None:
        span = slice(spans[number].start, spans[number].stop)
        weights[:, span] = arrays["weights"]
        for name in REPORT:
            report[name][span] = arrays[name]

    blocks = Blocks(
        spans, keep, what="regression", run=run, identity=lambda: _identity(task, size),
        is_sound=lambda span, arrays: _is_sound(arrays, task, len(span)),
    )  # fmt: skip
    if blocks.missing:
        blocks.solve(solve_block, prepared(task), n_jobs=n_jobs)
    fit = RidgeFit(weights, **report)
    _warn(fit, task)
    return fit


def ridge_values(X: sp.csr_array, weights: NDArray[Any], *, bias: float = 1.0) -> NDArray[Any]:
    """The values X̃W of all regressions. O(nnz(X)·B).

    Examples
    --------
    >>> ridge_values(sp.csr_array([[2.0]]), np.array([[3.0, 0.5], [1.0, 0.0]])).tolist()
    [[7.0, 1.0]]
    """
    out = np.empty((X.shape[0], weights.shape[1]))
    scores_of_rows(
        X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False),
        X.data.astype(np.float64, copy=False), float(bias), read_only(weights), 0, out,
    )  # fmt: skip
    return out


def _make_task(
    X: Any, Z: Any, strength: float, bias: float, tol: float, max_iter: int, solver: str | None,
    dtype: Any,
) -> RidgeTask:  # fmt: skip
    if solver is not None and solver not in SOLVERS:
        raise ParameterError(f"solver must be one of {', '.join(SOLVERS)}, not {solver!r}.")
    check_positive(strength=strength, tol=tol)
    check_bias(bias)
    check_count(max_iter=max_iter)
    rows = checked_points(X)
    if hasattr(Z, "columns") and hasattr(Z, "parts"):
        targets: Targets = Z
    else:
        array = np.asarray(Z)
        if array.ndim != 2:
            raise InputError(
                f"Targets must have two dimensions, one column per problem, not {array.ndim}."
            )
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float64)
        targets = _Dense(array)
        if not np.isfinite(array).all():
            raise InputError("The targets contain NaN or infinity; replace these values first.")
    check_same_rows(rows, targets)
    return RidgeTask(
        rows=rows,
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int32, copy=False),
        data=rows.data,
        targets=targets,
        strength=float(strength),
        bias=float(bias),
        tol=float(tol),
        max_iter=int(max_iter),
        solver=solver or cheapest_solver(rows, targets.shape[1])[0],
        dtype=np.dtype(dtype).str,
    )


def cheapest_solver(X: sp.csr_array, n_problems: int) -> tuple[str, int]:
    """The solver for so many problems on X, and the side of its dense factor, 0 for none. O(nnz).

    Examples
    --------
    >>> cheapest_solver(sp.csr_array(np.eye(3)), 5)
    ('primal', 4)
    """
    by_steps = 2.0 * STEPS * X.nnz * n_problems
    in_row = np.diff(X.indptr).astype(np.float64)
    in_column = np.bincount(X.indices, minlength=1).astype(np.float64)
    for name, side, counts in (("primal", X.shape[1] + 1, in_row), ("dual", X.shape[0], in_column)):
        if side <= SMALL and counts @ counts <= max(by_steps, 1e7):
            return name, side
    return "conjugate_gradient", 0


def ridge_block(n_points: int, n_weights: int) -> int:
    """Problems per block, by the dense arrays that it takes."""
    return max(1, min(BLOCK, BLOCK_BYTES // (8 * (5 * n_weights + n_points))))


def _identity(task: RidgeTask, size: int) -> str:
    return fingerprint(
        indptr=task.indptr, indices=task.indices, data=task.data, shape=task.rows.shape,
        settings=(task.strength, task.bias, task.tol, task.max_iter, task.solver, task.dtype, size),
        **task.targets.parts(),
    )  # fmt: skip


def _is_sound(block: dict[str, _Array], task: RidgeTask, width: int) -> bool:
    """Whether arrays that were read are the block they claim to be; if not, it is done again."""
    like: dict[str, _Array] = {name: np.empty(width, dtype=kind) for name, kind in REPORT.items()}
    like["weights"] = np.empty((task.n_weights, width), dtype=task.dtype)
    return is_like(block, like) and bool(np.isfinite(block["weights"]).all())


def _warn(fit: RidgeFit, task: RidgeTask) -> None:
    left = np.flatnonzero(~fit.converged)
    if len(left):
        warn(
            f"{len(left)} of {task.n_problems} regressions ended after {task.max_iter} steps, or "
            f"for lack of precision, with a relative gap up to {fit.gap[left].max():.1e}; scale "
            "the features, raise strength or raise the limit.",
            ConvergenceWarning,
        )
