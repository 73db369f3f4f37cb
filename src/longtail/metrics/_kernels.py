"""Kernels of the ranking metrics: the k best of a row by a heap, and the totals that follow.

Every array is plain: `indptr` of a block of rows may start anywhere in `indices`.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail._sparse import replace_worst

HITS, NDCG, RECALL, PS_HITS, PS_BEST, PS_NDCG, PS_NDCG_BEST = range(7)


@kernel
def best_of_row(indices, data, start, stop, columns, values):
    """Fill `columns` and `values` with the best entries of data[start:stop], best first.

    By score descending, then column ascending. Returns how many there are. O(m log k).
    """
    k = columns.shape[0]
    size = 0
    for p in range(start, stop):
        value = data[p]
        column = indices[p]
        if size < k:
            hole = size
            size += 1
            while hole > 0:
                parent = (hole - 1) // 2
                if values[parent] < value or (values[parent] == value and columns[parent] > column):
                    break
                values[hole] = values[parent]
                columns[hole] = columns[parent]
                hole = parent
            values[hole] = value
            columns[hole] = column
        elif values[0] < value or (values[0] == value and columns[0] > column):
            replace_worst(columns, values, column, value)
    for last in range(size - 1, 0, -1):
        value = values[last]
        column = columns[last]
        values[last] = values[0]
        columns[last] = columns[0]
        replace_worst(columns[:last], values[:last], column, value)
    return size


@kernel
def is_among(ascending, start, stop, wanted):
    """Whether `wanted` stands in ascending[start:stop]."""
    while start < stop:
        middle = (start + stop) // 2
        if ascending[middle] < wanted:
            start = middle + 1
        elif ascending[middle] > wanted:
            stop = middle
        else:
            return True
    return False


@kernel
def add_rank_totals(
    indptr,
    indices,
    data,
    true_indptr,
    true_indices,
    true_inverse,
    inverse,
    discounts,
    totals,
    first_rank,
):
    """Add a block of rows to the totals at every rank from 1 to K.

    `totals` is (7, K), in the order of the constants above; column j holds the sum over rows of
    the quantity at k = j + 1. `true_inverse` is `inverse` of every entry of `true_indices`.
    `first_rank[l]` becomes the best rank, from 0, at which label l was right.
    """
    k = totals.shape[1]
    columns = np.empty(k, dtype=np.int64)
    values = np.empty(k)
    best_columns = np.empty(k, dtype=np.int64)
    best_values = np.empty(k)
    for row in range(indptr.shape[0] - 1):
        start = true_indptr[row]
        stop = true_indptr[row + 1]
        n_true = stop - start
        if n_true == 0:
            continue
        found = best_of_row(indices, data, indptr[row], indptr[row + 1], columns, values)
        best_of_row(true_indices, true_inverse, start, stop, best_columns, best_values)
        hits = 0
        dcg = 0.0
        ideal = 0.0
        ps_hits = 0.0
        ps_best = 0.0
        ps_dcg = 0.0
        ps_dcg_best = 0.0
        for j in range(k):
            if j < n_true:
                ideal += discounts[j]
                ps_best += best_values[j]
                ps_dcg_best += best_values[j] * discounts[j]
            if j < found and is_among(true_indices, start, stop, columns[j]):
                label = columns[j]
                hits += 1
                dcg += discounts[j]
                ps_hits += inverse[label]
                ps_dcg += inverse[label] * discounts[j]
                first_rank[label] = min(first_rank[label], j)
            totals[HITS, j] += hits
            totals[NDCG, j] += dcg / ideal
            totals[RECALL, j] += hits / n_true
            totals[PS_HITS, j] += ps_hits
            totals[PS_BEST, j] += ps_best
            totals[PS_NDCG, j] += ps_dcg / ideal
            totals[PS_NDCG_BEST, j] += ps_dcg_best / ideal


@kernel
def add_bin_totals(indptr, indices, data, true_indptr, true_indices, bin_of_label, predicted, hits):
    """Count, by bin of the label and by rank, the predictions and the right ones among them.

    `predicted` and `hits` are (bins, K); column j counts rank j + 1 alone.
    """
    k = predicted.shape[1]
    columns = np.empty(k, dtype=np.int64)
    values = np.empty(k)
    for row in range(indptr.shape[0] - 1):
        found = best_of_row(indices, data, indptr[row], indptr[row + 1], columns, values)
        for j in range(found):
            group = bin_of_label[columns[j]]
            predicted[group, j] += 1
            if is_among(true_indices, true_indptr[row], true_indptr[row + 1], columns[j]):
                hits[group, j] += 1
