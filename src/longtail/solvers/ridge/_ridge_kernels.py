"""Kernels of ridge regression: many right-hand sides at once, each by itself to the last bit.

Dense arrays hold one row per feature, the bias last, and one column per problem. No sum runs across
columns, so the result of a column does not depend on which others stand beside it.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned


@kernel
def normal_times(indptr, indices, data, bias, strength, P, row, out):
    """out = (X̃'X̃ + strength·I) P in one look at X. O(nnz·columns).

    `row` has one entry per column.
    """
    constant = unsigned(P.shape[0] - 1)
    width = unsigned(P.shape[1])
    for j in range(constant + unsigned(1)):
        for c in range(width):
            out[j, c] = strength * P[j, c]
    for i in range(unsigned(indptr.shape[0] - 1)):
        begin, end = unsigned(indptr[i]), unsigned(indptr[i + unsigned(1)])
        for c in range(width):
            row[c] = bias * P[constant, c]
        for p in range(begin, end):
            j = unsigned(indices[p])
            value = np.float64(data[p])
            for c in range(width):
                row[c] += value * P[j, c]
        for p in range(begin, end):
            j = unsigned(indices[p])
            value = np.float64(data[p])
            for c in range(width):
                out[j, c] += value * row[c]
        for c in range(width):
            out[constant, c] += bias * row[c]


@kernel
def take_step(W, R, P, HP, rhs, inverse_diagonal, step, sums):
    """W += step·P and R -= step·HP, with the sums of a stopping test. O(features·columns).

    The rows of `sums`: r·r, r·M⁻¹r, w·(b + r) and w·w.
    """
    sums[:] = 0.0
    residual, preconditioned, cross, length = sums[0], sums[1], sums[2], sums[3]
    for j in range(unsigned(W.shape[0])):
        scale = inverse_diagonal[j]
        for c in range(unsigned(W.shape[1])):
            w = W[j, c] + step[c] * P[j, c]
            r = R[j, c] - step[c] * HP[j, c]
            W[j, c] = w
            R[j, c] = r
            residual[c] += r * r
            preconditioned[c] += r * r * scale
            cross[c] += w * (rhs[j, c] + r)
            length[c] += w * w


@kernel
def turn(R, inverse_diagonal, share, P):
    """The next directions: P = M⁻¹R + share·P."""
    for j in range(unsigned(P.shape[0])):
        scale = inverse_diagonal[j]
        for c in range(unsigned(P.shape[1])):
            P[j, c] = scale * R[j, c] + share[c] * P[j, c]
