"""Kernels for the log-probability of label sets within each component."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail.methods._marginal import LARGEST

FULL = 1e250  # products of 1 + exp(z) are logged before they exceed it


@kernel
def set_logs(log_odds, indptr, indices, first, out):
    """Add to `out` (n, K) the log-probability of each point's label set within each component.

    log_odds (n, K, L); the label sets are rows `first` and on of a CSR matrix. Of a label with
    log-odds z the logarithm of 1 - p is -log(1 + exp(z)); one logarithm serves some hundred labels.
    O(n·K·L).
    """
    n, n_components, n_labels = log_odds.shape
    for i in range(n):
        for k in range(n_components):
            total = 0.0
            product = 1.0
            for label in range(n_labels):
                z = log_odds[i, k, label]
                if z > LARGEST:
                    z = LARGEST
                elif z < -LARGEST:
                    z = -LARGEST
                product *= 1.0 + np.exp(z)
                if product > FULL:
                    total -= np.log(product)
                    product = 1.0
            total -= np.log(product)
            for p in range(indptr[first + i], indptr[first + i + 1]):
                z = log_odds[i, k, indices[p]]
                total += min(max(z, -LARGEST), LARGEST)
            out[i, k] += total
