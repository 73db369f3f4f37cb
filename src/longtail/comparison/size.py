"""How many parameters a fitted model has."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail import store
from longtail.base import ExtremeClassifier

_OF_EVERY_CLASSIFIER = frozenset({"classes_", "label_counts_", "calibration_"})
_RECORDS = frozenset(
    {
        "objective_", "violation_", "gap_", "n_iter_",  # of the engine
        "bound_", "loss_", "cv_results_", "strengths_", "accuracy_",  # of rounds and choices
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
    >>> from longtail.pairs import PairRanker
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
