"""Counting votes: shares of the labels among the neighbours of a point, and scores that break ties.

Equation (1) of Shen et al., Deep Binary Prototype Multi-label Learning, IJCAI 2018: a label is
predicted if its mean over the neighbours' label vectors reaches a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.search._vote_kernels import count_votes, labels_from

TIE = 2.0**-20
"""Weight of the distances in a score: only enough to break ties of shares."""
BLOCK_ROWS = 1024
"""Points per block; results do not depend on it, nor on the threads."""
VOTES = 2**18
"""Votes that are counted at a time; voters may have thousands of labels each."""


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


def vote_in_parts(labels: sp.csr_array, neighbours: NDArray[np.int64]) -> Iterator[sp.csr_array]:
    """The same for some points at a time, as many as have some `VOTES` votes between them.

    Examples
    --------
    >>> [part.toarray().tolist() for part in vote_in_parts(sp.csr_array([[1, 0]]), np.array([[0]]))]
    [[[1.0, 0.0]]]
    """
    for span in vote_spans(labels, neighbours):
        yield vote(labels, neighbours[span])


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


def voted_labels(
    labels: sp.csr_array, neighbours: NDArray[np.int64], threshold: float
) -> sp.csr_array:
    """The labels that a share of the neighbours has, from a threshold on, as ones.

    The same as `kept_from` of `vote`, without making or sorting the shares below.

    Examples
    --------
    >>> labels = sp.csr_array([[1, 0, 1], [0, 0, 1]])
    >>> voted_labels(labels, np.array([[0, 1], [1, -1]]), 0.6).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """
    n, n_labels = len(neighbours), labels.shape[1]
    ends, parts = np.zeros(n + 1, dtype=np.int64), []
    starts, sums = labels.indptr.astype(np.int64), np.zeros((2, n_labels))
    for span in vote_spans(labels, neighbours):
        near = np.ascontiguousarray(neighbours[span], dtype=np.int64)
        columns = np.empty(int(_vote_counts(labels, near).sum()), dtype=np.int64)
        here = np.zeros(len(near) + 1, dtype=np.int64)
        labels_from(
            starts, labels.indices, labels.data, near, np.ones(near.shape), float(threshold),
            np.full(n_labels, -1, dtype=np.int64), sums, here, columns,
        )  # fmt: skip
        parts.append(columns[: here[-1]].copy())
        ends[span.start + 1 : span.stop + 1] = ends[span.start] + here[1:]
    found = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    return sp.csr_array((np.ones(len(found)), found, ends), shape=(n, n_labels))


def vote_spans(labels: sp.csr_array, neighbours: NDArray[np.int64]) -> list[slice]:
    """The points in spans of some `VOTES` votes, or of one point that has more. O(n·k).

    Examples
    --------
    >>> vote_spans(sp.csr_array([[1, 1], [0, 1]]), np.array([[0, 1], [1, -1]]))
    [slice(0, 2, None)]
    """
    votes = np.cumsum(_vote_counts(labels, neighbours))
    cuts = (np.flatnonzero(np.diff(votes // VOTES)) + 1).tolist()
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, len(votes)], strict=True)]


def _vote_counts(labels: sp.csr_array, neighbours: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many labels the voters of each point have between them, repeats included."""
    sizes = np.append(np.diff(labels.indptr), 0).astype(np.int64)  # the last for no voter, -1
    return sizes[neighbours].sum(axis=1)


def _both_shares(
    labels: sp.csr_array, neighbours: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[sp.csr_array, sp.csr_array]:
    n, n_labels = len(neighbours), labels.shape[1]
    starts = labels.indptr.astype(np.int64)
    room = int(_vote_counts(labels, neighbours).sum())
    columns, plain, weighted = np.empty(room, dtype=np.int64), np.empty(room), np.empty(room)
    ends = np.zeros(n + 1, dtype=np.int64)
    count_votes(
        starts, labels.indices, labels.data, neighbours, weights,
        np.full(n_labels, -1, dtype=np.int64), np.zeros((2, n_labels)),
        ends, columns, plain, weighted,
    )  # fmt: skip
    used = int(ends[-1])
    return (
        sp.csr_array((plain[:used], columns[:used], ends), shape=(n, n_labels)),
        sp.csr_array((weighted[:used], columns[:used], ends), shape=(n, n_labels)),
    )


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
