"""Rounds of L-BFGS with a preconditioner: a cheap way into the neighbourhood of a minimum.

Far from the minimum of a multinomial loss with very many classes, Newton's quadratic model holds
only for tiny steps, as a step that is right for one class is far too long for another, and what
products with the Hessian tell is wasted. A line search along directions that follow from the last
few gradients needs only one evaluation per step. Near the minimum it is the other way round; see
`minimise`.

After every round the pairs of the memory are dropped, so that the state between two rounds is the
point alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

MEMORY = 6  # pairs of moves and changes of the gradient
ROUND = 50  # steps
ROUNDS = 10
ARMIJO = 1e-4  # share of the fall that the slope promises, from which on a step is taken
TRIALS = 20  # of a step

_Vector = NDArray[np.float64]


class Smooth(Protocol):
    """A function as it is needed here."""

    def evaluate(self, point: _Vector) -> tuple[float, _Vector]:
        """Value and gradient."""

    def cautious(self, residual: _Vector) -> _Vector:
        """An approximate inverse of a bound of the Hessian times a residual."""


def descend(
    function: Smooth,
    start: NDArray[np.float64],
    *,
    enough: float,
    noise: float = 1e-13,
    rounds: int = ROUNDS,
    done: int = 0,
    after_round: Callable[[NDArray[np.float64], int], None] | None = None,
) -> NDArray[np.float64]:
    """Go downhill in rounds of 50 steps until the norm of the gradient is small.

    Parameters
    ----------
    function : Smooth
    start : float64 array
    enough : float
        Norm of the gradient at which to stop; asked after a round.
    noise : float
        Relative rounding error of values: a rise by this much does not count.
    rounds, done : int
        Limit on rounds, and those that led to `start`.
    after_round : callable, optional
        Called with `(point, done)` after every round; `done` is the limit once no step lowers the
        value.

    Returns
    -------
    array
        The last point, of which the value is not above that of the start, except for the noise.

    Notes
    -----
    A step costs one evaluation, seldom more. Memory: twelve arrays like `start`.

    Examples
    --------
    >>> class Bowl:
    ...     def evaluate(self, point):
    ...         return float(point @ (point * [1, 30])) / 2, point * [1, 30]
    ...     def cautious(self, residual):
    ...         return residual / 30
    >>> found = descend(Bowl(), np.array([3.0, 4.0]), enough=1e-6)
    >>> bool(np.abs(found).max() < 1e-6)
    True
    """
    point = start
    value, gradient = function.evaluate(point)
    while done < rounds and np.linalg.norm(gradient) > enough:
        point, value, gradient, stuck = _round(function, point, value, gradient, noise)
        done = rounds if stuck else done + 1
        if after_round is not None:
            after_round(point, done)
    return point


def _round(function: Smooth, point: _Vector, value: float, gradient: _Vector, noise: float) -> Any:
    """Point, value and gradient after some steps, and whether there was no way down."""
    pairs: list[tuple[NDArray[np.float32], NDArray[np.float32], float]] = []
    for _ in range(ROUND):
        direction = _direction(function, gradient, pairs)
        slope, length = float(np.vdot(direction, gradient)), 1.0
        for _ in range(TRIALS):
            trial = point + length * direction
            trial_value, trial_gradient = function.evaluate(trial)
            rise = trial_value - value
            if rise <= ARMIJO * length * slope + noise * abs(value):
                break
            wanted = -slope * length**2 / (2 * (rise - slope * length))
            length = min(max(wanted, 0.1 * length), 0.5 * length)
        else:
            return point, value, gradient, True
        move = (trial - point).astype(np.float32)
        change = (trial_gradient - gradient).astype(np.float32)
        point, value, gradient = trial, trial_value, trial_gradient
        product = float(np.vdot(move, change))
        if product > 0:
            pairs = [*pairs[1 - MEMORY :], (move, change, product)]
        if not gradient.any():
            break
    return point, value, gradient, False


def _direction(function: Smooth, gradient: _Vector, pairs: list[Any]) -> _Vector:
    """The two loops of L-BFGS around the preconditioner."""
    turned = -gradient
    shares = []
    for move, change, product in reversed(pairs):
        shares.append(float(np.vdot(move, turned)) / product)
        turned -= shares[-1] * change
    turned = function.cautious(turned)
    for (move, change, product), share in zip(pairs, reversed(shares), strict=True):
        turned += (share - float(np.vdot(change, turned)) / product) * move
    return turned
