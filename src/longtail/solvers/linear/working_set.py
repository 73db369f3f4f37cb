"""l1-regularised problems, solved on the features and points that matter to them.

A rare label is decided by few features, and at the start - no weights, bias -1 - every negative of
the squared hinge is satisfied exactly. So each problem begins with its positives alone and lets
features in, a few at a time, those first that promise the largest decrease for the points they
bring with them. On the features let in it takes proximal Newton steps: the products of these
features over the points with an active hinge are kept and follow the points that change sides,
coordinate descent on that small matrix gives the direction, a line search the length. Points that
have none of the features all share one score, the bias, so their part of the cost, of the gradient
and of the curvature is a closed form over column sums. Of the negatives that have some of the
features, most lie beyond their margin and cost nothing: these sleep. After some steps the scores of
all are computed once, the worst of those that cost something wake, and the steps go on; what is
minimised meanwhile is a lower bound, and the true cost once none wakes. When the working set is
solved, all features are looked at; the problem ends when none of them violates optimality by more
than the tolerance.

With s in the subdifferential and v = ‖s‖∞, F(w) - F(w*) ≤ v·(‖w‖₁ + ‖w*‖₁) ≤ v·(‖w‖₁ + F(w)/λ):
that is the proven gap. The true distance is of the order of its square.

Cost per problem, with A points awake, T touched, and E values of X in the W features let in: O(A +
values of X in these points and features) per Newton step, 20 to 40 of them on text; O(W²) per sweep
over the small matrix; O(T + E) each time that points may wake, two or three times per look; O(D +
nnz of the points that cost something) per look, of which there are three to eight. Memory: O(N + D
+ E + W²) per thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from longtail.runtime.run import Stopped
from longtail.runtime.workers import stopping
from longtail.solvers.linear._touched_kernels import (
    UNTOUCHED,
    Entries,
    Features,
    Matrix,
    Rows,
)
from longtail.solvers.linear._working_set_kernels import SOLVED, STOPPED, Limits, solve_problem
from longtail.solvers.linear.task import LinearTask, Solution

BATCH = 4  # features that enter first; later rounds let in as many as there are
DENSE = 4096  # features up to which their products are kept, 134 MB
NONE = np.empty(0)


def working_set_bytes(n_points: int, n_features: int) -> int:
    """Working memory of one problem in a block; the problems of a block come one after another."""
    return 1


def solve_working_set(task: LinearTask, problems: NDArray[np.int64]) -> list[Solution]:
    """Solve l1 problems one by one."""
    n, d = task.n_points, task.n_features
    rows = Rows(
        place=np.full(n, UNTOUCHED, dtype=np.int32),
        touched=np.empty(n, dtype=np.int32),
        total=np.zeros(n),
        row=np.empty(n, dtype=np.int32),
        stays=np.empty(n, dtype=np.bool_),
        end=np.empty(n, dtype=np.int64),
        **{
            name: np.empty(n)
            for name in Rows._fields
            if name not in ("place", "touched", "total", "row", "stays", "end")
        },
    )
    features = Features(
        np.full(d, -1, dtype=np.int32), np.zeros(d), np.empty(d, dtype=np.int64), np.empty(d)
    )
    room = 2**14
    entries = Entries(
        np.empty(room, dtype=np.int32), np.empty(room, dtype=task.data.dtype),
        np.empty(room, dtype=np.int32), np.empty(room, dtype=task.data.dtype),
    )  # fmt: skip
    solutions = []
    for problem in problems.tolist():
        began = time.perf_counter()
        strength = float(task.strength[problem])
        weights = task.weights(problem)
        sums = task.sums_of(weights) if task.weights_differ else task.shared_sums
        matrix = Matrix(task.indptr, task.indices, task.data, *task.columns, *sums)
        flip, positives, targets = _minority(task, problem, weights)
        sign = -1.0 if flip else 1.0
        start_features, start_weights = _start(task, problem, sign, targets)
        with _alarm(task.max_seconds) as late:
            members, found, value, violation, steps, status, entries = solve_problem(
                matrix, NONE if weights is None else weights, positives, targets, start_features,
                start_weights, task.bias, _bias_strength(task, strength), task.loss_code, strength,
                Limits(task.tol, task.max_iter, BATCH, DENSE), rows, features, entries, stopping(),
                late,
            )  # fmt: skip
        if status == STOPPED:
            raise Stopped
        members[0] = d
        found[0] /= task.bias or 1.0
        used = np.flatnonzero(found)
        used = np.concatenate([used[used > 0], used[used == 0]])  # the bias last
        norm = float(np.abs(found).sum())
        bound = violation * (norm + value / strength) / max(value, np.finfo(float).tiny)
        solutions.append(
            Solution(
                features=members[used],
                values=sign * found[used],
                objective=float(value),
                gap=float(bound) if task.penalize_bias else np.nan,
                iterations=int(steps),
                converged=status == SOLVED,
                seconds=time.perf_counter() - began,
                violation=float(violation / strength),
            )
        )
    return solutions


def _minority(
    task: LinearTask, problem: int, weights: NDArray[np.float64] | None
) -> tuple[bool, NDArray[np.int64], NDArray[np.float64]]:
    """Rows that are not plain negatives, with their targets; negatives are to be the many.

    Where positives outweigh negatives all targets are turned round, and so are the weights found.
    """
    rows, targets = task.positives(problem)
    mass = targets if weights is None else targets * weights[rows]
    total = task.n_points if weights is None else weights.sum()
    if 2.0 * mass.sum() <= total:
        return False, rows, targets
    turned = np.ones(task.n_points)
    turned[rows] = 1.0 - targets
    kept = np.flatnonzero(turned)
    return True, kept, turned[kept]


def _start(
    task: LinearTask, problem: int, sign: float, targets: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Features and weights to start from, the bias first, as the score that it brings."""
    start = task.start_of(problem)
    if start is not None:
        chosen = np.flatnonzero(start[:-1])
        first = [start[-1] * task.bias]
        return chosen, sign * np.concatenate([first, start[chosen]])
    first = [0.0]
    if task.bias > 0:
        on, all_of = float(targets.sum()), float(task.n_points)
        odds = (on + 0.5) / (all_of - on + 0.5)
        first = [-1.0 if task.loss == "squared_hinge" else float(np.log(odds))]
    return np.empty(0, dtype=np.int64), np.array(first)


def _bias_strength(task: LinearTask, strength: float) -> float:
    """Penalty on the bias, counted as the score that it brings."""
    return strength / task.bias if task.penalize_bias and task.bias > 0 else 0.0


@contextmanager
def _alarm(seconds: float | None) -> Iterator[NDArray[np.int8]]:
    """A flag that goes up when the time is over."""
    late = np.zeros(1, dtype=np.int8)
    if seconds is None:
        yield late
        return
    timer = threading.Timer(seconds, late.fill, args=(1,))
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
