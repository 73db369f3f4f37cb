"""Metrics as scikit-learn scorers, for `GridSearchCV`, `cross_val_score` and similar tools.

A scorer is a callable `(estimator, X, Y) -> float`, greater being better. Ranking metrics rank what
`predict_topk` returns, set and class metrics take what `predict` returns. Columns are matched with
names through the estimator's `classes_`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longtail.errors import InputError, ParameterError
from longtail.labels import EncodedLabels, Kind, as_predicted
from longtail.metrics.evaluate import NEED_PROPENSITIES, RANKING
from longtail.metrics.multiclass import accuracy, covered_classes, maf1
from longtail.metrics.ranking import metric_at_k
from longtail.metrics.sets import f1, hamming_loss, jaccard, subset_accuracy

_OF_PREDICTIONS: dict[str, Callable[[Any, Any], float]] = {
    "neg_hamming_loss": lambda Y_true, Y_pred: -hamming_loss(Y_true, Y_pred),
    "subset_accuracy": subset_accuracy,
    "jaccard": jaccard,
    "f1_micro": partial(f1, average="micro"),
    "f1_macro": partial(f1, average="macro"),
    "f1_example": partial(f1, average="example"),
    "accuracy": accuracy,
    "maf1": maf1,
    "covered_classes": covered_classes,
}


@dataclass(frozen=True, eq=False)
class Scorer:
    """A metric as scikit-learn's model selection wants it. Made by `scorer`; can be pickled.

    Attributes
    ----------
    name : str
        The metric.
    propensities : array or mapping, optional
        For PSP and PSnDCG.
    """

    name: str
    propensities: ArrayLike | Mapping[Any, float] | None = field(default=None, repr=False)

    def __call__(self, estimator: Any, X: Any, Y: Any) -> float:
        """The metric of `estimator` on X and Y, greater being better."""
        metric, at, k = self.name.partition("@")
        if not at:
            predicted = _predicted(estimator, X)
            classes = _one_class_a_column(estimator)
            if classes is not None:
                Y = as_predicted(Y, classes, _kind_of(predicted))
            return _OF_PREDICTIONS[self.name](Y, predicted)
        scores, classes = _ranking_scores(estimator, X, int(k))
        value = metric_at_k(RANKING[metric], Y, scores, int(k), classes, self.propensities)
        return float(value)


def scorer(name: str, *, propensities: ArrayLike | Mapping[Any, float] | None = None) -> Scorer:
    """The scorer of a metric.

    Parameters
    ----------
    name : str
        "P@5", "nDCG@5", "PSP@5", "PSnDCG@5", "R@5", "C@5" with any k; "neg_hamming_loss",
        "subset_accuracy", "jaccard", "f1_micro", "f1_macro", "f1_example"; "accuracy", "maf1",
        "covered_classes".
    propensities : array of shape (L,) or mapping by label name, optional
        For PSP and PSnDCG. Take the mapping where Y holds names: in a cross-validation not every
        fold has all of them.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> from sklearn.svm import LinearSVC
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> one_vs_rest = OneVsRestClassifier(LinearSVC())
    >>> cross_val_score(one_vs_rest, X, Y, scoring=scorer("P@1"), cv=3).shape
    (3,)
    """
    metric, at, k = name.partition("@")
    if at:
        if metric not in RANKING or not (k.isascii() and k.isdigit()) or int(k) < 1:
            raise ParameterError(
                f"There is no metric {name!r}; a ranking metric is one of "
                f"{', '.join(RANKING)}, followed by @ and a whole number of at least 1."
            )
        if metric in NEED_PROPENSITIES and propensities is None:
            raise ParameterError(
                f"{name} weighs labels by propensity; give propensities=, see labels.propensities."
            )
    elif name == "hamming_loss":
        raise ParameterError("A score grows with quality; use 'neg_hamming_loss'.")
    elif name not in _OF_PREDICTIONS:
        raise ParameterError(
            f"There is no metric {name!r}; there are {', '.join(_OF_PREDICTIONS)} and "
            f"{', '.join(RANKING)} followed by @k, such as P@5."
        )
    if propensities is not None and metric not in NEED_PROPENSITIES:
        raise ParameterError(f"{name} does not use propensities; leave them out.")
    return Scorer(name, propensities)


def _predicted(estimator: Any, X: Any) -> Any:
    """What it predicts; label sets directly, without their names, where possible."""
    kind = getattr(estimator, "label_kind_", None)
    if kind in ("names", "sparse", "dense") and hasattr(estimator, "predict_matrix"):
        return EncodedLabels(
            estimator.predict_matrix(X), estimator.classes_, kind, named=kind == "names"
        )
    return estimator.predict(X)


def _ranking_scores(estimator: Any, X: Any, k: int) -> tuple[Any, Any]:
    """Scores of the best labels of every row, and the names of their columns."""
    while not hasattr(estimator, "predict_topk"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
            estimator = estimator.steps[-1][1]
        else:
            break
    classes = _one_class_a_column(estimator)
    if hasattr(estimator, "predict_topk"):
        return estimator.predict_topk(X, k), classes
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            scores = np.asarray(getattr(estimator, method)(X))
            if scores.ndim == 1:
                scores = np.column_stack([-scores, scores])
            return scores, classes
    raise InputError(
        f"{type(estimator).__name__} has none of predict_topk, decision_function and "
        "predict_proba, so its labels cannot be ranked."
    )


def _one_class_a_column(estimator: Any) -> NDArray[Any] | None:
    classes = getattr(estimator, "classes_", None)
    # MultiOutputClassifier has one array of classes per column
    return classes if isinstance(classes, np.ndarray) and classes.ndim == 1 else None


def _kind_of(predicted: Any) -> Kind:
    if isinstance(predicted, EncodedLabels):
        return predicted.kind
    if sp.issparse(predicted):
        return "sparse"
    if isinstance(predicted, np.ndarray):
        return "dense" if predicted.ndim == 2 else "multiclass"
    return "names"
