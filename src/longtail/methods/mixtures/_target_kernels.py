"""Kernels on mixtures of independent labels: likelihoods, drawn sets, best sets, thresholds.

Within a component labels are independent, so the number of labels has a Poisson-binomial
distribution, which is built up label by label, and from which one label is taken out again in one
pass. At both ends, sizes with a probability below 1e-18 are left out.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail.methods._marginal import LARGEST
from longtail.runtime.random_kernels import GOLDEN, uniform

SLIGHT = 1e-18  # a probability that changes no sum
FULL = 1e250  # products of 1 + exp(z) are logged before they exceed it


@kernel
def sigmoid(z):
    """1 / (1 + exp(-z)) without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + np.exp(-z))
    e = np.exp(z)
    return e / (1.0 + e)


@kernel
def mixture_of_point(log_weights, log_odds, least, weights, chances):
    """Weights, adding up to one, and label probabilities of the components that matter.

    Their weight is more than `least` of the largest. They come first in `weights` (K,) and
    `chances` (K, L); returns how many there are.
    """
    n_labels = log_odds.shape[1]
    top = log_weights[0]
    for k in range(1, log_weights.shape[0]):
        top = max(top, log_weights[k])
    used = 0
    total = 0.0
    for k in range(log_weights.shape[0]):
        weight = np.exp(log_weights[k] - top)
        if weight > least:
            weights[used] = weight
            total += weight
            for label in range(n_labels):
                chances[used, label] = sigmoid(log_odds[k, label])
            used += 1
    for k in range(used):
        weights[k] /= total
    return used


@kernel
def add_up(weights, chances, used, out):
    """out[l] becomes the probability of label l in the mixture."""
    out[:] = 0.0
    for k in range(used):
        for label in range(out.shape[0]):
            out[label] += weights[k] * chances[k, label]


@kernel
def mixture_marginals(log_weights, log_odds, out):
    """Probability of each label at each point. O(n·K·L)."""
    n, n_components, n_labels = log_odds.shape
    weights, chances = np.empty(n_components), np.empty((n_components, n_labels))
    for i in range(n):
        used = mixture_of_point(log_weights[i], log_odds[i], SLIGHT, weights, chances)
        add_up(weights, chances, used, out[i])


@kernel
def draw_point(weights, chances, used, seed, out):
    """Sets drawn from one point's mixture into the rows of `out`."""
    n_samples, n_labels = out.shape
    state = seed
    for s in range(n_samples):
        state += GOLDEN
        u = uniform(state)
        k = 0
        while k < used - 1 and u >= weights[k]:
            u -= weights[k]
            k += 1
        for label in range(n_labels):
            state += GOLDEN
            out[s, label] = uniform(state) < chances[k, label]


@kernel
def draw(log_weights, log_odds, seeds, out):
    """Sets drawn from every point's mixture, out (n, S, L). O(n·(K·L + S·(K + L)))."""
    n, n_components, n_labels = log_odds.shape
    weights, chances = np.empty(n_components), np.empty((n_components, n_labels))
    for i in range(n):
        used = mixture_of_point(log_weights[i], log_odds[i], SLIGHT, weights, chances)
        draw_point(weights, chances, used, seeds[i], out[i])


@kernel
def with_label(sizes, low, high, chance):
    """The distribution of the size, sizes[low : high + 1], with one more label; its new ends."""
    sizes[high + 1] = chance * sizes[high]
    for s in range(high, low, -1):
        sizes[s] += chance * (sizes[s - 1] - sizes[s])
    sizes[low] -= chance * sizes[low]
    if sizes[high + 1] > SLIGHT:
        high += 1
    while low < high and sizes[low] < SLIGHT:
        sizes[low] = 0.0
        low += 1
    return low, high


@kernel
def size_distribution(chances, skipped, sizes):
    """How many of the labels that are not skipped a set has, as sizes[low : high + 1]; the ends.

    `sizes` needs L + 2 places. O(L·S).
    """
    low = high = 0
    sizes[0] = 1.0
    for label in range(chances.shape[0]):
        if not skipped[label]:
            low, high = with_label(sizes, low, high, chances[label])
    return low, high


@kernel
def without_label(sizes, low, high, chance, out):
    """The distribution without one label, out[low - 1 : high + 1] or from zero on.

    In the direction in which errors shrink from step to step.
    """
    rest = 0.0
    if chance <= 0.5:
        if low > 0:
            out[low - 1] = 0.0
        scale = 1.0 / (1.0 - chance)
        for s in range(low, high + 1):
            rest = max((sizes[s] - chance * rest) * scale, 0.0)
            out[s] = rest
    else:
        scale = 1.0 / chance
        for s in range(high, max(low, 1) - 1, -1):
            out[s] = rest
            rest = max((sizes[s] - (1.0 - chance) * rest) * scale, 0.0)
        out[max(low - 1, 0)] = rest


@kernel
def _best_for_f1(joint, mass, low, allow_empty, out):
    """The set with the highest expected F1 (general F-measure maximisation); that value.

    joint[l, c] is the probability that label l is in the set and its size is low + c; mass[c] that
    its size is that. The best set of j labels has those with the largest gain, which is the sum
    over sizes s of joint·2 / (s + j). Numbers j are tried in the order of a bound on their value:
    the best conceivable overlap, and the gains for a number already tried, scaled by what they can
    change at most. O(L·S + L·log L) for each that is tried.
    """
    n_labels, width = joint.shape
    least, most = max(low, 1), low + width - 1
    best = -1.0
    if allow_empty:
        best = mass[0] if low == 0 else 0.0
    out[:] = False
    gain, share = np.empty(n_labels), np.empty(width)
    bound = np.zeros(n_labels + 1)
    for j in range(1, n_labels + 1):
        for c in range(width):
            bound[j] += mass[c] * 2.0 * min(low + c, j) / (low + c + j)
    bound[0] = -1.0
    while True:
        j = np.argmax(bound)
        if bound[j] <= best:
            return best
        for c in range(width):
            share[c] = 2.0 / (low + c + j)
        for label in range(n_labels):
            total = 0.0
            for c in range(width):
                total += joint[label, c] * share[c]
            gain[label] = -total
        order = np.argsort(gain, kind="mergesort")
        value = 0.0
        for other in range(1, n_labels + 1):
            value -= gain[order[other - 1]]
            if other == j:
                bound[j] = -1.0
                if value > best:
                    best = value
                    out[:] = False
                    for q in range(j):
                        out[order[q]] = True
            elif other > j:
                bound[other] = min(bound[other], value * (most + j) / (most + other))
            else:
                bound[other] = min(bound[other], value * (least + j) / (least + other))


@kernel
def f1_sets(log_weights, log_odds, allow_empty, out, values):
    """The sets with the highest expected F1, exactly.

    O(K·L·S) per point for the joint distribution of each label and the size, S being the sizes that
    occur, and O(L·S) for each size of a predicted set that may be the best.
    """
    n, n_components, n_labels = log_odds.shape
    weights, chances = np.empty(n_components), np.empty((n_components, n_labels))
    sizes, rest = np.empty((n_components, n_labels + 2)), np.empty(n_labels + 2)
    ends = np.empty((n_components, 2), np.int64)
    nothing = np.zeros(n_labels, np.bool_)
    for i in range(n):
        used = mixture_of_point(log_weights[i], log_odds[i], SLIGHT, weights, chances)
        first, last = n_labels, 1
        for k in range(used):
            low, high = size_distribution(chances[k], nothing, sizes[k])
            ends[k, 0], ends[k, 1] = low, high
            first, last = min(first, low), max(last, high)
        joint, mass = np.zeros((n_labels, last - first + 1)), np.zeros(last - first + 1)
        for k in range(used):
            low, high = ends[k, 0], ends[k, 1]
            for s in range(low, high + 1):
                mass[s - first] += weights[k] * sizes[k, s]
            for label in range(n_labels):
                share = weights[k] * chances[k, label]
                if share > SLIGHT:
                    without_label(sizes[k], low, high, chances[k, label], rest)
                    for s in range(max(low, 1), high + 1):
                        joint[label, s - first] += share * rest[s - 1]
        values[i] = _best_for_f1(joint, mass, first, allow_empty, out[i])


@kernel
def sampled_f1_sets(log_weights, log_odds, n_samples, seeds, allow_empty, out, values):
    """The same from drawn sets instead of the distribution itself. O(S·L) per point."""
    n, n_components, n_labels = log_odds.shape
    weights, chances = np.empty(n_components), np.empty((n_components, n_labels))
    drawn = np.empty((n_samples, n_labels), np.bool_)
    sizes = np.empty(n_samples, np.int64)
    for i in range(n):
        used = mixture_of_point(log_weights[i], log_odds[i], SLIGHT, weights, chances)
        draw_point(weights, chances, used, seeds[i], drawn)
        limit = 1
        for s in range(n_samples):
            sizes[s] = np.sum(drawn[s])
            limit = max(limit, sizes[s])
        joint, mass = np.zeros((n_labels, limit + 1)), np.zeros(limit + 1)
        for s in range(n_samples):
            mass[sizes[s]] += 1.0 / n_samples
            for label in range(n_labels):
                if drawn[s, label]:
                    joint[label, sizes[s]] += 1.0 / n_samples
        values[i] = _best_for_f1(joint, mass, 0, allow_empty, out[i])


@kernel
def sweep(order, rows, values, is_true, counted, true, predicted, both, measure):
    """The threshold above which labels should be predicted, and the mean of the measure there.

    Entries come by falling value. `true`, `predicted` and `both` hold the sizes of each row's true
    set, predicted set so far and their intersection; entries that are `counted` are already
    included. Measures: 0 subset, 1 Hamming (minus the number of errors), 2 F1, 3 Jaccard.
    """
    n = true.shape[0]
    total = 0.0
    for row in range(n):
        total += _score(true[row], predicted[row], both[row], measure)
    best, threshold = total, 1.0
    m = order.shape[0]
    if m and values[order[0]] > 1.0:
        threshold = values[order[0]]
    for q in range(m):
        entry = order[q]
        if values[entry] <= 0.0:
            break
        row = rows[entry]
        if not counted[entry]:
            total -= _score(true[row], predicted[row], both[row], measure)
            predicted[row] += 1
            both[row] += is_true[entry]
            total += _score(true[row], predicted[row], both[row], measure)
        following = 0.0
        if q + 1 < m:
            following = max(values[order[q + 1]], 0.0)
        if following < values[entry] and total > best + 1e-9:
            best = total
            threshold = 0.5 * (following + values[entry])
            if threshold >= values[entry]:
                threshold = following
    return threshold, best / max(n, 1)


@kernel
def _score(true, predicted, both, measure):
    if measure == 0:
        return 1.0 if true == both and predicted == both else 0.0
    if measure == 1:
        return 2.0 * both - true - predicted
    if true + predicted == 0:
        return 1.0
    if measure == 2:
        return 2.0 * both / (true + predicted)
    return both / (true + predicted - both)


@kernel
def set_logs(log_odds, indptr, indices, first, out):
    """Add to `out` (n, K) the log-probability of each point's label set within each component.

    log_odds (n, K, L); the label sets are rows `first` and on of a CSR matrix. Of a label with
    log-odds z the logarithm of 1 - p is -log(1 + exp(z)); one logarithm serves some hundred labels.
    O(n·K·L).
    """
    n, n_components, n_labels = log_odds.shape
    for i in range(n):
        for k in range(n_components):
            total = 0.0
            product = 1.0
            for label in range(n_labels):
                z = log_odds[i, k, label]
                if z > LARGEST:
                    z = LARGEST
                elif z < -LARGEST:
                    z = -LARGEST
                product *= 1.0 + np.exp(z)
                if product > FULL:
                    total -= np.log(product)
                    product = 1.0
            total -= np.log(product)
            for p in range(indptr[first + i], indptr[first + i + 1]):
                z = log_odds[i, k, indices[p]]
                total += min(max(z, -LARGEST), LARGEST)
            out[i, k] += total
