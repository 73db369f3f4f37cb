"""Proximal gradient methods for the l1 penalty: Algorithm 1 of the paper, and accelerated.

Babbar & Schölkopf, Data scarcity, robustness and extreme multi-label classification, Machine
Learning 108, 2019. For one label, with H the sum of the losses and λ the strength,

    minimise  F(w) = λ‖w‖₁ + H(w)                                                        (5)

by steps of length γ, forward along the gradient of H and back towards the axes:

    u = w - γ ∇H(w),      w' = sign(u)·max(|u| - λγ, 0).

The threshold is λγ, since w' minimises γλ‖w‖₁ + ½‖w - u‖². The paper prints λγ/2 in line 4 of the
algorithm, which solves (5) at half the strength, and λ in equation (6), which solves it at λ/γ.

γ starts at a high value and is halved until, as the paper asks,

    H(w') <= H(w) + ⟨∇H(w), w' - w⟩ + ‖w' - w‖² / (2γ),

and every step first tries twice the length of the last one: once most hinges are at rest, longer
steps will do.

The accelerated form (Beck & Teboulle 2009) steps from a point ahead of w, tries a tenth more than
the last length each time (Scheinberg, Goldfarb & Bai 2014), begins afresh from w whenever F would
rise (O'Donoghue & Candès 2015), and measures each weight in units of the norm of its column, so
that the bias does not hold up the rare features.

These are simple, so they serve as reference and certificate; `working_set` is the fast solver.

Cost per step: O(N + D) and the nonzeros of the columns with a weight and of the rows with a slope,
at most O(nnz); the scores are computed once more for every halving. On Bibtex some 400 accelerated
steps reach a violation of 1e-4; the plain form needs many thousands for 1e-2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longtail.runtime.workers import check_running
from longtail.solvers.linear._proximal_kernels import (
    column_scores,
    loss_gradient,
    total_loss,
    total_surplus,
)
from longtail.solvers.linear.task import LinearTask, Solution

Vector = NDArray[np.float64]

HIGH = 1.0  # the length that the first step tries
LONGEST = 2.0**60
SHORTEST = 2.0**-1000  # numbers so large that no step of any length makes sense
GROW = 1.1  # how much more than the last length an accelerated step tries
STEPS = 10  # gradient steps for each iteration that the task allows
ROUNDING = 1e-14  # of sums over the points
LOOK = 10  # accelerated steps between two looks at the optimality conditions


@dataclass(frozen=True)
class Step:
    """Where a solver is after a step."""

    w: Vector  # the bias last
    length: float  # γ of the step that led here; NaN at the start
    objective: float  # F(w)
    violation: float  # relative to the strength; NaN where it was not computed


class L1Problem:
    """One column of a task as a sum of a smooth loss H and the l1 penalty."""

    def __init__(self, task: LinearTask, number: int) -> None:
        self.task = task
        self.strength = float(task.strength[number])
        self.targets = np.zeros(task.n_points)
        rows, values = task.positives(number)
        self.targets[rows] = values
        weights = task.weights(number)
        self.weights = np.ones(task.n_points) if weights is None else weights
        start = task.start_of(number)
        self.start = np.zeros(task.n_features + 1) if start is None else start

    def scores(self, w: Vector) -> Vector:
        """X w."""
        z = np.empty(self.task.n_points)
        column_scores(*self.task.columns, self.task.bias, w, z)
        return z

    def column_norms(self) -> Vector:
        """Norm of every column of X, the rows weighted, and of the bias; one where it is zero."""
        task = self.task
        sums = task.sums_of(self.weights) if task.weights_differ else task.shared_sums
        squares = np.append(sums[2], task.bias**2 * self.weights.sum())
        return np.sqrt(np.where(squares > 0, squares, 1.0))

    def loss(self, z: Vector) -> float:
        """H, by the scores."""
        return float(total_loss(self.task.loss_code, self.targets, self.weights, z))

    def gradient(self, z: Vector) -> Vector:
        """∇H in w, by the scores."""
        task = self.task
        out = np.empty(task.n_features + 1)
        loss_gradient(
            task.indptr, task.indices, task.data, task.bias, task.loss_code, self.targets,
            self.weights, z, out,
        )  # fmt: skip
        return out

    def surplus(self, z: Vector, there: Vector) -> float:
        """H at the scores `there` less its tangent at z; never negative."""
        return float(total_surplus(self.task.loss_code, self.targets, self.weights, z, there))

    def penalised(self, w: Vector) -> Vector:
        """The weights that the penalty holds for."""
        return w if self.task.penalize_bias else w[:-1]

    def objective(self, w: Vector, z: Vector) -> float:
        """F, by the weights and their scores."""
        return self.strength * float(np.abs(self.penalised(w)).sum()) + self.loss(z)

    def backward(self, u: Vector, lengths: Vector | float) -> Vector:
        """The proximal step: what minimises λ·Σ length_j·|w_j| + ½‖w - u‖²."""
        w = np.sign(u) * np.maximum(np.abs(u) - self.strength * lengths, 0.0)
        if not self.task.penalize_bias:
            w[-1] = u[-1]
        return w

    def violation(self, w: Vector, gradient: Vector) -> float:
        """Largest entry of the smallest subgradient of F, relative to the strength."""
        g, v, strength = self.penalised(gradient), self.penalised(w), self.strength
        distance = np.where(
            v == 0, np.maximum(np.abs(g) - strength, 0.0), g + strength * np.sign(v)
        )
        worst = float(np.abs(distance).max(initial=0.0))
        if not self.task.penalize_bias:
            worst = max(worst, abs(float(gradient[-1])))
        return worst / strength


def proximal_bytes(n_points: int, n_features: int) -> int:
    """Working memory of one problem: some ten columns of points and of weights.

    The problems of a block come one after another, so a block needs no more; X by columns comes on
    top, once for all.
    """
    return 8 * 10 * (n_points + n_features + 1)


def solve_proximal(task: LinearTask, problems: NDArray[np.int64]) -> list[Solution]:
    """Solve a block of l1 problems by Algorithm 1 of the paper."""
    return _solve(task, problems, proximal_steps)


def solve_accelerated(task: LinearTask, problems: NDArray[np.int64]) -> list[Solution]:
    """Solve a block of l1 problems by accelerated proximal gradient steps."""
    return _solve(task, problems, accelerated_steps)


def proximal_steps(problem: L1Problem) -> Iterator[Step]:
    """The steps of Algorithm 1, from the start on; ends where rounding stops them."""
    w = problem.start
    z = problem.scores(w)
    metric = np.ones_like(w)
    taken, length = math.nan, HIGH
    while True:
        gradient = problem.gradient(z)
        yield Step(w, taken, problem.objective(w, z), problem.violation(w, gradient))
        while True:
            w_new, z_new, fits = _try(problem, w, z, gradient, length, metric)
            if fits:
                break
            length /= 2
            if length < SHORTEST:
                return
        if np.array_equal(w_new, w):
            return
        w, z, taken = w_new, z_new, length
        length = min(2 * length, LONGEST)


def accelerated_steps(problem: L1Problem) -> Iterator[Step]:
    """The accelerated steps, from the start on; F never rises; ends where rounding stops them."""
    w = before = problem.start
    z = z_before = problem.scores(w)
    metric = problem.column_norms()
    value = problem.objective(w, z)
    yield Step(w, math.nan, value, problem.violation(w, problem.gradient(z)))
    steps, t, taken, length = 0, 0.0, HIGH, HIGH
    while True:
        while True:
            t_new = 0.5 + math.sqrt(0.25 + t * t * taken / length)
            push = (t - 1.0) / t_new if t else 0.0
            ahead, z_ahead = w + push * (w - before), z + push * (z - z_before)
            gradient = problem.gradient(z_ahead)
            w_new, z_new, fits = _try(problem, ahead, z_ahead, gradient, length, metric)
            if fits:
                break
            length /= 2
            if length < SHORTEST:
                return
        value_new = problem.objective(w_new, z_new)
        if t and value_new > value * (1 + ROUNDING):
            t = 0.0
            continue
        if np.array_equal(w_new, w) and np.array_equal(before, w):
            return
        before, z_before, w, z = w, z, w_new, z_new
        value, t, taken = value_new, t_new, length
        length = min(GROW * length, LONGEST)
        steps += 1
        look = steps % LOOK == 0
        violation = problem.violation(w, problem.gradient(z)) if look else math.nan
        yield Step(w, taken, value, violation)


def _try(
    problem: L1Problem, w: Vector, z: Vector, gradient: Vector, length: float, metric: Vector
) -> tuple[Vector, Vector, bool]:
    """A step from w, its scores, and whether H stays below its quadratic model there.

    The metric says how long a unit of each weight is: ones for the paper's steps.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = length / metric
        w_new = problem.backward(w - lengths * gradient, lengths)
        z_new = problem.scores(w_new)
        change = w_new - w
        model = float(change @ (metric * change)) / (2 * length)
    return w_new, z_new, problem.surplus(z, z_new) <= model


def _solve(
    task: LinearTask,
    problems: NDArray[np.int64],
    steps: Callable[[L1Problem], Iterator[Step]],
) -> list[Solution]:
    limit = math.inf if task.max_seconds is None else task.max_seconds
    solutions = []
    for number in problems.tolist():
        began = time.perf_counter()
        problem = L1Problem(task, number)
        taken = 0
        for taken, at in enumerate(steps(problem)):
            check_running()
            if at.violation <= task.tol or taken >= STEPS * task.max_iter:
                break
            if time.perf_counter() - began > limit:
                break
        violation = problem.violation(at.w, problem.gradient(problem.scores(at.w)))
        used = np.flatnonzero(at.w)
        solutions.append(
            Solution(
                features=used,
                values=at.w[used],
                objective=at.objective,
                gap=_proven_gap(problem, at.w, at.objective, violation),
                iterations=taken,
                converged=violation <= task.tol,
                seconds=time.perf_counter() - began,
                violation=violation,
            )
        )
    return solutions


def _proven_gap(problem: L1Problem, w: Vector, objective: float, violation: float) -> float:
    """Relative bound on the distance to the optimum F*.

    For s in the subdifferential of F at w, F(w) - F* <= ⟨s, w - w*⟩ <= ‖s‖∞·(‖w‖₁ + ‖w*‖₁), and
    ‖w*‖₁ <= F*/λ <= F(w)/λ where the penalty holds for the bias too.
    """
    if not problem.task.penalize_bias:
        return math.nan
    if objective <= 0.0:
        return 0.0
    reach = float(np.abs(w).sum()) + objective / problem.strength
    return violation * problem.strength * reach / objective
