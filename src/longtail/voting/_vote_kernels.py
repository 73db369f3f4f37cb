"""Kernels of voting: adding up the votes of neighbours, and looking entries up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail._numba import kernel


@kernel
def count_votes(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    seen_by: NDArray[Any],
    sums: NDArray[Any],
    room: NDArray[Any],
    ends: NDArray[Any],
    columns: NDArray[Any],
    plain: NDArray[Any],
    weighted: NDArray[Any],
) -> None:
    """Add up the votes of each row, plain and weighted, and write them with ascending columns."""
    to = 0
    for i in range(neighbours.shape[0]):
        first = to
        voters = 0
        total = 0.0
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
                    columns[to] = label
                    to += 1
                sums[0, label] += data[p]
                sums[1, label] += weight * data[p]
        columns[first:to].sort()
        for p in range(first, to):
            plain[p] = sums[0, columns[p]] / voters
            weighted[p] = sums[1, columns[p]] / total if total > 0 else 0.0
        ends[i + 1] = to


@kernel
def labels_from(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    neighbours: NDArray[Any],
    threshold: float,
    seen_by: NDArray[Any],
    sums: NDArray[Any],
    met: NDArray[Any],
    ends: NDArray[Any],
    columns: NDArray[Any],
) -> None:
    """Write the labels of each row that enough voters have, with ascending columns."""
    to = 0
    for i in range(neighbours.shape[0]):
        first = to
        voters = 0
        n_met = 0
        for j in range(neighbours.shape[1]):
            voter = neighbours[i, j]
            if voter < 0:
                continue
            voters += 1
            for p in range(indptr[voter], indptr[voter + 1]):
                label = indices[p]
                if seen_by[label] != i:
                    seen_by[label] = i
                    sums[label] = 0.0
                    met[n_met] = label
                    n_met += 1
                sums[label] += data[p]
        for p in range(n_met):
            if sums[met[p]] / voters >= threshold:
                columns[to] = met[p]
                to += 1
        columns[first:to].sort()
        ends[i + 1] = to


@kernel
def holds(
    indptr: NDArray[Any], indices: NDArray[Any], other_indptr: NDArray[Any], other: NDArray[Any]
) -> NDArray[np.bool_]:
    """Whether each stored entry is also stored in another matrix; both have sorted columns."""
    found = np.zeros(indices.shape[0], dtype=np.bool_)
    for i in range(indptr.shape[0] - 1):
        q = other_indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            while q < other_indptr[i + 1] and other[q] < indices[p]:
                q += 1
            found[p] = q < other_indptr[i + 1] and other[q] == indices[p]
    return found
