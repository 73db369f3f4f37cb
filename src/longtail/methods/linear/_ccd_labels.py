"""liblinear's `-s 5` a label at a time, and the objective that it is measured by."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from longtail.solvers.liblinear import fit_quietly

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """What liblinear is asked: strength = 1/C, its eps and its limit on sweeps."""

    strength: float
    tol: float
    max_iter: int


@dataclass(frozen=True)
class Answer:
    """What liblinear gave for one label.

    Attributes
    ----------
    features, values : arrays
        The weights that are not zero; feature D is the bias.
    objective, violation : float
        Recomputed from the weights, see `l1_point`.
    iterations : int
        Sweeps over the features.
    converged : bool
        Whether that was below the limit.
    seconds : float
        Of scikit-learn's `fit`, its checks of X included.
    """

    features: NDArray[np.int64]
    values: Vector
    objective: float
    violation: float
    iterations: int
    converged: bool
    seconds: float


def l1_point(
    X: sp.csr_array, positives: NDArray[np.integer], w: Vector, strength: float
) -> tuple[float, float]:
    """Objective and violation of the optimality conditions at w, in plain double precision.

    The objective is strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)², the bias being the last weight, on
    a constant feature of one. The violation is the largest entry of its smallest subgradient,
    relative to the strength. O(nnz).
    """
    signs = np.full(X.shape[0], -1.0)
    signs[positives] = 1.0
    slack = np.maximum(1.0 - signs * (X @ w[:-1] + w[-1]), 0.0)
    slope = -2.0 * signs * slack
    gradient = np.append(X.T @ slope, slope.sum())
    excess = np.abs(gradient + strength * np.sign(w))
    excess[w == 0] = np.maximum(np.abs(gradient[w == 0]) - strength, 0.0)
    objective = strength * np.abs(w).sum() + slack @ slack
    return float(objective), float(excess.max()) / strength


def solve_labels(
    X: sp.csr_array, block: list[NDArray[np.integer]], settings: Settings
) -> list[Answer]:
    """The answers for a block of labels, each given by its positive rows.

    No label may have all rows or none. O(nnz) a sweep and label.
    """
    return [_solve_label(X, positives, settings) for positives in block]


def _solve_label(X: sp.csr_array, positives: NDArray[np.integer], settings: Settings) -> Answer:
    y = np.zeros(X.shape[0], dtype=np.int8)
    y[positives] = 1
    model = LinearSVC(
        penalty="l1", loss="squared_hinge", dual=False, C=1.0 / settings.strength,
        tol=settings.tol, max_iter=settings.max_iter, intercept_scaling=1.0, random_state=0,
    )  # fmt: skip
    began = time.perf_counter()
    fit_quietly(model, X, y)
    seconds = time.perf_counter() - began
    w = np.append(model.coef_.ravel(), model.intercept_)
    objective, violation = l1_point(X, positives, w, settings.strength)
    used = np.flatnonzero(w)
    sweeps = int(model.n_iter_)
    converged = sweeps < settings.max_iter
    return Answer(used, w[used], objective, violation, sweeps, converged, seconds)
