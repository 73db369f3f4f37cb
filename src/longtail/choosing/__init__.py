"""Which method for some data: facts, rules, and comparison on one split."""

from longtail.choosing.comparison import compare, try_method
from longtail.choosing.facts import WORDS, DataFacts, measure_facts
from longtail.choosing.limits import Limits
from longtail.choosing.model_size import count_parameters, saved_size
from longtail.choosing.one_method import Trained, result_on_test, train_method
from longtail.choosing.peak_memory import PeakMemory
from longtail.choosing.problem import PreparedFeatures, Problem, prepare
from longtail.choosing.recommendation import (
    Alternative,
    Recommendation,
    check_want,
    choose_method,
    recommend,
)
from longtail.choosing.results import Comparison, Result, Setup, mean_result
from longtail.choosing.rules import DECISIVE, RULES, Rule, Want

__all__ = [
    "DECISIVE",
    "RULES",
    "WORDS",
    "Alternative",
    "Comparison",
    "DataFacts",
    "Limits",
    "PeakMemory",
    "PreparedFeatures",
    "Problem",
    "Recommendation",
    "Result",
    "Rule",
    "Setup",
    "Trained",
    "Want",
    "check_want",
    "choose_method",
    "compare",
    "count_parameters",
    "mean_result",
    "measure_facts",
    "prepare",
    "recommend",
    "result_on_test",
    "saved_size",
    "train_method",
    "try_method",
]
