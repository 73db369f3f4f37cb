"""Label sets, probabilities and correlations of labels in a mixture of independent labels.

The most probable sets, exactly or by sampling, are those of section 4 of Conditional Bernoulli
Mixtures for Multi-Label Classification (Li, Wang, Pavlu & Aslam, ICML 2016). A point's distribution
is given by the log of the components' weights and by the log-odds of every label in every
component.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp

from longtail.errors import InputError
from longtail.methods._marginal import LARGEST
from longtail.methods.mixtures._decode_kernels import best_sets
from longtail.methods.mixtures._target_kernels import draw, mixture_marginals
from longtail.parameters import check_count
from longtail.runtime.executor import run_threads
from longtail.runtime.seeds import point_seeds

BLOCK = 256  # points per piece of work of a thread


@dataclass(frozen=True)
class LikelySets:
    """The most probable label sets of some points, the most probable first.

    Attributes
    ----------
    sets : bool array of shape (n, B, L)
        The labels of each.
    log_probabilities : array of shape (n, B)
        Of each set; -inf if there are fewer than B sets.
    visits : int array of shape (n,)
        Number of visited sets.
    exact : bool array of shape (n,)
        Whether no set is more probable than those found.
    """

    sets: NDArray[np.bool_]
    log_probabilities: NDArray[np.float64]
    visits: NDArray[np.int64]
    exact: NDArray[np.bool_]


def most_probable_sets(
    log_weights: Any,
    log_odds: Any,
    *,
    n_sets: int = 1,
    allow_empty: bool = True,
    max_visits: int = 100_000,
    n_jobs: int | None = None,
) -> LikelySets:
    """The label sets with the highest probability under the mixture, exactly.

    Parameters
    ----------
    log_weights : array of shape (n, K)
        Logarithms of the components' weights; they need not add up to one.
    log_odds : array of shape (n, K, L)
        Log-odds of each label within each component, float32 or float64; beyond ±40 they count as
        ±40.
    n_sets : int
        How many sets per point, B.
    allow_empty : bool
        Whether the set without labels may be among them.
    max_visits : int
        Limit on visited sets per point; the sets found until then are returned as not exact.
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Notes
    -----
    The sets of every component are visited in falling order of weight times probability, all
    components together, until none that is left can be better: a set not yet visited has, from each
    component, at most what the present one has from its own and at most that component's best. The
    sum of these bounds is never above those of the paper's Algorithm 2, so fewer sets are visited
    than with its two pruning rules. O(K·L) per point and at most O(K·|set|) per visited set; on
    real data, these are a few for each component that matters.

    Examples
    --------
    Two components that agree on one label and disagree on two that go together:

    >>> weights, odds = np.log([[0.6, 0.4]]), np.array([[[3.0, -0.5, -0.5], [3.0, 4.0, 4.0]]])
    >>> found = most_probable_sets(weights, odds)
    >>> found.sets[0, 0].tolist(), round(float(np.exp(found.log_probabilities[0, 0])), 3)
    ([True, True, True], 0.449)
    """
    weights, odds = _checked(log_weights, log_odds)
    check_count(n_sets=n_sets, max_visits=max_visits)
    n, _, n_labels = odds.shape
    sets = np.zeros((n, n_sets, n_labels), dtype=np.bool_)
    logs = np.full((n, n_sets), -np.inf)
    visits = np.zeros(n, dtype=np.int64)

    def work(first: int) -> None:
        part = slice(first, first + BLOCK)
        best_sets(
            weights[part], odds[part], bool(allow_empty), int(max_visits), sets[part], logs[part],
            visits[part],
        )  # fmt: skip

    run_threads(work, range(0, n, BLOCK), n_jobs=n_jobs, limit_blas=False)
    return LikelySets(sets, logs, np.abs(visits), visits >= 0)


def sample_sets(
    log_weights: Any,
    log_odds: Any,
    *,
    n_samples: int = 1000,
    allow_empty: bool = True,
    random_state: int = 0,
    seeds: NDArray[np.uint64] | None = None,
) -> LikelySets:
    """The most probable of some label sets drawn from the mixture; there may be better ones.

    Parameters
    ----------
    log_weights, log_odds : arrays of shape (n, K) and (n, K, L)
        As for `most_probable_sets`.
    n_samples : int
        Sets drawn for each point.
    allow_empty : bool
        Whether the set without labels may be taken; if nothing else is drawn, the most probable
        single label replaces it.
    random_state : int
        Seed.
    seeds : uint64 array of shape (n,), optional
        A seed for each point instead, such as `runtime.seeds.row_seeds` makes of X; by default
        they come from `random_state` and the numbers of the points.

    Notes
    -----
    O(n_samples·K·L) per point.

    Examples
    --------
    >>> weights, odds = np.log([[0.6, 0.4]]), np.array([[[3.0, -0.5, -0.5], [3.0, 4.0, 4.0]]])
    >>> sample_sets(weights, odds).sets[0, 0].tolist()
    [True, True, True]
    """
    check_count(n_samples=n_samples)
    weights, odds = _checked(log_weights, log_odds)
    n, _, n_labels = odds.shape
    seeds = point_seeds(n, random_state, seeds)
    every = np.empty((1, n_samples, n_labels), dtype=np.bool_)
    sets = np.zeros((n, 1, n_labels), dtype=np.bool_)
    logs = np.full((n, 1), -np.inf)
    for i in range(n):
        draw(weights[i : i + 1], odds[i : i + 1], seeds[i : i + 1], every)
        drawn = every[0]
        if not allow_empty:
            drawn = drawn[drawn.any(axis=1)]
            if not len(drawn):
                chance = logsumexp(weights[i][:, None] + log_expit(odds[i]), axis=0)
                drawn = (np.arange(n_labels) == np.argmax(chance))[None, :]
        drawn = np.unique(drawn, axis=0)
        value = log_probability(weights[i], odds[i], drawn)
        best = int(np.argmax(value))
        sets[i, 0], logs[i, 0] = drawn[best], value[best]
    return LikelySets(sets, logs, np.full(n, n_samples), np.zeros(n, dtype=np.bool_))


def log_probability(
    log_weights: NDArray[np.float64], log_odds: NDArray[np.float64], sets: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The log-probability of each of some sets (m, L) under one point's mixture. O(m·K·L).

    Examples
    --------
    >>> sets = np.array([[True, False]])
    >>> float(np.exp(log_probability(np.log([1.0]), np.zeros((1, 2)), sets))[0])
    0.25
    """
    capped = np.clip(log_odds, -LARGEST, LARGEST)
    off = log_expit(-capped).sum(axis=1)
    return np.asarray(logsumexp(log_weights + off + sets @ capped.T, axis=1))


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


def _checked(
    log_weights: Any, log_odds: Any
) -> tuple[NDArray[np.float64], NDArray[np.floating[Any]]]:
    """Both as contiguous, valid arrays; log-odds in float32 are not copied."""
    weights = np.ascontiguousarray(log_weights, dtype=np.float64)
    odds = np.asarray(log_odds)
    odds = np.ascontiguousarray(odds, dtype=odds.dtype if odds.dtype == np.float32 else np.float64)
    if weights.ndim != 2 or odds.ndim != 3 or odds.shape[:2] != weights.shape:
        raise InputError(
            f"Weights of shape (n, K) and log-odds of shape (n, K, L) are needed, not "
            f"{weights.shape} and {odds.shape}."
        )
    if 0 in odds.shape[1:]:
        raise InputError("A mixture needs at least one component and one label.")
    if np.isnan(odds.min(initial=0)) or np.isnan(weights).any() or (weights == np.inf).any():
        raise InputError("Weights and log-odds must be numbers; some are not.")
    if weights.size and not np.isfinite(weights.max(axis=1)).all():
        raise InputError("Some point has no component with a weight above zero.")
    return weights, odds
