"""The data of a comparison, made ready once: features, labels in one order, propensities."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.data import Dataset
from longtail.errors import InputError
from longtail.features import RowScaler, TextFeatures
from longtail.features.made import FeatureKind, MadeFeatures, make_features, usual_features
from longtail.labels import label_counts
from longtail.labels.propensity import Constants, pair_of_constants

Transformer = TextFeatures | RowScaler


@dataclass(frozen=True)
class PreparedFeatures(MadeFeatures):
    """Features of one kind, of both parts; `seconds` is the time for both.

    Attributes
    ----------
    X_test : csr_array of shape (m, D)
        Of the test part.
    """

    X_test: sp.csr_array = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Problem:
    """A training and a test part as every method gets them.

    Attributes
    ----------
    train : Dataset
        The training part.
    test : Dataset
        The test part, its labels in the order of the training labels; those that no training point
        has come last.
    propensity_constants : pair of float
        A and B of the propensities.
    transformers : dict
        By kind of features, what makes them.
    made : dict
        By kind, the features that were asked for.
    """

    train: Dataset
    test: Dataset
    propensity_constants: tuple[float, float]
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
        inputs, test_inputs = _inputs(self.train, self.test)
        made = make_features(transformer, inputs)
        started = time.perf_counter()
        X_test = made.transformer.transform(test_inputs)
        seconds = made.seconds + time.perf_counter() - started
        return PreparedFeatures(made.X, made.transformer, made.peak_bytes, seconds, X_test=X_test)

    @property
    def name(self) -> str | None:
        """What the data is called."""
        return self.train.name

    @property
    def has_texts(self) -> bool:
        """Whether features are made of texts."""
        return self.train.texts is not None

    @property
    def feature_names(self) -> NDArray[Any] | None:
        """Names of the columns of a feature matrix; texts bring their own."""
        return None if self.has_texts else self.train.feature_names

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Training points of each label, one value per column of `test.Y`."""
        counts = label_counts(self.train.Y)
        return np.concatenate([counts, np.zeros(self.unknown_labels, dtype=counts.dtype)])

    @property
    def one_class(self) -> bool:
        """Whether every point of both parts has exactly one label."""
        return all(bool((np.diff(Y.indptr) == 1).all()) for Y in (self.train.Y, self.test.Y))

    @property
    def unknown_labels(self) -> int:
        """Labels of the test part that the training part lacks: every method misses them."""
        return self.test.n_labels - self.train.n_labels

    @property
    def unlabelled(self) -> int:
        """Test points without a label, on which no ranking can be right."""
        return int((np.diff(self.test.Y.indptr) == 0).sum())


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
                f"The {part} part must be a Dataset, such as longtail.data.read_dataset reads or "
                f"Dataset(X, Y) makes, not {type(data).__name__}."
            )
        if not len(data):
            raise InputError(f"The {part} part has no points; a comparison needs some in both.")
    _inputs(train, test)
    return Problem(
        train=train,
        test=test.aligned_to(label_names=train.classes),
        propensity_constants=pair_of_constants(propensity_constants),
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
