"""Kernels of voting: adding up the votes of neighbours, and looking entries up."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel


@kernel
def _add_up(i, indptr, indices, data, neighbours, weights, seen_by, sums, met):
    """Add up the votes of row i, plain and weighted, into `sums`, and list the labels in `met`.

    Returns the number of labels, of voters, and their weight.
    """
    n_met, voters, total = 0, 0, 0.0
    for j in range(neighbours.shape[1]):
        voter = neighbours[i, j]
        if voter < 0:
            continue
        voters += 1
        weight = weights[i, j]
        total += weight
        for p in range(indptr[voter], indptr[voter + 1]):
            label = indices[p]
            if seen_by[label] != i:
                seen_by[label] = i
                sums[0, label] = 0.0
                sums[1, label] = 0.0
                met[n_met] = label
                n_met += 1
            sums[0, label] += data[p]
            sums[1, label] += weight * data[p]
    return n_met, voters, total


@kernel
def count_votes(
    indptr, indices, data, neighbours, weights, seen_by, sums, ends, columns, plain, weighted
):
    """Write the votes of each row, plain and weighted, with ascending columns."""
    to = 0
    for i in range(neighbours.shape[0]):
        first = to
        n_met, voters, total = _add_up(
            i, indptr, indices, data, neighbours, weights, seen_by, sums, columns[first:]
        )
        to += n_met
        columns[first:to].sort()
        for p in range(first, to):
            plain[p] = sums[0, columns[p]] / voters
            weighted[p] = sums[1, columns[p]] / total if total > 0 else 0.0
        ends[i + 1] = to


@kernel
def labels_from(
    indptr, indices, data, neighbours, weights, threshold, seen_by, sums, ends, columns
):
    """Write the labels of each row that enough voters have, with ascending columns."""
    to = 0
    for i in range(neighbours.shape[0]):
        first = to
        n_met, voters, _ = _add_up(
            i, indptr, indices, data, neighbours, weights, seen_by, sums, columns[first:]
        )
        for p in range(first, first + n_met):
            if sums[0, columns[p]] / voters >= threshold:
                columns[to] = columns[p]
                to += 1
        columns[first:to].sort()
        ends[i + 1] = to


@kernel
def holds(indptr, indices, other_indptr, other):
    """Whether each stored entry is also stored in another matrix; both have sorted columns."""
    found = np.zeros(indices.shape[0], dtype=np.bool_)
    for i in range(indptr.shape[0] - 1):
        q = other_indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            while q < other_indptr[i + 1] and other[q] < indices[p]:
                q += 1
            found[p] = q < other_indptr[i + 1] and other[q] == indices[p]
    return found
