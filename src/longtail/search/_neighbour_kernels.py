"""Kernels of the neighbour search: distances by an inverted index, and distances to the last bit.

Sums run over the features in ascending order, so equal rows have exactly equal distances.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail._sparse import offer


@kernel
def nearest_by_columns(
    indptr, indices, data, query_norms, starts, rows, values, norms, skip, found, closest
):
    """The nearest points of every query; `closest` becomes minus the squared distances.

    The points are given by columns: `rows[starts[f]:starts[f + 1]]` have feature f. Point `skip[i]`
    is left out for query i. O(points that share a feature, once per feature, + points) per query.
    """
    products = np.empty(norms.shape[0])
    for i in range(indptr.shape[0] - 1):
        products[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            feature = indices[p]
            for r in range(unsigned(starts[feature]), unsigned(starts[feature + 1])):
                products[unsigned(rows[r])] += value * values[r]
        size = 0
        for x in range(norms.shape[0]):
            if x != skip[i]:
                square = query_norms[i] + norms[x] - 2.0 * products[x]
                size = offer(found[i], closest[i], size, x, -max(square, 0.0))


@kernel
def exact_squares(queries, points, candidates, squares):
    """Squared distances of every query to some points, summed in order; infinite for -1."""
    for i in range(candidates.shape[0]):
        for j in range(candidates.shape[1]):
            x = candidates[i, j]
            if x < 0:
                squares[i, j] = np.inf
                continue
            total = 0.0
            for f in range(points.shape[1]):
                gap = np.float64(queries[i, f]) - np.float64(points[x, f])
                total += gap * gap
            squares[i, j] = total
