"""Kernels over the rows of X that every solver uses: scores, and sub-matrices with few features.

Throughout, a weight vector has the bias as its last entry, and X a constant last column of value
`bias` that is never stored.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel


@kernel
def take_rows(indptr, indices, data, rows, place, sub_indptr, sub_indices, sub_data, features):
    """Copy `rows` of X with their features renumbered in order of first appearance.

    `place` has length D and holds -1 everywhere, before and after. Returns the number of
    distinct features; `features[f]` is the original number of local feature f. O(nnz of the rows).
    """
    used = 0
    q = 0
    for r in range(rows.shape[0]):
        i = rows[r]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            f = place[j]
            if f < 0:
                f = used
                place[j] = f
                features[used] = j
                used += 1
            sub_indices[q] = f
            sub_data[q] = data[p]
            q += 1
        sub_indptr[r + 1] = q
    for f in range(used):
        place[features[f]] = -1
    return used


@kernel
def column_sums(column_indptr, row_indices, column_data, weights, total, absolute, square):
    """Sums over the columns of X, each row times its weight; none: all count one. O(nnz)."""
    for j in range(total.shape[0]):
        s = a = q = 0.0
        for p in range(column_indptr[j], column_indptr[j + 1]):
            x = np.float64(column_data[p])
            c = weights[row_indices[p]] if weights.shape[0] else 1.0
            s += c * x
            a += c * abs(x)
            q += c * x * x
        total[j], absolute[j], square[j] = s, a, q
