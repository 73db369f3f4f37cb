"""Kernels of the proximal solvers: one problem at a time, X by columns and by rows.

Weights are sparse, so scores are summed over the columns that have a weight; few points have a
slope, so gradients are summed over the rows that have one. The bias is the last weight, on a
constant feature of value `bias` that X does not store.
"""

from __future__ import annotations

import math

from longtail._numba import kernel, unsigned
from longtail.solvers.linear._loss_kernels import SQUARED_HINGE, point_loss, point_slope, sigmoid


@kernel
def column_scores(indptr, indices, data, bias, w, z):
    """z = X w, X by columns. O(N + nnz of the columns with a weight)."""
    d = w.shape[0] - 1
    z[:] = bias * w[d]
    for j in range(d):
        weight = w[j]
        if weight != 0.0:
            for p in range(indptr[j], indptr[j + 1]):
                z[unsigned(indices[p])] += weight * data[p]


@kernel
def total_loss(loss, targets, weights, z):
    """Σ weight·loss. O(N)."""
    total = 0.0
    for i in range(z.shape[0]):
        total += weights[i] * point_loss(loss, targets[i], z[i])
    return total


@kernel
def loss_gradient(indptr, indices, data, bias, loss, targets, weights, z, gradient):
    """Gradient of Σ weight·loss in w, X by rows. O(N + D + nnz of the rows with a slope)."""
    d = gradient.shape[0] - 1
    gradient[:] = 0.0
    total = 0.0
    for i in range(z.shape[0]):
        slope = weights[i] * point_slope(loss, targets[i], z[i])
        if slope != 0.0:
            total += slope
            for p in range(indptr[i], indptr[i + 1]):
                gradient[unsigned(indices[p])] += slope * data[p]
    gradient[d] = bias * total


@kernel
def total_surplus(loss, targets, weights, z, there):
    """How far Σ weight·loss at the scores `there` lies above its tangent at z. O(N).

    Each point is taken by a formula of its own, in which nothing cancels: near the optimum the
    difference of two totals is all rounding.
    """
    total = 0.0
    for i in range(z.shape[0]):
        t = targets[i]
        if loss == SQUARED_HINGE:
            part = t * _hinge_surplus(z[i], there[i]) + (1.0 - t) * _hinge_surplus(-z[i], -there[i])
        else:
            part = _logistic_surplus(z[i], there[i])
        total += weights[i] * part
    return total


@kernel
def _hinge_surplus(z, there):
    """max(0, 1 - there)² - max(0, 1 - z)² + 2·max(0, 1 - z)·(there - z)."""
    if z >= 1.0:
        slack = max(0.0, 1.0 - there)
        return slack * slack
    if there <= 1.0:
        return (there - z) * (there - z)
    slack = 1.0 - z
    return slack * slack + 2.0 * slack * (there - 1.0)


@kernel
def _logistic_surplus(z, there):
    """The same of log(1 + e^-z); a target adds a linear term, which has no surplus."""
    if z < 0.0:  # log(1 + e^z) differs by a linear term; so p is the small one, and 1 - p exact
        z, there = -z, -there
    change = there - z
    p = sigmoid(-z)
    if abs(change) < 1e-4:
        return 0.5 * p * (1.0 - p) * change * change * (1.0 - (1.0 - 2.0 * p) * change / 3.0)
    if abs(change) < 30.0:
        return math.log1p(p * math.expm1(-change)) + p * change
    return point_loss(1, 1.0, there) - point_loss(1, 1.0, z) + p * change
