"""Kernels that search for the label set with the highest expected Jaccard index in a mixture.

Within a component the labels inside and outside a predicted set are independent, so the expected
index of a set h is the sum over components of weight × (expected number of labels inside h) ×
(expectation of 1 / (|h| + number of labels outside h)): exact for any set, though the search may
miss the best set.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail.methods.mixtures._target_kernels import (
    SLIGHT,
    add_up,
    draw_point,
    mixture_of_point,
    size_distribution,
    with_label,
    without_label,
)

_NEAR = 0.01  # labels less probable than this share of the most probable one are not tried
_FAINT = 1e-12  # components with a smaller share of the largest weight are left out
_BETTER = 1e-12  # a smaller gain is rounding


@kernel
def _inverse_mean(sizes, low, high, inverse, count):
    """The expectation of 1 / (count + size); inverse[q] is 1 / q."""
    total = 0.0
    for s in range(low, high + 1):
        total += sizes[s] * inverse[count + s]
    return total


@kernel
def _value(weights, used, size, outside, ends, inside, inverse):
    """The expected index of a set from the distributions of the labels outside it."""
    total = 0.0
    for k in range(used):
        low, high = ends[k, 0], ends[k, 1]
        if size > 0:
            total += weights[k] * inside[k] * _inverse_mean(outside[k], low, high, inverse, size)
        elif low == 0:
            total += weights[k] * outside[k, 0]
    return total


@kernel
def _best_prefix(weights, chances, used, order, inverse, allow_empty, outside, ends, inside):
    """How many of the most probable labels to take, by the exact expectation. O(K·L·S)."""
    n_labels = order.shape[0]
    for k in range(used):
        outside[k, 0] = 1.0
        ends[k, :] = 0
        inside[k] = np.sum(chances[k])
    best, length = -1.0, n_labels
    for j in range(n_labels, -1, -1):
        if j > 0 or allow_empty:
            value = _value(weights, used, j, outside, ends, inside, inverse)
            if value > best + _BETTER:
                best, length = value, j
        if j > 0:
            label = order[j - 1]
            for k in range(used):
                ends[k, 0], ends[k, 1] = with_label(
                    outside[k], ends[k, 0], ends[k, 1], chances[k, label]
                )
                inside[k] -= chances[k, label]
    return length


@kernel
def _settle(chances, used, flag, outside, ends, inside):
    """For each component the distribution of the labels outside a set, and the mean inside it."""
    for k in range(used):
        ends[k, 0], ends[k, 1] = size_distribution(chances[k], flag, outside[k])
        inside[k] = 0.0
        for label in range(flag.shape[0]):
            if flag[label]:
                inside[k] += chances[k, label]


@kernel
def _flipped(outside, low, high, chance, is_in, rest):
    """The distribution of the labels outside a set that a label leaves or joins; its ends."""
    if is_in:
        for s in range(low, high + 1):
            rest[s] = outside[s]
        return with_label(rest, low, high, chance)
    without_label(outside, low, high, chance, rest)
    return max(low - 1, 0), high


@kernel
def _climb(
    weights, chances, used, order, tried, inverse, allow_empty, outside, ends, inside, rest, flag
):
    """Add or remove the label that helps most until none does; the value reached.

    With n labels in the set and b outside it, adding a label of probability μ changes 1 / (n + b)
    to no more than 1 / (n + 1 + b) + μ / ((n + 1)·(n + 2)), b being counted with the label: in
    O(K) that rules out most. Others cost O(K·S).
    """
    _settle(chances, used, flag, outside, ends, inside)
    smaller = np.empty(used)
    size = np.sum(flag)
    best = -1.0
    if size > 0 or allow_empty:
        best = _value(weights, used, size, outside, ends, inside, inverse)
    while True:
        for k in range(used):
            smaller[k] = _inverse_mean(outside[k], ends[k, 0], ends[k, 1], inverse, size + 1)
        slack = inverse[size + 1] * inverse[size + 2]
        change = -1
        for q in range(order.shape[0]):
            label = order[q]
            step = -1 if flag[label] else 1
            if (q >= tried and step > 0) or (size + step == 0 and not allow_empty):
                continue
            if step > 0:
                bound = 0.0
                for k in range(used):
                    chance = chances[k, label]
                    bound += weights[k] * (inside[k] + chance) * (smaller[k] + chance * slack)
                if bound <= best:
                    continue
            value = 0.0
            for k in range(used):
                chance = chances[k, label]
                low, high = _flipped(outside[k], ends[k, 0], ends[k, 1], chance, step < 0, rest)
                if size + step > 0:
                    mean = inside[k] + step * chance
                    value += (
                        weights[k] * mean * _inverse_mean(rest, low, high, inverse, size + step)
                    )
                elif low == 0:
                    value += weights[k] * rest[0]
            if value > best + _BETTER:
                best, change = value, label
        if change < 0:
            return best
        step = -1 if flag[change] else 1
        for k in range(used):
            chance = chances[k, change]
            low, high = _flipped(outside[k], ends[k, 0], ends[k, 1], chance, step < 0, rest)
            outside[k, low : high + 1] = rest[low : high + 1]
            ends[k, 0], ends[k, 1] = low, high
            inside[k] += step * chance
        size += step
        flag[change] = not flag[change]


@kernel
def _order_of(marginals):
    """Labels by falling probability, and how many of them are worth trying."""
    order = np.argsort(-marginals, kind="mergesort")
    tried = 1
    while tried < order.shape[0] and marginals[order[tried]] >= _NEAR * marginals[order[0]]:
        tried += 1
    return order, tried


@kernel
def jaccard_sets(log_weights, log_odds, starts, allow_empty, out, values):
    """Sets with a high expected Jaccard index, and that index, exactly.

    Climbs from the best prefix of the labels by falling probability, and from each of the sets that
    are given, starts (n, B, L).
    """
    n, n_components, n_labels = log_odds.shape
    weights, chances = np.empty(n_components), np.empty((n_components, n_labels))
    outside, ends = np.empty((n_components, n_labels + 2)), np.empty((n_components, 2), np.int64)
    inside, rest = np.empty(n_components), np.empty(n_labels + 2)
    marginals = np.empty(n_labels)
    flag = np.empty(n_labels, np.bool_)
    inverse = 1.0 / np.maximum(np.arange(2 * n_labels + 3), 1)
    for i in range(n):
        used = mixture_of_point(log_weights[i], log_odds[i], _FAINT, weights, chances)
        add_up(weights, chances, used, marginals)
        order, tried = _order_of(marginals)
        length = _best_prefix(
            weights, chances, used, order, inverse, allow_empty, outside, ends, inside
        )
        values[i] = -1.0
        for b in range(-1, starts.shape[1]):
            flag[:] = False
            if b >= 0:
                flag[:] = starts[i, b]
            else:
                for q in range(length):
                    flag[order[q]] = True
            if b >= 0 and np.array_equal(flag, out[i]):
                continue
            value = _climb(
                weights, chances, used, order, tried, inverse, allow_empty, outside, ends, inside,
                rest, flag,
            )  # fmt: skip
            if value > values[i] + _BETTER:
                values[i] = value
                out[i] = flag


@kernel
def _shift(drawn, label, step, inside, outside):
    """Count a label of the drawn sets as inside the set (step 1) or outside it (step -1)."""
    for s in range(drawn.shape[0]):
        hit = step * np.int64(drawn[s, label])
        inside[s] += hit
        outside[s] -= hit


@kernel
def _sampled_value(inside, outside, size):
    total = 0.0
    for s in range(inside.shape[0]):
        if size + outside[s] == 0:
            total += 1.0
        else:
            total += inside[s] / (size + outside[s])
    return total / inside.shape[0]


@kernel
def sampled_jaccard_sets(log_weights, log_odds, n_samples, seeds, allow_empty, out, values):
    """The same from drawn sets: the best prefix, then one label at a time. O(S·L) and more."""
    n, n_components, n_labels = log_odds.shape
    weights, chances = np.empty(n_components), np.empty((n_components, n_labels))
    drawn = np.empty((n_samples, n_labels), np.bool_)
    inside, outside = np.empty(n_samples, np.int64), np.empty(n_samples, np.int64)
    frequency = np.empty(n_labels)
    for i in range(n):
        used = mixture_of_point(log_weights[i], log_odds[i], SLIGHT, weights, chances)
        draw_point(weights, chances, used, seeds[i], drawn)
        frequency[:] = 0.0
        for s in range(n_samples):
            inside[s] = 0
            outside[s] = 0
            for label in range(n_labels):
                if drawn[s, label]:
                    outside[s] += 1
                    frequency[label] += 1.0
        order, tried = _order_of(frequency)
        best, length = -1.0, 0
        if allow_empty:
            best = _sampled_value(inside, outside, 0)
        for j in range(1, tried + 1):
            _shift(drawn, order[j - 1], 1, inside, outside)
            value = _sampled_value(inside, outside, j)
            if value > best + _BETTER:
                best, length = value, j
        out[i, :] = False
        size = length
        for j in range(tried, length, -1):
            _shift(drawn, order[j - 1], -1, inside, outside)
        for q in range(length):
            out[i, order[q]] = True
        while True:
            change = -1
            for q in range(tried):
                label = order[q]
                step = -1 if out[i, label] else 1
                if size + step == 0 and not allow_empty:
                    continue
                total = 0.0
                for s in range(n_samples):
                    hit = step * np.int64(drawn[s, label])
                    union = size + step + outside[s] - hit
                    total += 1.0 if union == 0 else (inside[s] + hit) / union
                if total / n_samples > best + _BETTER:
                    best, change = total / n_samples, label
            if change < 0:
                break
            step = -1 if out[i, change] else 1
            _shift(drawn, change, step, inside, outside)
            size += step
            out[i, change] = not out[i, change]
        values[i] = best
