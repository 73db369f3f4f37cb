"""The engine room: many independent linear problems on one sparse X, and their predictions."""

from longtail.engine.predict import LinearIndex, index_for, linear_scores_above, linear_topk
from longtail.engine.ridge import RidgeFit, fit_ridge, ridge_values
from longtail.engine.softmax import SoftmaxFit, fit_softmax, softmax_logs
from longtail.engine.train import LinearFit, fit_linear

__all__ = [
    "LinearFit",
    "LinearIndex",
    "RidgeFit",
    "SoftmaxFit",
    "fit_linear",
    "fit_ridge",
    "fit_softmax",
    "index_for",
    "linear_scores_above",
    "linear_topk",
    "ridge_values",
    "softmax_logs",
]
