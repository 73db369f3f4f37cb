"""Sparse matrices out of files: checked before any compiled code follows their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.store.strings import is_rising

SPARSE_CLASSES: dict[str, type[Any]] = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
}
"""The kinds of sparse matrix a model may hold, by their names in files."""


def compressed_fault(
    name: str,
    shape: tuple[int, ...],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
) -> str | None:
    """What is wrong with the parts of a CSR or CSC matrix, or None. O(rows + nnz), no copies.

    Examples
    --------
    >>> compressed_fault("csr_array", (1, 2), np.array([0, 1]), np.array([2]), np.array([0.5]))
    'an index is not below 2'
    """
    major, minor = shape if name.startswith("csr") else shape[::-1]
    for part, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype not in (np.int32, np.int64):
            return f"its {part} are not a run of whole numbers"
    if data.ndim != 1 or data.dtype.kind not in "biufc":
        return "its data are not a run of numbers"
    if len(indptr) != major + 1:
        return f"its indptr has {len(indptr)} entries instead of {major + 1}"
    stored = indptr[-1]
    if indptr[0] != 0 or not is_rising(indptr):
        return "its indptr does not rise from 0"
    if stored > len(indices) or stored > len(data):
        return f"its indptr ends at {stored}, beyond its {min(len(indices), len(data))} entries"
    used = indices[:stored]
    if stored and used.min() < 0:
        return "an index is negative"
    if stored and used.max() >= minor:
        return f"an index is not below {minor}"
    return None


def assembled(
    name: str,
    shape: tuple[int, ...],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
) -> Any:
    """The matrix of checked parts, which it holds as they are.

    scipy's own constructor would convert 64-bit indices that fit into 32 bits, so copy them.

    Examples
    --------
    >>> indptr, indices = np.array([0, 1]), np.array([1])
    >>> matrix = assembled("csr_array", (1, 2), indptr, indices, np.array([0.5]))
    >>> matrix.toarray().tolist(), matrix.indices is indices
    ([[0.0, 0.5]], True)
    """
    matrix = SPARSE_CLASSES[name](shape, dtype=np.float64)
    matrix.indptr, matrix.indices, matrix.data = indptr, indices, data
    return matrix
