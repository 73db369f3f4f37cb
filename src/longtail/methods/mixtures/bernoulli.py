"""Bernoulli mixtures: the distribution of label sets alone, without features.

p(y) = Σ_k π_k Π_l Ber(y_l; μ_kl), fitted by expectation maximisation (Bishop, Pattern Recognition
and Machine Learning, section 9.3.3). A conditional mixture starts from the responsibilities of such
a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from longtail.labels import distinct_sets, encode_labels
from longtail.parameters import check_count, check_seed

SMOOTHING = 0.1  # points with and without each label that are added to every component
SHORT = 15  # rounds of every start; the best one continues
SEED_SHARE = (0.3, 0.9)  # of a starting component that is its seed; the rest is the average


@dataclass(frozen=True)
class BernoulliMixture:
    """A fitted mixture.

    Attributes
    ----------
    log_weights : array of shape (K,)
        Logarithms of π.
    log_odds : array of shape (K, L)
        Of μ.
    log_likelihood : float
        Of the label sets that it was fitted to.
    rounds : int
        Rounds of expectation maximisation.
    """

    log_weights: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    log_likelihood: float
    rounds: int

    def responsibilities(self, Y: Any) -> NDArray[np.float64]:
        """How probable each component is for each label set, (n, K). O(K·(nnz(Y) + n))."""
        logs = _joint_logs(sp.csr_array(Y), self.log_weights, self.log_odds)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


def fit_bernoulli_mixture(
    Y: Any,
    n_components: int,
    *,
    n_starts: int = 10,
    max_rounds: int = 100,
    tol: float = 1e-5,
    random_state: int = 0,
) -> BernoulliMixture:
    """Fit a mixture of independent labels to label sets, from several starts; the best is kept.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        The label sets.
    n_components : int
        K. More than there are distinct sets is no error: with features, components of the same
        labels may still differ.
    n_starts : int
        Random starts: K sets, drawn by how often they occur and different as far as there are
        enough, are the first components, blended with the average of all by random shares.
    max_rounds : int
        Limit on rounds. Every start has fifteen, and the best one continues.
    tol : float
        It ends when the log-likelihood rises by less than this share of itself.
    random_state : int
        Seed.

    Notes
    -----
    Equal sets are counted, not repeated: O(K·nnz of the distinct sets) per round. Every component
    gets a tenth of a point with each label and a tenth without it, so that no odds are infinite.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0]] * 5 + [[0, 0, 1]] * 5)
    >>> mixture = fit_bernoulli_mixture(Y, 2, n_starts=2)
    >>> shares = mixture.responsibilities(Y)
    >>> bool(abs(shares[0] - shares[-1]).min() > 0.9)
    True
    """
    check_count(n_components=n_components, n_starts=n_starts, max_rounds=max_rounds)
    check_seed(random_state)
    sets, which = distinct_sets(encode_labels(Y).matrix)
    counts = np.bincount(which)
    draw = np.random.default_rng(random_state)
    ones, number = sets.astype(np.float64), counts.astype(np.float64)
    tries = (
        _improved(
            ones, number, _start(ones, number, n_components, draw), min(SHORT, max_rounds), tol
        )
        for _ in range(n_starts)
    )
    best = max(tries, key=lambda mixture: mixture.log_likelihood)
    return _improved(ones, number, best, max_rounds, tol)


def _start(
    ones: sp.csr_array,
    counts: NDArray[np.float64],
    n_components: int,
    draw: np.random.Generator,
) -> BernoulliMixture:
    total = float(counts.sum())
    average = (counts @ ones) / total
    seeds = draw.choice(
        len(counts), min(n_components, len(counts)), replace=False, p=counts / total
    )
    more = draw.choice(len(counts), n_components - len(seeds), p=counts / total)
    share = draw.uniform(*SEED_SHARE, (n_components, 1))
    means = share * ones[np.append(seeds, more)].toarray() + (1 - share) * average
    means = (means * total / n_components + SMOOTHING) / (total / n_components + 2 * SMOOTHING)
    log_weights = np.full(n_components, -np.log(n_components))
    return BernoulliMixture(log_weights, np.log(means) - np.log1p(-means), -np.inf, 0)


def _improved(
    ones: sp.csr_array,
    counts: NDArray[np.float64],
    mixture: BernoulliMixture,
    max_rounds: int,
    tol: float,
) -> BernoulliMixture:
    """More rounds from a mixture; `max_rounds` includes those it has had."""
    log_weights, log_odds, rounds = mixture.log_weights, mixture.log_odds, mixture.rounds
    total = float(counts.sum())
    turned = sp.csr_array(ones.T)
    before = -np.inf
    while True:
        logs = _joint_logs(ones, log_weights, log_odds)
        of_set = logsumexp(logs, axis=1)
        likelihood = float(counts @ of_set)
        if rounds >= max_rounds or likelihood - before <= tol * abs(likelihood):
            return BernoulliMixture(log_weights, log_odds, likelihood, rounds)
        rounds += 1
        before = likelihood
        shares = np.exp(logs - of_set[:, None]) * counts[:, None]
        weight = shares.sum(axis=0)
        on = np.asarray(turned @ shares).T
        log_odds = np.log(on + SMOOTHING) - np.log(np.maximum(weight[:, None] - on, 0) + SMOOTHING)
        log_weights = np.log(np.maximum(weight, 1e-300) / total)


def _joint_logs(
    Y: sp.csr_array, log_weights: NDArray[np.float64], log_odds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log π_k + log p(y | k) of each row and component."""
    off = -np.logaddexp(0.0, log_odds).sum(axis=1)
    return np.asarray(Y @ log_odds.T) + (log_weights + off)
