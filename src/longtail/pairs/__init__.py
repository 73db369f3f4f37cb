"""Pairs: thousands of classes as one binary problem over pairs of documents and classes."""

from longtail.pairs.bound import GeneralizationBound, generalization_bound
from longtail.pairs.explanation import PairExplanation
from longtail.pairs.liblinear import MSVM, OVA, OVO
from longtail.pairs.log_tree import LogTree
from longtail.pairs.pair_ranker import PairRanker
from longtail.pairs.profiles import ClassProfiles
from longtail.pairs.similarity import FEATURES, ClassScorer, Similarities, similarities
from longtail.pairs.transformed_set import (
    Rivals,
    TransformedSet,
    proper_cover,
    transformed_pairs,
)

__all__ = [
    "FEATURES",
    "MSVM",
    "OVA",
    "OVO",
    "ClassProfiles",
    "ClassScorer",
    "GeneralizationBound",
    "LogTree",
    "PairExplanation",
    "PairRanker",
    "Rivals",
    "Similarities",
    "TransformedSet",
    "generalization_bound",
    "proper_cover",
    "similarities",
    "transformed_pairs",
]
