"""Which column is which label: look-ups by name, and columns brought into another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError

if TYPE_CHECKING:
    from longtail.labels.encoding import EncodedLabels


def columns_of(names: Any, known: NDArray[Any]) -> NDArray[np.int64]:
    """The columns of some labels of a model; an unknown one is refused.

    Examples
    --------
    >>> from longtail.labels import name_array
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
    >>> from longtail.labels import name_array
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
