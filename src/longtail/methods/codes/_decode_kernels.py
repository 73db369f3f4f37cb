"""Kernels that turn the log-odds of bits into labels, a block of points at a time.

`bit_ptr, bit_labels` list the labels of each bit, `label_ptr, label_bits` the bits of each label,
`cluster_ptr, members` the labels of each cluster. A bit is on if its log-odds are at least 0.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail._sparse import offer
from longtail.runtime.random_kernels import GOLDEN, mixed, uniform

NO_CLUSTER = -1


@kernel
def chance(seed, label):
    """A number in [0, 1) that depends on a point's seed and the label, as if drawn."""
    return uniform((mixed(np.uint64(seed) + GOLDEN) ^ np.uint64(label)) + GOLDEN)


@kernel
def _posterior(z):
    if z >= 0.0:
        return 1.0 / (1.0 + np.exp(-z))
    e = np.exp(z)
    return e / (1.0 + e)


@kernel
def identify(
    odds, bit_ptr, bit_labels, label_ptr, label_bits, of_label, cluster_ptr, members, least, out
):
    """The cluster of each point into out[:, 0], and the runners-up into the other columns.

    It is the cluster with most bits on; of equals the one whose bits have the largest sum of
    posteriors, and then the first. -1 if no cluster, or no other cluster, has `least` bits on.
    O(labels of the bits that are on + labels of the clusters that tie) per point.
    """
    n_clusters = cluster_ptr.shape[0] - 1
    n_bits = bit_ptr.shape[0] - 1
    count = np.zeros(n_clusters, np.int64)
    seen = np.empty(n_clusters, np.int64)
    for i in range(odds.shape[0]):
        n_seen = 0
        for b in range(n_bits):
            if odds[i, b] >= 0.0:
                for p in range(bit_ptr[b], bit_ptr[b + 1]):
                    c = of_label[bit_labels[p]]
                    if count[c] == 0:
                        seen[n_seen] = c
                        n_seen += 1
                    count[c] += 1
        for place in range(out.shape[1]):
            most = n_equal = 0
            for q in range(n_seen):
                if count[seen[q]] > most:
                    most = count[seen[q]]
                    n_equal = 0
                n_equal += count[seen[q]] == most
            best, best_sum = NO_CLUSTER, -1.0
            for q in range(n_seen):
                c = seen[q]
                if most >= least and count[c] == most:
                    if n_equal == 1:
                        best = c
                        break
                    total = 0.0
                    for m in range(cluster_ptr[c], cluster_ptr[c + 1]):
                        label = members[m]
                        for p in range(label_ptr[label], label_ptr[label + 1]):
                            total += _posterior(odds[i, label_bits[p]])
                    if total > best_sum or (total == best_sum and c < best):
                        best, best_sum = c, total
            out[i, place] = best
            if best != NO_CLUSTER:
                count[best] = -1
        for q in range(n_seen):
            count[seen[q]] = 0


@kernel
def _accepted(on, bits, threshold, randomised, seed, label):
    if randomised:
        return chance(seed, label) * bits < on
    return on > 0 and on >= threshold * bits - 1e-9


@kernel
def pick_from_clusters(
    odds, label_ptr, label_bits, cluster, cluster_ptr, members, threshold, randomised, seeds,
    ends, labels, fill,
):  # fmt: skip
    """Labels of the cluster of each point that have enough of their bits on.

    ends[i] becomes the number of labels up to and including point i; `labels` is filled only if
    `fill`. O(bits of the cluster) per point.
    """
    n = 0
    for i in range(odds.shape[0]):
        c = cluster[i]
        if c != NO_CLUSTER:
            for m in range(cluster_ptr[c], cluster_ptr[c + 1]):
                label = members[m]
                on = 0
                for p in range(label_ptr[label], label_ptr[label + 1]):
                    on += odds[i, label_bits[p]] >= 0.0
                bits = label_ptr[label + 1] - label_ptr[label]
                if _accepted(on, bits, threshold, randomised, seeds[i], label):
                    if fill:
                        labels[n] = label
                    n += 1
        ends[i] = n


@kernel
def pick_from_all(
    odds, bit_ptr, bit_labels, label_ptr, threshold, randomised, seeds, ends, labels, fill
):
    """Labels of each point that have enough of their bits on, whatever their cluster.

    As `pick_from_clusters`. O(labels of the bits that are on) per point.
    """
    n_labels = label_ptr.shape[0] - 1
    count = np.zeros(n_labels, np.int64)
    seen = np.empty(n_labels, np.int64)
    n = 0
    for i in range(odds.shape[0]):
        n_seen = 0
        for b in range(bit_ptr.shape[0] - 1):
            if odds[i, b] >= 0.0:
                for p in range(bit_ptr[b], bit_ptr[b + 1]):
                    label = bit_labels[p]
                    if count[label] == 0:
                        seen[n_seen] = label
                        n_seen += 1
                    count[label] += 1
        for q in range(n_seen):
            label = seen[q]
            bits = label_ptr[label + 1] - label_ptr[label]
            if _accepted(count[label], bits, threshold, randomised, seeds[i], label):
                if fill:
                    labels[n] = label
                n += 1
            count[label] = 0
        ends[i] = n


@kernel
def _log_posterior(z):
    if z >= 0.0:
        return -np.log1p(np.exp(-z))
    return z - np.log1p(np.exp(z))


@kernel
def best_labels(odds, label_ptr, label_bits, alone, k):
    """The most probable labels of each point, with their log-odds.

    A label is on if all its bits are on, and bits are independent of each other. `alone` is the
    column of the labels that have their own column, and -1 for the others; labels with neither are
    left out. Empty places get -1. Of equals the smaller label goes first. O(L·K) per point, and
    O(k) for each label that enters the list.
    """
    n_labels = label_ptr.shape[0] - 1
    labels = np.full((odds.shape[0], k), -1)
    scores = np.empty((odds.shape[0], k))
    logs = np.empty(odds.shape[1])
    for i in range(odds.shape[0]):
        for b in range(odds.shape[1]):
            logs[b] = _log_posterior(odds[i, b])
        n = 0
        for label in range(n_labels):
            first, last = label_ptr[label], label_ptr[label + 1]
            if alone[label] >= 0:
                value = logs[alone[label]]
            elif last > first:
                value = 0.0
                for p in range(first, last):
                    value += logs[label_bits[p]]
            else:
                continue
            n = offer(labels[i], scores[i], n, label, value)
        for place in range(n):
            log_p = min(scores[i, place], -1e-300)
            scores[i, place] = log_p - np.log(-np.expm1(log_p))
    return labels, scores
