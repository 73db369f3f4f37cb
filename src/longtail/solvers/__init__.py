"""Many problems on one X: linear, softmax, ridge, streamed, boosted trees, liblinear."""

from longtail.solvers.linear.fit import Group, LinearFit, fit_linear
from longtail.solvers.ridge.fit import RidgeFit, fit_ridge, ridge_values
from longtail.solvers.softmax.fit import SoftmaxFit, fit_softmax, softmax_logs

__all__ = [
    "Group",
    "LinearFit",
    "RidgeFit",
    "SoftmaxFit",
    "fit_linear",
    "fit_ridge",
    "fit_softmax",
    "ridge_values",
    "softmax_logs",
]
