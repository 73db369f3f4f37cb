"""Neighbours: the labels of the nearest training points."""

from longtail.neighbors.knn import KNN
from longtail.neighbors.lm_knn import LMKNN
from longtail.neighbors.metric import LearnedMetric, MarginProblem, learn_metric
from longtail.neighbors.ml_knn import MLKNN, PosteriorExplanation

__all__ = [
    "KNN",
    "LMKNN",
    "MLKNN",
    "LearnedMetric",
    "MarginProblem",
    "PosteriorExplanation",
    "learn_metric",
]
