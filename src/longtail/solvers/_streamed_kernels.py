"""Kernels of streamed problems: a block of rows against all problems that are not solved yet.

Per row the products z_i·z_j and the z_i stand in one vector, which every problem that the row is
active in adds to its own: that is the Hessian and the linear part of the gradient at once.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned


@kernel
def add_rows(Z, signs, weights, folds, left_out, W, losses, moments):
    """Add the squared hinge losses of a block, and the moments of the rows within the margin.

    Z (n, p); W (p, B), one column per problem; losses (B,); moments (B, p(p + 1)/2 + p): the sums
    of weight·z_i·z_j for j <= i, row by row, and then those of weight·z_i. Problem b leaves out the
    rows of fold left_out[b]. O(n·B·p) and O(p²) for every row within a margin.
    """
    n, p = Z.shape
    width = unsigned(W.shape[1])
    size = unsigned(moments.shape[1])
    scores = np.empty(W.shape[1])
    products = np.empty(moments.shape[1])
    for i in range(n):
        weight = weights[i]
        if weight == 0.0:
            continue
        scores[:] = 0.0
        at = 0
        for j in range(p):
            z = signs[i] * Z[i, j]
            for b in range(width):
                scores[b] += z * W[j, b]
            for k in range(j + 1):
                products[at] = weight * (Z[i, j] * Z[i, k])
                at += 1
        for j in range(p):
            products[at] = weight * (signs[i] * Z[i, j])
            at += 1
        for b in range(width):
            short = 1.0 - scores[b]
            if short > 0.0 and folds[i] != left_out[b]:
                losses[b] += weight * (short * short)
                for q in range(size):
                    moments[b, q] += products[q]


@kernel
def add_linear(Z, signs, weights, folds, left_out, sums):
    """sums (B, p) += Σ weight·z over the rows of each problem. O(n·B·p)."""
    n, p = Z.shape
    for i in range(n):
        for b in range(sums.shape[0]):
            if folds[i] != left_out[b]:
                for j in range(p):
                    sums[b, j] += weights[i] * (signs[i] * Z[i, j])
