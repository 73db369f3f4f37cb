"""How many numbers a fitted model holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail.base import ExtremeClassifier

_OF_EVERY_CLASSIFIER = ("classes_", "label_counts_", "calibration_")


def stored_numbers(model: ExtremeClassifier) -> int:
    """Numbers in the arrays that a model is saved with; of sparse ones the stored entries.

    What every classifier keeps of its labels (names, numbers of training points, calibration) is
    not counted, nor are names of any kind; what a method records of its training is.

    Parameters
    ----------
    model : ExtremeClassifier
        Fitted.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> model = DiSMEC().fit([[0, 1], [1, 0]], ["sea", "snow"])
    >>> stored_numbers(model) - model.weights_.nnz  # objective, gap and iterations of two labels
    6
    """
    learned = model._to_state()["learned"]
    return sum(
        _numbers(value) for name, value in learned.items() if name not in _OF_EVERY_CLASSIFIER
    )


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
        return stored_numbers(value)
    if hasattr(value, "_to_state"):
        state = value._to_state()
        return _numbers({name: each for name, each in state.items() if name != "parameters"})
    return 0
