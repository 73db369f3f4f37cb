"""Newton's method with factorised Hessians, for logistic problems on few, dense features.

Where every point has most of the features and there are a few hundred of them at most, the Hessian
is small and matrix products make it fast, so that each step is exact however badly conditioned the
problem is; conjugate gradients need hundreds of passes over such data. The stopping rule is the
proven relative gap of `longtail.solvers.linear.newton`.

Cost: O(N·D²) per step and problem, in matrix products, and some 5 to 10 steps; one or two from a
warm start.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from longtail.runtime.workers import check_running
from longtail.solvers.linear.newton import TINY, first_weights
from longtail.solvers.linear.task import LinearTask, Solution

MOST_FEATURES = 512
LEAST_DENSITY = 0.3
HALVINGS = 40


def few_and_dense(n_points: int, n_features: int, n_stored: int) -> bool:
    """Whether the features are few and dense, which suits this solver."""
    return n_features <= MOST_FEATURES and n_stored >= LEAST_DENSITY * n_points * n_features > 0


def direct_bytes(n_points: int, n_features: int) -> int:
    """Working memory of one problem: a scaled copy of X for its Hessian."""
    return 8 * (n_points + n_features) * (n_features + 1)


def solve_direct(task: LinearTask, problems: NDArray[np.int64]) -> list[Solution]:
    """Solve some problems, one after the other."""
    solutions = []
    for problem in problems.tolist():
        began = time.perf_counter()
        solution = _solved(task, problem)
        solution.seconds = time.perf_counter() - began
        solutions.append(solution)
    return solutions


def _solved(task: LinearTask, problem: int) -> Solution:
    A = task.dense
    targets = np.zeros(task.n_points)
    rows, values = task.positives(problem)
    targets[rows] = values
    weights: Any = task.weights(problem)
    if weights is None:
        weights = 1.0
    elif (kept := weights > 0).mean() < 0.9:
        A, targets, weights = A[kept], targets[kept], weights[kept]
    strength = float(task.strength[problem])

    def value_of(w: NDArray[np.float64], z: NDArray[np.float64]) -> float:
        losses = np.logaddexp(0.0, z) - targets * z
        return 0.5 * strength * float(w @ w) + float(np.sum(weights * losses))

    w = first_weights(task, problem)
    z = A @ w
    value = value_of(w, z)
    iterations, falls = 0, True
    while True:
        chance = expit(z)
        gradient = A.T @ (weights * (chance - targets)) + strength * w
        gap = float(gradient @ gradient) / (2.0 * strength)
        converged = gap <= task.tol * value
        if converged or not falls or iterations >= task.max_iter:
            break
        check_running()
        step = _step(A, weights * chance * (1.0 - chance), strength, gradient)
        along, slope = A @ step, float(gradient @ step)
        length, falls = 1.0, False
        for _ in range(HALVINGS):
            trial = value_of(w + length * step, z + length * along)
            if trial <= value + 1e-4 * length * slope:
                w, z, value, falls = w + length * step, z + length * along, trial, True
                break
            length *= 0.5
        iterations += falls
    features = np.flatnonzero(w)
    return Solution(
        features=features, values=w[features], objective=value, gap=gap / max(value, TINY),
        iterations=iterations, converged=converged,
    )  # fmt: skip


def _step(
    A: NDArray[np.float64],
    curvature: NDArray[np.float64],
    strength: float,
    gradient: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Solve H step = -gradient; the diagonal is raised where rounding has made H indefinite."""
    scaled = A * np.sqrt(curvature)[:, None]
    hessian = scaled.T @ scaled
    raised = strength
    while True:
        hessian.flat[:: len(hessian) + 1] += raised
        try:
            return -cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        except LinAlgError:
            raised = max(10.0 * raised, 1e-12 * float(np.trace(hessian)))
