"""What every model keeps of its labels and parameters, checked when it is read from a file."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from longtail.errors import ModelError, ParameterError
from longtail.labels.encoding import Kind
from longtail.labels.ranking import is_calibration


def check_learned(model: Any) -> None:
    """Refuse a model out of a file whose labels do not fit each other, or with odd parameters."""
    for name in ("classes_", "label_kind_", "label_counts_", "n_points_", "n_features_in_"):
        if not hasattr(model, name):
            raise ModelError(f"The model has no {name}; it was not saved by longtail.")
    counts = model.label_counts_
    if (
        model.label_kind_ not in get_args(Kind)
        or not isinstance(model.classes_, np.ndarray)
        or model.classes_.ndim != 1
        or not isinstance(counts, np.ndarray)
        or counts.shape != model.classes_.shape
        or counts.dtype.kind not in "iu"
        or counts.min(initial=0) < 0
        or not all(
            type(n) is int and 0 <= n < 2**62 for n in (model.n_features_in_, model.n_points_)
        )
    ):
        raise ModelError("The labels of the model do not fit each other; it was altered.")
    if hasattr(model, "calibration_") and not is_calibration(model.calibration_):
        raise ModelError("The model's calibration is not a scale and a shift; it was altered.")
    try:
        model.check_parameters()
    except ParameterError as error:
        raise ModelError(f"The model's parameters make no sense: {error}") from error
