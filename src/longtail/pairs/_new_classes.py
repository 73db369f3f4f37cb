"""Classes that a trained model is to know on top: which they are, whatever form they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.labels import encode_labels, name_array


def encode_new_classes(
    y: Any, label_names: Any, *, known: NDArray[Any], kind: str
) -> tuple[sp.csr_array, NDArray[Any]]:
    """The matrix of the new classes and their names; refused if the model knows one of them.

    Parameters
    ----------
    y : array, sparse matrix or sequence of label collections
        As `encode_labels` takes it.
    label_names : sequence, optional
        Names of the columns of a matrix.
    known : array of shape (L,)
        Classes of the model.
    kind : str
        The form that Y had when the model was fitted.

    Examples
    --------
    >>> known = name_array(["sea", "sun"])
    >>> matrix, names = encode_new_classes(["fog", "fog"], None, known=known, kind="multiclass")
    >>> names.tolist(), matrix.toarray().tolist()
    (['fog'], [[1.0], [1.0]])
    """
    if label_names is not None:
        label_names = list(
            np.asarray(label_names).tolist() if _is_array(label_names) else label_names
        )
    encoded = encode_labels(y, label_names=label_names)
    names = encoded.classes.tolist()
    if not names:
        raise InputError("There is no new class; give at least one class to add.")
    if encoded.kind in ("dense", "sparse") and label_names is None:
        if known.tolist() != list(range(len(known))):
            raise InputError(
                f"The new classes are {len(names)} columns without names, but those of the model "
                "have names; give label_names."
            )
        names = [len(known) + number for number in names]
    ours = set(known.tolist())
    again = next((name for name in names if name in ours), None)
    if again is not None:
        raise InputError(
            f"The model has a class {again!r} already, and only new ones can be added; leave its "
            "documents out, or train anew with all of them."
        )
    several = np.diff(encoded.matrix.indptr) > 1
    if kind == "multiclass" and several.any():
        raise InputError(
            f"Row {int(several.argmax())} has several new classes, but the model has one class a "
            "row; give every row one at most."
        )
    return encoded.matrix, name_array(names)


def joined_names(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """The names of one array and then those of another, none altered.

    Examples
    --------
    >>> joined_names(np.arange(2), name_array(["snow"])).tolist()
    [0, 1, 'snow']
    """
    if first.dtype.kind == second.dtype.kind and first.dtype.kind != "O":
        return np.concatenate([first, second])
    return name_array([*first.tolist(), *second.tolist()])


def _is_array(names: Any) -> bool:
    return isinstance(names, np.ndarray)
