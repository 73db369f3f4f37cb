"""Weights of rows and of labels in training: `sample_weight` and `class_weight`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import memory_needed
from longtail.parameters import POSITIVE, Must
from longtail.runtime.run import Progress, Run
from longtail.solvers.linear.class_weights import ClassWeights

if TYPE_CHECKING:
    from longtail.base import ExtremeClassifier as Classifier
else:
    Classifier = object


def _is_class_weight(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(POSITIVE.allows(weight) for weight in value.values())
    return isinstance(value, str) and value == "balanced"


ClassWeight = Annotated[
    Literal["balanced"] | Mapping[Any, float] | None,
    Must(
        "None, 'balanced', or a mapping from names of labels to positive numbers", _is_class_weight
    ),
    "How much the points with a label count in its problem against those without it: alike; so "
    "that both sides weigh the same; or the number that the mapping has for the label, and one "
    "for labels that it does not have.",
]


class WeightedFit(Classifier):
    """Mixin of classifiers whose problems take weights of the points.

    It stores `class_weight`, and its `_fit` takes `sample_weight`, an array (n,) or None.

    `class_weight` says how much the points with a label count in the problem of that label against
    those without it. None: alike. A mapping from names to numbers: in the problem of such a label,
    a point that has it counts as much as the number, as in liblinear. Points without it, and points
    of labels that are not in the mapping, count one. Names that are no labels are ignored.
    "balanced": of n points, the p with the label count n / (2·p) each and the others n / (2·(n -
    p)), as scikit-learn has it for two classes; with `sample_weight`, n and p are sums of weights.
    """

    class_weight: ClassWeight

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        label_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X, y, label_names, checkpoint, progress
            As in `ExtremeClassifier.fit`.
        sample_weight : array of shape (n,), optional
            How much each row counts: a row of weight 2 as if it were there twice, one of weight 0
            as if it were not there. `label_counts_` and `n_points_` stay numbers of rows.

        Returns
        -------
        self
        """
        with memory_needed("to train"):
            return self._fit_points(X, y, label_names, checkpoint, progress, sample_weight)

    def _weights_of(self, Y: sp.csr_array, run: Run, sample_weight: Any) -> dict[str, Any]:
        """Weights of the points in each problem, as `fit_linear` takes them."""
        if self.class_weight is None:
            return {"sample_weight": sample_weight}
        return {"sample_weight": class_weights(self.class_weight, Y, run.names, sample_weight)}


def of_problems(weights: Any, problems: NDArray[np.bool_]) -> Any:
    """The weights of points in some of the problems, as `fit_linear` takes them."""
    return weights.of(problems) if isinstance(weights, ClassWeights) else weights


def class_weights(
    wanted: Literal["balanced"] | Mapping[Any, float],
    Y: sp.csr_array,
    names: Any,
    sample_weight: NDArray[np.float64] | None = None,
) -> ClassWeights:
    """The weights of the points with and without each label in its problem.

    Examples
    --------
    >>> weights = class_weights("balanced", sp.csr_array([[1.0], [0.0], [0.0], [0.0]]), ["rare"])
    >>> weights[:, 0].round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    n, n_labels = Y.shape
    without, having = np.ones(n_labels), np.ones(n_labels)
    if wanted == "balanced":
        points = np.ones(n) if sample_weight is None else sample_weight
        total, on = float(points.sum()), Y.T @ points
        with np.errstate(divide="ignore"):
            having = np.where(on > 0, total / (2.0 * on), 1.0)
            without = np.where(on < total, total / (2.0 * (total - on)), 1.0)
    else:
        having = np.array([wanted.get(name, 1.0) for name in names], dtype=np.float64)
    return ClassWeights(sp.csc_array(Y), having, without, sample_weight)
