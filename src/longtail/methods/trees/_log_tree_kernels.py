"""Kernels of the online tree: walking, training, splitting and swapping, over flat arrays.

A node has a row in `links` and one in `stats`, and its counts for a class are in an open-addressed
table under the key record·K + class. A new record empties a node.
"""

from __future__ import annotations

import math

import numpy as np

from longtail._numba import kernel
from longtail.runtime.random_kernels import GOLDEN, mixed

PARENT, LEFT, RIGHT, REGRESSOR = 0, 1, 2, 3
"""Columns of `links`, -1 for none: a leaf has no children and no regressor."""

SMALLEST, RECORD, TRAINED, MOST, KINDS = 0, 1, 2, 3, 4
"""Columns of `stats`: points at the smallest leaf below (or here), number of the record, steps of
the regressor, points of the commonest class, and classes met."""

REGRESSORS, NODES, RECORDS, ENTRIES, SWAPS = 0, 1, 2, 3, 4
"""Entries of `tally`: how many there are so far."""

COUNT, STEPS = 0, 1
"""Columns of `counts`: points of the class at the node, and those that trained the regressor."""


@kernel
def slot_of(regressor, feature, n_features, bits):
    """Where a regressor keeps the weight of a feature; with `bits` 0 every pair has its own place.

    Feature n_features is the constant one.
    """
    key = np.int64(regressor) * (n_features + 1) + feature
    if bits == 0:
        return key
    return np.int64(mixed(np.uint64(key) + GOLDEN) >> np.uint64(64 - bits))


@kernel
def margin(indices, data, first, last, regressor, n_features, bits, weights):
    """The regressor's value for a row. O(nnz of the row)."""
    total = np.float64(weights[slot_of(regressor, n_features, n_features, bits)])
    for p in range(first, last):
        total += data[p] * np.float64(weights[slot_of(regressor, indices[p], n_features, bits)])
    return total


@kernel
def learn(indices, data, first, last, regressor, n_features, bits, weights, target, rate, slots):
    """One gradient step on the squared distance to the target, over the row's squared norm.

    The value moves by `rate` times its distance, whatever the scale of the features. Returns the
    value after the step (exactly so where no two features of the row share a place).
    """
    end = last - first
    slots[end] = slot_of(regressor, n_features, n_features, bits)
    value = np.float64(weights[slots[end]])
    norm = 1.0
    for p in range(first, last):
        slots[p - first] = slot_of(regressor, indices[p], n_features, bits)
        value += data[p] * np.float64(weights[slots[p - first]])
        norm += data[p] * data[p]
    step = rate * (target - value) / norm
    for p in range(first, last):
        weights[slots[p - first]] += step * data[p]
    weights[slots[end]] += step
    return value + rate * (target - value)


@kernel
def find(keys, key):
    """The place of a key in the table, or the free one where it belongs."""
    mask = keys.shape[0] - 1
    place = np.int64(mixed(np.uint64(key) + GOLDEN)) & mask
    while keys[place] != key and keys[place] != -1:
        place = (place + 1) & mask
    return place


@kernel
def pass_up(node, links, stats):
    """Tell the ancestors of a node that its smallest leaf has changed. O(depth)."""
    parent = links[node, PARENT]
    while parent >= 0 and stats[parent, SMALLEST] != stats[node, SMALLEST]:
        left, right = links[parent, LEFT], links[parent, RIGHT]
        stats[parent, SMALLEST] = min(stats[left, SMALLEST], stats[right, SMALLEST])
        node = parent
        parent = links[node, PARENT]


@kernel
def smallest_leaf(links, stats):
    """The leaf with the fewest points, the right one of equals. O(depth)."""
    node = 0
    while links[node, LEFT] >= 0:
        left, right = links[node, LEFT], links[node, RIGHT]
        node = left if stats[left, SMALLEST] < stats[right, SMALLEST] else right
    return node


@kernel
def split(node, max_regressors, resistance, links, stats, sums, tally):
    """Give a leaf children if it may have them: new nodes, or those of the smallest leaf.

    The latter takes out the smallest leaf and its parent, whose place the sibling takes, and makes
    them the children; the regressor goes along, with the weights that it has. Nothing happens if
    that parent is the root, or if the leaf itself is the smallest.
    """
    if tally[REGRESSORS] < max_regressors:
        left = tally[NODES]
        right = left + 1
        tally[NODES] += 2
        links[node, REGRESSOR] = tally[REGRESSORS]
        tally[REGRESSORS] += 1
    else:
        excess = stats[node, SMALLEST] - stats[node, MOST]
        if excess <= resistance * (stats[0, SMALLEST] + 1):
            return
        left = smallest_leaf(links, stats)
        right = links[left, PARENT]
        above = links[right, PARENT]
        if left == node or above < 0:
            return
        side = LEFT if links[above, LEFT] == right else RIGHT
        sibling = links[right, RIGHT] if links[right, LEFT] == left else links[right, LEFT]
        links[above, side] = sibling
        links[sibling, PARENT] = above
        pass_up(sibling, links, stats)
        links[node, REGRESSOR] = links[right, REGRESSOR]
        tally[SWAPS] += 1
    links[node, LEFT] = left
    links[node, RIGHT] = right
    for child in (left, right):
        links[child, :] = -1
        links[child, PARENT] = node
        stats[child, :] = 0
        stats[child, RECORD] = tally[RECORDS]
        tally[RECORDS] += 1
        sums[child] = 0.0
    stats[left, SMALLEST] = stats[node, SMALLEST] // 2
    stats[right, SMALLEST] = stats[node, SMALLEST] - stats[left, SMALLEST]
    pass_up(left, links, stats)


@kernel
def train_rows(
    order, at, indptr, indices, data, y, n_classes, n_features, bits, rate, max_regressors,
    resistance, weights, links, stats, sums, keys, margins, counts, tally, slots,
):  # fmt: skip
    """Train on the rows of `order` from `at` on; stops early if the table is full. Returns where.

    O(depth·nnz) per row.
    """
    while at < order.shape[0]:
        if 10 * (tally[ENTRIES] + tally[REGRESSORS] + 2) > 6 * keys.shape[0]:
            return at
        i = order[at]
        first, last = indptr[i], indptr[i + 1]
        node = np.int64(0)
        while True:
            key = stats[node, RECORD] * n_classes + y[i]
            place = find(keys, key)
            if keys[place] == -1:
                keys[place] = key
                margins[place] = 0.0
                counts[place, :] = 0
                tally[ENTRIES] += 1
                stats[node, KINDS] += 1
            counts[place, COUNT] += 1
            stats[node, MOST] = max(stats[node, MOST], counts[place, COUNT])
            if links[node, LEFT] < 0 and stats[node, KINDS] > 1:
                split(node, max_regressors, resistance, links, stats, sums, tally)
            if links[node, LEFT] < 0:
                break
            overall = sums[node] / max(stats[node, TRAINED], 1)
            own = margins[place] / max(counts[place, STEPS], 1)
            value = learn(
                indices, data, first, last, links[node, REGRESSOR], n_features, bits, weights,
                -1.0 if overall > own else 1.0, rate, slots,
            )  # fmt: skip
            sums[node] += value
            stats[node, TRAINED] += 1
            margins[place] += value
            counts[place, STEPS] += 1
            node = links[node, LEFT] if value < 0 else links[node, RIGHT]
        stats[node, SMALLEST] += 1
        pass_up(node, links, stats)
        at += 1
    return at


@kernel
def move_entries(n_classes, stats, tally, keys, margins, counts, to):
    """Copy the current entries of nodes to a larger, empty table, without outdated ones."""
    new_keys, new_margins, new_counts = to
    in_use = np.zeros(tally[RECORDS], dtype=np.bool_)
    for node in range(tally[NODES]):
        in_use[stats[node, RECORD]] = True
    tally[ENTRIES] = 0
    for place in range(keys.shape[0]):
        if keys[place] >= 0 and in_use[keys[place] // n_classes]:
            there = find(new_keys, keys[place])
            new_keys[there] = keys[place]
            new_margins[there] = margins[place]
            new_counts[there, :] = counts[place, :]
            tally[ENTRIES] += 1


@kernel
def walk(indptr, indices, data, n_features, bits, weights, links):
    """The leaf of each row. O(depth·nnz) per row."""
    leaves = np.empty(indptr.shape[0] - 1, np.int64)
    for i in range(leaves.shape[0]):
        node = np.int64(0)
        while links[node, LEFT] >= 0:
            value = margin(
                indices, data, indptr[i], indptr[i + 1], links[node, REGRESSOR], n_features,
                bits, weights,
            )  # fmt: skip
            node = np.int64(links[node, LEFT] if value < 0 else links[node, RIGHT])
        leaves[i] = node
    return leaves


@kernel
def smooth(links, indptr, classes, counts, totals, n_labels, shares):
    """The share of each class that was counted at a node, smoothed by the share at its parent.

    share = (count + share at the parent) / (points + 1), and 1 / L above the root. Parents come
    before children, and have all their classes. O(stored counts).
    """
    for node in range(links.shape[0]):
        parent = links[node, PARENT]
        p = np.int64(0) if parent < 0 else np.int64(indptr[parent])
        for q in range(indptr[node], indptr[node + 1]):
            prior = 1.0 / n_labels
            if parent >= 0:
                while classes[p] < classes[q]:
                    p += 1
                prior = shares[p]
            shares[q] = (counts[q] + prior) / (totals[node] + 1.0)


@kernel
def best_of_leaves(leaves, links, indptr, classes, shares, totals, labels, values):
    """The classes with the largest shares at each leaf, and the logarithms of the shares.

    A class that is not at the leaf has share(parent) / (points + 1), which is below that of every
    class at the leaf; so the list is that of the lowest ancestor that has enough classes.
    """
    k = labels.shape[1]
    path = np.empty(links.shape[0], dtype=np.int64)
    for i in range(leaves.shape[0]):
        node = np.int64(leaves[i])
        while links[node, PARENT] >= 0 and indptr[node + 1] - indptr[node] < k:
            node = np.int64(links[node, PARENT])
        first, last = indptr[node], indptr[node + 1]
        found = np.log(shares[first:last])
        length = 0
        below = np.int64(leaves[i])
        while below != node:
            path[length] = below
            length += 1
            below = np.int64(links[below, PARENT])
        for step in range(length - 1, -1, -1):
            child = path[step]
            q, end = indptr[child], indptr[child + 1]
            for p in range(first, last):
                if q < end and classes[q] == classes[p]:
                    found[p - first] = math.log(shares[q])
                    q += 1
                else:
                    found[p - first] -= math.log(totals[child] + 1.0)
        order = np.argsort(-found, kind="mergesort")
        for j in range(min(k, last - first)):
            labels[i, j] = classes[first + order[j]]
            values[i, j] = found[order[j]]
