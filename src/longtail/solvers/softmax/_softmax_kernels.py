"""Kernels of multinomial problems: a block of points against all classes, rows of one array each.

Arrays of scores and probabilities have one row per point of the block and one column per class.
They may be of single precision; what is summed over points is double. A block's first point is
`first` in the arrays of all points.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned


@kernel
def cross_terms(indptr, indices, targets, Z, first, out):
    """out_i = Σ_k t_ik z_ik in double precision. O(nnz of the targets)."""
    for i in range(Z.shape[0]):
        total = 0.0
        for p in range(indptr[first + i], indptr[first + i + 1]):
            total += targets[p] * np.float64(Z[i, indices[p]])
        out[i] = total


@kernel
def residuals(indptr, indices, targets, weights, P, totals, first, R, spread):
    """P /= totals, R = weight·(P - T), spread_k += Σ_i weight_i p_ik (1 - p_ik). O(points·K)."""
    width = unsigned(P.shape[1])
    for i in range(unsigned(P.shape[0])):
        row = first + np.int64(i)
        share = 1 / totals[i]
        weight = weights[row]
        for c in range(width):
            p = P[i, c] * share
            P[i, c] = p
            part = weight * p
            R[i, c] = part
            spread[c] += np.float64(part - part * p)
        for q in range(indptr[row], indptr[row + 1]):
            R[i, indices[q]] -= weight * targets[q]


@kernel
def normalise(P, totals):
    """P /= totals, row by row."""
    for i in range(unsigned(P.shape[0])):
        share = 1 / totals[i]
        for c in range(unsigned(P.shape[1])):
            P[i, c] *= share


@kernel
def curvature_rows(weights, P, means, first, Z):
    """Z = weight·P∘(Z - mean), the Hessian in the scores times Z. O(points·K)."""
    for i in range(unsigned(P.shape[0])):
        weight = weights[first + np.int64(i)]
        mean = means[i]
        for c in range(unsigned(P.shape[1])):
            Z[i, c] = weight * P[i, c] * (Z[i, c] - mean)
