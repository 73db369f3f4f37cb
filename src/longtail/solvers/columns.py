"""Sparse columns of weights, one per problem: a block of them as plain arrays, and all as a matrix.

Every solver of sparse weights hands back blocks in this form, which is also that of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import scatter_columns

Arrays = dict[str, NDArray[Any]]

COLUMNS = ("features", "values", "ends")
"""Arrays of a block of sparse columns: features with a weight, weights, where each column ends."""


def holds_columns(
    arrays: Mapping[str, NDArray[Any]], kinds: Mapping[str, Any], size: int, n_features: int
) -> bool:
    """Whether arrays that were read are the block of `size` sparse columns they claim to be.

    `kinds` are the types of `COLUMNS` and of the arrays with an entry per column. Feature
    `n_features` is the bias.

    Examples
    --------
    >>> block = {"features": np.array([0, 2]), "values": np.ones(2), "ends": np.array([0, 1, 2])}
    >>> kinds = {name: array.dtype for name, array in block.items()}
    >>> holds_columns(block, kinds, 2, 2), holds_columns(block, kinds, 2, 1)
    (True, False)
    """
    if set(arrays) != set(kinds):
        return False
    if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in kinds.items()):
        return False
    ends, features = arrays["ends"], arrays["features"]
    return bool(
        all(len(arrays[name]) == size for name in kinds if name not in COLUMNS)
        and len(ends) == size + 1
        and ends[0] == 0
        and (np.diff(ends) >= 0).all()
        and len(features) == len(arrays["values"]) == ends[-1]
        and ((features >= 0) & (features <= n_features)).all()
    )


def columns_of(matrix: Any, **report: NDArray[Any]) -> Arrays:
    """The columns of a matrix as a block, with a report.

    Examples
    --------
    >>> columns_of(sp.csr_array([[0.0, 2.0]]))["ends"].tolist()
    [0, 0, 1]
    """
    by_column = sp.csc_array(matrix)
    ends = by_column.indptr.astype(np.int64)
    return {"features": by_column.indices, "values": by_column.data, "ends": ends, **report}


def pack_columns(
    features: Sequence[NDArray[Any]],
    values: Sequence[NDArray[Any]],
    kinds: Mapping[str, Any],
    **report: Sequence[Any],
) -> Arrays:
    """Columns as plain arrays of the types `kinds`, with an array per entry of the report.

    Examples
    --------
    >>> kinds = {"features": np.int32, "values": np.float32, "ends": np.int64, "steps": np.int64}
    >>> block = pack_columns([np.array([0, 2]), np.array([1])], [np.ones(2), np.ones(1)], kinds,
    ...                      steps=[4, 5])
    >>> {name: array.tolist() for name, array in block.items()}
    {'features': [0, 2, 1], 'values': [1.0, 1.0, 1.0], 'ends': [0, 2, 3], 'steps': [4, 5]}
    """
    none = [np.empty(0)]
    return {
        "features": np.concatenate(list(features) or none).astype(kinds["features"], copy=False),
        "values": np.concatenate(list(values) or none).astype(kinds["values"], copy=False),
        "ends": np.cumsum([0, *map(len, values)], dtype=np.int64),
        **{name: np.array(entries, dtype=kinds[name]) for name, entries in report.items()},
    }


def matrix_of(
    blocks: Sequence[Arrays],
    shape: tuple[int, int],
    dtype: Any,
    places: NDArray[np.integer] | None = None,
) -> sp.csr_array:
    """All columns as one matrix by rows, at the price of that matrix. O(stored weights + rows).

    `places` says which column of the matrix each column is, where they do not come in order.

    Examples
    --------
    >>> block = {"features": np.array([1]), "values": np.array([5.0]), "ends": np.array([0, 0, 1])}
    >>> matrix_of([block], (2, 2), float, np.array([1, 0])).toarray().tolist()
    [[0.0, 0.0], [5.0, 0.0]]
    """
    counts = np.zeros(shape[0] + 1, dtype=np.int64)
    for block in blocks:
        counts[1:] += np.bincount(block["features"], minlength=shape[0])
    indptr = np.cumsum(counts)
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=dtype)
    cursor = indptr[:-1].copy()
    first = 0
    for block in blocks:
        scatter_columns(
            block["features"], block["values"], block["ends"], first, cursor, indices, data
        )
        first += len(block["ends"]) - 1
    if indptr[-1] < 2**31:
        indptr = indptr.astype(np.int32)
    if places is not None:
        indices = places[indices].astype(np.int32, copy=False)
    matrix = sp.csr_array((data, indices, indptr), shape=shape)
    if places is not None:
        matrix.sort_indices()
    return matrix
