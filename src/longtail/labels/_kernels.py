"""Kernels of the label statistics."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel


@kernel
def count_neighbours(row_indptr, row_labels, label_indptr, label_rows, out):
    """For every label, how many other labels share a row with it.

    Takes the label matrix by rows and by columns; O(sum over rows of |y|^2) time, O(L) memory.
    """
    n_labels = label_indptr.shape[0] - 1
    seen_by = np.full(n_labels, -1, dtype=np.int64)
    for label in range(n_labels):
        seen_by[label] = label
        degree = 0
        for p in range(label_indptr[label], label_indptr[label + 1]):
            row = label_rows[p]
            for q in range(row_indptr[row], row_indptr[row + 1]):
                other = row_labels[q]
                if seen_by[other] != label:
                    seen_by[other] = label
                    degree += 1
        out[label] = degree
