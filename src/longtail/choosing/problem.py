"""The data of a comparison, made ready once: features, labels in one order, propensities."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from longtail.data import Dataset
from longtail.errors import InputError
from longtail.features import RowScaler, TextFeatures
from longtail.labels import label_counts, propensities
from longtail.labels.propensity import Constants, pair_of_constants
from longtail.tagger import FeatureKind, usual_features

Transformer = TextFeatures | RowScaler


@dataclass(frozen=True, eq=False)
class PreparedFeatures:
    """Features of one kind, of both parts.

    Attributes
    ----------
    X : csr_array of shape (n, D)
        Of the training part.
    X_test : csr_array of shape (m, D)
        Of the test part.
    transformer : TextFeatures or RowScaler
        What made them, fitted on the training part.
    seconds : float
        How long that took, both parts together.
    """

    X: sp.csr_array
    X_test: sp.csr_array
    transformer: Transformer
    seconds: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A training and a test part as every method gets them.

    Attributes
    ----------
    name : str or None
        What the data is called.
    targets : csr_array of shape (n, L) or list of tuples of names
        Training labels, as `fit` gets them.
    label_names : list or None
        Names of the L columns, if there are names.
    Y : csr_array of shape (n, L)
        The same labels as a matrix.
    Y_test : csr_array of shape (m, L or more)
        Test labels in the order of the training labels; those that no training point has come last.
    label_counts : array, one value a column of Y_test
        Training points of each label.
    propensities : array, one value a column of Y_test
        From the training counts.
    propensity_constants : pair of float
        A and B of the propensities.
    feature_names : array of shape (D,) or None
        Names of the columns of a feature matrix; texts bring their own.
    unknown_labels : int
        Labels of the test part that the training part does not know: every method misses them.
    one_class : bool
        Whether every point of both parts has exactly one label.
    inputs, test_inputs : list of str or csr_array
        What features are made of: the texts or the matrices of both parts.
    transformers : dict
        By kind of features, what makes them.
    made : dict
        By kind, the features that were asked for.
    """

    name: str | None
    targets: Any
    label_names: list[Any] | None
    Y: sp.csr_array
    Y_test: sp.csr_array
    label_counts: NDArray[np.int64]
    propensities: NDArray[np.float64]
    propensity_constants: tuple[float, float]
    feature_names: NDArray[Any] | None
    unknown_labels: int
    one_class: bool
    inputs: Any
    test_inputs: Any
    transformers: Mapping[FeatureKind, Transformer]
    made: dict[FeatureKind, PreparedFeatures] = field(default_factory=dict)

    def features(self, kind: FeatureKind = "scaled") -> PreparedFeatures:
        """The features of a kind, made when they are first asked for and kept.

        Parameters
        ----------
        kind : {"scaled", "counts"}
            What a classifier says in its `features`.
        """
        if kind not in self.made:
            self.made[kind] = self._shared(kind) or self._new(self.transformers[kind])
        return self.made[kind]

    def _shared(self, kind: FeatureKind) -> PreparedFeatures | None:
        """Features of another kind that the same transformer makes, if there are any."""
        wanted = self.transformers[kind]
        return next(
            (made for other, made in self.made.items() if self.transformers[other] is wanted), None
        )

    def _new(self, transformer: Transformer) -> PreparedFeatures:
        started = time.perf_counter()
        fitted = clone(transformer)
        X = fitted.fit_transform(self.inputs)
        X_test = fitted.transform(self.test_inputs)
        return PreparedFeatures(X, X_test, fitted, time.perf_counter() - started)

    @property
    def n_points(self) -> int:
        """Points of the training part."""
        return len(self.targets) if isinstance(self.targets, list) else int(self.targets.shape[0])

    @property
    def n_test_points(self) -> int:
        """Points of the test part."""
        return int(self.Y_test.shape[0])

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
    features: Transformer | Mapping[FeatureKind, Transformer] | None = None,
    propensity_constants: Constants | None = None,
) -> Problem:
    """Bring the labels of both parts into one order; features are made when a method asks.

    Parameters
    ----------
    train, test : Dataset
        Labels and features are matched by name where there are names.
    features : TextFeatures, RowScaler or mapping by kind, optional
        Fitted on the training part alone. By default as in `Tagger`: tf-idf of texts and rows of
        unit length for most methods, counts for those that want them. One transformer is for all
        methods, whatever they want; a mapping has the kinds "scaled" and "counts" or one of them.
    propensity_constants : str or pair of float, optional
        Of the propensities, as in `labels.propensities`.

    Notes
    -----
    O(nnz) time and memory beside what the features take.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> train, test = make_longtail(200, 100, 20, random_state=0).split(random_state=0)
    >>> problem = prepare(train, test)
    >>> problem.features().X.shape, problem.features("counts").X_test.shape
    ((150, 100), (50, 100))
    """
    for part, data in (("train", train), ("test", test)):
        if not isinstance(data, Dataset):
            raise InputError(
                f"The {part} part must be a Dataset, such as longtail.data.load reads or "
                f"Dataset(X, Y) makes, not {type(data).__name__}."
            )
        if not len(data):
            raise InputError(f"The {part} part has no points; a comparison needs some in both.")
    counts = label_counts(train.Y)
    test = test.aligned_to(label_names=train.classes)
    unknown = test.n_labels - train.n_labels
    counts = np.concatenate([counts, np.zeros(unknown, dtype=counts.dtype)])
    pair = pair_of_constants(propensity_constants)
    inputs, test_inputs = _inputs(train, test)
    named = train.label_names is not None
    return Problem(
        name=train.name,
        targets=train.label_sets() if named else train.Y,
        label_names=train.classes.tolist() if named else None,
        Y=train.Y,
        Y_test=test.Y,
        label_counts=counts,
        propensities=propensities(counts, len(train), propensity_constants=pair),
        propensity_constants=pair,
        feature_names=train.feature_names if train.texts is None else None,
        unknown_labels=unknown,
        one_class=all(bool((np.diff(part.Y.indptr) == 1).all()) for part in (train, test)),
        inputs=inputs,
        test_inputs=test_inputs,
        transformers=_transformers(features, texts=train.texts is not None),
    )


def _transformers(
    given: Transformer | Mapping[FeatureKind, Transformer] | None, *, texts: bool
) -> dict[FeatureKind, Transformer]:
    kinds: tuple[FeatureKind, ...] = ("scaled", "counts")
    if given is not None and not isinstance(given, Mapping):
        return dict.fromkeys(kinds, given)
    return {kind: usual_features(kind, texts=texts) for kind in kinds} | dict(given or {})


def _inputs(train: Dataset, test: Dataset) -> tuple[Any, Any]:
    """Texts of both parts, or feature matrices with the same columns."""
    if train.texts is not None:
        if test.texts is None:
            raise InputError(
                "The training part has texts, but the test part has none; give both parts texts."
            )
        return train.texts, test.texts
    if test.X is None:
        raise InputError(
            "The training part has features, but the test part has only texts; give both "
            "parts features."
        )
    if train.feature_names is None or test.feature_names is None:
        return train.X, test.aligned_to(n_features=train.n_features).X
    if train.feature_names.tolist() != test.feature_names.tolist():
        test = test.aligned_to(feature_names=train.feature_names)
    return train.X, test.X
