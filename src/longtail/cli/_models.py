"""A model as the commands use it: what it wants as input, its answers, chunks of points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.base import ExtremeClassifier
from longtail.data import Dataset
from longtail.errors import InputError, ModelError
from longtail.labels import propensities
from longtail.tagger import Tagger, load

CHUNK = 1024
"""Points that are predicted at a time."""


@dataclass(frozen=True)
class Model:
    """A saved tagger, or a classifier alone."""

    estimator: Tagger | ExtremeClassifier

    @classmethod
    def load(cls, path: Path, *, jobs: int | None = None) -> Model:
        """Read a model folder; predictions run on so many threads."""
        estimator = load(path)
        if not isinstance(estimator, Tagger | ExtremeClassifier):
            raise ModelError(
                f"{path}: holds a {type(estimator).__name__}, which predicts nothing; give the "
                "folder of a classifier, such as `longtail train` writes."
            )
        model = cls(estimator)
        if jobs is not None and hasattr(model.classifier, "n_jobs"):
            model.classifier.set_params(n_jobs=jobs)
        return model

    @property
    def classifier(self) -> ExtremeClassifier:
        """The classifier proper."""
        return self.estimator.classifier_ if isinstance(self.estimator, Tagger) else self.estimator

    @property
    def classes(self) -> NDArray[Any]:
        """The label names."""
        return self.classifier.classes_

    @property
    def takes_text(self) -> bool:
        """Whether it wants texts, not features."""
        return isinstance(self.estimator, Tagger) and self.estimator.takes_text

    @property
    def has_probabilities(self) -> bool:
        """Whether its scores are available as probabilities."""
        return hasattr(self.estimator, "predict_proba")

    def inputs(self, data: Dataset) -> Any:
        """What of a data set the model wants: its texts, or its features in the model's order."""
        if self.takes_text:
            if data.texts is None:
                raise InputError(
                    "The model takes texts, but the data has features and no texts; give data with "
                    "texts, or train a model on features."
                )
            return data.texts
        if data.X is None:
            raise InputError(
                "The model takes features, but the data has texts and no features; give data with "
                "features, or train a model on texts."
            )
        names = getattr(self.estimator, "feature_names_", None)
        if names is None or data.feature_names is None:
            return data.aligned_to(n_features=self._n_features()).X
        if names.tolist() != data.feature_names.tolist():
            data = data.aligned_to(feature_names=names)
        return data.X

    def labelled(self, data: Dataset) -> tuple[Any, Dataset]:
        """Inputs and labels, matched by name; refused where there is nothing to measure."""
        refuse_unlabelled(data)
        return self.inputs(data), data.aligned_to(label_names=self.classes)

    def _n_features(self) -> int:
        """Columns of the input, before the features of a tagger make others of them."""
        first = self.estimator.features_ if isinstance(self.estimator, Tagger) else self.estimator
        return int(first.n_features_in_)

    def features(self, inputs: Any) -> sp.csr_array:
        """The matrix that the classifier sees, made of inputs as the model wants them."""
        tagger = self.estimator
        return tagger.transform(inputs) if isinstance(tagger, Tagger) else as_csr(inputs)

    def propensities(self, constants: str | None) -> NDArray[np.float64] | None:
        """By the constants of a published data set; None leaves the usual ones to the model."""
        if constants is None:
            return None
        return propensities(*self.counts(), propensity_constants=constants)

    def counts(self) -> tuple[NDArray[np.int64], int]:
        """Training points of each label and in all."""
        return np.asarray(self.estimator.label_counts_), int(self.estimator.n_points_)


def refuse_unlabelled(data: Dataset) -> None:
    """Refuse data on which nothing can be measured."""
    if not len(data):
        raise InputError("There is no point to measure on; give data with at least one.")
    if not data.Y.nnz:
        raise InputError("No point has a label to measure on; give data with labels.")


def chunks(inputs: Any, size: int = CHUNK) -> Iterator[Any]:
    """Inputs, texts or rows, so many at a time."""
    n = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
    for first in range(0, n, size):
        yield inputs[first : first + size]
