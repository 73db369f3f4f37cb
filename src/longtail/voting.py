"""Classifiers that let neighbours vote: what nearest-neighbour and prototype methods share.

Such a classifier says which voters are nearest to a block of points and which labels each voter
has; counting the votes, ranking, thresholds, choosing the number of neighbours, explanations and
threads are done here. Equation (1) of Shen et al., Deep Binary Prototype Multi-label Learning,
IJCAI 2018: a label is predicted if its mean over the neighbours' label vectors reaches a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._checks import check_count, check_seed, is_count
from longtail._numba import kernel
from longtail._sparse import from_ranked, ranked
from longtail.base import Explanation
from longtail.engine.executor import run_threads, thread_count
from longtail.errors import ModelError, ParameterError
from longtail.probabilities import ProbabilityClassifier

SIZES = (1, 5, 10, 20)
"""Numbers of neighbours that are tried where none is given."""

THRESHOLD = 0.5
"""The share of the neighbours from which on a label is predicted, in the paper."""

THRESHOLDS = np.arange(1, 21) / 20
"""Shares that are tried where no threshold is given: all that can differ for `SIZES`."""

FOLDS = 5
"""Parts of the training data for choosing."""

TIE = 2.0**-20  # weight of the distances in a score: only enough to break ties of shares
BLOCK_ROWS = 1024  # points a block; results do not depend on it, nor on the threads

Result = TypeVar("Result")


class Neighbours(NamedTuple):
    """The nearest voters of some points, nearest first.

    Attributes
    ----------
    indices : int64 array of shape (n, k)
        Numbers of the voters; -1 where there are fewer.
    distances : float64 array of shape (n, k)
        Their distances; infinite where there are fewer.
    """

    indices: NDArray[np.int64]
    distances: NDArray[np.float64]


# ---- counting votes --------------------------------------------------------------------------


def vote(
    labels: sp.csr_array,
    neighbours: NDArray[np.int64],
    weights: NDArray[np.float64] | None = None,
) -> sp.csr_array:
    """The mean of the neighbours' label vectors, for every point.

    Parameters
    ----------
    labels : csr_array of shape (m, L)
        The label vectors of the voters; any non-negative values, ones as a rule.
    neighbours : int array of shape (n, k)
        The voters of each point, -1 for none.
    weights : array of shape (n, k), optional
        How much each vote counts; the mean is a weighted one then.

    Returns
    -------
    csr_array of shape (n, L)
        The shares, columns ascending; a label that no voter has is not stored. A point without
        voters has none.

    Notes
    -----
    O(sum of the label counts of the voters, times a logarithm for sorting, + L). Sums run in the
    order of the neighbours, so equal votes give equal bits.

    Examples
    --------
    >>> labels = sp.csr_array([[1, 0, 1], [0, 0, 1]])
    >>> vote(labels, np.array([[0, 1], [1, -1]])).toarray().tolist()
    [[0.5, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """
    neighbours = np.ascontiguousarray(neighbours, dtype=np.int64)
    if weights is None:
        weights = np.ones(neighbours.shape)
    return _both_shares(labels, neighbours, np.ascontiguousarray(weights, dtype=np.float64))[1]


def closeness(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of neighbours that fall with their distances: m / (m + d), m a point's mean distance.

    Neighbours that are not there, at an infinite distance, weigh nothing; where all distances are
    zero all weigh the same.

    Examples
    --------
    >>> closeness(np.array([[0.0, 2.0], [0.0, 0.0], [3.0, np.inf]])).tolist()
    [[1.0, 0.3333333333333333], [1.0, 1.0], [0.5, 0.0]]
    """
    there = np.isfinite(distances)
    known = np.where(there, distances, 0.0)
    mean = known.sum(axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1)
    mean = np.where(mean > 0, mean, 1.0)
    return np.where(there, mean / (mean + known), 0.0)


def scored_votes(labels: sp.csr_array, found: Neighbours) -> tuple[sp.csr_array, sp.csr_array]:
    """Shares of the labels among the neighbours, and scores that rank equal shares by distance.

    The score is min(1, share + 2⁻²⁰ · share weighted by `closeness`): the share as far as it
    matters, never below it, and of two labels with the same share the one whose voters are nearer
    comes first.

    Returns
    -------
    shares, scores : csr_arrays of shape (n, L)
        Of one pattern.

    Examples
    --------
    >>> found = Neighbours(np.array([[1, 0]]), np.array([[0.0, 2.0]]))
    >>> shares, scores = scored_votes(sp.csr_array([[1, 0], [0, 1]]), found)
    >>> shares.toarray().tolist(), bool(scores[0, 1] > scores[0, 0] > 0.5)
    ([[0.5, 0.5]], True)
    """
    neighbours = np.ascontiguousarray(found.indices, dtype=np.int64)
    plain, weighted = _both_shares(labels, neighbours, closeness(found.distances))
    scores = plain.copy()
    scores.data = np.minimum(plain.data + TIE * weighted.data, np.maximum(plain.data, 1.0))
    return plain, scores


def _both_shares(
    labels: sp.csr_array, neighbours: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[sp.csr_array, sp.csr_array]:
    n, n_labels = len(neighbours), labels.shape[1]
    starts = labels.indptr.astype(np.int64)
    there = neighbours >= 0
    counts = np.where(there, np.diff(starts)[neighbours] if labels.shape[0] else 0, 0)
    room = np.concatenate(([0], np.cumsum(counts.sum(axis=1)))).astype(np.int64)
    columns = np.empty(room[-1], dtype=np.int64)
    plain, weighted = np.empty(room[-1]), np.empty(room[-1])
    ends = np.zeros(n + 1, dtype=np.int64)
    _count_votes(
        starts, labels.indices, labels.data, neighbours, weights,
        np.full(n_labels, -1, dtype=np.int64), np.zeros((2, n_labels)),
        room, ends, columns, plain, weighted,
    )  # fmt: skip
    used = int(ends[-1])
    return (
        sp.csr_array((plain[:used], columns[:used], ends), shape=(n, n_labels)),
        sp.csr_array((weighted[:used], columns[:used], ends), shape=(n, n_labels)),
    )


@kernel
def _count_votes(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    neighbours: NDArray[Any],
    weights: NDArray[Any],
    seen_by: NDArray[Any],
    sums: NDArray[Any],
    room: NDArray[Any],
    ends: NDArray[Any],
    columns: NDArray[Any],
    plain: NDArray[Any],
    weighted: NDArray[Any],
) -> None:
    """Add up the votes of each row, plain and weighted, and write them with ascending columns."""
    to = 0
    for i in range(neighbours.shape[0]):
        first = to
        voters = 0
        total = 0.0
        for j in range(neighbours.shape[1]):
            voter = neighbours[i, j]
            if voter < 0:
                continue
            voters += 1
            weight = weights[i, j]
            total += weight
            for p in range(indptr[voter], indptr[voter + 1]):
                label = indices[p]
                if seen_by[label] != i:
                    seen_by[label] = i
                    sums[0, label] = 0.0
                    sums[1, label] = 0.0
                    columns[to] = label
                    to += 1
                sums[0, label] += data[p]
                sums[1, label] += weight * data[p]
        columns[first:to].sort()
        for p in range(first, to):
            plain[p] = sums[0, columns[p]] / voters
            weighted[p] = sums[1, columns[p]] / total if total > 0 else 0.0
        ends[i + 1] = to


# ---- choosing --------------------------------------------------------------------------------


@dataclass(frozen=True)
class VotingChoice:
    """The number of neighbours and the threshold that did best on held-out points.

    Attributes
    ----------
    n_neighbors : int
    threshold : float
    sizes : int array
        The numbers of neighbours that were tried.
    thresholds : array
        The thresholds that were tried.
    f1 : array of shape (sizes, thresholds)
        The mean example-F1 of each pair.
    """

    n_neighbors: int
    threshold: float
    sizes: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    f1: NDArray[np.float64]


def choose_voting(
    score_of: Callable[[int], sp.csr_array],
    truth: sp.csr_array,
    *,
    sizes: Sequence[int] = SIZES,
    threshold: float | None = THRESHOLD,
) -> VotingChoice:
    """Try numbers of neighbours, and thresholds if none is given, by example-F1.

    Parameters
    ----------
    score_of : callable
        Gives the shares (n, L) of the labels of held-out points for a number of neighbours, as
        `vote` makes them.
    truth : csr_array of shape (n, L)
        Their true labels.
    sizes : sequence of int
        Numbers of neighbours.
    threshold : float, optional
        None: all `THRESHOLDS` are tried.

    Returns
    -------
    VotingChoice
        Of equal ones the fewest neighbours, then the threshold nearest to one half.

    Examples
    --------
    >>> labels = sp.csr_array([[1, 0], [0, 1], [0, 1]])
    >>> neighbours = np.array([[0, 1, 2]])
    >>> chosen = choose_voting(
    ...     lambda k: vote(labels, neighbours[:, :k]), sp.csr_array([[0, 1]]), sizes=(1, 3)
    ... )
    >>> chosen.n_neighbors, chosen.f1.tolist()
    (3, [[0.0], [1.0]])
    """
    thresholds = THRESHOLDS if threshold is None else np.array([float(threshold)])
    f1 = np.array([example_f1_at(score_of(int(k)), truth, thresholds) for k in sizes])
    by_taste = np.argsort(np.abs(thresholds - THRESHOLD), kind="stable")
    best = np.unravel_index(f1[:, by_taste].argmax(), f1.shape)
    return VotingChoice(
        int(sizes[int(best[0])]),
        float(thresholds[by_taste[best[1]]]),
        np.asarray(sizes, dtype=np.int64),
        thresholds,
        f1,
    )


def example_f1_at(
    scores: sp.csr_array, truth: sp.csr_array, thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The mean F1 of the points if the labels from each threshold on are predicted.

    A point with neither true nor predicted labels counts as 1. O(thresholds · nnz).

    Examples
    --------
    >>> scores, truth = sp.csr_array([[0.2, 0.9]]), sp.csr_array([[0, 1]])
    >>> example_f1_at(scores, truth, np.array([0.1, 0.5])).round(3).tolist()
    [0.667, 1.0]
    """
    right = _holds(
        scores.indptr.astype(np.int64), scores.indices,
        truth.indptr.astype(np.int64), truth.indices,
    )  # fmt: skip
    true = np.diff(truth.indptr)
    found = []
    for threshold in thresholds:
        chosen = scores.data >= threshold
        both = _row_sums(chosen & right, scores.indptr)
        whole = true + _row_sums(chosen, scores.indptr)
        found.append(np.divide(2 * both, whole, out=np.ones(len(true)), where=whole > 0).mean())
    return np.array(found)


def _row_sums(chosen: NDArray[np.bool_], indptr: NDArray[Any]) -> NDArray[np.int64]:
    return np.diff(np.concatenate(([0], np.cumsum(chosen, dtype=np.int64)))[indptr])


@kernel
def _holds(
    indptr: NDArray[Any], indices: NDArray[Any], other_indptr: NDArray[Any], other: NDArray[Any]
) -> NDArray[np.bool_]:
    """Whether each stored entry is also stored in another matrix; both have sorted columns."""
    found = np.zeros(indices.shape[0], dtype=np.bool_)
    for i in range(indptr.shape[0] - 1):
        q = other_indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            while q < other_indptr[i + 1] and other[q] < indices[p]:
                q += 1
            found[p] = q < other_indptr[i + 1] and other[q] == indices[p]
    return found


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


# ---- explaining ------------------------------------------------------------------------------


@dataclass(frozen=True)
class VoteExplanation(Explanation):
    """Who voted for a label, and who did not.

    The score comes from the votes of the neighbours and not from single features, so the features
    of the base class are empty and its bias is zero.

    Attributes
    ----------
    share : float
        The share of all neighbours that have the label.
    voters : int array
        Numbers of the nearest neighbours, nearest first, as many as were asked for.
    distances : array
        How far they are.
    votes : array
        The value of the label in their label vectors: 1 for a vote, 0 for none.
    voter_labels : list of tuples
        The names of all labels of each.
    n_voters : int
        How many neighbours voted in all.
    """

    share: float
    voters: NDArray[np.int64]
    distances: NDArray[np.float64]
    votes: NDArray[np.float64]
    voter_labels: list[tuple[Any, ...]]
    n_voters: int

    def table(self) -> pl.DataFrame:
        """One row a neighbour, the nearest first."""
        return pl.DataFrame(
            {
                "neighbour": self.voters,
                "distance": self.distances,
                "vote": self.votes,
                "labels": [", ".join(map(str, names)) for names in self.voter_labels],
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.share:.3f} of the votes of {self.n_voters} neighbours"]
        for voter, distance, value, names in zip(
            self.voters, self.distances, self.votes, self.voter_labels, strict=True
        ):
            more = f", and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(
                f"  {voter} at {distance:.4g}, vote {value:g}: "
                f"{', '.join(map(str, names[:8])) or 'no labels'}{more}"
            )
        return "\n".join(lines)


# ---- the classifier --------------------------------------------------------------------------


class VotingClassifier(ProbabilityClassifier):
    """Base of the classifiers whose neighbours vote.

    Subclasses say in `_neighbours_of` which voters are nearest to a block of points and in
    `_voters` which labels each voter has; `_fit` sets `n_neighbors_` and `threshold_`, by
    `choose_voting` where the parameters are None. They store `n_neighbors`, `threshold`, `n_jobs`
    and `random_state`. Labels that no neighbour has are not in top-k lists; a score is a share of
    the votes, to within 2⁻²⁰, see `scored_votes`.
    """

    n_neighbors: int | None
    threshold: float | None
    n_jobs: int | None
    random_state: int

    n_neighbors_: int
    threshold_: float

    # ---- what a method supplies --------------------------------------------------------------

    def _neighbours_of(self, X: sp.csr_array, k: int) -> Neighbours:
        """The k nearest voters of a block of points; called from several threads."""
        raise NotImplementedError

    def _voters(self) -> sp.csr_array:
        """The label vectors of the voters, (m, L)."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.n_neighbors is not None:
            check_count(n_neighbors=self.n_neighbors)
        if self.threshold is not None and not _is_threshold(self.threshold):
            raise ParameterError(
                f"threshold must be above 0 and at most 1, or None, not {self.threshold!r}."
            )
        check_seed(self.random_state)
        thread_count(self.n_jobs)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        return self._stacked(X, lambda x: self._best_scores(x, k))

    def _best_scores(self, X: sp.csr_array, k: int) -> sp.csr_array:
        scores = self._votes(X)[1]
        return from_ranked(*ranked(scores, k), scores.shape[1])

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._stacked(X, lambda x: kept_from(self._votes(x)[0], self.threshold_))

    def _votes(self, X: sp.csr_array) -> tuple[sp.csr_array, sp.csr_array]:
        """Shares and scores of the labels of a block of points."""
        voters = self._voters()
        return scored_votes(voters, self._neighbours_of(X, min(self.n_neighbors_, voters.shape[0])))

    def _usual_scale(self) -> tuple[float, float]:
        return 4.0, -4.0 * self.threshold_  # the slope of log-odds at one half

    def _probabilities(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        """Shares of the neighbours that have each label, ties broken by distance."""
        scores = self._stacked(X, lambda x: self._votes(x)[1])
        likely = kept_from(scores, threshold)
        likely.data = scores.data[scores.data >= threshold]
        return likely

    def _explain(
        self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]
    ) -> VoteExplanation:
        voters = self._voters()
        found = self._neighbours_of(x, min(self.n_neighbors_, voters.shape[0]))
        shares, scores = scored_votes(voters, found)
        there = found.indices[0] >= 0
        nearest = found.indices[0][there][:n]
        sets = voters[nearest]
        return VoteExplanation(
            label=self.classes_[column : column + 1].tolist()[0],
            score=float(scores[0, column]),
            bias=0.0,
            features=names[:0],
            values=np.empty(0),
            weights=np.empty(0),
            contributions=np.empty(0),
            share=float(shares[0, column]),
            voters=nearest,
            distances=found.distances[0][there][:n],
            votes=np.asarray(sets[:, [column]].toarray(), dtype=np.float64).ravel(),
            voter_labels=[
                tuple(self.classes_[sets.indices[first:last]].tolist())
                for first, last in zip(sets.indptr[:-1], sets.indptr[1:], strict=True)
            ],
            n_voters=int(there.sum()),
        )

    def _check_state(self) -> None:
        super()._check_state()
        try:
            self._check_parameters()
        except ParameterError as error:
            raise ModelError(f"The model's parameters make no sense: {error}") from error
        if not is_count(getattr(self, "n_neighbors_", None)) or not _is_threshold(
            getattr(self, "threshold_", None)
        ):
            raise ModelError(
                "The model's number of neighbours or its threshold makes no sense; it was altered."
            )

    # ---- blocks of points --------------------------------------------------------------------

    def _stacked(
        self, X: sp.csr_array, work: Callable[[sp.csr_array], sp.csr_array]
    ) -> sp.csr_array:
        """What `work` makes of each block of points, one below the other, on threads."""
        parts = self._in_blocks(X, work)
        return parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))

    def _in_blocks(self, X: sp.csr_array, work: Callable[[sp.csr_array], Result]) -> list[Result]:
        starts = range(0, max(X.shape[0], 1), BLOCK_ROWS)
        if len(starts) == 1:
            return [work(X)]
        found: dict[int, Result] = {}
        run_threads(
            lambda first, stop: work(X[first : first + BLOCK_ROWS]), starts, n_jobs=self.n_jobs,
            done=found.__setitem__,
        )  # fmt: skip
        return [found[first] for first in starts]


def kept_from(scores: sp.csr_array, threshold: float) -> sp.csr_array:
    """The labels whose scores reach a threshold, as ones.

    Examples
    --------
    >>> kept_from(sp.csr_array([[0.5, 0.4, 0.9]]), 0.5).toarray().tolist()
    [[1.0, 0.0, 1.0]]
    """
    kept = scores.data >= threshold
    ends = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))[scores.indptr]
    return sp.csr_array((np.ones(int(ends[-1])), scores.indices[kept], ends), shape=scores.shape)


def _is_threshold(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and bool(0 < value <= 1)
