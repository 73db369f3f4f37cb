"""Features of raw inputs made once, with what made them and what that took."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone

from longtail._sparse import as_csr
from longtail.errors import InputError
from longtail.features.scaling import RowScaler
from longtail.features.text import TextFeatures
from longtail.runtime.estimates import Estimate, matrix_bytes

TERM_BYTES = 200  # of a word of the vocabulary, in Python's dictionary and beside it
FeatureKind = Literal["scaled", "counts"]
"""What a classifier wants: `ExtremeClassifier.feature_kind`."""


def usual_features(kind: FeatureKind, *, texts: bool, **settings: Any) -> TextFeatures | RowScaler:
    """What makes features of a kind, of texts or of a matrix.

    Parameters
    ----------
    kind : {"scaled", "counts"}
        Tf-idf or rows of unit length; or the counts of words and the values as they are.
    texts : bool
        Whether the input is texts.
    **settings
        Parameters of `TextFeatures` or `RowScaler` that are to differ; they win.

    Examples
    --------
    >>> usual_features("scaled", texts=True), usual_features("counts", texts=False)
    (TextFeatures(), RowScaler(norm=None))
    >>> counts = usual_features("counts", texts=True, stop_words="english")
    >>> counts.fit_transform(["the sea and the sea"]).toarray().tolist()
    [[2.0]]
    """
    if not texts:
        return RowScaler(**({"norm": None} if kind == "counts" else {}) | settings)
    plain = {"sublinear_tf": False, "idf": False, "norm": None} if kind == "counts" else {}
    return TextFeatures(**plain | settings)


@dataclass(frozen=True)
class MadeFeatures:
    """Features made of some inputs, with what made them and what that took.

    Attributes
    ----------
    X : csr_array of shape (n, D)
        The features.
    transformer : TextFeatures or RowScaler
        What made them, fitted.
    peak_bytes : int
        Memory of the matrix and of the vocabulary.
    seconds : float
        How long it took to make them.
    """

    X: sp.csr_array
    transformer: Any
    peak_bytes: int = 0
    seconds: float = 0.0

    def estimate(self, classifier: Any, y: Any) -> Estimate:
        """What it takes to make the features and to train a classifier on them."""
        with config_context(assume_finite=True):  # `fit` looks at X
            return classifier.estimate(self.X, y).plus(self.peak_bytes, self.seconds)


def make_features(transformer: Any, inputs: Any) -> MadeFeatures:
    """Fit a copy of a transformer to texts or to a matrix, and measure what that takes.

    Examples
    --------
    >>> made = make_features(TextFeatures(), ["waves and sand", "deep snow"])
    >>> made.X.shape, made.peak_bytes > 5 * TERM_BYTES
    ((2, 5), True)
    """
    began = time.perf_counter()
    fitted = clone(transformer)
    X = as_csr(fitted.fit_transform(inputs))
    seconds = time.perf_counter() - began
    words = TERM_BYTES * X.shape[1] if isinstance(transformer, TextFeatures) else 0
    return MadeFeatures(X, fitted, matrix_bytes(X) + words, seconds)


class FeaturesByKind:
    """Features of some inputs, each kind made when it is first asked for, and kept.

    Parameters
    ----------
    inputs : sequence of str, or sparse matrix of shape (n, D)
        Texts, or features.
    transformer : callable
        Given a kind, returns the transformer for it; by default `usual_features`.

    Examples
    --------
    >>> features = FeaturesByKind(["waves and sand", "deep snow"])
    >>> features("counts").X.shape, features("counts") is features("counts")
    ((2, 5), True)
    """

    def __init__(
        self, inputs: Any, transformer: Callable[[FeatureKind], Any] | None = None
    ) -> None:
        self.texts = not is_matrix(inputs)
        self._inputs = inputs
        self._transformer = transformer or (lambda kind: usual_features(kind, texts=self.texts))
        self._made: dict[FeatureKind, MadeFeatures] = {}

    def __call__(self, kind: FeatureKind) -> MadeFeatures:
        """The features of a kind."""
        if kind not in self._made:
            self._made[kind] = make_features(self._transformer(kind), self._inputs)
        return self._made[kind]


def is_matrix(inputs: Any) -> bool:
    """Whether the inputs are features; whatever else they are has to be texts."""
    if sp.issparse(inputs):
        return True
    if hasattr(inputs, "ndim"):
        if inputs.ndim == 2 and any(isinstance(v, str) for v in np.asarray(inputs[:1]).flat):
            raise InputError(
                "The inputs are a table that holds texts; give one column of it, such as "
                "table['text']."
            )
        return bool(inputs.ndim == 2)
    if isinstance(inputs, str):
        return False
    first = next((one for one in inputs if one is not None), "")
    return hasattr(first, "__len__") and not isinstance(first, str | bytes)
