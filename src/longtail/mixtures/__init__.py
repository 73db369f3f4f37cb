"""Mixtures of independent labels: the joint distribution of all labels, and what it says."""

from longtail.mixtures.bernoulli import BernoulliMixture, fit_bernoulli_mixture
from longtail.mixtures.choosing import ConditionalBernoulliMixtureCV
from longtail.mixtures.conditional_bernoulli import ConditionalBernoulliMixture
from longtail.mixtures.decoding import LikelySets, most_probable_sets, sample_sets
from longtail.mixtures.explanation import MixtureExplanation
from longtail.mixtures.targets import (
    best_threshold,
    draw_sets,
    label_correlations,
    marginals,
    optimal_sets,
)

__all__ = [
    "BernoulliMixture",
    "ConditionalBernoulliMixture",
    "ConditionalBernoulliMixtureCV",
    "LikelySets",
    "MixtureExplanation",
    "best_threshold",
    "draw_sets",
    "fit_bernoulli_mixture",
    "label_correlations",
    "marginals",
    "most_probable_sets",
    "optimal_sets",
    "sample_sets",
]
