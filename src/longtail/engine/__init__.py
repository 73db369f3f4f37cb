"""The engine room: many independent linear problems on one sparse X, and their predictions."""

from longtail.engine.predict import LinearIndex, index_for, linear_scores_above, linear_topk
from longtail.engine.ridge import RidgeFit, fit_ridge, ridge_values
from longtail.engine.train import LinearFit, fit_linear

__all__ = [
    "LinearFit",
    "LinearIndex",
    "RidgeFit",
    "fit_linear",
    "fit_ridge",
    "index_for",
    "linear_scores_above",
    "linear_topk",
    "ridge_values",
]
