"""Kernels of the Newton solver: passes over X for a block of problems at once.

Arrays of a block are row-major, (D + 1, B) or (N, B), one column per problem, so the inner loops
run over neighbours in memory and X is read once for all problems. Every operation stays within its
column and goes through the rows in order: what a problem gets does not depend on its neighbours.
The bias is the last weight, on a constant feature of value `bias` that X does not store.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.solvers.linear._loss_kernels import point_curvature, point_loss, point_slope


@kernel
def gradient_pass(
    indptr,
    indices,
    data,
    bias,
    z,
    targets,
    weights,
    loss,
    strength,
    w,
    gradient,
    diagonal,
    curvature,
):
    """Gradient, diagonal of the Hessian, and curvature of every point. O(nnz·B)."""
    width = unsigned(z.shape[1])
    d = unsigned(w.shape[0] - 1)
    slope = np.empty(z.shape[1])
    bend = np.empty(z.shape[1])
    for j in range(d + unsigned(1)):
        for b in range(width):
            gradient[j, b] = strength[b] * w[j, b]
            diagonal[j, b] = strength[b]
    for i in range(unsigned(z.shape[0])):
        still = True
        for b in range(width):
            t = targets[i, b]
            slope[b] = weights[i, b] * point_slope(loss, t, z[i, b])
            bend[b] = weights[i, b] * point_curvature(loss, t, z[i, b])
            curvature[i, b] = bend[b]
            if slope[b] != 0.0 or bend[b] != 0.0:
                still = False
        if still:
            continue
        for p in range(indptr[i], indptr[i + unsigned(1)]):
            j = unsigned(indices[p])
            x = np.float64(data[p])
            xx = x * x
            for b in range(width):
                gradient[j, b] += x * slope[b]
            for b in range(width):
                diagonal[j, b] += xx * bend[b]
        for b in range(width):
            gradient[d, b] += bias * slope[b]
            diagonal[d, b] += bias * bias * bend[b]


@kernel
def hessian_pass(indptr, indices, data, bias, curvature, strength, direction, product):
    """product = H·direction, in the precision of its arguments. O(nnz·B)."""
    width = unsigned(curvature.shape[1])
    d = unsigned(direction.shape[0] - 1)
    total = np.empty(curvature.shape[1], dtype=direction.dtype)
    for j in range(d + unsigned(1)):
        for b in range(width):
            product[j, b] = strength[b] * direction[j, b]
    for i in range(unsigned(curvature.shape[0])):
        for b in range(width):
            total[b] = bias * direction[d, b]
        for p in range(indptr[i], indptr[i + unsigned(1)]):
            j = unsigned(indices[p])
            x = data[p]
            for b in range(width):
                total[b] += x * direction[j, b]
        still = True
        for b in range(width):
            total[b] *= curvature[i, b]
            if total[b] != 0.0:
                still = False
        if still:
            continue
        for p in range(indptr[i], indptr[i + unsigned(1)]):
            j = unsigned(indices[p])
            x = data[p]
            for b in range(width):
                product[j, b] += x * total[b]
        for b in range(width):
            product[d, b] += bias * total[b]


@kernel
def start_cg(gradient, diagonal, step, residual, direction, rho):
    """step = 0, residual = -gradient, direction = residual / diagonal. O(D·B)."""
    width = gradient.shape[1]
    for b in range(width):
        rho[b] = 0.0
    for j in range(gradient.shape[0]):
        for b in range(width):
            step[j, b] = 0.0
            residual[j, b] = -gradient[j, b]
            towards = residual[j, b] / diagonal[j, b]
            direction[j, b] = towards
            rho[b] += residual[j, b] * towards


@kernel
def advance_cg(diagonal, direction, product, step, residual, rho, enough, going):
    """One conjugate-gradient step of every column that is `going`; marks those that end. O(D·B).

    Returns how many go on.
    """
    width = rho.shape[0]
    alpha = np.zeros(width)
    for j in range(direction.shape[0]):
        for b in range(width):
            alpha[b] += np.float64(direction[j, b]) * product[j, b]
    for b in range(width):
        if going[b] and alpha[b] > 0.0 and alpha[b] < np.inf:
            alpha[b] = rho[b] / alpha[b]
        else:
            alpha[b] = 0.0
            going[b] = False
    new = np.zeros(width)
    for j in range(direction.shape[0]):
        for b in range(width):
            if alpha[b] != 0.0:
                step[j, b] += alpha[b] * direction[j, b]
                residual[j, b] -= alpha[b] * product[j, b]
                new[b] += residual[j, b] * residual[j, b] / diagonal[j, b]
    left = 0
    beta = np.zeros(width)
    for b in range(width):
        if going[b]:
            if new[b] <= enough[b]:
                going[b] = False
            else:
                beta[b] = new[b] / rho[b]
                rho[b] = new[b]
                left += 1
    for j in range(direction.shape[0]):
        for b in range(width):
            if going[b]:
                direction[j, b] = residual[j, b] / diagonal[j, b] + beta[b] * direction[j, b]
            else:
                direction[j, b] = 0.0
    return left


@kernel
def values_along(z, step_scores, lengths, targets, weights, loss, strength, w, step, out):
    """Objective of every problem at w + length·step. O((N + D)·B)."""
    width = z.shape[1]
    for b in range(width):
        out[b] = 0.0
    for j in range(w.shape[0]):
        for b in range(width):
            u = w[j, b] + lengths[b] * step[j, b]
            out[b] += u * u
    for b in range(width):
        out[b] *= 0.5 * strength[b]
    for i in range(z.shape[0]):
        for b in range(width):
            if weights[i, b] != 0.0:
                score = z[i, b] + lengths[b] * step_scores[i, b]
                out[b] += weights[i, b] * point_loss(loss, targets[i, b], score)


@kernel
def move(z, step_scores, lengths, w, step):
    """w += length·step and z likewise. O((N + D)·B)."""
    width = z.shape[1]
    for j in range(w.shape[0]):
        for b in range(width):
            w[j, b] += lengths[b] * step[j, b]
    for i in range(z.shape[0]):
        for b in range(width):
            z[i, b] += lengths[b] * step_scores[i, b]
