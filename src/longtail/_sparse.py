"""Sparse-matrix helpers shared by every layer: checked CSR input and best-first top-k.

A prediction is a CSR matrix of shape (n, L) whose *stored* entries are the scores of the
predicted labels; an entry that is not stored was not predicted. A stored score may be negative or
zero, so nothing here ever drops stored zeros.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from longtail._numba import kernel, unsigned
from longtail.errors import InputError, ParameterError


def as_csr(matrix: Any, dtype: Any = None) -> sp.csr_array:
    """A `csr_array` view of any scipy matrix or array-like, with sorted, summed indices.

    Every matrix from outside comes through here. scipy does not look at the arrays that a matrix is
    made of, and neither do the kernels, so a number that points outside is refused here. Costs one
    look at the indices, and no copy, when the matrix already is canonical CSR of that dtype.

    Examples
    --------
    >>> as_csr([[0, 2], [1, 0]]).nnz
    2
    >>> X = sp.csr_array([[0, 2], [1, 0]])
    >>> X.indices[0] = 7
    >>> as_csr(X)
    Traceback (most recent call last):
    ...
    longtail.errors.InputError: A sparse matrix of shape (2, 2) has an index that is not among its \
2 columns; make it anew from its rows, columns and values.
    """
    if not sp.issparse(matrix):
        return sp.csr_array(_as_table(matrix), dtype=dtype)
    if getattr(matrix, "_is_ours", False) and dtype in (None, matrix.dtype):
        return matrix
    matrix, canonical = _looked_at(matrix)
    if matrix.ndim == 1:
        matrix, canonical = matrix.reshape(1, -1), False
    out = sp.csr_array(matrix, dtype=dtype)
    if canonical:
        out.has_canonical_format = True
    elif out.format == matrix.format == "csr":
        out.has_sorted_indices = out.has_canonical_format = False
    if not out.has_canonical_format:
        if out is matrix or np.may_share_memory(out.data, matrix.data):
            out = out.copy()
            out.has_sorted_indices = out.has_canonical_format = False
        out.sum_duplicates()
    return out


def as_our_csr(matrix: Any) -> sp.csr_array:
    """`as_csr` of a matrix that stays within longtail, which need not be looked at again.

    Examples
    --------
    >>> X = as_our_csr(sp.csr_array([[0, 2], [1, 0]]))
    >>> as_csr(X) is X
    True
    """
    out = as_csr(matrix)
    if out is matrix:
        out = sp.csr_array(matrix)
        out.has_canonical_format = True
    out._is_ours = True
    return out


NO_MATRIX = (
    "A matrix of numbers was expected, an array or a sparse matrix with one row per point; this is "
    "neither."
)


def _as_table(matrix: Any) -> NDArray[Any]:
    """Numbers in rows and columns, of a type that scipy knows; anything else is refused."""
    try:
        table = np.atleast_2d(np.asarray(matrix))
        if table.dtype.kind == "O":
            table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(NO_MATRIX) from None
    if table.ndim != 2 or table.dtype.kind not in "buifc":
        raise InputError(
            f"A matrix is an array of type {table.dtype} with {table.ndim} dimensions; give "
            "numbers in rows and columns."
        )
    return table.astype(np.float32) if table.dtype == np.float16 else _native(table)


def sound(matrix: Any) -> Any:
    """The same, refused in one sentence if it is sparse and its arrays point outside of it.

    For matrices that stay in their form; `as_csr` looks too. O(rows + nnz).

    Examples
    --------
    >>> sound(sp.csc_array([[0, 2], [1, 0]])).format
    'csc'
    """
    return _looked_at(matrix)[0] if sp.issparse(matrix) else matrix


def _looked_at(matrix: Any) -> tuple[Any, bool]:
    """A sparse matrix, and whether it is CSR whose rows have ascending columns, each once.

    What its arrays may hold behind the last entry is left out.
    """
    form, shape = matrix.format, matrix.shape
    if form not in ("csr", "csc", "bsr", "coo") or len(shape) > 2:
        return matrix, False  # scipy goes through these in Python
    data = _values_of(matrix)
    if form == "coo":
        for axis, (places, size) in enumerate(zip(matrix.coords, shape, strict=True)):
            name = "rows" if axis == 0 < len(shape) - 1 else "columns"
            _check_places(matrix, places, size, name)
        if data is not matrix.data:
            matrix = type(matrix)((data, matrix.coords), shape=shape)
        return matrix, False
    indptr, indices = matrix.indptr, matrix.indices
    for part in (indptr, indices):
        _check_whole(part)
    (major, minor), names = (1, *shape)[-2:], ("rows", "columns")
    if form == "bsr":
        major, minor = _blocks_of(shape, *data.shape[1:])
    elif form == "csc":
        major, minor, names = minor, major, names[::-1]
    found = _structure(_native(indptr), _native(indices), minor, min(len(indices), len(data)))
    if found == BAD_OFFSETS or len(indptr) != major + 1:
        raise InputError(
            f"A sparse matrix of shape {shape} has offsets that are not those of its "
            f"{major:,} {names[0]}; {MAKE_ANEW}"
        )
    if found == BAD_INDEX:
        raise InputError(
            f"A sparse matrix of shape {shape} has an index that is not among its "
            f"{minor:,} {names[1]}; {MAKE_ANEW}"
        )
    if data is not matrix.data or len(indices) != len(data) or len(data) != indptr[-1]:
        kept = slice(int(indptr[-1]))
        matrix = type(matrix)((data[kept], indices[kept], indptr), shape=shape)
    return matrix, form == "csr" and found == CANONICAL


MAKE_ANEW = "make it anew from its rows, columns and values."


def _values_of(matrix: Any) -> NDArray[Any]:
    """The values of a sparse matrix, of a type that scipy knows; refused if they are no numbers."""
    data = matrix.data
    if _is_array(data, 3 if matrix.format == "bsr" else 1):
        if data.dtype.kind == "O":
            with suppress(TypeError, ValueError, OverflowError):
                data = data.astype(np.float64)
        if data.dtype.kind in "buifc":
            return data.astype(np.float32) if data.dtype == np.float16 else _native(data)
    raise InputError(f"The values of a sparse matrix are not an array of numbers; {MAKE_ANEW}")


def _is_array(part: Any, ndim: int) -> bool:
    """Whether this is an array as kernels know it; a mask would be lost on them."""
    plain = type(part) is np.ndarray or (
        isinstance(part, np.ndarray) and not isinstance(part, np.ma.MaskedArray)
    )
    return plain and part.ndim == ndim


def _check_whole(part: Any) -> None:
    """Refuse what is not an array of whole numbers."""
    if not (_is_array(part, 1) and part.dtype.kind in "iu"):
        raise InputError(
            f"The indices of a sparse matrix are not arrays of whole numbers; {MAKE_ANEW}"
        )


def _blocks_of(shape: tuple[int, int], height: int, width: int) -> tuple[int, int]:
    """How many blocks of that size lie below and beside each other, with nothing left over."""
    if height < 1 or width < 1 or shape[0] % height or shape[1] % width:
        raise InputError(
            f"A sparse matrix of shape {shape} cannot have blocks of shape {(height, width)}; "
            f"{MAKE_ANEW}"
        )
    return shape[0] // height, shape[1] // width


def _check_places(matrix: Any, places: NDArray[Any], size: int, name: str) -> None:
    """Refuse places of entries that are not among so many rows or columns."""
    _check_whole(places)
    if len(places) != len(matrix.data) or (
        len(places) and not (places.min() >= 0 and places.max() < size)
    ):
        raise InputError(
            f"A sparse matrix of shape {matrix.shape} has an entry that is not in its {size:,} "
            f"{name}; {MAKE_ANEW}"
        )


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in this machine's order of bytes, as kernels need them."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


CANONICAL, UNSORTED, BAD_OFFSETS, BAD_INDEX = range(4)
"""What `_structure` finds."""


@kernel
def _structure(indptr, indices, minor, available):
    """Whether offsets rise from zero to what there is, and indices lie in range and ascend."""
    if indptr.shape[0] < 1 or indptr[0] != 0:
        return BAD_OFFSETS
    for i in range(indptr.shape[0] - 1):
        if indptr[i + 1] < indptr[i] or indptr[i + 1] > available:
            return BAD_OFFSETS
    found = CANONICAL
    for i in range(indptr.shape[0] - 1):
        first, behind = unsigned(indptr[i]), unsigned(indptr[i + 1])
        if first == behind or _ascends(indices, first, behind, minor):
            continue
        last = np.int64(-1)
        for p in range(indptr[i], indptr[i + 1]):
            index = np.int64(indices[p])
            if index < 0 or index >= minor:
                return BAD_INDEX
            if index <= last:
                found = UNSORTED
            last = index
    return found


@kernel
def _ascends(indices, first, behind, minor):
    """Whether a row has ascending columns from 0 to `minor` - 1; LLVM vectorises the loop."""
    if np.int64(indices[first]) < 0 or not 0 <= np.int64(indices[behind - unsigned(1)]) < minor:
        return False
    found = True
    for p in range(first + unsigned(1), behind):
        found &= indices[p - unsigned(1)] < indices[p]
    return found


def all_finite(values: NDArray[Any]) -> bool:
    """Whether no number is NaN or infinite; not looked at where scikit-learn is told to assume so.

    `ExtremeClassifier.fit` checks X once and then says so by `sklearn.config_context`.

    Examples
    --------
    >>> all_finite(np.array([1.0, np.nan]))
    False
    """
    return bool(get_config()["assume_finite"] or np.isfinite(values).all())


LARGEST = 1e15
"""The largest magnitude in X: sums of many squares, and scores, still fit into float32."""


def all_moderate(values: NDArray[Any]) -> bool:
    """Whether no magnitude is beyond `LARGEST`, and no number is NaN; one pass over plain floats.

    Examples
    --------
    >>> all_moderate(np.array([1.0, -1e15])), all_moderate(np.array([1.0, np.nan]))
    (True, False)
    """
    return bool(_within(values, LARGEST))


@kernel
def _within(values, most):
    found = True
    for p in range(values.shape[0]):
        found &= abs(values[p]) <= most
    return found


def refuse_large(values: NDArray[Any]) -> None:
    """Refuse numbers beyond `LARGEST`, with which sums would overflow. O(n), no copy.

    Examples
    --------
    >>> refuse_large(np.array([1.0, -1e200]))
    Traceback (most recent call last):
    ...
    longtail.errors.InputError: X has the value -1e+200, and beyond 1e+15 sums overflow; scale the \
rows, as RowScaler does, or the columns.
    """
    if not len(values):
        return
    least, most = values.min(), values.max()
    if least < -LARGEST or most > LARGEST:
        raise InputError(
            f"X has the value {least if -least > most else most:g}, and beyond {LARGEST:g} sums "
            "overflow; scale the rows, as RowScaler does, or the columns."
        )


def stacked(parts: list[sp.csr_array]) -> sp.csr_array:
    """Matrices one below the other; one alone is not copied.

    The list is emptied: each is freed once it is copied, so that memory holds little more than one
    copy of all.

    Examples
    --------
    >>> stacked([sp.csr_array([[0, 2]]), sp.csr_array([[1, 0]])]).toarray().tolist()
    [[0, 2], [1, 0]]
    """
    if len(parts) == 1:
        return parts.pop()
    nnz, width = sum(part.nnz for part in parts), parts[0].shape[1]
    kind = np.int32 if max(nnz, width) < 2**31 else np.int64
    data = np.empty(nnz, dtype=np.result_type(*(part.dtype for part in parts)))
    indices = np.empty(nnz, dtype=kind)
    lengths = [np.zeros(1, dtype=kind), *(np.diff(part.indptr) for part in parts)]
    stop = nnz
    while parts:
        part = parts.pop()
        start = stop - part.nnz
        data[start:stop], indices[start:stop] = part.data, part.indices
        stop = start
    indptr = np.cumsum(np.concatenate(lengths), dtype=kind)
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))


def for_liblinear(X: sp.csr_array) -> sp.csr_array:
    """X as liblinear reads it: double precision, 32-bit indices."""
    if X.nnz >= 2**31 or max(X.shape) >= 2**31:
        raise InputError(
            "X is too large for liblinear, which counts in 32 bits; select features or use a "
            "method that does without it, such as dismec or proxml."
        )
    return sp.csr_array(
        (X.data.astype(np.float64), X.indices.astype(np.int32), X.indptr.astype(np.int32)),
        shape=X.shape,
    )


@kernel
def scatter_columns(features, values, ends, first, cursor, indices, data):
    """Put columns `first`, `first` + 1, ... into a matrix by rows. O(values).

    `cursor[j]` is where the next entry of row j goes; columns must come in order.
    """
    for b in range(ends.shape[0] - 1):
        for p in range(ends[b], ends[b + 1]):
            q = cursor[features[p]]
            indices[q] = first + b
            data[q] = values[p]
            cursor[features[p]] = q + 1


@kernel
def offer(labels, values, size, label, value):
    """Let a scored label into a best-first list of `size` entries, if it is among the best.

    Of equal scores the smaller label is ahead. Returns the new size.
    """
    k = labels.shape[0]
    if size == k:
        if k == 0 or value < values[k - 1] or (value == values[k - 1] and label > labels[k - 1]):
            return size
        size -= 1
    q = size
    while q > 0 and (values[q - 1] < value or (values[q - 1] == value and labels[q - 1] > label)):
        values[q] = values[q - 1]
        labels[q] = labels[q - 1]
        q -= 1
    values[q] = value
    labels[q] = label
    return size + 1


@kernel
def replace_worst(labels, values, label, value):
    """Put an entry in the place of the worst, the root of a heap; of equals the larger label."""
    size = labels.shape[0]
    q = 0
    while 2 * q + 1 < size:
        c = 2 * q + 1
        if c + 1 < size and (
            values[c + 1] < values[c] or (values[c + 1] == values[c] and labels[c + 1] > labels[c])
        ):
            c += 1
        if value < values[c] or (value == values[c] and label > labels[c]):
            break
        values[q] = values[c]
        labels[q] = labels[c]
        q = c
    values[q] = value
    labels[q] = label


@kernel
def _row_topk(indptr, indices, data, labels, values):
    """Best k stored entries of every row, columns ascending within it. O(nnz·k) at worst."""
    for i in range(indptr.shape[0] - 1):
        size = 0
        for p in range(indptr[i], indptr[i + 1]):
            size = offer(labels[i], values[i], size, indices[p], data[p])


def ranked(
    scores: sp.sparray | sp.spmatrix | NDArray[Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The k best labels of every row, best first; ties go to the smaller column.

    Parameters
    ----------
    scores : CSR matrix or dense array of shape (n, L)
        Of a sparse matrix only the stored entries take part.
    k : int
        How many labels per row.

    Returns
    -------
    labels : int64 array of shape (n, k)
        Column numbers, -1 where a row has fewer than k entries.
    values : float64 array of shape (n, k)
        Their scores, NaN where `labels` is -1.

    Examples
    --------
    >>> labels, values = ranked(np.array([[0.1, 0.7, 0.7]]), k=2)
    >>> labels.tolist(), values.tolist()
    ([[1, 2]], [[0.7, 0.7]])
    """
    if k < 1:
        raise ParameterError(f"k must be at least 1, not {k}.")
    if not sp.issparse(scores):
        dense = np.asarray(_as_table(scores), dtype=np.float64)
        n, width = dense.shape
        indptr = np.arange(0, n * width + 1, width) if width else np.zeros(n + 1, dtype=np.int64)
        columns = np.tile(np.arange(width, dtype=np.int64), n)
        return _ranked(indptr, columns, dense.ravel(), k)
    matrix = as_csr(scores)
    return _ranked(matrix.indptr, matrix.indices, matrix.data, k)


def from_ranked(labels: NDArray[Any], values: NDArray[Any], n_labels: int) -> sp.csr_array:
    """A matrix of the labels listed for each row, -1 for none: the inverse of `ranked`.

    Examples
    --------
    >>> from_ranked(np.array([[2, 0], [1, -1]]), np.array([[0.9, 0.1], [0.5, 0.0]]), 3).toarray()
    array([[0.1, 0. , 0.9],
           [0. , 0.5, 0. ]])
    """
    stored = labels >= 0
    matrix = sp.csr_array(
        (values[stored], labels[stored], np.concatenate(([0], np.cumsum(stored.sum(axis=1))))),
        shape=(len(labels), n_labels),
    )
    matrix.sort_indices()
    return matrix


def _ranked(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    n = len(indptr) - 1
    labels = np.full((n, k), -1, dtype=np.int64)
    values = np.full((n, k), np.nan)
    _row_topk(
        indptr.astype(np.int64), indices.astype(np.int64), data.astype(np.float64), labels, values
    )
    return labels, values
