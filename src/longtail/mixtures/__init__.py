"""Mixtures of independent labels: the joint distribution of all labels, and what it says."""

from longtail.mixtures.decoding import LikelySets, most_probable_sets, sample_sets

__all__ = ["LikelySets", "most_probable_sets", "sample_sets"]
