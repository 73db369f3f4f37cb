"""`fit_linear`: train many linear problems on one X, in blocks, on threads, resumably."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import scatter_columns
from longtail.errors import ConvergenceWarning, ParameterError
from longtail.runtime.checkpoint import fingerprint, holds_columns
from longtail.runtime.pieces import Pieces
from longtail.runtime.run import Run
from longtail.solvers.linear.direct import direct_bytes, few_and_dense, solve_direct
from longtail.solvers.linear.dual import dual_bytes, solve_dual
from longtail.solvers.linear.newton import newton_bytes, solve_newton
from longtail.solvers.linear.proximal import proximal_bytes, solve_accelerated, solve_proximal
from longtail.solvers.linear.solution import Solution
from longtail.solvers.linear.task import (
    BLOCK,
    BLOCK_BYTES,
    LinearTask,
    Sized,
    bias_alone,
    make_task,
)
from longtail.solvers.linear.working_set import solve_working_set, working_set_bytes

Solver = tuple[Callable[..., list[Solution]], Callable[[Sized], int]]

_L1: dict[str, Solver] = {
    "working_set": (solve_working_set, working_set_bytes),
    "proximal_gradient": (solve_proximal, proximal_bytes),
    "accelerated": (solve_accelerated, proximal_bytes),
}
SOLVERS: dict[tuple[str, str], dict[str, Solver]] = {
    ("l2", "squared_hinge"): {"dual": (solve_dual, dual_bytes)},
    ("l2", "logistic"): {
        "newton": (solve_newton, newton_bytes),
        "direct": (solve_direct, direct_bytes),
    },
    ("l1", "squared_hinge"): _L1,
    ("l1", "logistic"): _L1,
}
"""By penalty and loss: the solvers of a block, the default first, each with its working memory a
problem."""
REPORT = {
    "objective": float, "gap": float, "violation": float, "iterations": int, "converged": bool,
    "seconds": float,
}  # fmt: skip


@dataclass(frozen=True)
class LinearFit:
    """Weights of all problems and what happened to each.

    Attributes
    ----------
    weights : csr_array of shape (D + 1, B)
        One column a problem; the last row is the bias.
    objective, gap, violation, iterations, converged, seconds : arrays of shape (B,)
        Objective over all points before pruning, proven relative gap to the optimum, violation of
        the optimality conditions (l1; relative to the strength), iterations, whether it ended
        within the tolerance, and seconds. A problem without a positive target is not trained: it
        has a bias only, zero iterations, and NaN as objective, gap and violation.
    """

    weights: sp.csr_array
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    violation: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    seconds: NDArray[np.float64]

    def table(self) -> pl.DataFrame:
        """The report as a table, one row a problem."""
        return pl.DataFrame(
            {"problem": np.arange(len(self.gap)), **{name: getattr(self, name) for name in REPORT}}
        )


def fit_linear(
    X: Any,
    targets: Any,
    *,
    loss: str = "squared_hinge",
    penalty: str = "l2",
    strength: float = 1.0,
    bias: float = 1.0,
    penalize_bias: bool = True,
    sample_weight: Any = None,
    warm_start: Any = None,
    solver: str | None = None,
    tol: float | None = None,
    max_iter: int = 100,
    max_seconds: float | None = None,
    prune: float = 0.0,
    dtype: Any = np.float32,
    block_size: int | None = None,
    n_jobs: int | None = None,
    run: Run | None = None,
) -> LinearFit:
    """Minimise strength·Ω(w) + Σ weight·loss for every column of `targets`.

    Parameters
    ----------
    X : sparse matrix or array of shape (N, D)
        float32 or float64; sums are taken in float64 either way.
    targets : sparse matrix or array of shape (N, B)
        1 for a positive, anything between 0 and 1 for a soft target; not stored is 0, a negative.
    loss : {"squared_hinge", "logistic"}
        A soft target t costs t·loss(z) + (1 - t)·loss(-z).
    penalty : {"l2", "l1"}
        Ω(w) = ½‖w‖², or ‖w‖₁.
    strength : float
        Weight of the penalty; liblinear's 1/C.
    bias : float
        Value of the constant feature whose weight is the bias (penalised like every weight); 0
        for none.
    penalize_bias : bool
        False leaves the bias out of the penalty; l1 only.
    sample_weight : array of shape (N,) or (N, B), or sparse (N, B), optional
        Weights of the points, for all problems or for each.
    warm_start : sparse matrix of shape (D + 1, B), optional
        Weights to start from, such as `LinearFit.weights` of an earlier fit.
    solver : str, optional
        Which solver, where there are several: see `SOLVERS`. For the l1 penalty "working_set", the
        fast one, or "proximal_gradient" and "accelerated", which are simple and slow and serve as
        certificates. For the l2 penalty and the logistic loss "newton", or "direct", which is the
        default where the features are few and dense.
    tol : float, optional
        When a problem is solved. For l2, once its objective is proven to be within this relative
        distance of the optimum (default 1e-4); for l1, once no partial derivative misses the
        optimality conditions by more than this times the strength (default 1e-2, which leaves the
        objective within some 1e-5 of the optimum).
    max_iter : int
        Limit on Newton steps; problems that hit it are reported in one warning.
    max_seconds : float, optional
        Limit on the time for one problem, with a warning likewise; l1 by working sets only. What
        such a problem gives depends on the machine.
    prune : float
        Weights of smaller magnitude are dropped from the result (the bias is kept).
    dtype : dtype
        Of the stored weights.
    block_size : int, optional
        Problems a block, the unit of work and of checkpoints. By default 32, or fewer where the
        dense arrays of a block would exceed 256 MB. The result does not depend on it.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.
    run : Run, optional
        Who hears of progress and where checkpoints go.

    Returns
    -------
    LinearFit

    Notes
    -----
    Cost: O(nnz(X)) a look at all points; some four looks a problem for the squared hinge, shared
    in reading by the problems of a block, and ten to forty for the logistic loss at strength 1,
    about twice as many at 0.1.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> fit = fit_linear(X, [[1], [0], [1]])
    >>> fit.weights.shape, bool(fit.converged.all())
    ((3, 1), True)
    """
    run = run or Run()
    task = make_task(
        X, targets, loss=loss, penalty=penalty, strength=strength, bias=bias,
        penalize_bias=penalize_bias, sample_weight=sample_weight, warm_start=warm_start, tol=tol,
        max_iter=max_iter, max_seconds=max_seconds,
    )  # fmt: skip
    chosen = _solver(task, solver)
    if not prune >= 0:
        raise ParameterError(f"prune must be zero or positive, not {prune!r}.")
    size = _block_size(task, chosen, block_size)
    blocks = [
        np.arange(first, min(first + size, task.n_problems))
        for first in range(0, task.n_problems, size)
    ]
    results: dict[int, dict[str, NDArray[Any]]] = {}
    kinds = {"features": np.int32, "values": dtype, "ends": np.int64, **REPORT}
    pieces = Pieces(
        [len(block) for block in blocks], results.__setitem__, what="training", run=run,
        identity=lambda: _identity(task, chosen, prune, np.dtype(dtype), size),
        is_sound=lambda number, arrays: holds_columns(
            arrays, kinds, len(blocks[number]), task.n_features
        ),
    )  # fmt: skip
    pieces.do(
        lambda number, stop: _packed(
            _solve(task, chosen, blocks[number], stop), prune, dtype, task.n_features
        ),
        n_jobs=n_jobs,
    )
    fit = _assembled([results[number] for number in range(len(blocks))], task, dtype)
    _warn(fit, task, run)
    return fit


def _solver(task: LinearTask, wanted: str | None) -> str:
    known = SOLVERS[task.penalty, task.loss]
    if wanted is None:
        few = few_and_dense(task.n_points, task.n_features, len(task.data))
        return "direct" if "direct" in known and few else next(iter(known))
    if wanted not in known:
        raise ParameterError(
            f"solver must be one of {', '.join(known)} for the {task.penalty} penalty and the "
            f"{task.loss} loss, not {wanted!r}."
        )
    return wanted


def _block_size(task: LinearTask, solver: str, wanted: int | None) -> int:
    if wanted is not None:
        if wanted < 1:
            raise ParameterError(f"block_size must be at least 1, not {wanted!r}.")
        return int(wanted)
    _, bytes_a_problem = SOLVERS[task.penalty, task.loss][solver]
    return block_of(bytes_a_problem(task))


def block_of(bytes_a_problem: int) -> int:
    """Problems a block, if each needs so much working memory."""
    return max(1, min(BLOCK, BLOCK_BYTES // bytes_a_problem))


def _identity(task: LinearTask, solver: str, prune: float, dtype: np.dtype[Any], size: int) -> str:
    return fingerprint(
        indptr=task.indptr, indices=task.indices, data=task.data, n_features=task.n_features,
        targets=task.targets, sample_weight=task.sample_weight, start=task.start,
        settings=(
            task.loss, task.penalty, task.strength, task.bias, task.penalize_bias, solver,
            task.tol, task.max_iter,
        ),
        result=(float(prune), dtype.str, size),
    )  # fmt: skip


def _solve(
    task: LinearTask, solver: str, problems: NDArray[np.int64], stop: NDArray[np.int8]
) -> list[Solution]:
    """Solve a block: trivial problems at once, the others by the solver that fits the loss."""
    counts = np.diff(task.targets.indptr)[problems]
    real = problems[counts > 0]
    solve, _ = SOLVERS[task.penalty, task.loss][solver]
    solved = dict(zip(real.tolist(), solve(task, real, stop) if len(real) else [], strict=True))
    return [solved[p] if p in solved else _without_positives(task, p) for p in problems.tolist()]


def _without_positives(task: LinearTask, problem: int) -> Solution:
    """A problem that has no positive is not trained: no features, the bias that is best alone."""
    weights = task.weights(problem)
    points = task.n_points if weights is None else float(weights.sum())
    score = bias_alone(task, points) if task.bias > 0 else 0.0
    empty = np.empty(0, dtype=np.int64)
    if score == 0.0:
        return Solution(empty, empty.astype(float), np.nan, np.nan, 0, True)
    return Solution(
        np.array([task.n_features]), np.array([score / task.bias]), np.nan, np.nan, 0, True
    )


def _packed(
    solutions: list[Solution], prune: float, dtype: Any, n_features: int
) -> dict[str, NDArray[Any]]:
    """A block as plain arrays: weights by column, and the report."""
    features, values, ends = [], [], [0]
    for solution in solutions:
        keep = (np.abs(solution.values) >= prune) | (solution.features == n_features)
        features.append(solution.features[keep].astype(np.int32))
        values.append(solution.values[keep].astype(dtype))
        ends.append(ends[-1] + int(keep.sum()))
    return {
        "features": np.concatenate(features),
        "values": np.concatenate(values),
        "ends": np.asarray(ends, dtype=np.int64),
        **{
            name: np.array([getattr(solution, name) for solution in solutions], dtype=kind)
            for name, kind in REPORT.items()
        },
    }


def _assembled(blocks: list[dict[str, NDArray[Any]]], task: LinearTask, dtype: Any) -> LinearFit:
    """All blocks as one matrix by rows, at the price of that matrix. O(stored weights + D)."""
    shape = (task.n_features + 1, task.n_problems)
    report = {
        name: np.concatenate([block[name] for block in blocks] or [np.empty(0, dtype=kind)])
        for name, kind in REPORT.items()
    }
    counts = np.zeros(shape[0] + 1, dtype=np.int64)
    for block in blocks:
        counts[1:] += np.bincount(block["features"], minlength=shape[0])
    indptr = np.cumsum(counts)
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=dtype)
    cursor = indptr[:-1].copy()
    first = 0
    for block in blocks:
        scatter_columns(
            block["features"], block["values"], block["ends"], first, cursor, indices, data
        )
        first += len(block["ends"]) - 1
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    return LinearFit(sp.csr_array((data, indices, indptr), shape=shape), **report)


def _warn(fit: LinearFit, task: LinearTask, run: Run) -> None:
    left = np.flatnonzero(~fit.converged)
    limits = f"after {task.max_iter} iterations"
    if task.max_seconds is not None:
        limits += f" or {task.max_seconds:g} seconds"
    if len(left):
        warnings.warn(
            f"{len(left)} of {task.n_problems} problems ended, {limits} or for want of precision, "
            f"{_distance(fit, left)} ({_named(left, run.names, task)}); "
            "scale the features, raise strength or raise the limit.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _distance(fit: LinearFit, problems: NDArray[np.int64]) -> str:
    """How far from the optimum problems ended, in words."""
    worst = np.nanmax(fit.violation[problems], initial=-np.inf)
    if worst >= 0:
        return f"with optimality violated by up to {worst:.1e} of the strength"
    return f"with a relative gap up to {fit.gap[problems].max():.1e}"


def _named(problems: NDArray[np.int64], names: Any, task: LinearTask) -> str:
    """The first few problems, by name where these are known."""
    if names is not None and len(names) != task.n_problems:
        names = None
    shown = [str(number if names is None else names[number]) for number in problems[:3].tolist()]
    kind = "number" if names is None else "label"
    return f"{kind} {', '.join(shown)}" + (", ..." if len(problems) > 3 else "")
