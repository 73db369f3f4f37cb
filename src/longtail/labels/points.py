"""Training data as a classifier takes it: X is checked once, labels are encoded once."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.validation import _check_sample_weight, validate_data

from longtail._sparse import NO_MATRIX, all_moderate, as_our_csr, refuse_large, sound
from longtail.errors import InputError, InputTypeError
from longtail.labels.encoding import EncodedLabels, encode_labels

_CSR = (sp.csr_array, sp.csr_matrix)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@runtime_checkable
class LabelledPoints(Protocol):
    """Points whose labels are encoded already, as those of a `Dataset`."""

    X: sp.csr_array | None

    @property
    def encoded(self) -> EncodedLabels:
        """Their labels."""


def training_points(
    estimator: Any, X: Any, y: Any, label_names: Any = None
) -> tuple[sp.csr_array, EncodedLabels]:
    """Features and labels of training points, refused in one sentence if they cannot be used.

    `y` is None where X has the labels; the estimator learns the number of features and their names.
    """
    if isinstance(X, LabelledPoints):
        return _points_of(estimator, X, y, label_names)
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; give "
            "the labels of every row."
        )
    rows = checked_rows(estimator, X, reset=True)
    encoded = encode_labels(y, label_names=label_names)
    if encoded.matrix.shape[0] != rows.shape[0]:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {rows.shape[0]} "
            f"rows, y has {encoded.matrix.shape[0]}; give the labels of every row."
        )
    if encoded.matrix.shape[1] == 0:
        raise InputError("y has no labels at all; at least one label is needed to train.")
    return rows, encoded


def _points_of(
    estimator: Any, data: LabelledPoints, y: Any, label_names: Any
) -> tuple[sp.csr_array, EncodedLabels]:
    """The points of a data set, which has checked its features itself."""
    if y is not None or label_names is not None:
        raise InputError("A data set has labels and names of its own; give it alone.")
    if data.X is None:
        raise InputError(
            "The data set has texts and no features; train a Tagger on it, or make features of the "
            "texts first."
        )
    with config_context(assume_finite=True):
        return training_points(estimator, data.X, data.encoded)


def checked_rows(estimator: Any, X: Any, *, reset: bool) -> sp.csr_array:
    """X as canonical CSR of floats, refused in one sentence if it cannot be used.

    With `reset` the estimator learns the number of features; without, it has to know it.
    """
    if not reset and _is_plain(estimator, X):
        rows = as_our_csr(X)
        if all_moderate(rows.data):
            return rows
    X = np.asarray(X) if isinstance(X, np.matrix) else sound(X)
    try:
        checked = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
        )
    except (TypeError, OverflowError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InputTypeError(f"{NO_MATRIX.removesuffix('.')} ({reason}).") from None
    except ValueError as error:
        raise InputError(_one_sentence(str(error))) from None
    rows = as_our_csr(checked)
    refuse_large(rows.data)
    return rows


def as_row(x: Any) -> Any:
    """One point, given with one dimension or two, with two."""
    if sp.issparse(x):
        return sound(x).reshape(1, -1) if x.ndim == 1 else x
    try:
        return x if getattr(x, "ndim", None) == 2 else np.atleast_2d(np.asarray(x))
    except ValueError:
        raise InputError(NO_MATRIX) from None


def _is_plain(estimator: Any, X: Any) -> bool:
    """Whether X needs none of scikit-learn's checks, which cost a row more than its scores."""
    return (
        isinstance(X, _CSR)
        and X.ndim == 2
        and isinstance(X.data, np.ndarray)
        and X.data.dtype in _FLOATS
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def check_feature_names(feature_names: Any, n_features: int) -> None:
    """Refuse names of features that are not one per column."""
    if len(feature_names) != n_features:
        raise InputError(
            f"There are {len(feature_names)} feature names for {n_features} features; give one "
            "name per column."
        )


def weighted_points(
    rows: sp.csr_array, Y: sp.csr_array, sample_weight: Any
) -> tuple[sp.csr_array, sp.csr_array, NDArray[np.float64]]:
    """The rows that have a weight, their labels, and the weights.

    Refused in one sentence unless these are numbers from zero on, one per row.
    """
    try:
        weights = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True, copy=True
        )
    except ValueError as error:
        raise InputError(_one_sentence(str(error))) from None
    if weights.all():
        return rows, Y, weights
    some = np.flatnonzero(weights)
    if not len(some):
        raise InputError("All sample_weight are zero; give some rows a positive weight.")
    return rows[some], Y[some], weights[some]


def shares_memory(part: sp.csr_array, given: Any) -> bool:
    """Whether a checked matrix is the memory of what a user gave."""
    theirs = [given.X, given.encoded.matrix] if isinstance(given, LabelledPoints) else [given]
    return any(
        sp.issparse(one) and hasattr(one, "data") and np.may_share_memory(part.data, one.data)
        for one in theirs
    )


def _one_sentence(message: str) -> str:
    """scikit-learn's complaint about X, shortened to the cause and the remedy."""
    first = message.splitlines()[0].rstrip(".:")
    if first.startswith("setting an array element with a sequence"):
        return NO_MATRIX
    if "could not convert string to float" in first:
        return "X holds texts; make features of them, as TextFeatures and Tagger do."
    if first.startswith("The feature names should match"):
        names = " ".join(message.split()[11:]).replace("Feature", "feature")
        return f"{first}: {names}; give the columns that fit had."
    if first.startswith("Input X contains"):
        return f"{first}; replace these values first."
    if "Reshape your data" in message:
        return f"{first}. Reshape your data: one row per point, one column per feature."
    return f"{first}."
