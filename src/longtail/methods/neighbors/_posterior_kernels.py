"""Kernels of ML-kNN: counts of labels by votes, and posteriors without an n×L array."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail._sparse import offer


@kernel
def count_votes(indptr, indices, neighbours, rows, has, has_not):
    """Count points by their votes for a label, separately with and without the label.

    `neighbours[i]` are the neighbours of point `rows[i]`. `has[l, j]` counts the points with label
    l whose neighbours have it j times, `has_not[l, j]` those without, for j from 1 on.
    O(labels of all neighbours).
    """
    votes = np.zeros(has.shape[0], dtype=np.int64)
    for i in range(rows.shape[0]):
        for j in range(neighbours.shape[1]):
            if neighbours[i, j] >= 0:
                for p in range(indptr[neighbours[i, j]], indptr[neighbours[i, j] + 1]):
                    votes[indices[p]] += 1
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            label = indices[p]
            if votes[label] > 0:
                has[label, votes[label]] += 1
                votes[label] = 0
        for j in range(neighbours.shape[1]):
            if neighbours[i, j] >= 0:
                for p in range(indptr[neighbours[i, j]], indptr[neighbours[i, j] + 1]):
                    label = indices[p]
                    if votes[label] > 0:
                        has_not[label, votes[label]] += 1
                        votes[label] = 0


@kernel
def gather_votes(indptr, indices, neighbours, votes, voted):
    """The labels of some neighbours in `voted`, ascending, counted in `votes`; how many."""
    size = 0
    for j in range(neighbours.shape[0]):
        if neighbours[j] >= 0:
            for p in range(indptr[neighbours[j]], indptr[neighbours[j] + 1]):
                label = indices[p]
                if votes[label] == 0:
                    voted[size] = label
                    size += 1
                votes[label] += 1
    voted[:size].sort()
    return size


@kernel
def best_posteriors(indptr, indices, neighbours, odds, order, labels, values):
    """The labels of highest log-odds of each point, best first, among all labels.

    `order` lists the labels that may be named, those of the highest log-odds without a vote first:
    of the labels without votes only the first k of it can be among the k best.
    O(labels of the neighbours + k, times a logarithm) per point.
    """
    k = labels.shape[1]
    may = np.zeros(odds.shape[0], dtype=np.bool_)
    may[order] = True
    votes = np.zeros(odds.shape[0], dtype=np.int64)
    voted = np.empty(odds.shape[0], dtype=np.int64)
    named = np.empty(odds.shape[0] + k, dtype=np.int64)
    for i in range(neighbours.shape[0]):
        n_voted = gather_votes(indptr, indices, neighbours[i], votes, voted)
        size = 0
        for q in range(n_voted):
            if may[voted[q]]:
                named[size] = voted[q]
                size += 1
        others = 0
        for q in range(order.shape[0]):
            if others == k:
                break
            if votes[order[q]] == 0:
                named[size] = order[q]
                size += 1
                others += 1
        named[:size].sort()
        kept = 0
        for q in range(size):
            label = named[q]
            kept = offer(labels[i], values[i], kept, label, odds[label, votes[label]])
        for q in range(n_voted):
            votes[voted[q]] = 0


@kernel
def posteriors_from(indptr, indices, neighbours, odds, order, bound, ends, columns, values):
    """The labels whose log-odds reach a bound, ascending; with no columns they are only counted.

    `order` is that of `best_posteriors`. O(labels of the neighbours + labels named, times a
    logarithm) per point.
    """
    may = np.zeros(odds.shape[0], dtype=np.bool_)
    may[order] = True
    votes = np.zeros(odds.shape[0], dtype=np.int64)
    voted = np.empty(odds.shape[0], dtype=np.int64)
    counting = columns.shape[0] == 0
    to = 0
    for i in range(neighbours.shape[0]):
        n_voted = gather_votes(indptr, indices, neighbours[i], votes, voted)
        first = to
        for q in range(n_voted):
            label = voted[q]
            if may[label] and odds[label, votes[label]] >= bound:
                if not counting:
                    columns[to] = label
                to += 1
        for q in range(order.shape[0]):
            label = order[q]
            if odds[label, 0] < bound:
                break
            if votes[label] == 0:
                if not counting:
                    columns[to] = label
                to += 1
        if not counting:
            columns[first:to].sort()
            for p in range(first, to):
                values[p] = odds[columns[p], votes[columns[p]]]
        ends[i + 1] = to
        for q in range(n_voted):
            votes[voted[q]] = 0
