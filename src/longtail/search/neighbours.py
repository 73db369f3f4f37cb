"""Exact nearest neighbours of sparse or dense rows, in blocks of bounded memory.

Sparse points are searched by an inverted index: a query only touches the points that share a
feature with it. Dense ones are searched by matrix products, faiss's where it is installed: these
find candidates in the precision they have, whose distances are then summed anew in float64, and a
point is left out only where the rounding errors cannot have hidden it. So the answer is the same
with and without faiss, for any number of threads and any cut into blocks: distances first, then,
of equally distant points, those of smaller number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import ParameterError
from longtail.runtime.blocks import Blocks
from longtail.runtime.checkpoint import fingerprint
from longtail.runtime.estimates import PRODUCT, SPARSE_PRODUCT, WORKSPACE, Estimate, matrix_bytes
from longtail.runtime.executor import thread_count
from longtail.runtime.libraries import one_thread
from longtail.runtime.run import Run
from longtail.search._neighbour_kernels import exact_squares, nearest_by_columns
from longtail.search.votes import BLOCK_ROWS, Neighbours

Metric = Literal["euclidean", "cosine"]

DENSE_SHARE = 0.25
"""Share of entries that are not zero from which on products of dense rows are faster."""

DENSE_BYTES = 2**31  # rows larger than this as a dense array stay sparse
PRODUCT_CELLS = 2**23  # bound on the distances of a block without faiss
SPARE = 16  # candidates beyond those wanted that faiss is asked for, and again as many as those

Rows: TypeAlias = "sp.csr_array | NDArray[Any]"


def is_better_dense(X: sp.csr_array) -> bool:
    """Whether rows are dense enough, and few enough, to be searched as a dense array.

    Examples
    --------
    >>> is_better_dense(sp.csr_array([[0.5, 0.1], [0.0, 0.2]]))
    True
    """
    cells = X.shape[0] * X.shape[1]
    return X.nnz >= DENSE_SHARE * cells and 8 * cells <= DENSE_BYTES


def check_metric(metric: Any) -> None:
    """Refuse a metric that is none of ours."""
    if metric not in get_args(Metric):
        raise ParameterError(
            f"metric must be {' or '.join(map(repr, get_args(Metric)))}, not {metric!r}."
        )


class NeighbourIndex:
    """Points made ready for the search of their neighbours.

    Parameters
    ----------
    points : csr_array or array of shape (m, D)
        Sparse rows are searched by an inverted index, dense ones by matrix products.
    metric : {"euclidean", "cosine"}
        Cosine distance is 1 - cos; a row of zeros is at distance 1 from all.
    use_faiss : bool, optional
        By default dense rows go to faiss if it is installed. It only saves time.

    Notes
    -----
    Making it costs O(nnz) or a float32 copy for faiss; a search of sparse points O(Σ over the
    query's features of the points that have it, + m) per query and m numbers of memory per thread,
    of dense ones O(m·D). Distances of sparse rows are |q|² + |x|² - 2qx in float64: below some 1e-8
    of the rows' lengths they are rounding errors, but those of equal rows are exactly zero.

    Examples
    --------
    >>> index = NeighbourIndex(sp.csr_array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]))
    >>> index.search(sp.csr_array([[0.0, 1.5]]), 3).indices.tolist()
    [[0, 2, 1]]
    """

    def __init__(
        self, points: Rows, *, metric: Metric = "euclidean", use_faiss: bool | None = None
    ) -> None:
        check_metric(metric)
        self.metric = metric
        self.shape = (int(points.shape[0]), int(points.shape[1]))
        self.is_sparse = sp.issparse(points)
        if metric == "cosine":
            points = _directions(points, 0)
        if self.is_sparse:
            rows = as_csr(points)
            by_columns = sp.csc_array(rows)
            self._starts = by_columns.indptr.astype(np.int64)
            self._rows = by_columns.indices.astype(np.int32, copy=False)
            self._values = by_columns.data
            self._norms = _norms_of(rows)
        else:
            self._points = np.ascontiguousarray(points)
            self._norms = np.einsum(
                "ij,ij->i", self._points, self._points, dtype=np.float64, casting="unsafe"
            )
            self._faiss: Any = None if use_faiss is False else _faiss_index(self._points)

    def search(self, queries: Rows, k: int, skip: NDArray[np.int64] | None = None) -> Neighbours:
        """The k nearest points of every query, or all if there are fewer, nearest first.

        `skip` may name one point per query that is left out, -1 for none.
        """
        n = queries.shape[0]
        k = min(k, self.shape[0])
        if skip is None:
            skip = np.full(n, -1, dtype=np.int64)
        if self.is_sparse != sp.issparse(queries):
            queries = sp.csr_array(queries) if self.is_sparse else sp.csr_array(queries).toarray()
        if self.metric == "cosine":
            queries = _directions(queries, 1)
        if self.is_sparse:
            found, squares = self._by_columns(as_csr(queries), k, skip)
        else:
            with one_thread():
                found, squares = self._by_products(np.ascontiguousarray(queries), k, skip)
        return Neighbours(found, squares / 2 if self.metric == "cosine" else np.sqrt(squares))

    def _by_columns(
        self, queries: sp.csr_array, k: int, skip: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found = np.full((queries.shape[0], k), -1, dtype=np.int64)
        closest = np.full(found.shape, -np.inf)
        nearest_by_columns(
            queries.indptr.astype(np.int64), queries.indices.astype(np.int32, copy=False),
            queries.data.astype(np.float64, copy=False), _norms_of(queries),
            self._starts, self._rows, self._values, self._norms, skip, found, closest,
        )  # fmt: skip
        return found, 0.0 - closest

    # ---- dense rows --------------------------------------------------------------------------

    def _by_products(
        self, queries: NDArray[Any], k: int, skip: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found = np.full((len(queries), k), -1, dtype=np.int64)
        squares = np.full(found.shape, np.inf)
        left = np.arange(len(queries))
        if self._faiss is not None and len(queries):
            sure = self._by_faiss(queries, skip, found, squares)
            left = left[~sure]
        size = max(1, PRODUCT_CELLS // max(self.shape[0], 1))
        for first in range(0, len(left), size):
            some = left[first : first + size]
            found[some], squares[some] = self._by_numpy(queries[some], k, skip[some])
        return found, squares

    def _by_faiss(
        self,
        queries: NDArray[Any],
        skip: NDArray[np.int64],
        found: NDArray[np.int64],
        squares: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Fill in the queries whose neighbours are certain; which those are."""
        m, k = self.shape[0], found.shape[1]
        wanted = min(m, 2 * k + 1 + SPARE)
        rough, candidates = self._faiss.search(queries.astype(np.float32, copy=False), wanted)
        farthest = rough[:, -1].astype(np.float64)
        candidates = np.where(candidates == skip[:, None], -1, candidates)
        best, exact = _sorted_exactly(queries, self._points, candidates, k)
        slack = self._error(queries, np.finfo(np.float32).eps)
        last = np.where(np.isfinite(exact[:, -1]), exact[:, -1], -np.inf)
        sure = (wanted == m) | (last < farthest - slack)
        found[sure], squares[sure] = best[sure], exact[sure]
        return np.asarray(sure, dtype=bool)

    def _by_numpy(
        self, queries: NDArray[Any], k: int, skip: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        precise = queries.astype(np.float64, copy=False)
        rough = precise @ self._points.T.astype(np.float64, copy=False)
        rough *= -2.0
        rough += self._norms
        rough += np.einsum("ij,ij->i", precise, precise)[:, None]
        skipped = np.flatnonzero(skip >= 0)
        rough[skipped, skip[skipped]] = np.inf
        slack = self._error(queries, np.finfo(np.float64).eps)
        bound = np.partition(rough, k - 1, axis=1)[:, k - 1] + 2 * slack
        near = (rough <= bound[:, None]) & np.isfinite(rough)
        counts = near.sum(axis=1)
        candidates = np.full((len(queries), max(int(counts.max(initial=0)), k)), -1)
        where_row, where_point = np.nonzero(near)
        firsts = np.cumsum(counts) - counts
        candidates[where_row, np.arange(len(where_row)) - firsts[where_row]] = where_point
        return _sorted_exactly(queries, self._points, candidates, k)

    def _error(self, queries: NDArray[Any], unit: Any) -> NDArray[np.float64]:
        """Bound on what rounding does to |q|² + |x|² - 2qx, by the number of additions in it."""
        largest = float(self._norms.max(initial=0.0))
        norms = np.einsum("ij,ij->i", queries, queries, dtype=np.float64, casting="unsafe")
        return float(unit) * (self.shape[1] + 8) * (np.sqrt(norms) + np.sqrt(largest)) ** 2


def search_estimate(X: sp.csr_array, *, n_jobs: int | None = None) -> Estimate:
    """What keeping points, making them ready and finding the neighbours of each of them needs.

    Examples
    --------
    >>> search_estimate(sp.csr_array(np.eye(100))).reason
    'the neighbours of 100 points among themselves'
    """
    n, n_features = X.shape
    threads = thread_count(n_jobs)
    if is_better_dense(X):
        kept = float(X.dtype.itemsize) * n * n_features
        memory = kept + 4.0 * n * n_features + threads * 16.0 * min(PRODUCT_CELLS, n * BLOCK_ROWS)
        seconds = PRODUCT * float(n) ** 2 * n_features
    else:
        kept = float(matrix_bytes(X))
        in_column = np.bincount(X.indices, minlength=1).astype(np.float64)
        memory = 2 * kept + threads * 16.0 * n
        seconds = SPARSE_PRODUCT * (float(in_column @ in_column) + float(n) ** 2)
    return Estimate(
        int(memory + WORKSPACE),
        int(kept),
        seconds / threads,
        f"the neighbours of {n:,} points among themselves",
    )


def find_others(
    index: NeighbourIndex, points: Rows, k: int, *, n_jobs: int | None, run: Run
) -> Neighbours:
    """The k nearest other points of each point of an index: leave-one-out neighbours.

    In blocks, on threads, with a checkpoint for each block where the run has a folder; -1 where
    there are fewer than k others.

    Examples
    --------
    >>> points = sp.csr_array([[0.0], [1.0], [3.0]])
    >>> find_others(NeighbourIndex(points), points, 1, n_jobs=1, run=Run()).indices.tolist()
    [[1], [0], [1]]
    """
    n = points.shape[0]
    indices = np.full((n, k), -1, dtype=np.int64)
    distances = np.full((n, k), np.inf)
    spans = [range(first, min(first + BLOCK_ROWS, n)) for first in range(0, n, BLOCK_ROWS)]

    def keep(number: int, part: dict[str, NDArray[Any]]) -> None:
        rows, found = spans[number], part["indices"].shape[1]
        indices[rows.start : rows.stop, :found] = part["indices"]
        distances[rows.start : rows.stop, :found] = part["distances"]

    blocks = Blocks(
        spans, keep, what="neighbours", run=run,
        identity=lambda: fingerprint(points=points, k=k, metric=index.metric),
        is_sound=lambda rows, part: _is_sound(part, len(rows), min(k, n), n),
    )  # fmt: skip
    blocks.solve(others_in_block, OthersTask(index, points, k), n_jobs=n_jobs)
    return Neighbours(indices, distances)


@dataclass(frozen=True)
class OthersTask:
    """An index, the points that it was made of, and how many neighbours each of them is to get."""

    index: NeighbourIndex
    points: Rows
    k: int


def others_in_block(task: OthersTask, rows: range) -> dict[str, NDArray[Any]]:
    """The neighbours of some of the points, themselves left out."""
    part = task.points[rows.start : rows.stop]
    return task.index.search(part, task.k, skip=np.asarray(rows))._asdict()


def _is_sound(part: dict[str, NDArray[Any]], rows: int, k: int, n: int) -> bool:
    return (
        set(part) == {"indices", "distances"}
        and part["indices"].shape == part["distances"].shape == (rows, k)
        and part["indices"].dtype == np.int64
        and part["distances"].dtype == np.float64
        and bool(((part["indices"] >= -1) & (part["indices"] < n)).all())
    )


def _sorted_exactly(
    queries: NDArray[Any], points: NDArray[Any], candidates: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k best candidates by exact distance, then number."""
    squares = np.empty(candidates.shape)
    exact_squares(queries, points, candidates, squares)
    order = np.lexsort((candidates, squares), axis=-1)[:, :k]
    return np.take_along_axis(candidates, order, 1), np.take_along_axis(squares, order, 1)


def _norms_of(rows: sp.csr_array) -> NDArray[np.float64]:
    """Sum of the squares of each row, in the order of its entries. O(nnz)."""
    of_row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = np.square(rows.data, dtype=np.float64)
    return np.bincount(of_row, squares, minlength=rows.shape[0]).astype(np.float64, copy=False)


def _directions(rows: Rows, role: int) -> Rows:
    """Rows of length one, for which half the squared Euclidean distance is the cosine distance.

    Rows of zeros get a one in a column of their own, one for points and one for queries, so that
    they are at cosine distance 1 from all.
    """
    if sp.issparse(rows):
        lengths = np.sqrt(_norms_of(as_csr(rows)))
        empty = np.zeros((len(lengths), 2))
        empty[lengths == 0, role] = 1.0
        scaled = as_csr(rows).astype(np.float64)  # a copy
        scaled.data *= np.repeat(1.0 / np.where(lengths > 0, lengths, 1.0), np.diff(scaled.indptr))
        return as_csr(sp.hstack([scaled, sp.csr_array(empty)], format="csr"))
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64, casting="unsafe"))
    extra = np.zeros((len(lengths), 2))
    extra[lengths == 0, role] = 1.0
    return np.hstack([rows / np.where(lengths > 0, lengths, 1.0)[:, None], extra])


def _faiss_index(points: NDArray[Any]) -> Any:
    try:
        import faiss
    except ImportError:
        return None
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points.astype(np.float32, copy=False))
    return index
