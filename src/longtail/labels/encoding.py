"""From whatever a user calls Y to a sparse 0/1 matrix with names, and back.

Four forms are understood, and an answer is given back in the form that came in:

==========  ==========================================  =====================
kind        Y                                           answer
==========  ==========================================  =====================
multiclass  1-d array: one name a row                   1-d array of names
dense       2-d array of 0 and 1                        2-d int array
sparse      scipy sparse matrix of 0 and 1              CSR int array
names       sequence of collections of names            list of tuples
==========  ==========================================  =====================
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import InputError

Kind = Literal["multiclass", "dense", "sparse", "names"]
"""The form that labels came in, which is the form that predictions go out in."""

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
    """

    matrix: sp.csr_array
    classes: NDArray[Any]
    kind: Kind


def encode_labels(Y: Any, *, label_names: Sequence[Hashable] | None = None) -> EncodedLabels:
    """Bring any accepted form of Y to a sparse matrix with names.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        See the table at the top of this module.
    label_names : sequence, optional
        Names of the columns, for the dense and sparse forms; their numbers otherwise. For the
        other two forms, the names that may occur, in the order wanted.

    Examples
    --------
    >>> encoded = encode_labels([("sea", "sun"), (), ("sun",)])
    >>> encoded.classes.tolist(), encoded.matrix.toarray().tolist()
    (['sea', 'sun'], [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    """
    if hasattr(Y, "__array__") and not hasattr(Y, "__iter__"):
        Y = np.asarray(Y)
    if Y is None or isinstance(Y, str | bytes) or not hasattr(Y, "__iter__"):
        raise InputError(
            f"Expected array-like (array or non-string sequence), got {Y!r:.40}; give a 1-d array "
            "of classes, a 0/1 matrix or a list of label collections."
        )
    if sp.issparse(Y):
        if Y.ndim != 2:
            raise InputError(f"Y is sparse with {Y.ndim} dimension; give a 0/1 matrix.")
        return EncodedLabels(_checked(as_csr(Y)), _column_names(Y.shape[1], label_names), "sparse")
    if not isinstance(Y, np.ndarray) and hasattr(Y, "to_numpy"):
        Y = Y.to_numpy()  # pandas and polars
    if isinstance(Y, np.ndarray) and Y.dtype != object:
        return _encode_array(Y, label_names)
    if isinstance(Y, np.ndarray) and Y.ndim == 2 and all(value in (0, 1) for value in Y.flat):
        return _encode_array(Y, label_names)
    rows = list(Y)
    if rows and all(_is_collection(row) for row in rows):
        if _looks_like_indicator(rows):
            return _encode_array(np.asarray(rows), label_names)
        matrix, classes = names_to_matrix(rows, classes=label_names)
        return EncodedLabels(matrix, classes, "names")
    if any(_is_collection(row) for row in rows):
        raise InputError(
            "Y mixes single labels and collections of labels; give every row a list of its labels."
        )
    if isinstance(Y, np.ndarray):
        return _encode_array(Y, label_names)
    try:
        array = np.asarray(rows)
    except ValueError:  # text beside bytes that are none
        array = name_array(rows)
    # numpy makes strings of mixed names and drops trailing NULs
    return _encode_array(array if array.tolist() == rows else name_array(rows), label_names)


def decode_labels(matrix: sp.csr_array, classes: NDArray[Any], kind: Kind) -> Any:
    """The label matrix in the form that Y had. The inverse of `encode_labels`.

    The multiclass form takes the first label of each row, so every row needs one.

    Examples
    --------
    >>> encoded = encode_labels([("sea", "sun"), (), ("sun",)])
    >>> decode_labels(encoded.matrix, encoded.classes, encoded.kind)
    [('sea', 'sun'), (), ('sun',)]
    """
    if kind == "multiclass":
        if (np.diff(matrix.indptr) == 0).any():
            raise InputError("A row has no label, so it cannot be given back as one class a row.")
        return classes[matrix.indices[matrix.indptr[:-1]]]
    if kind == "dense":
        return (matrix.toarray() != 0).astype(np.int64)
    if kind == "sparse":
        out = sp.csr_array(matrix, copy=True)
        out.data = np.ones(len(out.data), dtype=np.int64)
        return out
    return matrix_to_names(matrix, classes)


def names_to_matrix(
    rows: Iterable[Collection[Hashable]], *, classes: Sequence[Hashable] | None = None
) -> tuple[sp.csr_array, NDArray[Any]]:
    """Label collections as a 0/1 matrix and the names of its columns. O(number of labels given).

    Parameters
    ----------
    rows : iterable of collections
        Names of any hashable type; a name given twice in a row counts once.
    classes : sequence, optional
        The columns to use. Without it: all names that occur, sorted where they can be compared
        with each other and in the order of first appearance where not.

    Examples
    --------
    >>> matrix, names = names_to_matrix([{"b"}, {"a", "b"}])
    >>> names.tolist(), matrix.toarray().tolist()
    (['a', 'b'], [[0.0, 1.0], [1.0, 1.0]])
    """
    known: dict[Any, int] = {}
    if classes is not None:
        try:
            known = {name: column for column, name in enumerate(classes)}
        except TypeError:
            raise InputError("A label name is not hashable; use strings or numbers.") from None
        if len(known) != len(classes):
            raise InputError("The label names are not distinct; give each column its own name.")
    indptr = [0]
    columns: list[int] = []
    for number, row in enumerate(rows):
        if isinstance(row, np.ndarray):
            row = row.tolist()
        try:
            if classes is None:
                columns.extend({known.setdefault(name, len(known)) for name in row})
            else:
                columns.extend({known[name] for name in row})
        except TypeError:
            raise InputError(
                f"Row {number} of Y holds a label that is not hashable; use strings or numbers."
            ) from None
        except KeyError as error:
            raise InputError(
                f"Row {number} of Y holds the label {error.args[0]!r}, which is not among the "
                "known label names."
            ) from None
        indptr.append(len(columns))
    names = list(known)
    if any(name != name for name in names):
        raise InputError("Input y contains NaN as a label; leave it out or give it a name.")
    ids = np.asarray(columns, dtype=np.int32)
    if classes is None:
        try:
            order = sorted(range(len(names)), key=names.__getitem__)
        except TypeError:
            order = list(range(len(names)))
        position = np.empty(len(names), dtype=np.int32)
        position[order] = np.arange(len(names), dtype=np.int32)
        ids = position[ids] if len(ids) else ids
        names = [names[i] for i in order]
    matrix = sp.csr_array(
        (np.ones(len(ids), dtype=np.float32), ids, np.asarray(indptr, dtype=np.int64)),
        shape=(len(indptr) - 1, len(names)),
    )
    matrix.sort_indices()
    return matrix, name_array(names)


def matrix_to_names(matrix: sp.csr_array, classes: NDArray[Any]) -> list[tuple[Any, ...]]:
    """The stored labels of every row as a tuple of names, in column order.

    Examples
    --------
    >>> matrix_to_names(sp.csr_array([[0, 1], [1, 1]]), name_array(["a", "b"]))
    [('b',), ('a', 'b')]
    """
    matrix = sp.csr_array(matrix)
    names = classes[matrix.indices].tolist()
    ends = matrix.indptr.tolist()
    return [tuple(names[a:b]) for a, b in pairwise(ends)]


def name_array(names: Sequence[Any]) -> NDArray[Any]:
    """Names as a 1-d array: of one numpy type where they share one, of objects otherwise.

    Examples
    --------
    >>> [name_array(names).dtype.kind for names in (["a", "bc"], [1, 2], [1, "a"])]
    ['U', 'i', 'O']
    """
    if isinstance(names, np.ndarray) and names.ndim == 1:
        return names
    kinds = {type(name) for name in names}
    if kinds <= {str} or kinds <= {int} or kinds <= {float} or kinds <= {bool}:
        try:
            array = np.asarray(names)
            # numpy drops trailing NULs of strings and turns huge integers into objects or floats
            if array.tolist() == list(names):
                return array if len(names) else np.asarray(names, dtype=str)
        except OverflowError:
            pass
    return np.fromiter(names, dtype=object, count=len(names))


def columns_of(names: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The columns of some labels of a model; an unknown one is refused.

    Examples
    --------
    >>> columns_of(["sun"], name_array(["sea", "sun"])).tolist()
    [1]
    """
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise InputError(f"Give a list of label names, such as [{names!r:.60}].")
    wanted = names.tolist() if isinstance(names, np.ndarray) else names
    column = {name: number for number, name in enumerate(known.tolist())}
    try:
        return np.array([column[name] for name in wanted], dtype=np.int64)
    except KeyError as error:
        raise InputError(f"The model knows no label {error.args[0]!r}; see its classes_.") from None
    except TypeError:
        raise InputError("A label name is not hashable; give the names of single labels.") from None


def columns_without(names: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The columns that stay when some labels of a model are dropped; one at least has to.

    Examples
    --------
    >>> columns_without(["sun"], name_array(["sea", "sun", "fog"])).tolist()
    [0, 2]
    """
    stays = np.ones(len(known), dtype=bool)
    stays[columns_of(names, known)] = False
    if not stays.any():
        raise InputError("That would drop every label of the model; keep at least one.")
    return np.flatnonzero(stays)


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
    if array.ndim == 2 and array.shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        if not _is_binary(array):
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
            array = array.ravel()
    if array.ndim == 2:
        if array.dtype.kind not in "buifcO":
            raise InputError(_NOT_A_MATRIX)
        matrix = _checked(sp.csr_array(array) if array.dtype != object else as_csr(array.tolist()))
        return EncodedLabels(matrix, _column_names(array.shape[1], label_names), "dense")
    if array.ndim != 1:
        raise InputError(
            f"Y has {array.ndim} dimensions; give a 1-d array of classes, a 2-d 0/1 matrix or a "
            "list of label collections."
        )
    return _encode_multiclass(array, label_names)


def _encode_multiclass(
    array: NDArray[Any], label_names: Sequence[Hashable] | None
) -> EncodedLabels:
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise InputError("Input y contains NaN or infinity; give every row a class.")
        if (array != np.floor(array)).any():
            raise InputError(
                "Unknown label type: continuous; Y holds fractions, so give classes as names or "
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
    return bool(np.isin(array, (0, 1)).all()) if array.dtype != object else False


def _checked(matrix: sp.csr_array) -> sp.csr_array:
    """Float32 copy with ones; stored zeros dropped; anything else refused."""
    data = matrix.data
    if data.dtype.kind not in "buif":
        raise InputError(_NOT_A_MATRIX)
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise InputError("Input Y contains NaN or infinity; a label matrix holds 0 and 1.")
    if not ((data == 1) | (data == 0)).all():
        odd = data[(data != 1) & (data != 0)][0]
        raise InputError(
            f"Y as a matrix may hold only 0 and 1, but holds {odd}; for classes give a 1-d array."
        )
    out = sp.csr_array(
        (data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape, copy=True
    )
    out.eliminate_zeros()
    return out


def _column_names(width: int, names: Sequence[Hashable] | None) -> NDArray[Any]:
    if names is None:
        return np.arange(width)
    if len(names) != width:
        raise InputError(
            f"There are {len(names)} label names for {width} label columns; give one a column."
        )
    try:
        distinct = len(set(names))
    except TypeError:
        raise InputError("A label name is not hashable; use strings or numbers.") from None
    if distinct != width:
        raise InputError("The label names are not distinct; give each column its own name.")
    return name_array(list(names))
