"""How large a fitted model is: the numbers it has learned, and its bytes on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail import store
from longtail.base import ExtremeClassifier
from longtail.choosing.problem import Problem
from longtail.tagger import Tagger

_OF_EVERY_CLASSIFIER = frozenset({"classes_", "label_counts_", "calibration_"})
_RECORDS = frozenset(
    {
        "objective_", "violation_", "gap_", "n_iter_",  # of the solvers
        "bound_", "loss_", "cv_results_", "Cs_", "accuracy_",  # of rounds and choices
        "tried_neighbors_", "tried_f1_", "validation_f1_", "flipped_bits_",
        "true_positives_", "false_positives_",
    }
)  # fmt: skip
"""What methods write down of their training; no prediction depends on it."""


def count_parameters(model: ExtremeClassifier) -> int:
    """Numbers that a model has learned; of sparse arrays the stored entries.

    Not counted are training data that a method keeps (`ExtremeClassifier.kept_data`), what it
    records of its training, what every classifier keeps of its labels, and names of any kind.

    Parameters
    ----------
    model : ExtremeClassifier
        Fitted.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> model = DiSMEC().fit([[0, 1], [1, 0]], ["sea", "snow"])
    >>> count_parameters(model) - model.weights_.nnz
    0
    >>> from longtail import PairRanker
    >>> model = PairRanker(C=1.0).fit([[0, 1], [0, 2], [1, 0], [3, 0]], ["a", "a", "b", "b"])
    >>> count_parameters(model)  # ten weights, and the least value and range of ten similarities
    30
    """
    aside = _OF_EVERY_CLASSIFIER | _RECORDS | set(model.kept_data)
    learned = (store.state_of(model) or {})["learned"]
    return sum(_numbers(value) for name, value in learned.items() if name not in aside)


def _numbers(value: Any) -> int:
    if sp.issparse(value):
        return int(value.nnz)
    if isinstance(value, np.ndarray):
        return value.size if value.dtype.kind in "biufc" else 0
    if isinstance(value, dict):
        return sum(map(_numbers, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_numbers, value))
    if isinstance(value, ExtremeClassifier):
        return count_parameters(value)
    state = store.state_of(value) or {}
    return _numbers({name: each for name, each in state.items() if name != "parameters"})


def saved_size(
    problem: Problem,
    model: ExtremeClassifier,
    *,
    keep: Path | None = None,
    meta: Mapping[str, Any] | None = None,
) -> int:
    """Bytes of a model on disk, saved as a tagger that makes its own features.

    Parameters
    ----------
    problem : Problem
        What it was trained on.
    model : ExtremeClassifier
        Fitted.
    keep : path, optional
        The model folder to write; by default it is a temporary one.
    meta : dict, optional
        What the model is to record of its training.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> from longtail.data import make_longtail
    >>> from longtail.choosing import prepare, train_method
    >>> problem = prepare(*make_longtail(200, 100, 20, random_state=0).split(random_state=0))
    >>> model = train_method(problem, DiSMEC()).model
    >>> saved_size(problem, model) > model.weights_.data.nbytes
    True
    """
    made = problem.features(model.feature_kind)
    tagger = Tagger.from_fitted(
        made.transformer, model, takes_text=problem.has_texts, feature_names=problem.feature_names
    )
    with tempfile.TemporaryDirectory(prefix="longtail-") as passing:
        place = Path(passing) / "model" if keep is None else keep
        place.parent.mkdir(parents=True, exist_ok=True)
        store.write(place, tagger, meta=dict(meta or {}))
        return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
