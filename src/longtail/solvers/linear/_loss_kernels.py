"""The losses of the solvers, point by point: value, slope and curvature in the margin.

A point with target t in [0, 1] and score z costs t·ℓ(z) + (1 - t)·ℓ(-z), so a hard positive is
t = 1, a hard negative t = 0, and a soft target lies between. ℓ is

- squared hinge (code 0): max(0, 1 - z)²; curvature 2 where the hinge is active, its generalised
  second derivative;
- logistic (code 1): log(1 + exp(-z)).
"""

from __future__ import annotations

import math

from longtail._numba import kernel

SQUARED_HINGE = 0
LOGISTIC = 1


@kernel
def point_loss(loss, t, z):
    """Cost of one point."""
    if loss == SQUARED_HINGE:
        value = 0.0
        if t > 0.0 and z < 1.0:
            value += t * (1.0 - z) * (1.0 - z)
        if t < 1.0 and z > -1.0:
            value += (1.0 - t) * (1.0 + z) * (1.0 + z)
        return value
    # log(1 + e^-z) + (1 - t)·z, written so that nothing overflows
    return max(-z, 0.0) + math.log1p(math.exp(-abs(z))) + (1.0 - t) * z


@kernel
def point_slope(loss, t, z):
    """Derivative of the cost in z."""
    if loss == SQUARED_HINGE:
        value = 0.0
        if t > 0.0 and z < 1.0:
            value -= 2.0 * t * (1.0 - z)
        if t < 1.0 and z > -1.0:
            value += 2.0 * (1.0 - t) * (1.0 + z)
        return value
    return sigmoid(z) - t


@kernel
def point_curvature(loss, t, z):
    """Second derivative of the cost in z."""
    if loss == SQUARED_HINGE:
        value = 0.0
        if t > 0.0 and z < 1.0:
            value += 2.0 * t
        if t < 1.0 and z > -1.0:
            value += 2.0 * (1.0 - t)
        return value
    p = sigmoid(z)
    return p * (1.0 - p)


@kernel
def sigmoid(z):
    """1 / (1 + e^-z) without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)
