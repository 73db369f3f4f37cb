"""Step 2 of Algorithm 1: the nearest prototypes of codes in Hamming space, exactly."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from longtail.errors import InputError, MissingExtraError, ParameterError
from longtail.search._hamming_kernels import nearest_rows
from longtail.search.votes import Neighbours

Search = Literal["kernel", "faiss"]

WORD = 64


def nearest_codes(
    queries: NDArray[np.uint64],
    codes: NDArray[np.uint64],
    n_neighbors: int,
    *,
    search: Search = "kernel",
) -> Neighbours:
    """The codes nearest to each query by the number of bits that differ.

    Parameters
    ----------
    queries : uint64 array of shape (n, words)
        Packed codes; see `codes.packed`.
    codes : uint64 array of shape (m, words)
        Packed codes to search among.
    n_neighbors : int
        How many, at most; all m if there are fewer.
    search : {"kernel", "faiss"}
        "kernel": popcounts and a counting sort. "faiss": its IndexBinaryFlat (needs
        `pip install "longtail[neighbors]"`), with the ties that it cuts at the last place
        settled by the kernel. Both give the same.

    Returns
    -------
    Neighbours
        Nearest first, of equal distances the smaller number first.

    Notes
    -----
    O(n·m·words) either way. The kernel sorts by counting while it goes and keeps ties in order; on
    1,500 to 200,000 codes of 128 bits it took a quarter of faiss's time, so it is the default.

    Examples
    --------
    >>> codes = np.array([[0b1100], [0b1111], [0b0011]], dtype=np.uint64)
    >>> found = nearest_codes(np.array([[0b0111]], dtype=np.uint64), codes, 2)
    >>> found.indices.tolist(), found.distances.tolist()
    ([[1, 2]], [[1.0, 1.0]])
    """
    if queries.ndim != 2 or codes.ndim != 2 or queries.shape[1] != codes.shape[1] or not len(codes):
        raise InputError("Queries and codes must be packed into the same number of words.")
    if search not in get_args(Search):
        raise ParameterError(f"search must be kernel or faiss, not {search!r}.")
    k = min(n_neighbors, len(codes))
    queries, codes = np.ascontiguousarray(queries), np.ascontiguousarray(codes)
    return (_by_faiss if search == "faiss" else _by_kernel)(queries, codes, k)


def _by_kernel(queries: NDArray[np.uint64], codes: NDArray[np.uint64], k: int) -> Neighbours:
    n, m = len(queries), len(codes)
    indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    counts = np.empty(WORD * codes.shape[1] + 1, dtype=np.int64)
    nearest_rows(queries, codes, 0, n, counts, np.empty(m, dtype=np.int32), indices, distances)
    return Neighbours(indices, distances)


def _by_faiss(queries: NDArray[np.uint64], codes: NDArray[np.uint64], k: int) -> Neighbours:
    """faiss's flat index; asked for one more than wanted, it shows where it cut a tie."""
    index = _faiss().IndexBinaryFlat(WORD * codes.shape[1])
    index.add(codes.view(np.uint8))
    more = min(k + 1, len(codes))
    far, which = index.search(queries.view(np.uint8), more)
    order = np.lexsort((which, far), axis=1)[:, :k]
    indices = np.take_along_axis(which, order, axis=1).astype(np.int64)
    distances = np.take_along_axis(far, order, axis=1).astype(np.float64)
    if more > k:
        cut = np.flatnonzero(far.max(axis=1) == distances[:, -1])
        if len(cut):
            indices[cut], distances[cut] = _by_kernel(queries[cut], codes, k)
    return Neighbours(indices, distances)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("Searches by faiss", package="faiss", extra="neighbors") from None
    return faiss
