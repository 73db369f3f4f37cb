"""Several methods on the same split of the same data: how good, how fast, how large."""

from longtail.comparison.problem import Problem, prepare
from longtail.comparison.results import Comparison, Result, Setup
from longtail.comparison.running import (
    Trained,
    compare,
    measured,
    saved_size,
    train_method,
    try_method,
)

__all__ = [
    "Comparison",
    "Problem",
    "Result",
    "Setup",
    "Trained",
    "compare",
    "measured",
    "prepare",
    "saved_size",
    "train_method",
    "try_method",
]
