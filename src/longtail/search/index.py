"""Scores of linear models: the best k labels of each point, or all above a threshold.

The weights are kept by rows, one row per feature, so they are an index from features to the labels
that use them: a prediction walks the features of the point and touches only the labels it meets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import csr_arrays, read_only
from longtail._sparse import as_csr, sound
from longtail.errors import InputError, ParameterError
from longtail.labels import TailRanking
from longtail.runtime.executor import run_here_or_on_threads, thread_count
from longtail.runtime.kept import kept_for
from longtail.runtime.workers import check_running
from longtail.search._index_kernels import above_rows, all_rows, topk_rows

CHUNK = 256  # rows that are worth a piece of work of their own
PIECES = 8  # per thread, so that none waits long for another at the end
LARGEST = 1024  # rows per piece, so that a run can be stopped soon
RANKINGS = 4  # that an index remembers
_Array = NDArray[Any]
_FLOATS = (np.float32, np.float64)
_NO_OFFSETS = np.empty(0)
_NO_OFFSETS.flags.writeable = False


class _Rest(NamedTuple):
    """What labels are worth to a point that meets none of their features."""

    order: NDArray[np.int32]  # of the labels, the best first, of equals the smaller
    values: NDArray[np.float64]  # by label


class _Scratch(NamedTuple):
    """Arrays of length L that one thread works with; the kernels leave them as they found them."""

    total: NDArray[np.float64]
    unmet: NDArray[np.uint8]
    met: NDArray[np.int32]


class LinearIndex:
    """A linear model made ready to answer: what can be known without a point is kept.

    The weights are used where they are, even in a read-only file mapped into memory; they must not
    be changed while the index is in use. Threads may share an index.

    Parameters
    ----------
    weights : csr_array of shape (D + 1, L)
        One row per feature; the last row is the bias.
    bias : float
        Value of the constant feature.

    Attributes
    ----------
    weights, bias
        As given.

    Notes
    -----
    The first prediction costs O(D + L log L), as does the first with a ranking that is not among
    the last four. Memory: 8 bytes per feature, 28 per label, 20 per label for each of these
    rankings and 13 per label for each thread.

    Examples
    --------
    >>> index = LinearIndex(sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]])))
    >>> index.topk(sp.csr_array([[1.0]]), k=2).toarray().tolist()
    [[1.0, 0.0, 2.0]]
    >>> index.scores_above(sp.csr_array([[1.0]]), 1.5).toarray().tolist()
    [[0.0, 0.0, 2.0]]
    """

    def __init__(self, weights: sp.csr_array, *, bias: float = 1.0) -> None:
        weights = sound(weights)
        if weights.format != "csr" or weights.data.dtype.kind not in "fiub":
            raise InputError(
                "The weights must be a CSR matrix of real numbers, one row per feature."
            )
        if weights.shape[0] < 1:
            raise InputError("The weights must have a last row for the bias.")
        self.weights = weights
        self.bias = float(bias)
        self._ranked_rests: tuple[tuple[TailRanking, _Rest], ...] = ()
        self._scratches: deque[_Scratch] = deque()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(LinearIndex, bias=self.bias), (self.weights,)

    def topk(
        self,
        X: sp.csr_array,
        k: int,
        *,
        ranking: TailRanking | None = None,
        n_jobs: int | None = None,
    ) -> sp.csr_array:
        """The k best labels of every row of X; see `linear_topk`."""
        if k < 1:
            raise ParameterError(f"k must be at least 1, not {k}.")
        n, n_labels = X.shape[0], self.weights.shape[1]
        k = min(int(k), n_labels)
        points = self._points(X)
        if ranking is None:
            rest, formula = self._rest, (False, 1.0, 0.0, _NO_OFFSETS)
        else:
            rest = self._ranked_rest(ranking)
            formula = (True, ranking.scale, ranking.shift, ranking.offsets)
        labels = np.empty((n, k), dtype=np.int32)
        values = np.empty((n, k))

        def work(span: tuple[int, int]) -> None:
            with self._scratch() as scratch:
                topk_rows(*points, *span, *self._model, *rest, *formula, *scratch, labels, values)

        if n_labels:
            _run(work, n, n_jobs)
        ends = np.arange(n + 1, dtype=np.int32 if n * k < 2**31 else np.int64) * k
        return _matrix(values.ravel(), labels.ravel(), ends, (n, n_labels))

    def scores_above(
        self, X: sp.csr_array, threshold: float, *, n_jobs: int | None = None
    ) -> sp.csr_array:
        """All labels of every row of X from a score on; see `linear_scores_above`."""
        threshold = float(threshold)
        if np.isnan(threshold):
            raise ParameterError("threshold must be a number, not NaN.")
        n, n_labels = X.shape[0], self.weights.shape[1]
        points = self._points(X)
        always = np.sort(
            self._rest.order[: np.searchsorted(self._falling, -threshold, side="right")]
        )
        parts: dict[int, tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]] = {}

        def work(span: tuple[int, int]) -> None:
            first, last = span
            ends = np.zeros(last - first + 1, dtype=np.int64)
            labels = np.empty(16 * (last - first), dtype=np.int32)
            values = np.empty(len(labels))
            at = first
            while at < last:
                check_running()
                with self._scratch() as scratch:
                    at = above_rows(
                        *points, first, at, last, *self._model, always, threshold, *scratch,
                        ends, labels, values,
                    )  # fmt: skip
                if at < last:
                    labels = np.resize(labels, max(2 * len(labels), len(labels) + n_labels))
                    values = np.resize(values, len(labels))
            total = ends[-1]
            parts[first] = (np.diff(ends), labels[:total].copy(), values[:total].copy())

        if n_labels:
            _run(work, n, n_jobs, largest=CHUNK)
        return _joined([parts[first] for first in sorted(parts)], (n, n_labels))

    def all_scores(self, X: sp.csr_array, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """The scores of all labels as an array (n, L): for a block of points, not for all."""
        out = np.empty((X.shape[0], self.weights.shape[1]))
        points = self._points(X)

        def work(span: tuple[int, int]) -> None:
            all_rows(*points, *span, *self._model, out)

        _run(work, X.shape[0], n_jobs)
        return out

    # ---- what is kept -------------------------------------------------------------------------

    @cached_property
    def _model(self) -> tuple[_Array, _Array, _Array, _Array]:
        """The weights by rows, not copied, and the biases of all labels."""
        weights = self.weights
        kind = weights.data.dtype if weights.data.dtype in _FLOATS else np.float64
        span = slice(*weights.indptr[-2:])
        biases = np.zeros(weights.shape[1])
        biases[weights.indices[span]] = self.bias * weights.data[span].astype(np.float64)
        return (
            read_only(weights.indptr, np.int64),
            read_only(weights.indices, weights.indices.dtype),
            read_only(weights.data, kind),
            biases,
        )

    @cached_property
    def _rest(self) -> _Rest:
        return _rest(self._model[-1])

    @cached_property
    def _falling(self) -> NDArray[np.float64]:
        """The biases with their signs changed, in rising order."""
        return -self._rest.values[self._rest.order]

    def _ranked_rest(self, ranking: TailRanking) -> _Rest:
        for known, rest in self._ranked_rests:
            if known == ranking:
                return rest
        biases = self._model[-1]
        ranking.check_labels(len(biases))
        rest = _rest(ranking.values(biases, np.arange(len(biases))))
        self._ranked_rests = ((ranking, rest), *self._ranked_rests[: RANKINGS - 1])
        return rest

    @contextmanager
    def _scratch(self) -> Iterator[_Scratch]:
        """Working arrays for one thread; whatever fails on the way does not come back."""
        try:
            scratch = self._scratches.pop()
        except IndexError:
            biases = self._model[-1]
            scratch = _Scratch(
                biases.copy(),
                np.ones(len(biases), dtype=np.uint8),
                np.empty(len(biases) + 1, dtype=np.int32),
            )
        yield scratch
        self._scratches.append(scratch)

    def _points(self, X: sp.csr_array) -> tuple[_Array, _Array, _Array]:
        n_features = self.weights.shape[0] - 1
        if X.shape[1] != n_features:
            raise InputError(f"X has {X.shape[1]} features, but the weights are for {n_features}.")
        X = as_csr(X)
        kind = X.data.dtype if X.data.dtype in _FLOATS else np.float64
        return csr_arrays(X, kind)


def index_for(
    owner: Any,
    weights: sp.csr_array,
    make: Callable[[sp.csr_array], LinearIndex] = LinearIndex,
) -> LinearIndex:
    """The index of a classifier's weights, made once and kept as long as the weights are the same.

    Parameters
    ----------
    owner : object
        Whose weights they are; the index goes when it goes.
    weights : csr_array of shape (D + 1, L)
    make : callable
        How an index is made of them.
    """
    return kept_for(owner, "linear index", (weights,), lambda: make(weights))


def linear_topk(
    X: sp.csr_array,
    weights: sp.csr_array,
    k: int,
    *,
    bias: float = 1.0,
    ranking: TailRanking | None = None,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """The k best labels of every row of X with their scores X·w + bias·w_bias.

    Parameters
    ----------
    X : csr_array of shape (n, D)
    weights : csr_array of shape (D + 1, L)
        The last row is the bias. Not copied.
    k : int
        Labels per row; all L where L < k.
    bias : float
        Value of the constant feature.
    ranking : TailRanking, optional
        What labels are ranked by instead of their scores.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result does not depend on it.

    Returns
    -------
    csr_array of shape (n, L)
        Exactly min(k, L) stored scores per row, or values of the ranking, in label order; ties go
        to the smaller label.

    Notes
    -----
    Cost: O(D + L log L) once, then O(weights of its features + k log k) per row; a row that has
    more than L / 4 of these weights costs O(weights + L), with less work per weight. For many calls
    with few rows keep a `LinearIndex`.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]]))
    >>> linear_topk(sp.csr_array([[1.0]]), W, k=2).toarray().tolist()
    [[1.0, 0.0, 2.0]]
    >>> lift_the_middle = TailRanking(scale=1.0, shift=0.0, offsets=[0.0, 3.0, 0.0])
    >>> linear_topk(sp.csr_array([[1.0]]), W, k=1, ranking=lift_the_middle).indices.tolist()
    [1]
    """
    return LinearIndex(weights, bias=bias).topk(X, k, ranking=ranking, n_jobs=n_jobs)


def linear_scores_above(
    X: sp.csr_array,
    weights: sp.csr_array,
    threshold: float,
    *,
    bias: float = 1.0,
    n_jobs: int | None = None,
) -> sp.csr_array:
    """All labels of every row of X whose score is at least `threshold`, with their scores.

    Parameters as for `linear_topk`; the cost is the same with the labels found in place of k.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]]))
    >>> linear_scores_above(sp.csr_array([[1.0]]), W, 0.5).indices.tolist()
    [0, 2]
    """
    return LinearIndex(weights, bias=bias).scores_above(X, threshold, n_jobs=n_jobs)


def _rest(values: NDArray[np.float64]) -> _Rest:
    return _Rest(np.argsort(-values, kind="stable").astype(np.int32), values)


def _run(
    work: Callable[[tuple[int, int]], None],
    n: int,
    n_jobs: int | None,
    largest: int = LARGEST,
) -> None:
    """All rows in spans."""
    size = min(max(-(-n // (PIECES * thread_count(n_jobs))), CHUNK), largest)
    spans = ((first, min(first + size, n)) for first in range(0, n, size))
    run_here_or_on_threads(work, spans, n_jobs=n_jobs)


def _joined(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]],
    shape: tuple[int, int],
) -> sp.csr_array:
    """One matrix of the lengths, labels and values of consecutive rows."""
    if not parts:
        return sp.csr_array(shape)
    lengths, labels, values = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    ends = np.concatenate(([0], np.cumsum(lengths)))
    kind = np.int32 if len(labels) < 2**31 else np.int64
    return _matrix(values, labels, ends.astype(kind), shape)


def _matrix(
    values: NDArray[np.float64],
    labels: NDArray[np.int32],
    ends: NDArray[Any],
    shape: tuple[int, int],
) -> sp.csr_array:
    matrix = sp.csr_array((values, labels, ends), shape=shape)
    matrix.has_canonical_format = True
    return matrix
