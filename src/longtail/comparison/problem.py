"""The data of a comparison, made ready once: features, labels in one order, propensities."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from longtail.data import Dataset, RowScaler, TextFeatures
from longtail.errors import InputError
from longtail.labels import label_counts, propensities


@dataclass(frozen=True, eq=False)
class Problem:
    """A training and a test part as every method gets them.

    Attributes
    ----------
    name : str or None
        What the data is called.
    X : csr_array of shape (n, D)
        Training features.
    targets : csr_array of shape (n, L) or list of tuples of names
        Training labels, as `fit` gets them.
    label_names : list or None
        Names of the L columns, if there are names.
    X_test : csr_array of shape (m, D)
        Test features.
    Y_test : csr_array of shape (m, L or more)
        Test labels in the order of the training labels; those that no training point has come last.
    propensities : array, one value a column of Y_test
        From the training counts.
    features : TextFeatures or RowScaler
        What made the features, fitted on the training part.
    feature_names : array of shape (D,) or None
        Names of the columns of a feature matrix; texts bring their own.
    feature_seconds : float
        How long the features took, both parts together.
    unknown_labels : int
        Labels of the test part that the training part does not know: every method misses them.
    """

    name: str | None
    X: sp.csr_array
    targets: Any
    label_names: list[Any] | None
    X_test: sp.csr_array
    Y_test: sp.csr_array
    propensities: NDArray[np.float64]
    features: TextFeatures | RowScaler
    feature_names: NDArray[Any] | None
    feature_seconds: float
    unknown_labels: int

    @property
    def n_labels(self) -> int:
        """Labels of the training part."""
        return int(self.Y_test.shape[1]) - self.unknown_labels

    @property
    def unlabelled(self) -> int:
        """Test points without a label, on which no ranking can be right."""
        return int((np.diff(self.Y_test.indptr) == 0).sum())


def prepare(
    train: Dataset,
    test: Dataset,
    *,
    features: TextFeatures | RowScaler | None = None,
    constants: str | None = None,
) -> Problem:
    """Make the features of both parts and bring the labels into one order.

    Parameters
    ----------
    train, test : Dataset
        Labels and features are matched by name where there are names.
    features : TextFeatures or RowScaler, optional
        Fitted on the training part alone. By default `TextFeatures()` for texts and `RowScaler()`,
        which scales rows to unit length, for matrices, as in `Tagger`.
    constants : str, optional
        Published data set whose propensity constants are to be used.

    Notes
    -----
    O(nnz) time and memory beside what the text features take.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> train, test = make_longtail(200, 100, 20, random_state=0).split(random_state=0)
    >>> problem = prepare(train, test)
    >>> problem.X.shape, problem.X_test.shape, problem.unknown_labels
    ((150, 100), (50, 100), 0)
    """
    for part, data in (("train", train), ("test", test)):
        if not len(data):
            raise InputError(f"The {part} part has no points; a comparison needs some in both.")
    if features is None:
        features = RowScaler() if train.texts is None else TextFeatures()
    counts = label_counts(train.Y)
    test = test.aligned_to(label_names=train.classes)
    unknown = test.n_labels - train.n_labels
    inputs, test_inputs = _inputs(train, test)
    started = time.perf_counter()
    fitted = clone(features)
    X = fitted.fit_transform(inputs)
    X_test = fitted.transform(test_inputs)
    seconds = time.perf_counter() - started
    named = train.label_names is not None
    return Problem(
        name=train.name,
        X=X,
        targets=train.label_sets() if named else train.Y,
        label_names=train.classes.tolist() if named else None,
        X_test=X_test,
        Y_test=test.Y,
        propensities=propensities(
            np.concatenate([counts, np.zeros(unknown, dtype=counts.dtype)]),
            len(train),
            dataset=constants,
        ),
        features=fitted,
        feature_names=train.feature_names if train.texts is None else None,
        feature_seconds=seconds,
        unknown_labels=unknown,
    )


def _inputs(train: Dataset, test: Dataset) -> tuple[Any, Any]:
    """Texts of both parts, or feature matrices with the same columns."""
    if train.texts is not None:
        if test.texts is None:
            raise InputError("The training part has texts, but the test part has none.")
        return train.texts, test.texts
    if test.X is None:
        raise InputError("The training part has features, but the test part has only texts.")
    if train.feature_names is None or test.feature_names is None:
        return train.X, test.aligned_to(n_features=train.n_features).X
    if train.feature_names.tolist() != test.feature_names.tolist():
        test = test.aligned_to(feature_names=train.feature_names)
    return train.X, test.X
