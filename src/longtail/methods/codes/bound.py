"""Theorem 1 of the paper: how many labels wrong bits can cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.errors import InputError


def error_bound(predicted_bits: Any, true_bits: Any, n_labels: int) -> float:
    """Upper bound of the Hamming loss of a robust code: 2·(B / L)·(Hamming loss of the bits).

    It holds if the clusters exclude each other on these points, whatever the errors in the bits: in
    expectation for decoding by chance, and for every single prediction if a label needs all its
    bits (`threshold=1`). Lower thresholds can break it. O(bits that are on).

    Parameters
    ----------
    predicted_bits, true_bits : arrays or sparse matrices of shape (n, B)
        0/1; without those of the labels outside the code, the hubs.
    n_labels : int
        Labels of the code, L.

    Returns
    -------
    float
        A share of the n·L decisions.

    Examples
    --------
    One wrong bit in two points of eight labels costs at most two of the 16 decisions:

    >>> error_bound([[1, 1, 0, 0], [0, 0, 1, 0]], [[1, 1, 0, 0], [0, 0, 1, 1]], n_labels=8)
    0.125
    """
    predicted, true = (
        sp.csr_array(bits if sp.issparse(bits) else np.atleast_2d(bits))
        .astype(bool)
        .astype(np.int8)
        for bits in (predicted_bits, true_bits)
    )
    if predicted.shape != true.shape:
        raise InputError(
            f"The predicted bits have shape {predicted.shape}, the true ones {true.shape}; both "
            "are (points, bits)."
        )
    if n_labels < 1 or predicted.shape[0] < 1:
        raise InputError("The bound is a share of points times labels; both must be at least 1.")
    wrong = abs(predicted - true).sum()
    return float(2.0 * wrong / (predicted.shape[0] * n_labels))
