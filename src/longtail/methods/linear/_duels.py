"""Pairs of classes: how many weights they need, and the votes of their duels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import kernel


def pair_weights(X: sp.csr_array, y: NDArray[Any], k: int) -> float:
    """How many weights the pairs have: one for each feature of either class, and the bias.

    A feature that c classes have is in all pairs but those of the k - c others. O(nnz(X)).
    """
    of = np.repeat(y.astype(np.int64), np.diff(X.indptr))
    had = np.unique(X.indices.astype(np.int64) * k + of) // k
    others = k - np.unique(had, return_counts=True)[1].astype(np.float64)
    n_pairs = k * (k - 1) / 2
    return float((n_pairs - others * (others - 1) / 2).sum() + n_pairs)


@kernel
def duel(
    indptr: Any, indices: Any, data: Any, starts: Any, pairs: Any, weights: Any, bias: Any,
    scores: Any,
) -> None:  # fmt: skip
    """Votes, and margins m squeezed to m / (3·(|m| + 1)), of every class for each row."""
    n_classes = scores.shape[1]
    decisions = np.empty_like(bias)
    margins = np.empty(n_classes)
    for i in range(scores.shape[0]):
        decisions[:] = bias
        for p in range(indptr[i], indptr[i + 1]):
            for q in range(starts[indices[p]], starts[indices[p] + 1]):
                decisions[pairs[q]] += data[p] * np.float64(weights[q])
        margins[:] = 0.0
        pair = 0
        for a in range(n_classes):
            for b in range(a + 1, n_classes):
                margins[a] -= decisions[pair]
                margins[b] += decisions[pair]
                scores[i, b if decisions[pair] > 0 else a] += 1.0
                pair += 1
        for a in range(n_classes):
            scores[i, a] += margins[a] / (3.0 * (abs(margins[a]) + 1.0))
