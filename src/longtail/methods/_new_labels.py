"""New labels for a trained model, read from any form that they come in."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import DataWarning, InputError, warn
from longtail.labels import EncodedLabels, distinct_names, encode_labels, listed, name_array

_FORMS = {
    "names": "a list of label collections, or a 0/1 matrix with label_names",
    "dense": "a 0/1 matrix, dense or sparse, with one column per new label",
    "sparse": "a 0/1 matrix, dense or sparse, with one column per new label",
    "multiclass": "a 1-d array with the class of every row, or a 0/1 matrix with label_names",
}

_NOTHING_NEW = "y_new has no new label; give at least one label to add."


def encode_new_labels(
    y_new: Any, label_names: Sequence[Hashable] | None, *, known: NDArray[Any], kind: str
) -> tuple[sp.csr_array, NDArray[Any]]:
    """The matrix of the new labels and their names; an error if the model already has one.

    y_new and `label_names` are as `IndependentLabels.add_labels` describes them; `kind` is the form
    that y had when the model was fitted.

    Examples
    --------
    >>> known = name_array(["sea", "sun"])
    >>> matrix, names = encode_new_labels([["moon"], []], None, known=known, kind="names")
    >>> names.tolist(), matrix.toarray().tolist()
    (['moon'], [[1.0], [0.0]])
    """
    names = None if label_names is None else listed(label_names)
    if isinstance(y_new, Iterator):
        y_new = list(y_new)
    encoded = encode_labels(y_new)
    if names is not None and encoded.kind != "multiclass":
        encoded = encode_labels(y_new, label_names=names)
    if not encoded.matrix.shape[1]:
        raise InputError(_NOTHING_NEW)
    if encoded.kind == "multiclass" and kind == "multiclass":
        matrix, names = _unknown_classes(encoded, names, known)
    elif encoded.kind in ("dense", "sparse"):
        matrix, names = encoded.matrix, column_names(encoded, known, kind)
    elif encoded.kind == kind == "names":
        matrix, names = encoded.matrix, encoded.classes.tolist()
    else:
        raise InputError(
            f"y_new is {_what(encoded.kind)}, but the model was trained on {_what(kind)}; give "
            f"y_new as {_FORMS[kind]}."
        )
    if not names:
        raise InputError(_NOTHING_NEW)
    refuse_known(names, known, "leave it out of y_new, or call drop_labels first to train it anew")
    refuse_several(matrix, kind)
    _warn_of_labels_in_all_rows(matrix, names)
    return matrix, name_array(names)


def joined_names(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """The names of one array and then those of another, none altered.

    Examples
    --------
    >>> joined_names(name_array(["sea"]), name_array(["snow"])).tolist()
    ['sea', 'snow']
    >>> joined_names(np.arange(2), name_array(["snow"])).tolist()
    [0, 1, 'snow']
    """
    if first.dtype.kind == second.dtype.kind and first.dtype.kind != "O":
        return np.concatenate([first, second])
    return name_array([*first.tolist(), *second.tolist()])


def _unknown_classes(
    encoded: EncodedLabels, names: list[Any] | None, known: NDArray[Any]
) -> tuple[sp.csr_array, list[Any]]:
    """Of one class per row, the columns of the new classes; the other rows are negatives."""
    ours = set(known.tolist())
    column = {
        name: number for number, name in enumerate(encoded.classes.tolist()) if name not in ours
    }
    if names is None:
        names = list(column)
    wanted = set(distinct_names(names))
    stray = next((name for name in column if name not in wanted), None)
    if stray is not None:
        raise InputError(
            f"y_new holds the class {stray!r}, which is neither known to the model nor among "
            "label_names."
        )
    width = len(encoded.classes)
    wide = sp.csr_array(
        (encoded.matrix.data, encoded.matrix.indices, encoded.matrix.indptr),
        shape=(encoded.matrix.shape[0], width + 1),  # the last column is that of absent classes
    )
    return sp.csr_array(wide[:, [column.get(name, width) for name in names]]), names


def column_names(encoded: EncodedLabels, known: NDArray[Any], kind: str) -> list[Any]:
    """Names of the columns of a matrix: as given, or the next numbers where numbers are names."""
    if encoded.named:
        return list(encoded.classes.tolist())
    first, width = len(known), encoded.matrix.shape[1]
    if kind in ("dense", "sparse") and known.tolist() == list(range(first)):
        return list(range(first, first + width))
    raise InputError(
        f"y_new has {width} columns without names, but the labels of the model have names; give "
        "label_names."
    )


def refuse_known(names: list[Any], known: NDArray[Any], remedy: str) -> None:
    """Raise an error for labels that the model has."""
    ours = set(known.tolist())
    again = next((name for name in names if name in ours), None)
    if again is not None:
        raise InputError(f"The model has a label {again!r} already; {remedy}.")


def refuse_several(matrix: sp.csr_array, kind: str) -> None:
    """Raise an error for several new labels in a row if the model has one class per row."""
    several = np.diff(matrix.indptr) > 1
    if kind == "multiclass" and several.any():
        raise InputError(
            f"Row {int(several.argmax())} has several new labels, but the model has one class per "
            "row; give every row one at most."
        )


def _warn_of_labels_in_all_rows(matrix: sp.csr_array, names: list[Any]) -> None:
    n = matrix.shape[0]
    everywhere = np.flatnonzero(np.bincount(matrix.indices, minlength=len(names)) == n)
    if n and len(everywhere):
        warn(
            f"The new label {names[everywhere[0]]!r} is in all {n} rows of y_new, so it will be "
            "predicted for everything; add rows that do not have it.",
            DataWarning,
        )


def _what(kind: str) -> str:
    return {
        "names": "a list of label collections",
        "multiclass": "one class per row",
    }.get(kind, "a label matrix")
