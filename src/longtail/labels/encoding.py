"""From any accepted form of y to a sparse 0/1 matrix with names, and back.

Four forms are understood, and an answer is given back in the form that came in:

==========  ==========================================  =====================
kind        y                                           answer
==========  ==========================================  =====================
multiclass  1-d array: one name per row                 1-d array of names
dense       2-d array of 0 and 1                        2-d int array
sparse      scipy sparse matrix of 0 and 1              CSR int array
names       sequence of collections of names            list of tuples
==========  ==========================================  =====================

Tables of pandas and polars are matrices whose columns have names.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from longtail._sparse import as_csr
from longtail.errors import InputError, warn
from longtail.labels.names import (
    distinct_names,
    is_missing,
    listed,
    matrix_to_names,
    name_array,
    names_to_matrix,
    place_columns,
)
from longtail.labels.tables import are_numbers, table_columns, table_values

Kind = Literal["multiclass", "dense", "sparse", "names"]
"""The form that labels came in, which is the form that predictions go out in."""

MOST_LABELS = 2**31 - 1
_NOT_A_MATRIX = "A label matrix holds 0 and 1; for names, give a list of label collections."


@dataclass(frozen=True)
class EncodedLabels:
    """A label matrix with the names of its columns and the form it came in.

    Attributes
    ----------
    matrix : csr_array of shape (n, L), float32
        Ones where a row has a label.
    classes : array of shape (L,)
        The label names, in the order of the columns.
    kind : str
        The form of the original, see the table at the top of this module.
    named : bool
        Whether the names were given; if not, they are the numbers of the columns.
    """

    matrix: sp.csr_array
    classes: NDArray[Any]
    kind: Kind
    named: bool = True


def encode_labels(Y: Any, *, label_names: Sequence[Hashable] | None = None) -> EncodedLabels:
    """Bring any accepted form of labels to a sparse matrix with names.

    Parameters
    ----------
    Y : array, sparse matrix, sequence of label collections or EncodedLabels
        See the table at the top of this module. Encoded labels are given back as they are.
    label_names : sequence, optional
        Names of the columns, for the dense and sparse forms; without them, a table's columns are
        named as it names them, those of a matrix by their numbers. For the other two forms, and
        for tables that have some of these names, the names that may occur, in the order wanted.

    Examples
    --------
    >>> encoded = encode_labels([("sea", "sun"), (), ("sun",)])
    >>> encoded.classes.tolist(), encoded.matrix.toarray().tolist()
    (['sea', 'sun'], [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    """
    if isinstance(Y, EncodedLabels) and label_names is None:
        return Y
    columns = table_columns(Y)
    if columns is None:
        return _encode(Y, label_names)
    values = table_values(Y)
    encoded = _encode(values, None)
    if encoded.kind in ("dense", "sparse"):
        return _encode_table(encoded, columns, label_names)
    if label_names is None:
        return encoded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)  # said above
        return _encode(values, label_names)


def _encode(Y: Any, label_names: Sequence[Hashable] | None) -> EncodedLabels:
    if isinstance(Y, memoryview) or (hasattr(Y, "__array__") and not hasattr(Y, "__iter__")):
        Y = np.asarray(Y)
    if Y is None or isinstance(Y, str | bytes) or not hasattr(Y, "__iter__"):
        raise InputError(
            f"Expected array-like (array or non-string sequence), got {Y!r:.40}; give a 1-d array "
            "of classes, a 0/1 matrix or a list of label collections."
        )
    if sp.issparse(Y):
        if Y.ndim != 2:
            raise InputError(f"y is sparse with {Y.ndim} dimension; give a 0/1 matrix.")
        return _encode_matrix(_checked(as_csr(Y)), label_names, "sparse")
    if not isinstance(Y, np.ndarray) and hasattr(Y, "to_numpy"):
        Y = Y.to_numpy()  # pandas and polars
    if isinstance(Y, np.ndarray) and Y.dtype != object:
        return _encode_array(Y, label_names)
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and _is_binary(Y):
        return _encode_array(Y, label_names)
    rows = list(Y)
    if rows and all(_is_collection(row) for row in rows):
        if _looks_like_indicator(rows):
            return _encode_array(np.asarray(rows), label_names)
        matrix, classes = names_to_matrix(rows, classes=label_names)
        return EncodedLabels(matrix, classes, "names")
    if any(_is_collection(row) for row in rows):
        _refuse_mixture(rows)
    if isinstance(Y, np.ndarray):
        return _encode_array(Y, label_names)
    try:
        array = name_array(rows) if all(type(row) is str for row in rows) else np.asarray(rows)
    except ValueError:  # text beside bytes that are none
        array = name_array(rows)
    # numpy makes strings of mixed names and drops trailing NULs
    return _encode_array(array if array.tolist() == rows else name_array(rows), label_names)


def decode_labels(matrix: sp.csr_array, classes: NDArray[Any], kind: Kind) -> Any:
    """The label matrix in the form that y had. The inverse of `encode_labels`.

    The multiclass form takes the first label of each row, so every row needs one.

    Examples
    --------
    >>> encoded = encode_labels([("sea", "sun"), (), ("sun",)])
    >>> decode_labels(encoded.matrix, encoded.classes, encoded.kind)
    [('sea', 'sun'), (), ('sun',)]
    """
    if kind == "multiclass":
        if (np.diff(matrix.indptr) == 0).any():
            raise InputError("A row has no label, so it cannot be given back as one class per row.")
        return classes[matrix.indices[matrix.indptr[:-1]]]
    if kind == "dense":
        return (matrix.toarray() != 0).astype(np.int64)
    if kind == "sparse":
        out = sp.csr_array(matrix, copy=True)
        out.data = np.ones(len(out.data), dtype=np.int64)
        return out
    return matrix_to_names(matrix, classes)


def _refuse_mixture(rows: list[Any]) -> None:
    odd = next(number for number, row in enumerate(rows) if not _is_collection(row))
    if rows[odd] is None or is_missing(rows[odd]):
        raise InputError(
            f"Row {odd} of y has {rows[odd]!r} in place of its labels; give an empty list where a "
            "row has none."
        )
    raise InputError(
        f"y mixes single labels, as in row {odd}, and collections of labels; give every row a list "
        "of its labels."
    )


def _is_collection(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes)


def _looks_like_indicator(rows: list[Any]) -> bool:
    """Nested lists that hold a dense 0/1 matrix, as scikit-learn's users write it.

    Lists of one width above one that hold nothing but 0 and 1: read as label collections, each
    would repeat a label or have both labels there are, which nobody means.
    """
    if not all(isinstance(row, list | np.ndarray) for row in rows):
        return False
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        return False
    flat = [value for row in rows for value in row]
    if not all(isinstance(value, int | float | np.number | np.bool_) for value in flat):
        return False
    return set(flat) <= {0, 1}


def _encode_array(array: NDArray[Any], label_names: Sequence[Hashable] | None) -> EncodedLabels:
    if array.ndim == 2 and array.shape[1] == 1 and not _is_binary(array):
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of "
            "y to (n_samples,), for example using ravel().",
            DataConversionWarning,
        )
        array = array.ravel()
    if array.ndim == 2:
        if array.dtype.kind not in "buifcO":
            raise InputError(_NOT_A_MATRIX)
        matrix = _checked(as_csr(array))
        return _encode_matrix(matrix, label_names, "dense")
    if array.ndim != 1:
        raise InputError(
            f"y has {array.ndim} dimensions; give a 1-d array of classes, a 2-d 0/1 matrix or a "
            "list of label collections."
        )
    return _encode_multiclass(array, label_names)


def _encode_multiclass(
    array: NDArray[Any], label_names: Sequence[Hashable] | None
) -> EncodedLabels:
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            odd = int(np.argmin(np.isfinite(array)))
            raise InputError(f"Input y contains NaN or infinity in row {odd}; give it a class.")
        if (array != np.floor(array)).any():
            raise InputError(
                "Unknown label type: continuous; y holds fractions, so give classes as names or "
                "whole numbers."
            )
    if label_names is None and array.dtype != object:
        classes, columns = np.unique(array, return_inverse=True)
    else:
        matrix, classes = names_to_matrix(([name] for name in array.tolist()), classes=label_names)
        return EncodedLabels(matrix, classes, "multiclass")
    n = len(array)
    matrix = sp.csr_array(
        (
            np.ones(n, dtype=np.float32),
            columns.astype(np.int32).ravel(),
            np.arange(n + 1, dtype=np.int64),
        ),
        shape=(n, len(classes)),
    )
    return EncodedLabels(matrix, classes, "multiclass")


def _is_binary(array: NDArray[Any]) -> bool:
    if array.dtype != object:
        return bool(np.isin(array, (0, 1)).all())
    try:
        return all(value in (0, 1) for value in array.flat)
    except (TypeError, ValueError):  # what pandas puts where a value is missing; arrays
        return False


def _checked(matrix: sp.csr_array) -> sp.csr_array:
    """Float32 copy with ones; stored zeros dropped; anything else refused."""
    data = matrix.data
    if data.dtype.kind not in "buif":
        raise InputError(_NOT_A_MATRIX)
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise InputError("Input y contains NaN or infinity; a label matrix holds 0 and 1.")
    if not ((data == 1) | (data == 0)).all():
        odd = data[(data != 1) & (data != 0)][0]
        raise InputError(
            f"y as a matrix may hold only 0 and 1, but holds {odd}; for classes give a 1-d array."
        )
    out = sp.csr_array(
        (data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape, copy=True
    )
    out.eliminate_zeros()
    return out


def _encode_table(
    encoded: EncodedLabels, columns: list[Any], label_names: Sequence[Hashable] | None
) -> EncodedLabels:
    """A matrix whose columns have names: in the order of `label_names` if these have them all."""
    own = None if are_numbers(columns) else columns
    if own is not None and label_names is not None:
        names = distinct_names(label_names)
        known = set(names)
        stray = [name for name in own if name not in known]
        if not stray:
            matrix = place_columns(
                _encode_matrix(encoded.matrix, own, encoded.kind),
                {name: number for number, name in enumerate(names)},
            )
            return EncodedLabels(matrix, name_array(names), encoded.kind)
        if len(stray) < len(own):
            raise InputError(
                f"y has a column {stray[0]!r} that is not among the label names, which have other "
                "columns of it; name all of them or none."
            )
    if own is not None and label_names is None and any(map(is_missing, own)):
        raise InputError("A column of y has NaN for a name; give it another.")
    names_of_all = own if label_names is None else label_names
    return _encode_matrix(encoded.matrix, names_of_all, encoded.kind)


def _encode_matrix(
    matrix: sp.csr_array, names: Sequence[Hashable] | None, kind: Kind
) -> EncodedLabels:
    """A matrix with the names of its columns, or their numbers."""
    width = matrix.shape[1]
    if width > MOST_LABELS:
        raise InputError(f"y has {width:,} columns, more than the 2^31 - 1 labels allowed.")
    if names is None:
        return EncodedLabels(matrix, np.arange(width), kind, named=False)
    names = listed(names)
    if len(names) != width:
        raise InputError(
            f"There are {len(names)} label names for {width} label columns; give one per column."
        )
    return EncodedLabels(matrix, name_array(distinct_names(names)), kind)
