"""Choosing the number of neighbours and the threshold, by example-F1 on held-out points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.search._vote_kernels import holds

NUMBERS_OF_NEIGHBORS = (1, 5, 10, 20)
"""What is tried where no number is given."""

THRESHOLD = 0.5
"""The share of the neighbours from which on a label is predicted, in the paper."""

THRESHOLDS = np.arange(1, 21) / 20
"""Shares that are tried where no threshold is given: all that can differ for these numbers."""

FOLDS = 5
"""Parts of the training data for choosing."""


@dataclass(frozen=True)
class VotingChoice:
    """The number of neighbours and the threshold that did best on held-out points.

    Attributes
    ----------
    n_neighbors : int
    threshold : float
    numbers_of_neighbors : int array
        Those that were tried.
    thresholds : array
        The thresholds that were tried.
    f1 : array of shape (numbers of neighbours, thresholds)
        The mean example-F1 of each pair.
    """

    n_neighbors: int
    threshold: float
    numbers_of_neighbors: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    f1: NDArray[np.float64]


def choose_voting(
    scores_of: Callable[[int], Iterable[sp.csr_array]],
    truth: sp.csr_array,
    *,
    numbers_of_neighbors: Sequence[int] = NUMBERS_OF_NEIGHBORS,
    threshold: float | None = THRESHOLD,
) -> VotingChoice:
    """Try numbers of neighbours, and thresholds if none is given, by example-F1.

    Parameters
    ----------
    scores_of : callable
        Gives the shares of the labels of held-out points for a number of neighbours, some rows at a
        time, as `vote_in_parts` makes them.
    truth : csr_array of shape (n, L)
        Their true labels.
    numbers_of_neighbors : sequence of int
        To try.
    threshold : float, optional
        None: all `THRESHOLDS` are tried.

    Returns
    -------
    VotingChoice
        Of equal ones the fewest neighbours, then the threshold nearest to one half.

    Examples
    --------
    >>> from longtail.search import vote_in_parts
    >>> labels = sp.csr_array([[1, 0], [0, 1], [0, 1]])
    >>> neighbours = np.array([[0, 1, 2]])
    >>> chosen = choose_voting(
    ...     lambda k: vote_in_parts(labels, neighbours[:, :k]), sp.csr_array([[0, 1]]),
    ...     numbers_of_neighbors=(1, 3),
    ... )
    >>> chosen.n_neighbors, chosen.f1.tolist()
    (3, [[0.0], [1.0]])
    """
    thresholds = THRESHOLDS if threshold is None else np.array([float(threshold)])
    f1 = np.array(
        [example_f1_at(scores_of(int(k)), truth, thresholds) for k in numbers_of_neighbors]
    )
    by_taste = np.argsort(np.abs(thresholds - THRESHOLD), kind="stable")
    best = np.unravel_index(f1[:, by_taste].argmax(), f1.shape)
    return VotingChoice(
        int(numbers_of_neighbors[int(best[0])]),
        float(thresholds[by_taste[best[1]]]),
        np.asarray(numbers_of_neighbors, dtype=np.int64),
        thresholds,
        f1,
    )


def example_f1_at(
    scores: Iterable[sp.csr_array], truth: sp.csr_array, thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The mean F1 of the points if the labels from each threshold on are predicted.

    The scores come some rows at a time. A point with neither true nor predicted labels counts as 1.
    O(thresholds · nnz).

    Examples
    --------
    >>> scores, truth = sp.csr_array([[0.2, 0.9]]), sp.csr_array([[0, 1]])
    >>> example_f1_at([scores], truth, np.array([0.1, 0.5])).round(3).tolist()
    [0.667, 1.0]
    """
    total, done = np.zeros(len(thresholds)), 0
    for part in scores:
        total += _f1_sums(part, truth[done : done + part.shape[0]], thresholds)
        done += part.shape[0]
    return total / done


def _f1_sums(
    scores: sp.csr_array, truth: sp.csr_array, thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    right = holds(
        scores.indptr.astype(np.int64), scores.indices,
        truth.indptr.astype(np.int64), truth.indices,
    )  # fmt: skip
    true = np.diff(truth.indptr)
    found = []
    for threshold in thresholds:
        chosen = scores.data >= threshold
        both = _row_sums(chosen & right, scores.indptr)
        whole = true + _row_sums(chosen, scores.indptr)
        found.append(np.divide(2 * both, whole, out=np.ones(len(true)), where=whole > 0).sum())
    return np.array(found)


def _row_sums(chosen: NDArray[np.bool_], indptr: NDArray[Any]) -> NDArray[np.int64]:
    return np.diff(np.concatenate(([0], np.cumsum(chosen, dtype=np.int64)))[indptr])


def random_folds(n: int, folds: int, random_state: int) -> NDArray[np.int64]:
    """A fold for each of n points, at random, of sizes that differ by one at most.

    Examples
    --------
    >>> np.bincount(random_folds(7, 3, random_state=0)).tolist()
    [3, 2, 2]
    """
    order = np.random.RandomState(random_state).permutation(n)
    fold_of = np.empty(n, dtype=np.int64)
    fold_of[order] = np.arange(n) % folds
    return fold_of
