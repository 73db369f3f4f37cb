"""How good a fitted model is on labelled points: the one routine that predicts and measures."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from longtail._sparse import ranked, stacked
from longtail.errors import InputError
from longtail.labels import propensities
from longtail.labels.propensity import Constants
from longtail.metrics.evaluate import Evaluation, evaluate
from longtail.metrics.frequency import by_frequency
from longtail.runtime.run import Progress, progress_bar


@dataclass(frozen=True)
class ModelEvaluation:
    """How good a model is on some points.

    Attributes
    ----------
    evaluation : Evaluation
        All metrics.
    by_frequency : polars.DataFrame
        Precision and recall by the frequency of the labels in training.
    points, labels : int
        Points measured on, and distinct labels that they have.
    unknown_labels : int
        Labels among them that the model does not know: it misses them all.
    seconds : float
        Time of `predict_topk`.
    """

    evaluation: Evaluation
    by_frequency: pl.DataFrame = field(repr=False, compare=False)
    points: int
    labels: int
    unknown_labels: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """All but the time as plain values, fit for JSON."""
        return {
            "points": self.points,
            "labels": self.labels,
            "unknown_labels": self.unknown_labels,
            "metrics": self.evaluation.to_dict(),
            "by_frequency": self.by_frequency.to_dicts(),
        }


def evaluate_model(
    model: Any,
    X: Any,
    Y: sp.csr_array,
    *,
    k: Sequence[int] = (1, 3, 5),
    tail: float = 0.0,
    propensity_constants: Constants | None = None,
    one_class: bool | None = None,
    batch_size: int | None = None,
    progress: bool | Progress | None = False,
) -> ModelEvaluation:
    """Predict some points and compare with their labels.

    Parameters
    ----------
    model : ExtremeClassifier or Tagger
        Fitted.
    X : sparse matrix of shape (n, D), or sequence of texts
        What the model takes.
    Y : csr_array of shape (n, L or more)
        Labels in the order of the model's `classes_`; columns behind them are labels that the model
        does not know, and count as missed. `Dataset.aligned_to` makes such a matrix.
    k : sequence of int
        The ranks.
    tail : float
        Tail weight of the ranking, as in `predict_topk`; the label sets do not depend on it.
    propensity_constants : str or pair of float, optional
        Of the propensities, which come from the training counts that the model keeps.
    one_class : bool, optional
        Whether points have exactly one label each, so that accuracy, MaF1 and covered classes are
        measured as well, with the class that ranks first. By default inferred from Y and the
        training counts.
    batch_size : int, optional
        Points that are predicted at a time; all by default.
    progress : bool or callable, optional
        As in `fit`.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> from longtail.data import make_longtail
    >>> train, test = make_longtail(300, 200, 30, random_state=0).split(random_state=0)
    >>> found = evaluate_model(DiSMEC().fit(train.X, train.Y), test.X, test.Y)
    >>> found.points, found.unknown_labels, found.evaluation["P@1"] > 0.5
    (75, 0, True)
    """
    classifier = getattr(model, "classifier_", model)
    n_labels, n_points = len(classifier.classes_), int(classifier.n_points_)
    if Y.shape[1] < n_labels:
        raise InputError(
            f"Y has {Y.shape[1]} label columns, the model {n_labels}; align them by name with "
            "Dataset.aligned_to."
        )
    counts = np.zeros(Y.shape[1], dtype=np.int64)
    counts[:n_labels] = classifier.label_counts_
    chances = propensities(counts, n_points, propensity_constants=propensity_constants)
    if one_class is None:
        one_class = int(counts.sum()) == n_points and bool((np.diff(Y.indptr) == 1).all())
    tops, committed, firsts = [], [], []
    seconds, done = 0.0, 0
    with progress_bar(progress) as bar:
        for points in _batches(X, batch_size):
            rows = points if classifier is model else model.transform(points)
            started = time.perf_counter()
            if tail:
                top = classifier.predict_topk(
                    rows, max(k), tail=tail, propensities=chances[:n_labels]
                )
            else:
                top = classifier.predict_topk(rows, max(k))
            seconds += time.perf_counter() - started
            tops.append(top)
            committed.append(classifier.predict_matrix(rows))
            if one_class:
                plain = classifier.predict_topk(rows, 1) if tail else top
                firsts.append(ranked(plain, 1)[0][:, 0])
            done += top.shape[0]
            if bar is not None:
                bar("predicting", done, Y.shape[0])
    top, sets = _widened(tops, Y), _widened(committed, Y)
    evaluation = evaluate(Y, Y_score=top, Y_pred=sets, k=k, propensities=chances)
    if one_class:
        classes = evaluate(Y.indices, Y_pred=np.concatenate(firsts))
        evaluation = Evaluation({**evaluation, **classes})
    return ModelEvaluation(
        evaluation=evaluation,
        by_frequency=by_frequency(Y, top, counts=counts, k=k),
        points=int(Y.shape[0]),
        labels=len(np.unique(Y.indices)),
        unknown_labels=Y.shape[1] - n_labels,
        seconds=seconds,
    )


def _batches(inputs: Any, size: int | None) -> Any:
    n = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
    step = n if size is None else size
    return (inputs[first : first + step] for first in range(0, n, max(step, 1)))


def _widened(parts: list[sp.csr_array], Y: sp.csr_array) -> sp.csr_array:
    """Parts one below the other, with empty columns for the labels that the model lacks."""
    whole = stacked(parts)
    whole.resize(Y.shape)
    return whole
