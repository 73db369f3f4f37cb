"""Trust-region Newton for one smooth, strictly convex function of many variables.

The inner systems are solved by preconditioned conjugate gradients, only as exactly as the distance
to the optimum deserves, and only within a radius in which the quadratic model has proved right: far
from the optimum a step then costs a few products with the Hessian. Lengths are measured by the
preconditioner. Between two steps the state is the point and the radius, so a run that was killed
goes on from there and ends on the same point, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longtail.errors import ParameterError

MAX_CG = 250
ROUGH = 0.1  # accuracy of the inner systems far from the optimum
ACCEPTED = 1e-4  # share of the promised fall from which on a step is taken
POOR, GOOD = 0.25, 0.75  # shares below and above which the radius changes
NEAR = 0.1  # share of the gradient far away below which the first step is not held back
SMALLEST = 1e-14  # radius, relative to a first gradient step, that is lost in rounding
HALF = 0.5  # share to which a step below the rounding error of values has to bring the gradient

_Vector = NDArray[np.float64]


class Convex(Protocol):
    """A function as the minimiser needs it; its points are float64 arrays of any one shape."""

    def evaluate(self, point: _Vector) -> tuple[float, _Vector]:
        """Value and gradient; what follows is asked about the last point evaluated."""

    def curved(self, direction: _Vector) -> _Vector:
        """The Hessian times a direction."""

    def preconditioned(self, residual: _Vector) -> _Vector:
        """An approximate inverse of the Hessian times a residual, symmetric and positive."""


@dataclass(frozen=True)
class Minimum:
    """Where the minimiser ended."""

    point: NDArray[np.float64]
    value: float
    gradient_norm: float
    steps: int  # also those of earlier runs
    converged: bool  # whether the gradient is as small as asked


def minimise(
    function: Convex,
    start: NDArray[np.float64],
    *,
    enough: float,
    scale: float,
    max_iter: int = 100,
    noise: float = 1e-13,
    steps: int = 0,
    radius: float | None = None,
    after_step: Callable[[NDArray[np.float64], float, int], None] | None = None,
    sharpen: Callable[[], None] | None = None,
) -> Minimum:
    """Walk downhill until the gradient is small.

    Parameters
    ----------
    function : Convex
    start : float64 array
    enough : float
        Norm of the gradient at which to stop.
    scale : float
        Norm of the gradient far away, against which the inner accuracy is set.
    max_iter : int
        Limit on Newton steps, failed ones included.
    noise : float
        Relative rounding error of values: a rise by this much does not count.
    steps, radius
        Steps that led to `start`, and the radius after them, to go on from there.
    after_step : callable, optional
        Called with `(point, radius, steps)` after every step.
    sharpen : callable, optional
        For products with the Hessian that are not exact: called once, when they have misled a step
        near the minimum, to make them so from the next evaluation on.

    Returns
    -------
    Minimum

    Notes
    -----
    A step costs one evaluation, and some 5 to 100 products with the Hessian, at most 250; a failed
    one costs two evaluations. Memory: ten arrays like `start`.

    Examples
    --------
    >>> class Bowl:
    ...     def evaluate(self, point):
    ...         return float(point @ point) / 2, point.copy()
    ...     def curved(self, direction):
    ...         return direction
    ...     def preconditioned(self, residual):
    ...         return residual.copy()
    >>> minimise(Bowl(), np.array([3.0, 4.0]), enough=1e-9, scale=5.0).point.tolist()
    [0.0, 0.0]
    """
    if not (enough >= 0 and scale > 0):
        raise ParameterError("enough must not be negative and scale must be positive.")
    point = start
    value, gradient = function.evaluate(point)
    first = math.sqrt(float(np.vdot(gradient, function.preconditioned(gradient))))
    if radius is None:
        radius = math.inf if np.linalg.norm(gradient) < NEAR * scale else first
    while True:
        norm = float(np.linalg.norm(gradient))
        done = norm <= enough
        if done or steps >= max_iter or radius <= SMALLEST * first:
            return Minimum(point, value, norm, steps, done)
        accuracy = min(ROUGH, math.sqrt(norm / scale))
        step = newton_step(function, gradient, accuracy, radius)
        trial = point + step.move
        trial_value, trial_gradient = function.evaluate(trial)
        slack = noise * abs(value)
        share = (value - trial_value + slack) / (step.promised + slack)
        lost = step.promised <= slack and np.linalg.norm(trial_gradient) > HALF * norm
        if sharpen is not None and (lost or (norm < NEAR * scale and not share >= POOR)):
            sharpen()
            sharpen = None
            if share > ACCEPTED and trial_value <= value:
                point = trial
            value, gradient = function.evaluate(point)
            steps += 1
            if after_step is not None:
                after_step(point, radius, steps)
            continue
        if lost:
            return Minimum(point, value, norm, steps, False)  # only rounding is left
        if not share >= POOR:
            radius = step.length * (0.5 if share >= 0 else 0.25)
        elif share > GOOD and step.at_edge:
            radius *= 3.0
        if share > ACCEPTED:
            point, value, gradient = trial, trial_value, trial_gradient
        else:
            function.evaluate(point)  # whose curvature is asked for next
        steps += 1
        if after_step is not None:
            after_step(point, radius, steps)


@dataclass(frozen=True)
class Step:
    """An approximate minimum of the quadratic model within the radius."""

    move: NDArray[np.float64]
    length: float  # as the preconditioner measures it
    promised: float  # by how much the model falls
    at_edge: bool  # whether the radius cut it short


def newton_step(
    function: Convex, gradient: NDArray[np.float64], accuracy: float, radius: float
) -> Step:
    """Conjugate gradients for H move = -gradient, up to the accuracy or the radius (Steihaug).

    The squared lengths of the move (mm) and of the direction (dd) and their inner product (md), all
    in the norm of the preconditioner, follow by recurrences.
    """
    move = np.zeros_like(gradient)
    residual = -gradient
    direction = function.preconditioned(residual)
    rho = float(np.vdot(residual, direction))
    enough = accuracy**2 * rho
    mm, md, dd, promised = 0.0, 0.0, rho, 0.0
    for _ in range(MAX_CG):
        product = function.curved(direction)
        bend = float(np.vdot(direction, product))
        length = rho / bend if bend > 0 else math.inf
        if not mm + 2 * length * md + length**2 * dd < radius**2:
            length = (math.sqrt(md * md + dd * max(radius**2 - mm, 0.0)) - md) / dd
            move += length * direction
            return Step(move, radius, promised + length * rho - length**2 / 2 * bend, True)
        move += length * direction
        residual -= length * product
        promised += length * rho / 2
        mm += 2 * length * md + length**2 * dd
        corrected = function.preconditioned(residual)
        before, rho = rho, float(np.vdot(residual, corrected))
        if rho <= enough:
            break
        turn = rho / before
        md = turn * (md + length * dd)
        dd = rho + turn**2 * dd
        direction *= turn
        direction += corrected
    return Step(move, math.sqrt(mm), promised, False)
