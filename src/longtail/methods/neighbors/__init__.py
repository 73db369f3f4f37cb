"""Neighbours: the labels of the nearest training points."""

from longtail.methods.neighbors.knn import KNN
from longtail.methods.neighbors.lm_knn import LMKNN
from longtail.methods.neighbors.metric import LearnedMetric, MarginProblem, learn_metric
from longtail.methods.neighbors.ml_knn import MLKNN

__all__ = [
    "KNN",
    "LMKNN",
    "MLKNN",
    "LearnedMetric",
    "MarginProblem",
    "learn_metric",
]
