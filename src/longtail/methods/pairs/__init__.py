"""Pairs: thousands of classes as one binary problem over pairs of documents and classes."""

from longtail.methods.pairs.bound import GeneralizationBound, generalization_bound
from longtail.methods.pairs.pair_ranker import PairRanker
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.similarity import (
    SIMILARITY_NAMES,
    ClassScorer,
    Similarities,
    similarities,
)
from longtail.methods.pairs.transformed_set import (
    Rivals,
    TransformedSet,
    proper_cover,
    transformed_pairs,
)

__all__ = [
    "SIMILARITY_NAMES",
    "ClassProfiles",
    "ClassScorer",
    "GeneralizationBound",
    "PairRanker",
    "Rivals",
    "Similarities",
    "TransformedSet",
    "generalization_bound",
    "proper_cover",
    "similarities",
    "transformed_pairs",
]
