"""Probabilities and correlations of labels in a mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from longtail.errors import InputError
from longtail.methods.mixtures._target_kernels import mixture_marginals
from longtail.methods.mixtures.decoding import _checked


def marginals(log_weights: Any, log_odds: Any) -> NDArray[np.float64]:
    """The probability of each label at each point, (n, L). O(n·K·L).

    Parameters
    ----------
    log_weights, log_odds : arrays of shape (n, K) and (n, K, L)
        As for `optimal_sets`.

    Examples
    --------
    >>> odds = np.array([[[0.0, np.log(4)], [0.0, -np.log(4)]]])
    >>> marginals(np.log([[0.5, 0.5]]), odds).round(3).tolist()
    [[0.5, 0.5]]
    """
    weights, odds = _checked(log_weights, log_odds)
    out = np.empty((odds.shape[0], odds.shape[2]))
    mixture_marginals(weights, odds, out)
    return out


def label_correlations(log_weights: Any, log_odds: Any) -> NDArray[np.float64]:
    """Pearson correlations between the labels of one point, (L, L), by the paper's formula (5).

    Parameters
    ----------
    log_weights, log_odds : arrays of shape (K,) and (K, L)
        One point's mixture, for instance of a few labels only.

    Returns
    -------
    array of shape (L, L)
        Ones on the diagonal; zero where a label is certain. O(K·L²).

    Examples
    --------
    Labels are independent in each of the two components, but not in the mixture:

    >>> odds = np.array([[2.0, 2.0], [-2.0, -2.0]])
    >>> label_correlations(np.log([0.5, 0.5]), odds).round(2).tolist()
    [[1.0, 0.58], [0.58, 1.0]]
    """
    weights, odds = np.asarray(log_weights, dtype=np.float64), np.asarray(log_odds)
    if weights.ndim != 1 or odds.ndim != 2:
        raise InputError(
            f"Weights of shape (K,) and log-odds of shape (K, L) of one point are needed, not "
            f"{weights.shape} and {odds.shape}."
        )
    _checked(weights[None], odds[None])
    shares, chances = np.exp(weights - logsumexp(weights)), expit(odds.astype(np.float64))
    mean = shares @ chances
    away = chances - mean
    covariance = (away * shares[:, None]).T @ away
    spread = np.sqrt(mean * (shares @ expit(-odds.astype(np.float64))))
    scale = np.outer(spread, spread)
    out = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(out, 1.0)
    return np.clip(out, -1.0, 1.0)
