"""Kernels of the default encoder: sparse rows through two layers, never made dense."""

from __future__ import annotations

import numpy as np

from longtail._numba import fused_kernel, kernel, unsigned


@kernel
def add_rows(rows, weights, start, end, matrix, sums):
    """Add rows of a matrix to `sums`, each times its weight, in order. O((end - start) · columns).

    `rows` and `weights` count from `start` to `end`. Four at a time: the sums are read and written
    once for four rows, with the same bits.
    """
    columns = unsigned(sums.shape[0])
    one, two, three, four = unsigned(1), unsigned(2), unsigned(3), unsigned(4)
    p, end = unsigned(start), unsigned(end)
    while p + four <= end:
        a, b = np.float32(weights[p]), np.float32(weights[p + one])
        c, d = np.float32(weights[p + two]), np.float32(weights[p + three])
        i, j = unsigned(rows[p]), unsigned(rows[p + one])
        k, m = unsigned(rows[p + two]), unsigned(rows[p + three])
        for u in range(columns):
            two_more = (sums[u] + a * matrix[i, u]) + b * matrix[j, u]
            sums[u] = (two_more + c * matrix[k, u]) + d * matrix[m, u]
        p += four
    while p < end:
        a, i = np.float32(weights[p]), unsigned(rows[p])
        for u in range(columns):
            sums[u] += a * matrix[i, u]
        p += one


@kernel
def encode_rows(indptr, indices, data, first, last, tiles, shifts, second, bias, out):
    """out = relu(X W₁ + b₁) W₂ + b₂ for rows `first` to `last`. O(nnz·hidden + rows·hidden·bits).

    `tiles` holds W₁ cut into bands of some hidden units, (bands, D, units), so that a band stays in
    the cache while all rows pass; `shifts` is b₁, (bands, units), `second` W₂ with one row per
    hidden unit. The order of each sum does not depend on other rows, so neither does a row's
    result.
    """
    units = unsigned(tiles.shape[2])
    hidden = np.empty(tiles.shape[2], dtype=np.float32)
    above = np.empty(tiles.shape[2], dtype=np.float32)
    places = np.empty(tiles.shape[2], dtype=np.uint64)
    for i in range(first, last):
        out[i] = bias
    for t in range(tiles.shape[0]):
        for i in range(first, last):
            hidden[:] = shifts[t]
            add_rows(indices, data, indptr[i], indptr[i + 1], tiles[t], hidden)
            n_above = unsigned(0)
            for u in range(units):  # written always, counted if positive: no branch to mispredict
                above[n_above] = hidden[u]
                places[n_above] = unsigned(t) * units + u
                n_above += unsigned(hidden[u] > np.float32(0.0))
            add_rows(places, above, 0, n_above, second, out[i])


@kernel
def clear_features(features, out):
    """Set the rows of these features, which are sorted, to zero. O(distinct features · columns)."""
    for p in range(features.shape[0]):
        if p == 0 or features[p] != features[p - 1]:
            out[features[p]] = np.float32(0.0)


@fused_kernel
def add_to_features(features, order, points, values, slopes, out):
    """Add to the row of each stored value's feature the value times the slopes of its point.

    `features` are sorted, `order` says which stored value each is of; `points` and `values` are by
    stored value. The rows of these features must be zero. O(nnz · columns).
    """
    columns = unsigned(slopes.shape[1])
    for p in range(features.shape[0]):
        stored = unsigned(order[p])
        value, point, feature = values[stored], unsigned(points[stored]), unsigned(features[p])
        for u in range(columns):
            out[feature, u] += value * slopes[point, u]
