"""Mixtures of independent labels: the joint distribution of all labels, and its uses."""

from longtail.methods.mixtures.bernoulli import BernoulliMixture, fit_bernoulli_mixture
from longtail.methods.mixtures.conditional_bernoulli import ConditionalBernoulliMixture
from longtail.methods.mixtures.conditional_bernoulli_cv import ConditionalBernoulliMixtureCV
from longtail.methods.mixtures.decoding import (
    LikelySets,
    label_correlations,
    marginals,
    most_probable_sets,
    sample_sets,
)
from longtail.methods.mixtures.targets import best_threshold, optimal_sets

__all__ = [
    "BernoulliMixture",
    "ConditionalBernoulliMixture",
    "ConditionalBernoulliMixtureCV",
    "LikelySets",
    "best_threshold",
    "fit_bernoulli_mixture",
    "label_correlations",
    "marginals",
    "most_probable_sets",
    "optimal_sets",
    "sample_sets",
]
