"""How good a model is on some data, for the commands that say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.cli._models import Model, chunks
from longtail.data import Dataset
from longtail.labels import propensities
from longtail.metrics import Evaluation, by_frequency, evaluate
from longtail.runtime.run import progress_bar


@dataclass(frozen=True)
class Measured:
    """How good a model is on some data.

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
    """

    evaluation: Evaluation
    by_frequency: Any
    points: int
    labels: int
    unknown_labels: int

    def to_dict(self) -> dict[str, Any]:
        """All as plain values."""
        return {
            "points": self.points,
            "labels": self.labels,
            "unknown_labels": self.unknown_labels,
            "metrics": self.evaluation.to_dict(),
            "by_frequency": self.by_frequency.to_dicts(),
        }


def measure(
    model: Model,
    data: Dataset,
    *,
    k: list[int],
    tail: float = 0.0,
    constants: str | None = None,
    progress: bool | None = None,
) -> Measured:
    """Predict a data set and compare with its labels, which are matched by name.

    Parameters
    ----------
    model : Model
    data : Dataset
        With labels; those that the model does not know count as missed.
    k : list of int
        Ranks.
    tail : float
        Tail weight of the ranking, as in `predict_topk`; the label sets do not depend on it.
    constants : str, optional
        Published data set whose propensity constants are to be used.
    progress : bool, optional
        As in `fit`.
    """
    known = len(model.classes)
    inputs, data = model.labelled(data)
    scores, sets = [], []
    with progress_bar(progress) as bar:
        done = 0
        for chunk in chunks(inputs):
            scores.append(model.topk(chunk, max(k), tail=tail, constants=constants))
            sets.append(model.label_sets(chunk))
            done += scores[-1].shape[0]
            if bar is not None:
                bar("predicting", done, len(data))
    top, committed = (sp.csr_array(sp.vstack(parts, format="csr")) for parts in (scores, sets))
    for matrix in (top, committed):
        matrix.resize(data.Y.shape)
    counts, n_points = model.counts()
    widened = np.concatenate([counts, np.zeros(data.n_labels - known, dtype=np.int64)])
    chances = propensities(widened, n_points, propensity_constants=constants)
    evaluation = evaluate(data.Y, Y_score=top, Y_pred=committed, k=k, propensities=chances)
    return Measured(
        evaluation=evaluation,
        by_frequency=by_frequency(data.Y, top, counts=widened, k=k),
        points=len(data),
        labels=len(np.unique(data.Y.indices)),
        unknown_labels=data.n_labels - known,
    )
