"""`fit_linear`: train many linear problems on one X, in blocks, on threads, resumably."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ConvergenceWarning, ParameterError, warn
from longtail.runtime.blocks import Blocks
from longtail.runtime.checkpoint import fingerprint
from longtail.runtime.run import Run
from longtail.solvers.columns import Arrays, holds_columns, matrix_of, pack_columns
from longtail.solvers.linear.direct import direct_bytes, few_and_dense, solve_direct
from longtail.solvers.linear.dual import dual_bytes, solve_dual
from longtail.solvers.linear.groups import Group, LinearBlock, checked_groups, restricted
from longtail.solvers.linear.newton import newton_bytes, solve_newton
from longtail.solvers.linear.proximal import proximal_bytes, solve_accelerated, solve_proximal
from longtail.solvers.linear.task import (
    BLOCK,
    BLOCK_BYTES,
    LinearTask,
    Solution,
    bias_alone,
    make_task,
)
from longtail.solvers.linear.working_set import solve_working_set, working_set_bytes

Solver = tuple[Callable[..., list[Solution]], Callable[[int, int], int]]

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
"""By penalty and loss: the solvers of a block, the default first, each with its working memory per
problem."""
REPORT = {
    "objective": float, "gap": float, "violation": float, "iterations": int, "converged": bool,
    "seconds": float,
}  # fmt: skip
COUNT = 50.0  # points of a label that cost as much as a label without any
DEAR = 2.0 * BLOCK  # what the problems of a block may cost
KINDS = {"features": np.int32, "values": np.float32, "ends": np.int64, **REPORT}

__all__ = ["Group", "LinearFit", "fit_linear"]


@dataclass(frozen=True)
class LinearWork:
    """All that the blocks of a fit share."""

    task: LinearTask
    solver: str | None  # None: the one that fits the loss, and the rows of a group
    prune: float
    dtype: str  # of the stored weights


@dataclass(frozen=True)
class LinearFit:
    """Weights of all problems and what happened to each.

    Attributes
    ----------
    weights : csr_array of shape (D + 1, B)
        One column per problem; the last row is the bias.
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
        """The report as a table, one row per problem."""
        return pl.DataFrame(
            {"problem": np.arange(len(self.gap)), **{name: getattr(self, name) for name in REPORT}}
        )


def fit_linear(
    X: Any,
    targets: Any,
    *,
    loss: str = "squared_hinge",
    penalty: str = "l2",
    strength: Any = 1.0,
    bias: float = 1.0,
    penalize_bias: bool = True,
    sample_weight: Any = None,
    warm_start: Any = None,
    solver: str | None = None,
    tol: float | None = None,
    max_iter: int = 100,
    max_seconds: float | None = None,
    groups: Iterable[Any] | None = None,
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
    strength : float or array of shape (B,)
        Weight of the penalty, for all problems or for each; liblinear's 1/C.
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
    groups : iterable of `Group`, optional
        Problems on a subset of the rows: pairs of rows and of problems, every problem in one of
        them. A group is solved on its rows and the columns that occur there, as if there were no
        others; the weights of other columns are zero. It costs O(nnz of the rows).
    prune : float
        Weights of smaller magnitude are dropped from the result (the bias is kept).
    dtype : dtype
        Of the stored weights.
    block_size : int, optional
        Problems per block, the unit of work and of checkpoints. By default 32, or fewer where the
        dense arrays of a block would exceed 256 MB. The result does not depend on it.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.
    run : Run, optional
        Progress callback and checkpoint folder.

    Returns
    -------
    LinearFit

    Notes
    -----
    Cost: O(nnz(X)) per look at all points; two or three looks per problem for the squared hinge,
    which for rare labels on text read a few percent of X only, and ten to forty for the logistic
    loss at strength 1, about twice as many at 0.1.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> fit = fit_linear(X, [[1], [0], [1]])
    >>> fit.weights.shape, bool(fit.converged.all())
    ((3, 1), True)

    Two problems, each on two of the rows:

    >>> groups = [Group(rows=[0, 1], problems=[0]), Group(rows=[1, 2], problems=[1])]
    >>> fit_linear(X, [[1, 0], [0, 0], [0, 1]], groups=groups).weights.shape
    (3, 2)
    """
    run = run or Run()
    task = make_task(
        X, targets, loss=loss, penalty=penalty, strength=strength, bias=bias,
        penalize_bias=penalize_bias, sample_weight=sample_weight, warm_start=warm_start, tol=tol,
        max_iter=max_iter, max_seconds=max_seconds,
    )  # fmt: skip
    if not prune >= 0:
        raise ParameterError(f"prune must be zero or positive, not {prune!r}.")
    if block_size is not None and block_size < 1:
        raise ParameterError(f"block_size must be at least 1, not {block_size!r}.")
    work = LinearWork(task, solver, float(prune), np.dtype(dtype).str)
    costs = 1.0 + np.diff(task.targets.indptr) / COUNT
    blocks = _blocks(work, groups, block_size, costs)
    results: dict[int, Arrays] = {}
    kinds = KINDS | {"values": dtype}
    unsolved = Blocks(
        blocks, results.__setitem__, what="training", run=run,
        identity=lambda: _identity(work, blocks),
        is_sound=lambda block, arrays: holds_columns(arrays, kinds, len(block), task.n_features),
        costs=[sum(float(costs[problems].sum()) for _, problems in b.parts) for b in blocks],
    )  # fmt: skip
    unsolved.solve(solve_block, work, n_jobs=n_jobs)
    fit = _assembled([results[number] for number in range(len(blocks))], blocks, task, dtype)
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


def _blocks(
    work: LinearWork, groups: Any, wanted: int | None, costs: NDArray[np.float64]
) -> list[LinearBlock]:
    """The problems in blocks; small groups share one, and so do few dear problems.

    Problems with an l2 penalty read X together, so there a block is as large as it may be.
    """
    task = work.task
    if wanted is not None or task.penalty == "l2":
        costs = np.zeros(task.n_problems)
    _, bytes_per_problem = SOLVERS[task.penalty, task.loss][_solver(task, work.solver)]
    if groups is None:
        everything = np.arange(task.n_problems)
        size = wanted or block_of(bytes_per_problem(task.n_points, task.n_features))
        return [LinearBlock(((None, part),)) for part in _cut(everything, size, costs)]
    blocks: list[LinearBlock] = []
    room = 0
    for rows, problems in checked_groups(groups, task.n_points, task.n_problems):
        stored = int((task.indptr[rows + 1] - task.indptr[rows]).sum())
        size = wanted or block_of(bytes_per_problem(len(rows), min(task.n_features, stored)))
        for part in _cut(problems, size, costs):
            if blocks and len(part) <= min(room, size - len(blocks[-1])):
                blocks[-1] = LinearBlock((*blocks[-1].parts, (rows, part)))
                room -= len(part)
            else:
                blocks.append(LinearBlock(((rows, part),)))
                room = size - len(part)
    return blocks


def _cut(
    problems: NDArray[np.int64], size: int, costs: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Runs of problems: of `size`, or fewer where they cost more than `DEAR`."""
    ends, total = [0], 0.0
    for number, cost in enumerate(costs[problems].tolist()):
        if number - ends[-1] >= size or (total + cost > DEAR and number > ends[-1]):
            ends.append(number)
            total = 0.0
        total += cost
    return np.split(problems, ends[1:]) if len(problems) else []


def block_of(bytes_a_problem: int) -> int:
    """Problems per block, if each needs so much working memory."""
    return max(1, min(BLOCK, BLOCK_BYTES // bytes_a_problem))


def _identity(work: LinearWork, blocks: list[LinearBlock]) -> str:
    task = work.task
    parts = [part for block in blocks for part in block.parts]
    return fingerprint(
        indptr=task.indptr, indices=task.indices, data=task.data, n_features=task.n_features,
        targets=task.targets, strength=task.strength, sample_weight=task.sample_weight,
        start=task.start,
        settings=(
            task.loss, task.penalty, task.bias, task.penalize_bias,
            _solver(task, work.solver), task.tol, task.max_iter,
        ),
        result=(work.prune, work.dtype, list(map(len, blocks))),
        rows=np.concatenate([np.empty(0, int), *(r for r, _ in parts if r is not None)]),
        problems=np.concatenate([np.empty(0, int), *(p for _, p in parts)]),
        sizes=[(-1 if r is None else len(r), len(p)) for r, p in parts],
    )  # fmt: skip


def solve_block(work: LinearWork, block: LinearBlock) -> Arrays:
    """Solve the problems of a block: weights by column, and the report."""
    features: list[NDArray[Any]] = []
    values: list[NDArray[Any]] = []
    report: dict[str, list[Any]] = {name: [] for name in REPORT}
    for rows, problems in block.parts:
        task, places = work.task, None
        if rows is not None:
            task, used = restricted(work.task, rows, problems)
            places = np.append(used, work.task.n_features)
            problems = np.arange(len(problems))
        for solution in _solved(task, _solver(task, work.solver), problems):
            keep = (np.abs(solution.values) >= work.prune) | (solution.features == task.n_features)
            kept = solution.features[keep]
            features.append((kept if places is None else places[kept]).astype(np.int32))
            values.append(solution.values[keep].astype(work.dtype))
            for name, entries in report.items():
                entries.append(getattr(solution, name))
    return pack_columns(features, values, KINDS | {"values": work.dtype}, **report)


def _solved(task: LinearTask, solver: str, problems: NDArray[np.int64]) -> list[Solution]:
    """Trivial problems at once, the others by the solver that fits the loss."""
    counts = np.diff(task.targets.indptr)[problems]
    real = problems[counts > 0]
    solve, _ = SOLVERS[task.penalty, task.loss][solver]
    solved = dict(zip(real.tolist(), solve(task, real) if len(real) else [], strict=True))
    return [solved[p] if p in solved else _without_positives(task, p) for p in problems.tolist()]


def _without_positives(task: LinearTask, problem: int) -> Solution:
    """A problem that has no positive is not trained: no features, the bias that is best alone."""
    weights = task.weights(problem)
    points = task.n_points if weights is None else float(weights.sum())
    strength = float(task.strength[problem])
    score = bias_alone(task, points, strength) if task.bias > 0 else 0.0
    empty = np.empty(0, dtype=np.int64)
    if score == 0.0:
        return Solution(empty, empty.astype(float), np.nan, np.nan, 0, True)
    return Solution(
        np.array([task.n_features]), np.array([score / task.bias]), np.nan, np.nan, 0, True
    )


def _assembled(
    found: list[Arrays], blocks: list[LinearBlock], task: LinearTask, dtype: Any
) -> LinearFit:
    """All blocks as one matrix and one report, in the order of the problems."""
    numbers = [problems for block in blocks for _, problems in block.parts]
    places = np.concatenate([np.empty(0, int), *numbers])
    report = {
        name: np.concatenate([part[name] for part in found] or [np.empty(0, dtype=kind)])
        for name, kind in REPORT.items()
    }
    in_order = bool((np.diff(places) > 0).all())
    shape = (task.n_features + 1, task.n_problems)
    weights = matrix_of(found, shape, dtype, None if in_order else places)
    if not in_order:
        order = np.argsort(places)
        report = {name: entries[order] for name, entries in report.items()}
    return LinearFit(weights, **report)


def _warn(fit: LinearFit, task: LinearTask, run: Run) -> None:
    left = np.flatnonzero(~fit.converged)
    limits = f"after {task.max_iter} iterations"
    if task.max_seconds is not None:
        limits += f" or {task.max_seconds:g} seconds"
    if len(left):
        warn(
            f"{len(left)} of {task.n_problems} problems ended, {limits} or for lack of precision, "
            f"{_distance(fit, left)} ({_named(left, run.names, task)}); "
            "scale the features, raise strength or raise the limit.",
            ConvergenceWarning,
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
