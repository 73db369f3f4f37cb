"""Several methods on the same split of the same data: how good, how fast, how large."""

from longtail.comparison.limits import Limits
from longtail.comparison.measuring import Trained, measured, train_method
from longtail.comparison.memory import PeakMemory
from longtail.comparison.problem import Features, Problem, prepare
from longtail.comparison.results import Comparison, Result, Setup, mean_result
from longtail.comparison.running import compare, try_method
from longtail.comparison.size import count_parameters, saved_size

__all__ = [
    "Comparison",
    "Features",
    "Limits",
    "PeakMemory",
    "Problem",
    "Result",
    "Setup",
    "Trained",
    "compare",
    "count_parameters",
    "mean_result",
    "measured",
    "prepare",
    "saved_size",
    "train_method",
    "try_method",
]
