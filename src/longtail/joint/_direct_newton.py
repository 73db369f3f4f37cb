"""Newton's method with the Hessian written out, for dense X of few columns beside sparse labels.

The engine's Newton never forms the Hessian, which is right for sparse X and many features. A dense
X of some hundred correlated columns, such as those of pictures, is another matter: conjugate
gradients take a hundred steps there and more, while the Hessian costs no more than a few of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

ROWS = 4096  # that are weighted at a time
HALVINGS = 40
SUFFICIENT = 1e-4  # share of the promised fall that a step has to bring
TINY = np.finfo(float).tiny

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class DirectFit:
    """One solved problem: weights of X, weights of the labels and bias in one row, and the rest."""

    weights: Vector
    gap: float
    iterations: int
    converged: bool


def solve_direct(
    X: Vector,
    labels: sp.csr_array,
    target: Vector,
    *,
    strength: float,
    tol: float,
    max_iter: int,
    start: Vector | None = None,
    stop: NDArray[np.int8] | None = None,
) -> DirectFit:
    """Minimise ½·strength·‖w‖² + Σ log(1 + exp(∓z)), z = [X, labels, 1]·w, the bias penalised.

    Parameters
    ----------
    X : array of shape (N, D)
    labels : csr_array of shape (N, P)
        Ones.
    target : array of shape (N,)
        0 and 1.
    strength, tol, max_iter
        As in `fit_linear`: the gap is ‖gradient‖² / (2·strength), proven by strong convexity.
    start : array of shape (D + P + 1,), optional
        Weights to start from.
    stop : int8 array of one entry, optional
        Once it is not zero the solver ends where it stands.

    Notes
    -----
    O(N·D² + nnz(labels)·D + (D + P)³) a Newton step, of which there are some 5 to 25.
    """
    turned = sp.csr_array(labels.T)
    width = X.shape[1]
    w = np.zeros(width + labels.shape[1] + 1)
    if start is None:
        on = float(target.sum())
        w[-1] = np.log((on + 0.5) / (len(target) - on + 0.5))
    else:
        w[:] = start
    z = _scores(X, labels, w)
    value = _value(z, target, w, strength)
    iterations = 0
    while True:
        p = expit(z)
        slope = p - target
        gradient = strength * w
        gradient[:width] += X.T @ slope
        gradient[width:-1] += turned @ slope
        gradient[-1] += slope.sum()
        gap = float(gradient @ gradient) / (2.0 * strength)
        done = gap <= tol * value
        if done or iterations >= max_iter or (stop is not None and stop[0]):
            break
        step = -_solved(_hessian(X, labels, turned, p * (1.0 - p), strength), gradient)
        step_scores = _scores(X, labels, step)
        fall = float(gradient @ step)
        length = 1.0
        for _ in range(HALVINGS):
            trial = _value(z + length * step_scores, target, w + length * step, strength)
            if trial <= value + SUFFICIENT * length * fall:
                break
            length *= 0.5
        else:  # rounding has the last word
            break
        w += length * step
        z += length * step_scores
        value = trial
        iterations += 1
    return DirectFit(w, gap / max(value, TINY), iterations, done)


def _scores(X: Vector, labels: sp.csr_array, w: Vector) -> Vector:
    width = X.shape[1]
    return np.asarray(X @ w[:width] + labels @ w[width:-1] + w[-1], dtype=np.float64)


def _value(z: Vector, target: Vector, w: Vector, strength: float) -> float:
    loss = np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z))) + (1.0 - target) * z
    return float(0.5 * strength * (w @ w) + loss.sum())


def _hessian(
    X: Vector, labels: sp.csr_array, turned: sp.csr_array, curvature: Vector, strength: float
) -> Vector:
    width, size = X.shape[1], X.shape[1] + labels.shape[1] + 1
    H = np.zeros((size, size))
    root = np.sqrt(curvature)
    square = np.zeros((width, width))
    for first in range(0, len(X), ROWS):
        weighted = X[first : first + ROWS] * root[first : first + ROWS, None]
        square += weighted.T @ weighted
    H[:width, :width] = square
    weighted_labels = sp.csr_array(
        (curvature[turned.indices], turned.indices, turned.indptr), shape=turned.shape
    )
    H[width:-1, :width] = weighted_labels @ X
    H[width:-1, width:-1] = (weighted_labels @ labels).toarray()
    H[-1, :width] = curvature @ X
    H[-1, width:-1] = turned @ curvature
    H[-1, -1] = curvature.sum()
    H[np.arange(size), np.arange(size)] += strength
    return H


def _solved(H: Vector, right: Vector) -> Vector:
    """H⁻¹·right from the lower triangle of H; with a firmer diagonal where rounding spoilt it."""
    firmer = 0.0
    while True:
        try:
            factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            more = max(10.0 * firmer, 1e-14 * float(np.trace(H)))
            H[np.arange(len(H)), np.arange(len(H))] += more - firmer
            firmer = more
        else:
            return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
