"""The l2-regularised squared hinge, solved in the dual over a working set of points.

A rare label is decided by few points: on EURLex-4K 1.0 to 4.5 percent of the points have an active
hinge at the optimum. So each problem starts with its positives, the negatives most like them and
some negatives spread over the data, and is solved on these by dual coordinate descent. Negatives
that violate their margin join, the worst first: those of a pool of likely ones until it has hardly
any, then those of all points. The duality gap over *all* points is the certificate.

A look at all points screens them first (`_look_kernels`): most rows are proven to lie beyond their
margin by bounds in single precision, and only the others are computed. Where X has no negative
entries and the features with a positive weight are few, as for rare labels on text, the bounds come
from the columns of these features alone; otherwise from one pass over X for all problems of a
block. What a problem gets does not depend on how it was screened.

Cost per problem: some 20 sweeps over the points of the working set that may move, O(nnz of a few
hundred points) each; two or three looks at a pool of 4 % of the points; and two or three at all
points. One of these costs O(N + D + entries of the columns with a positive weight), or O(nnz)
shared by the block, and O(nnz of the rows that are not screened). On badly scaled data coordinate
descent may crawl; a problem that it leaves unsolved is finished by Newton steps over all points,
which start from its weights and keep its lower bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.runtime.workers import check_running, stopping
from longtail.solvers.linear._dual_kernels import combine, dual_descent
from longtail.solvers.linear._look_kernels import (
    block_scores,
    column_bounds,
    largest,
    open_rows,
    violators,
)
from longtail.solvers.linear._matrix_kernels import take_rows
from longtail.solvers.linear.newton import solve_newton
from longtail.solvers.linear.task import LinearTask, Solution

NEAREST = 100  # negatives most like the positives, at the start
SPREAD = 100  # negatives spread over all points, at the start
POOL = 24  # one in so many points is in a pool
POOL_GAP = 0.01  # over the pool; below, all points are looked at
ENTER = 200  # at least so many violators may enter at once
STEP = 0.05  # of the gap: what the next round is solved to
FINAL = 0.5  # of the tolerance: what is never undercut
MAX_SWEEPS = 300  # per round; then the violators are looked at anyway
MAX_ALL_SWEEPS = 20_000  # per problem; what is unsolved then is left to Newton steps
MAX_ROUNDS = 200
FEW_FEATURES = 2**16  # up to here a dense w stays in the caches; above, rows are renumbered
ALIKE = 12  # features of the positives per row, on average, up to which likeness says enough
FEW = 4  # features with a positive weight per row, up to which columns give good bounds
MANY_POINTS = 2**12  # below, X by columns is not worth its making
LARGEST = 1e30  # norms above may overflow in single precision


@dataclass
class _Problem:
    """One problem in progress: entries of the working set and their dual variables."""

    number: int
    strength: float
    weights: NDArray[np.float64] | None  # of the points; None: all one
    positive_rows: NDArray[np.int64]
    targets: NDArray[np.float64]  # of the positive rows
    w: NDArray[np.float64]
    rows: NDArray[np.int64]
    signs: NDArray[np.float64]
    costs: NDArray[np.float64]
    alpha: NDArray[np.float64]
    pool: NDArray[np.int64] | None = None  # rows to look at until they are satisfied
    pooled: bool = False  # whether there has been a pool
    tol: float = 0.03
    primal: float = np.inf  # over the working set
    dual: float = 0.0
    gap: float = np.inf
    value: float = np.inf
    sweeps: int = 0
    rounds: int = 0
    seconds: float = 0.0


def dual_bytes(n_points: int, n_features: int) -> int:
    """Working memory of one problem in a block: its weights twice, bounds and its working set."""
    return 12 * (n_points + n_features + 1)  # the working set and the pool have 8 bytes per point


def solve_dual(task: LinearTask, problems: NDArray[np.int64]) -> list[Solution]:
    """Solve a block of squared-hinge problems."""
    began = time.perf_counter()
    memory = _Memory(task, len(problems))
    weights = np.zeros((len(problems), task.n_features + 1))
    going = [_problem(task, int(number), w) for number, w in zip(problems, weights, strict=True)]
    _start(task, going, memory)
    shared = time.perf_counter() - began
    solved: dict[int, Solution] = {}
    left: list[_Problem] = []
    while going:
        for problem in going:
            if problem.rounds == 0 or problem.pool is None:
                _descend(task, problem, memory)
            while problem.pool is not None:
                _look_at_pool(task, problem, memory)
                _descend(task, problem, memory)
        waiting, going = going, []
        began, own = time.perf_counter(), 0.0
        for problem, bounds in _bounds(task, waiting, memory):
            check_running()
            alone = time.perf_counter()
            done = _look(task, problem, bounds, memory)
            if done:
                solved[problem.number] = _solution(problem)
            elif problem.rounds >= MAX_ROUNDS or problem.sweeps >= MAX_ALL_SWEEPS:
                left.append(problem)
            else:
                going.append(problem)
            alone = time.perf_counter() - alone
            problem.seconds += alone
            own += alone
            if done:
                solved[problem.number].seconds = problem.seconds
        shared += time.perf_counter() - began - own
    for solution in solved.values():
        solution.seconds += shared / len(problems)
    for problem in left:
        bound = np.array([problem.dual * problem.strength])
        number = np.array([problem.number])
        solved[problem.number] = solve_newton(task, number, problem.w[:, None], bound)[0]
    return [solved[int(number)] for number in problems]


def _solution(problem: _Problem) -> Solution:
    used = np.flatnonzero(problem.w)
    return Solution(
        features=used, values=problem.w[used], objective=problem.value * problem.strength,
        gap=problem.gap, iterations=problem.sweeps, converged=True,
    )  # fmt: skip


class _Memory:
    """What a block needs of memory, allocated once."""

    def __init__(self, task: LinearTask, width: int) -> None:
        n, d, self.kind = task.n_points, task.n_features, task.fast_data.dtype
        self.bounds = np.empty((width, n), self.kind)  # of the scores of all rows
        self.inside = np.zeros(n, dtype=np.bool_)  # the working set; false between looks
        self.rows = np.empty(n, dtype=np.int64)
        self.found = np.empty(n, dtype=np.int64)
        self.costs = np.empty(n)
        self.place = np.full(d, -1, dtype=np.int64)
        self.features = np.empty(d, dtype=np.int64)


def _problem(task: LinearTask, number: int, w: NDArray[np.float64]) -> _Problem:
    rows, targets = task.positives(number)
    nothing = np.empty(0)
    return _Problem(
        number=number, strength=float(task.strength[number]), weights=task.weights(number),
        positive_rows=rows, targets=targets, w=w, rows=np.empty(0, dtype=np.int64),
        signs=nothing, costs=nothing, alpha=nothing,
    )  # fmt: skip


def _start(task: LinearTask, problems: list[_Problem], memory: _Memory) -> None:
    """Choose the first working sets: positives, their likes, and some spread over the data.

    With a warm start the likes are the points that violate its margins most, and the dual
    variables are those that its slacks imply: α = 2·C·slack holds at the optimum.
    """
    n = task.n_points
    spread = np.linspace(0, n - 1, min(SPREAD, n)).astype(np.int64)
    for problem in problems:
        start = task.start_of(problem.number)
        if start is not None:
            problem.w[:] = start
        else:
            rows = problem.positive_rows
            combine(task.indptr, task.indices, task.data, rows, problem.targets, problem.w)
    for problem, likeness in _bounds(task, problems, memory, task.start is not None):
        rows = problem.positive_rows
        wanted = max(NEAREST, 2 * len(rows))
        scores = None
        if task.start is not None:
            scores = likeness.copy()
            wanted = max(wanted, int(np.count_nonzero(likeness > -1.0)))
        likeness[rows] = -np.inf
        if problem.weights is not None:
            likeness[problem.weights == 0.0] = -np.inf
        pool = _likest(likeness)
        others = spread[likeness[spread] > -np.inf]
        likeness[spread] = -np.inf
        if wanted < len(pool):
            near = np.empty(wanted, dtype=np.int64)
            near = pool[np.sort(near[: largest(likeness[pool], wanted, near)])]
        else:
            near = np.empty(min(wanted, n), dtype=np.int64)
            near = np.sort(near[: largest(likeness, len(near), near)])
        _enter(problem, np.concatenate((near, others)))
        scale = np.ones(len(rows)) if problem.weights is None else problem.weights[rows]
        for sign, share in ((1.0, problem.targets), (-1.0, 1.0 - problem.targets)):
            costs = scale * share / problem.strength
            _extend(problem, rows[costs > 0], sign, costs[costs > 0])
        if scores is None and len(pool) > 2 * len(problem.rows) and _few(task, problem, ALIKE):
            problem.pool, problem.pooled = pool, True
        problem.w[:] = 0.0
        if scores is not None:
            slack = np.maximum(1.0 - problem.signs * scores[problem.rows], 0.0)
            problem.alpha = 2.0 * problem.costs * slack
            factors = problem.alpha * problem.signs
            combine(task.indptr, task.indices, task.data, problem.rows, factors, problem.w)
            problem.w[-1] = task.bias * float(factors.sum())


def _enter(problem: _Problem, rows: NDArray[np.int64]) -> None:
    """Let negatives enter the working set."""
    costs = np.ones(len(rows)) if problem.weights is None else problem.weights[rows]
    _extend(problem, rows[costs > 0], -1.0, costs[costs > 0] / problem.strength)


def _extend(
    problem: _Problem, rows: NDArray[np.int64], sign: float, costs: NDArray[np.float64]
) -> None:
    problem.rows = np.concatenate((problem.rows, rows))
    problem.signs = np.concatenate((problem.signs, np.full(len(rows), sign)))
    problem.costs = np.concatenate((problem.costs, costs))
    problem.alpha = np.concatenate((problem.alpha, np.zeros(len(rows))))


def _descend(task: LinearTask, problem: _Problem, memory: _Memory) -> None:
    """Solve over the working set, from where the problem stands."""
    check_running()
    began = time.perf_counter()
    rows, local = problem.rows, problem.w
    indptr, indices, data = task.indptr, task.indices, task.data
    renumbered = task.n_features > FEW_FEATURES
    if renumbered:
        lengths = indptr[rows + 1] - indptr[rows]
        indptr = np.zeros(len(rows) + 1, dtype=np.int64)
        indices = np.empty(int(lengths.sum()), dtype=np.int32)
        data = np.empty(len(indices), dtype=task.data.dtype)
        used = take_rows(
            task.indptr, task.indices, task.data, rows, memory.place, indptr, indices, data,
            memory.features,
        )  # fmt: skip
        rows = np.arange(len(rows))
        features = np.append(memory.features[:used], task.n_features)
        local = problem.w[features]
    problem.primal, problem.dual, sweeps = dual_descent(
        indptr, indices, data, rows, task.bias, problem.signs, problem.costs, problem.alpha, local,
        problem.dual, problem.tol, MAX_SWEEPS, 1, stopping(),
    )  # fmt: skip
    if renumbered:
        problem.w[features] = local
    problem.sweeps += sweeps
    problem.rounds += 1
    problem.seconds += time.perf_counter() - began


def _bounds(
    task: LinearTask, problems: list[_Problem], memory: _Memory, exact: bool = False
) -> Iterator[tuple[_Problem, NDArray[Any]]]:
    """Upper bounds of the scores of all rows for each problem, up to rounding.

    Where the columns with positive weights are few, they are added up; the other problems read X
    together, which gives the scores themselves, as does `exact`. The bounds of one problem are
    valid until those of the next are asked for.
    """
    together = []
    for problem in problems:
        base = task.bias * problem.w[-1]  # 0 at the start; above -1 it would screen no row
        by_columns = not exact and (base == 0.0 or base <= -1.0) and _few(task, problem, FEW)
        if by_columns:
            w = problem.w.astype(memory.kind)
            bounds = memory.bounds[0]
            column_bounds(*task.columns, memory.kind.type(task.bias), w, bounds)
            yield problem, bounds
        else:
            together.append(problem)
    if together:
        block = np.empty((task.n_features + 1, len(together)), memory.kind)
        np.stack([problem.w for problem in together], axis=1, out=block, casting="same_kind")
        block_scores(
            task.indptr, task.indices, task.fast_data, memory.kind.type(task.bias), block,
            memory.bounds[: len(together)],
        )  # fmt: skip
        yield from zip(together, memory.bounds, strict=False)


def _few(task: LinearTask, problem: _Problem, per_row: float) -> bool:
    """Whether X is not negative, and its rows have so few of the features with a positive weight.

    Then bounds by columns are cheap, and tight.
    """
    if task.n_points < MANY_POINTS or not task.non_negative:
        return False
    entries = int(task.column_lengths[problem.w[:-1] > 0].sum())
    return entries <= per_row * task.n_points


def _likest(scores: NDArray[Any]) -> NDArray[np.int64]:
    """About one in `POOL` rows: those with the largest scores, by a sample's quantile."""
    sample = np.sort(scores[::POOL])
    return np.flatnonzero(scores > sample[-max(1, len(sample) // POOL)])


def _look_at_pool(task: LinearTask, problem: _Problem, memory: _Memory) -> None:
    """Let violators of the pool enter; when it has hardly any, it has done its service."""
    began = time.perf_counter()
    assert problem.pool is not None
    loss, entering = _violators(task, problem, problem.pool, memory)
    value = problem.primal + loss
    gap = (value - problem.dual) / max(value, np.finfo(float).tiny)
    problem.tol = min(problem.tol, max(FINAL * task.tol, STEP * gap))
    spent = problem.rounds >= MAX_ROUNDS or problem.sweeps >= MAX_ALL_SWEEPS
    if gap <= POOL_GAP or not len(entering) or spent:
        problem.pool = None
    _enter(problem, entering)
    problem.seconds += time.perf_counter() - began


def _look(task: LinearTask, problem: _Problem, bounds: NDArray[Any], memory: _Memory) -> bool:
    """Value and gap over all points; True when solved, else the worst violators enter."""
    count = open_rows(bounds, _limit(task, problem, memory), memory.rows)
    if not problem.pooled and count > 2 * task.n_points // POOL > 4 * len(problem.rows):
        problem.pool, problem.pooled = _likest(bounds), True  # far from the end: no certificate yet
        return False
    loss, entering = _violators(task, problem, memory.rows[:count], memory)
    problem.value = problem.primal + loss
    problem.gap = (problem.value - problem.dual) / max(problem.value, np.finfo(float).tiny)
    if problem.gap <= task.tol:
        return True
    problem.tol = min(problem.tol, max(FINAL * task.tol, STEP * problem.gap))
    if not len(entering):
        problem.tol = FINAL * task.tol
    _enter(problem, entering)
    return False


def _limit(task: LinearTask, problem: _Problem, memory: _Memory) -> Any:
    """A bound in single precision that is not above this proves that a score is at most -1."""
    norm = float(np.sqrt(problem.w @ problem.w))
    if not norm < LARGEST:
        return memory.kind.type(np.nan)  # which proves nothing of any row
    return np.nextafter(memory.kind.type(-1.0 - task.doubt * norm), memory.kind.type(-np.inf))


def _violators(
    task: LinearTask, problem: _Problem, rows: NDArray[np.int64], memory: _Memory
) -> tuple[float, NDArray[np.int64]]:
    """Loss of the negatives among `rows` that are not in the working set, and the worst of them."""
    nothing = np.empty(0)
    memory.inside[problem.rows] = True
    memory.inside[problem.positive_rows] = True
    count = violators(
        task.indptr, task.indices, task.data, task.bias, problem.w, rows,
        nothing if problem.weights is None else problem.weights, memory.inside, memory.found,
        memory.costs,
    )  # fmt: skip
    memory.inside[problem.rows] = False
    memory.inside[problem.positive_rows] = False
    found, costs = memory.found[:count], memory.costs[:count]
    allowed = max(ENTER, len(problem.rows) // 2)
    loss = float(costs.sum()) / problem.strength
    if count > allowed:
        worst = np.empty(allowed, dtype=np.int64)
        largest(costs, allowed, worst)
        found = found[np.sort(worst)]
    return loss, found.copy()
