"""Kernels of a look at all points: which of them violate their margin, and by how much.

A look screens first and computes then. Screening gives every row an upper bound of its score in
single precision: the score itself, for all problems of a block at once, or, where X has no
negative entries, the sum over the columns with a positive weight. A row whose bound stays below -1
by more than all rounding costs nothing as a negative. The others are computed in double precision,
in the order of the rows, so a certificate does not depend on how its rows were screened.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.solvers.linear._dual_kernels import row_score


@kernel
def block_scores(indptr, indices, data, bias, weights, out):
    """out[b] = X weights[:, b] for the problems of a block, reading X once. O(nnz·B).

    In the precision of the arguments; four entries are added at a time, which saves three of four
    ways to memory and back.
    """
    d = unsigned(weights.shape[0] - 1)
    width = unsigned(weights.shape[1])
    total = np.empty(weights.shape[1], dtype=weights.dtype)
    for i in range(unsigned(out.shape[1])):
        for b in range(width):
            total[b] = bias * weights[d, b]
        p = unsigned(indptr[i])
        last = unsigned(indptr[i + unsigned(1)])
        while p + unsigned(4) <= last:
            x, j = data[p], unsigned(indices[p])
            x1, j1 = data[p + unsigned(1)], unsigned(indices[p + unsigned(1)])
            x2, j2 = data[p + unsigned(2)], unsigned(indices[p + unsigned(2)])
            x3, j3 = data[p + unsigned(3)], unsigned(indices[p + unsigned(3)])
            for b in range(width):
                total[b] += (x * weights[j, b] + x1 * weights[j1, b]) + (
                    x2 * weights[j2, b] + x3 * weights[j3, b]
                )
            p += unsigned(4)
        while p < last:
            x, j = data[p], unsigned(indices[p])
            for b in range(width):
                total[b] += x * weights[j, b]
            p += unsigned(1)
        for b in range(width):
            out[b, i] = total[b]


@kernel
def column_bounds(column_indptr, row_indices, column_data, bias, w, out):
    """out[i] = bias·w_bias + Σ max(w_j, 0)·x_ij: bounds of the scores where X has no entry below 0.

    O(D + N + entries of the columns with a positive weight).
    """
    d = w.shape[0] - 1
    out[:] = bias * w[d]
    for j in range(d):
        weight = w[j]
        if weight > 0.0:
            for p in range(unsigned(column_indptr[j]), unsigned(column_indptr[j + 1])):
                out[unsigned(row_indices[p])] += weight * column_data[p]


@kernel
def open_rows(bounds, limit, out):
    """Rows whose bound is not at or below the limit, in order; returns how many. O(N)."""
    n = bounds.shape[0]
    count = 0
    for start in range(0, n, 32):
        end = min(start + 32, n)
        some = 0
        for i in range(unsigned(start), unsigned(end)):
            some += not bounds[i] <= limit  # one instruction for many rows; true for NaN
        if some:
            for i in range(unsigned(start), unsigned(end)):
                if not bounds[i] <= limit:
                    out[count] = i
                    count += 1
    return count


@kernel
def violators(indptr, indices, data, bias, w, rows, weights, inside, found, costs):
    """Negatives among `rows` with a loss, those in the working set (`inside`) left out.

    Fills `found` and `costs`, in the order of `rows`, and returns how many. O(nnz of the rows).
    """
    d = w.shape[0] - 1
    count = 0
    for r in range(rows.shape[0]):
        i = unsigned(rows[r])
        if inside[i]:
            continue
        first = unsigned(indptr[i])
        last = unsigned(indptr[i + unsigned(1)])
        slack = 1.0 + (bias * w[d] + row_score(indices, data, first, last, w))
        cost = slack * slack if slack > 0.0 else 0.0
        if weights.shape[0]:
            cost *= weights[i]
        if cost > 0.0:
            found[count] = i
            costs[count] = cost
            count += 1
    return count


@kernel
def largest(values, wanted, places):
    """Where the `wanted` largest values are, -inf left out, the earlier of equal ones first.

    Fills `places`, in no order, and returns how many. O(n + log(wanted) per value that is among
    the largest so far).
    """
    count = 0
    for i in range(values.shape[0]):
        value = values[i]
        if value == -np.inf or wanted == 0:
            continue
        if count < wanted:
            at = count  # let it rise in a heap that has its smallest on top
            count += 1
            while at > 0:
                above = (at - 1) // 2
                if not _before(values, i, places[above]):
                    break
                places[at] = places[above]
                at = above
            places[at] = i
        elif value > values[places[0]]:
            at = 0
            while True:
                below = 2 * at + 1
                if below >= count:
                    break
                if below + 1 < count and _before(values, places[below + 1], places[below]):
                    below += 1
                if not _before(values, places[below], i):
                    break
                places[at] = places[below]
                at = below
            places[at] = i
    return count


@kernel
def _before(values, a, b):
    """Whether a leaves the heap before b: its value is smaller, or equal and later."""
    return values[a] < values[b] or (values[a] == values[b] and a > b)
