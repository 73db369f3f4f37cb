"""The engine room: many independent linear problems on one sparse X, and their predictions."""

from longtail.engine.predict import LinearIndex, linear_scores_above, linear_topk
from longtail.engine.train import LinearFit, fit_linear

__all__ = ["LinearFit", "LinearIndex", "fit_linear", "linear_scores_above", "linear_topk"]
