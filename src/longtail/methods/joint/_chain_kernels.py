"""Kernels of classifier chains: beam search and joint probabilities, a block of points at a time.

`odds[i, l]` are the log-odds of label l at point i without any other label; `order` lists the
labels in the order of the chain; the labels that label l sees, and their weights, are at `ends[l]`
to `ends[l + 1]` of `seen` and `weights`.

The labels of a prefix are a linked list of nodes, the last one first: extending a prefix by a label
costs one node, by its absence nothing.
"""

from __future__ import annotations

import math

import numpy as np

from longtail._numba import kernel


@kernel
def log_sigmoid(z):
    """log(1 / (1 + e^-z)), without overflow."""
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


@kernel
def _insert(values, heads, labels, size, value, head, label):
    """Insert a prefix into the best-first list if it is among the best, behind its equals."""
    width = values.shape[0]
    if size == width:
        if value <= values[width - 1]:
            return size
        size -= 1
    q = size
    while q > 0 and values[q - 1] < value:
        values[q] = values[q - 1]
        heads[q] = heads[q - 1]
        labels[q] = labels[q - 1]
        q -= 1
    values[q] = value
    heads[q] = head
    labels[q] = label
    return size + 1


@kernel
def search(odds, order, ends, seen, weights, beam, allow_empty, scores, chosen, log_p):
    """The best sets of each point that a beam search finds.

    Out: scores[i, l], the log-odds of label l over the prefixes in the beam, weighted by their
    probabilities; chosen[i, s, l] = 1 for the labels of the s-th best set; log_p[i, s], the log of
    its probability, -inf where there are fewer sets. O(beam·(labels of a prefix + beam)) per point
    and label.
    """
    n, n_labels = odds.shape
    size = np.ones(n, np.int64)
    values = np.full((n, beam), -np.inf)
    values[:, 0] = 0.0
    heads = np.full((n, beam), -1, np.int32)
    node_label = np.empty((n, n_labels * beam), np.int32)
    node_next = np.empty((n, n_labels * beam), np.int32)
    used = np.zeros(n, np.int64)
    column = np.zeros(n_labels)
    new_values = np.empty(beam)
    new_heads = np.empty(beam, np.int32)
    new_labels = np.empty(beam, np.int32)
    for place in range(n_labels):
        label = order[place]
        for p in range(ends[label], ends[label + 1]):
            column[seen[p]] = weights[p]
        for i in range(n):
            new_size = 0
            on, off = 0.0, 0.0
            z = 0.0
            for b in range(size[i]):
                z = odds[i, label]
                node = heads[i, b]
                while node >= 0:
                    z += column[node_label[i, node]]
                    node = node_next[i, node]
                with_it = log_sigmoid(z)
                without = log_sigmoid(-z)
                share = math.exp(values[i, b] - values[i, 0])
                on += share * math.exp(with_it)
                off += share * math.exp(without)
                for turn in range(2):
                    if (turn == 0) == (z >= 0.0):
                        new_size = _insert(
                            new_values, new_heads, new_labels, new_size,
                            values[i, b] + with_it, heads[i, b], label,
                        )  # fmt: skip
                    else:
                        new_size = _insert(
                            new_values, new_heads, new_labels, new_size,
                            values[i, b] + without, heads[i, b], -1,
                        )  # fmt: skip
            if size[i] == 1 or on <= 0.0 or off <= 0.0:
                scores[i, label] = z
            else:
                scores[i, label] = math.log(on) - math.log(off)
            size[i] = new_size
            for b in range(new_size):
                values[i, b] = new_values[b]
                heads[i, b] = new_heads[b]
                if new_labels[b] >= 0:
                    node_label[i, used[i]] = new_labels[b]
                    node_next[i, used[i]] = new_heads[b]
                    heads[i, b] = used[i]
                    used[i] += 1
        for p in range(ends[label], ends[label + 1]):
            column[seen[p]] = 0.0
    for i in range(n):
        taken = 0
        for b in range(size[i]):
            if taken == chosen.shape[1]:
                break
            if heads[i, b] < 0 and not allow_empty and size[i] > 1:
                continue
            node = heads[i, b]
            while node >= 0:
                chosen[i, taken, node_label[i, node]] = 1
                node = node_next[i, node]
            log_p[i, taken] = values[i, b]
            taken += 1


@kernel
def log_joint(odds, ends, seen, weights, has, out):
    """Log-probability of the label set has[i] of each point. O(L + weights) per point.

    No order is needed: a label's weights are those of the labels before it.
    """
    for i in range(odds.shape[0]):
        total = 0.0
        for label in range(odds.shape[1]):
            z = odds[i, label]
            for p in range(ends[label], ends[label + 1]):
                if has[i, seen[p]]:
                    z += weights[p]
            total += log_sigmoid(z if has[i, label] else -z)
        out[i] = total
