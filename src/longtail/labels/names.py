"""Label names: as a 0/1 matrix and back, as an array that alters none, as columns of a model."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError

if TYPE_CHECKING:
    from longtail.labels.encoding import EncodedLabels


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
        known = {name: column for column, name in enumerate(distinct_names(classes))}
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
                f"Row {number} of y holds a label that is not hashable; use strings or numbers."
            ) from None
        except KeyError as error:
            raise InputError(
                f"Row {number} of y holds the label {error.args[0]!r}, which is not among the "
                "known label names."
            ) from None
        indptr.append(len(columns))
    names = list(known)
    ids = np.asarray(columns, dtype=np.int32)
    if any(map(is_missing, names)):
        first = int(np.argmax(np.isin(ids, np.flatnonzero([is_missing(name) for name in names]))))
        number = int(np.searchsorted(indptr, first, side="right")) - 1
        raise InputError(
            f"Input y contains NaN as a label of row {number}; leave it out or give it a name."
        )
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


LONGEST_NAME = 2**16
"""Characters that the name of a label or a feature may have."""
MOST_PADDING = 8
"""How many times as long as the names together the blanks between them may be."""


class LabelSets(list[tuple[Any, ...]]):
    """Label sets as a list of tuples, which numpy takes as one object per row.

    numpy would make a table of tuples of one length and refuse others; scikit-learn's
    `cross_val_predict` joins predictions in this way.

    Examples
    --------
    >>> np.concatenate([LabelSets([("sea", "sun")]), LabelSets([()])]).tolist()
    [('sea', 'sun'), ()]
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.fromiter(self, dtype=object, count=len(self))


def matrix_to_names(matrix: sp.csr_array, classes: NDArray[Any]) -> LabelSets:
    """The stored labels of every row as a tuple of names, in column order.

    Examples
    --------
    >>> matrix_to_names(sp.csr_array([[0, 1], [1, 1]]), name_array(["a", "b"]))
    [('b',), ('a', 'b')]
    """
    matrix = sp.csr_array(matrix)
    names = classes[matrix.indices].tolist()
    ends = matrix.indptr.tolist()
    return LabelSets(tuple(names[a:b]) for a, b in pairwise(ends))


def name_array(names: Sequence[Any]) -> NDArray[Any]:
    """Names as a 1-d array: of one numpy type where they share one, of objects otherwise.

    numpy keeps all strings at the width of the longest. Where that would take `MOST_PADDING` times
    what they hold, and more than a megabyte, they are objects, too. A name of more than
    `LONGEST_NAME` characters, or with half of a surrogate pair, is refused.

    Examples
    --------
    >>> [name_array(names).dtype.kind for names in (["a", "bc"], [1, 2], [1, "a"])]
    ['U', 'i', 'O']
    """
    if isinstance(names, np.ndarray) and names.ndim == 1:
        return names
    kinds = {type(name) for name in names}
    if kinds == {str}:
        _refuse_halves(names)
        lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
        longest = int(lengths.max())
        if longest > LONGEST_NAME:
            raise InputError(
                f"A name has {longest:,} characters, more than {LONGEST_NAME:,}: "
                f"{max(names, key=len)!r:.30}...; is this the right column?"
            )
        # numpy drops trailing NULs
        if padded_size(lengths) and not any(name[-1:] == "\0" for name in names):
            return np.asarray(names)
    elif kinds <= {str} or kinds <= {int} or kinds <= {float} or kinds <= {bool}:
        try:
            array = np.asarray(names)
            # numpy turns huge integers into objects or floats
            if array.tolist() == list(names):
                return array if len(names) else np.asarray(names, dtype=str)
        except OverflowError:
            pass
    return np.fromiter(names, dtype=object, count=len(names))


def padded_size(lengths: NDArray[np.int64]) -> int:
    """Bytes that numpy needs for strings as wide as the longest; 0 where they are to be objects.

    Examples
    --------
    >>> padded_size(np.array([1, 2])), padded_size(np.array([1] * 999 + [999]))
    (16, 0)
    """
    padded = int(lengths.max(initial=1)) * len(lengths)
    return 4 * padded if padded <= max(2**18, MOST_PADDING * int(lengths.sum())) else 0


def _refuse_halves(names: Sequence[str]) -> None:
    """Refuse a name that UTF-8 cannot hold."""
    for name in names:
        try:
            name.isascii() or name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"The name {name!a:.40} holds half of a surrogate pair; correct it."
            ) from None


def listed(names: Any) -> list[Any]:
    """Names as a list of plain Python values, from whatever sequence holds them.

    Examples
    --------
    >>> listed(np.array(["sea", "sun"])), listed(("sea", 2))
    (['sea', 'sun'], ['sea', 2])
    """
    return list(names.tolist() if hasattr(names, "tolist") else names)


def distinct_names(names: Any) -> list[Any]:
    """Label names as a list, refused if two are the same.

    Examples
    --------
    >>> distinct_names(("sea", "sun"))
    ['sea', 'sun']
    """
    names = listed(names)
    try:
        distinct = len(set(names))
    except TypeError:
        raise InputError("A label name is not hashable; use strings or numbers.") from None
    if distinct != len(names):
        raise InputError("The label names are not distinct; give each column its own name.")
    return names


def is_missing(name: Any) -> bool:
    """Whether it stands for a missing value: NaN, or pandas' own marker."""
    try:
        return bool(name != name)
    except TypeError:  # pandas' marker
        return True


def columns_of(names: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The columns of some labels of a model; an unknown one is refused.

    Examples
    --------
    >>> columns_of(["sun"], name_array(["sea", "sun"])).tolist()
    [1]
    """
    if isinstance(names, str | bytes) or not hasattr(names, "__iter__"):
        raise InputError(f"Give a list of label names, such as [{names!r:.60}].")
    column = {name: number for number, name in enumerate(known.tolist())}
    try:
        return np.array([column[name] for name in listed(names)], dtype=np.int64)
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


def place_columns(encoded: EncodedLabels, position: dict[Any, int]) -> sp.csr_array:
    """The matrix with its columns moved to the position of their names; new names are appended.

    `position` grows by the names it did not have.

    Examples
    --------
    >>> from longtail.labels import encode_labels
    >>> place_columns(encode_labels(["sun", "sea"]), {"sun": 0}).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    target = np.array(
        [position.setdefault(name, len(position)) for name in encoded.classes.tolist()],
        dtype=np.int64,
    )
    matrix = encoded.matrix
    moved = sp.csr_array(
        (matrix.data, target[matrix.indices], matrix.indptr.copy()),
        shape=(matrix.shape[0], len(position)),
    )
    moved.sort_indices()
    return moved
