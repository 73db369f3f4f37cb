"""Kernels of prediction: for each feature of a point, the labels that use it."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail._sparse import offer


@kernel
def _score(indices, data, first, last, w_indptr, w_indices, w_data, biases, total):
    """total = scores of one point for all labels."""
    total[:] = biases
    for p in range(first, last):
        j = indices[p]
        x = np.float64(data[p])
        for q in range(w_indptr[j], w_indptr[j + 1]):
            total[w_indices[q]] += x * w_data[q]


@kernel
def topk_rows(
    indptr, indices, data, start, stop, w_indptr, w_indices, w_data, biases, labels, values
):
    """The k best labels of rows start..stop, best first; ties go to the smaller label.

    O(weights met + L) a row, and a little for k.
    """
    n_labels = biases.shape[0]
    total = np.empty(n_labels)
    for i in range(start, stop):
        _score(indices, data, indptr[i], indptr[i + 1], w_indptr, w_indices, w_data, biases, total)
        size = 0
        for label in range(n_labels):
            size = offer(labels[i], values[i], size, label, total[label])


@kernel
def above_rows(
    indptr, indices, data, first, start, stop, w_indptr, w_indices, w_data, biases, threshold,
    out_ends, out_labels, out_values,
):  # fmt: skip
    """All labels that score at least `threshold`, for rows start..stop, in label order.

    The ends of the rows' labels are counted from row `first`. Stops early when the output is full;
    returns the first row not done.
    """
    n_labels = biases.shape[0]
    total = np.empty(n_labels)
    size = out_ends[start - first]
    for i in range(start, stop):
        _score(indices, data, indptr[i], indptr[i + 1], w_indptr, w_indices, w_data, biases, total)
        for label in range(n_labels):
            if total[label] >= threshold:
                if size == out_labels.shape[0]:
                    return i
                out_labels[size] = label
                out_values[size] = total[label]
                size += 1
        out_ends[i - first + 1] = size
    return stop
