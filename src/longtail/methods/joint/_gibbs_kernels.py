"""Kernels of the dependency network: Gibbs sampling, each point with its own random numbers."""

from __future__ import annotations

import math

import numpy as np

from longtail._numba import kernel
from longtail.runtime.random_kernels import GOLDEN, mixed, uniform


@kernel
def _support(z, has):
    """Sum of the log-probabilities of all labels, each given all others."""
    total = 0.0
    for label in range(z.shape[0]):
        s = z[label] if has[label] else -z[label]
        total += min(s, 0.0) - math.log1p(math.exp(-abs(s)))
    return total


@kernel
def gibbs(
    odds, ends, children, weights, seeds, n_burn_in, n_samples, allow_empty, scores, chosen, shares
):
    """Sample each point's labels in turn, n_burn_in + n_samples sweeps of all labels.

    The labels on which label j acts, and its weights there, are at `ends[j]` to `ends[j + 1]` of
    `children` and `weights`. Out: scores[i, l], log-odds of the mean probability of label l given
    the others; chosen[i], the set sampled most often, of equals the one whose labels support each
    other best; shares[i], its share of the samples. A set is identified by a hash of 64 bits. O(L)
    per sweep and point, and O(weights) per label that changes.
    """
    n, n_labels = odds.shape
    words = (n_labels + 63) // 64
    slots = 4
    while slots < 2 * n_samples:
        slots *= 2
    mask = np.uint64(slots - 1)
    keys = np.empty(slots, np.uint64)
    counts = np.empty(slots, np.int64)
    support = np.empty(slots)
    place = np.empty(slots, np.int64)
    sets = np.empty((n_samples, words), np.uint64)
    has = np.empty(n_labels, np.bool_)
    z = np.empty(n_labels)
    on = np.empty(n_labels)
    off = np.empty(n_labels)
    for i in range(n):
        state = seeds[i]
        key = np.uint64(0)
        n_on = 0
        for label in range(n_labels):
            has[label] = False
            z[label] = odds[i, label]
            on[label] = 0.0
            off[label] = 0.0
        for slot in range(slots):
            counts[slot] = 0
        n_sets = 0
        for sweep in range(n_burn_in + n_samples):
            for label in range(n_labels):
                small = math.exp(-abs(z[label]))
                large = 1.0 / (1.0 + small)
                small *= large
                p = large if z[label] >= 0.0 else small
                if sweep >= n_burn_in:
                    on[label] += p
                    off[label] += small if z[label] >= 0.0 else large
                state += GOLDEN
                if (uniform(state) < p) != has[label]:
                    sign = -1.0 if has[label] else 1.0
                    has[label] = not has[label]
                    n_on += 1 if has[label] else -1
                    key ^= mixed(np.uint64(label + 1) * GOLDEN)
                    for q in range(ends[label], ends[label + 1]):
                        z[children[q]] += sign * weights[q]
            if sweep < n_burn_in or (n_on == 0 and not allow_empty):
                continue
            slot = np.int64(key & mask)
            while counts[slot] > 0 and keys[slot] != key:
                slot = (slot + 1) & (slots - 1)
            if counts[slot] == 0:
                keys[slot] = key
                support[slot] = _support(z, has)
                place[slot] = n_sets
                for word in range(words):
                    sets[n_sets, word] = np.uint64(0)
                for label in range(n_labels):
                    if has[label]:
                        sets[n_sets, label >> 6] |= np.uint64(1) << np.uint64(label & 63)
                n_sets += 1
            counts[slot] += 1
        best = -1
        for slot in range(slots):
            if counts[slot] > 0 and (
                best < 0
                or counts[slot] > counts[best]
                or (counts[slot] == counts[best] and support[slot] > support[best])
                or (
                    counts[slot] == counts[best]
                    and support[slot] == support[best]
                    and place[slot] < place[best]
                )
            ):
                best = slot
        most = 0
        for label in range(n_labels):
            scores[i, label] = math.log(max(on[label], 1e-300)) - math.log(max(off[label], 1e-300))
            if scores[i, label] > scores[i, most]:
                most = label
        if best >= 0:
            for label in range(n_labels):
                word = sets[place[best], label >> 6]
                chosen[i, label] = (word >> np.uint64(label & 63)) & np.uint64(1)
            shares[i] = counts[best] / n_samples
        else:  # no sample had a label
            chosen[i, most] = 1
            shares[i] = 0.0
