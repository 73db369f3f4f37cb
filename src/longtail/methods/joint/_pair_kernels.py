"""Kernels of scores of label sets, for the kept pairs of a point and a set.

Kept pairs are ordered by set: those of set k are `starts[k]` to `starts[k + 1]`, `points` has the
rows of the arrays by label. Sets are given by `indptr` and `indices`, as in a sparse matrix.
"""

from __future__ import annotations

from longtail._numba import kernel, unsigned


@kernel
def scores_of_sets(indptr, indices, by_label, offsets, starts, points, out):
    """out = offset of the set + Σ of the scores of its labels. O(kept·|set|)."""
    for k in range(len(starts) - 1):
        for q in range(starts[k], starts[k + 1]):
            i = unsigned(points[q])
            total = offsets[k]
            for r in range(indptr[k], indptr[k + 1]):
                total += by_label[i, unsigned(indices[r])]
            out[q] = total


@kernel
def add_sets(indptr, indices, by_score, starts, points, by_label, by_set):
    """Add each derivative to those by its labels at its point, and to that by its set."""
    for k in range(len(starts) - 1):
        for q in range(starts[k], starts[k + 1]):
            i = unsigned(points[q])
            value = by_score[q]
            by_set[k] += value
            for r in range(indptr[k], indptr[k + 1]):
                by_label[i, unsigned(indices[r])] += value
