"""Scores of linear models: the best k labels of each point, or all above a threshold.

The weights are kept by rows, one row a feature, so a prediction walks the features of the point and
touches only the labels that use them. Memory: one array of length L a thread, and the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.engine._predict_kernels import above_rows, topk_rows
from longtail.engine.executor import run_threads, thread_count

CHUNK = 256  # rows a piece of work


def linear_topk(
    X: sp.csr_array, weights: sp.csr_array, k: int, *, bias: float = 1.0, n_jobs: int | None = None
) -> sp.csr_array:
    """The k best labels of every row of X with their scores X·w + bias·w_bias.

    Parameters
    ----------
    X : csr_array of shape (n, D)
    weights : csr_array of shape (D + 1, L)
        The last row is the bias.
    k : int
        Labels a row; all L where L < k.
    bias : float
        Value of the constant feature.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result does not depend on it.

    Returns
    -------
    csr_array of shape (n, L)
        Exactly min(k, L) stored scores a row, in label order; ties go to the smaller label.

    Notes
    -----
    Cost a row: O(weights of its features + L).

    Examples
    --------
    >>> W = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]]))
    >>> linear_topk(sp.csr_array([[1.0]]), W, k=2).toarray().tolist()
    [[1.0, 0.0, 2.0]]
    """
    n, n_labels = X.shape[0], weights.shape[1]
    k = min(k, n_labels)
    labels = np.empty((n, k), dtype=np.int32)
    values = np.empty((n, k))
    points, model = _arrays(X, weights, bias)

    def work(span: tuple[int, int], stop: NDArray[np.int8]) -> None:
        if not stop[0]:
            topk_rows(*points, *span, *model, labels, values)

    if n and k:
        _run(work, n, n_jobs)
    order = np.argsort(labels, axis=1)
    return sp.csr_array(
        (
            np.take_along_axis(values, order, axis=1).ravel(),
            np.take_along_axis(labels, order, axis=1).ravel(),
            np.arange(0, n * k + 1, k, dtype=np.int64) if k else np.zeros(n + 1, dtype=np.int64),
        ),
        shape=(n, n_labels),
    )


def linear_scores_above(
    X: sp.csr_array,
    weights: sp.csr_array,
    threshold: float,
    *,
    bias: float = 1.0,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """All labels of every row of X whose score is at least `threshold`, with their scores.

    Parameters and cost as for `linear_topk`.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]]))
    >>> linear_scores_above(sp.csr_array([[1.0]]), W, 0.5).indices.tolist()
    [0, 2]
    """
    n, n_labels = X.shape[0], weights.shape[1]
    points, model = _arrays(X, weights, bias)
    parts: dict[int, tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]] = {}

    def work(span: tuple[int, int], stop: NDArray[np.int8]) -> None:
        first, last = span
        ends = np.zeros(last - first + 1, dtype=np.int64)
        labels = np.empty(16 * (last - first), dtype=np.int32)
        values = np.empty(len(labels))
        at = first
        while at < last and not stop[0]:
            at = above_rows(*points, first, at, last, *model, threshold, ends, labels, values)
            if at < last:
                labels = np.resize(labels, max(2 * len(labels), n_labels))
                values = np.resize(values, len(labels))
        total = ends[-1]
        parts[first] = (np.diff(ends), labels[:total].copy(), values[:total].copy())

    if n and n_labels:
        _run(work, n, n_jobs)
    in_order = [parts[first] for first in sorted(parts)]
    lengths = np.concatenate([part[0] for part in in_order] or [np.zeros(n, dtype=np.int64)])
    return sp.csr_array(
        (
            np.concatenate([part[2] for part in in_order] or [np.empty(0)]),
            np.concatenate([part[1] for part in in_order] or [np.empty(0, dtype=np.int32)]),
            np.concatenate(([0], np.cumsum(lengths))),
        ),
        shape=(n, n_labels),
    )


def _run(
    work: Callable[[tuple[int, int], NDArray[np.int8]], None], n: int, n_jobs: int | None
) -> None:
    """All rows in spans; without threads where these would bring nothing but their start."""
    spans = ((first, min(first + CHUNK, n)) for first in range(0, n, CHUNK))
    if n <= CHUNK or thread_count(n_jobs) == 1:
        for span in spans:
            work(span, np.zeros(1, dtype=np.int8))
    else:
        run_threads(work, spans, n_jobs=n_jobs, done=lambda *_: None, limit_blas=False)


def _arrays(
    X: sp.csr_array, weights: sp.csr_array, bias: float
) -> tuple[tuple[Any, Any, Any], tuple[Any, Any, Any, Any]]:
    """X by rows, and the weights by rows with the biases apart."""
    last = weights.shape[0] - 1
    biases = np.zeros(weights.shape[1])
    span = slice(weights.indptr[last], weights.indptr[last + 1])
    biases[weights.indices[span]] = bias * weights.data[span].astype(np.float64)
    return (
        (X.indptr.astype(np.int64), X.indices, X.data),
        (weights.indptr.astype(np.int64), weights.indices, weights.data, biases),
    )
