"""Kernels that find the most probable label sets of a mixture of independent labels.

A component is a weight and the log-odds of every label. Its most probable set has the labels with
positive odds; every other set is that one with some labels flipped, and loses |odds| for each. So
the sets of a component in falling order are the subsets of its labels by rising sum of |odds|, and
a heap lists these without repetition: after a subset whose last label (in the order of |odds|) is
the i-th come the same with the next label added, and with the next label in place of the last.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.methods._marginal import LARGEST

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # exact in sum
_ROUNDER = 6755399441055744.0  # 1.5 * 2^52
_NOTHING = 50.0  # a component that is exp(-50) of the best set's probability changes no sum


@kernel
def _push(heap, size, keys, node):
    """Node joins the heap, whose top has the largest key."""
    q = size
    heap[q] = node
    while q > 0:
        parent = (q - 1) // 2
        if keys[heap[parent]] >= keys[node]:
            break
        heap[q] = heap[parent]
        q = parent
    heap[q] = node


@kernel
def _pop(heap, size, keys):
    """Remove the top; the heap then has size - 1 nodes."""
    top = heap[0]
    node = heap[size - 1]
    n = size - 1
    q = 0
    while True:
        child = 2 * q + 1
        if child >= n:
            break
        if child + 1 < n and keys[heap[child + 1]] > keys[heap[child]]:
            child += 1
        if keys[node] >= keys[heap[child]]:
            break
        heap[q] = heap[child]
        q = child
    heap[q] = node
    return top


@kernel
def _longer(vector, size):
    out = np.empty(size, vector.dtype)
    out[: vector.shape[0]] = vector
    return out


@kernel
def _capped(z):
    return min(max(np.float64(z), -LARGEST), LARGEST)


@kernel
def _negative_powers(odds, costs, powers, bits, out):
    """costs become |odds|, capped, and out 1 + exp(-costs); the loops are made for vector units.

    exp(x) = 2^j·exp(r) with j whole and |r| at most log(2) / 2: j is rounded by adding a number so
    large that it ends up in the last bits of the sum, and is moved from there to the exponent;
    exp(r) is its series up to r^12. `bits` are the bits of `powers`.
    """
    n = odds.shape[0]
    for q in range(n):
        l = unsigned(q)  # noqa: E741
        costs[l] = min(abs(np.float64(odds[l])), LARGEST)
    for q in range(n):
        l = unsigned(q)  # noqa: E741
        shifted = _ROUNDER - costs[l] * _LOG2_E
        powers[l] = shifted
        j = shifted - _ROUNDER
        r = -costs[l] - j * _LN2_HIGH - j * _LN2_LOW
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        out[l] = p * r + 1.0
    for q in range(n):
        l = unsigned(q)  # noqa: E741
        bits[l] = (bits[l] + 1023) << 52
    for q in range(n):
        l = unsigned(q)  # noqa: E741
        out[l] = 1.0 + out[l] * powers[l]


@kernel
def _survey(odds, likely, costs, powers, bits, factors):
    """One component: log-probability of no label, of its best set, size of that, least |odds|.

    The labels of the best set are written to `likely`, |odds| to `costs`. log(1 + exp(z)) is
    max(z, 0) + log(1 + exp(-|z|)), and factors of the latter, between 1 and 2, are multiplied
    before the logarithm.
    """
    n_labels = odds.shape[0]
    _negative_powers(odds, costs, powers, bits, factors)
    losses = 0.0
    first = 0
    while first < n_labels:
        one = two = three = four = 1.0
        stop = min(first + 512, n_labels)
        while first + 4 <= stop:
            one *= factors[first]
            two *= factors[first + 1]
            three *= factors[first + 2]
            four *= factors[first + 3]
            first += 4
        while first < stop:
            one *= factors[first]
            first += 1
        losses += np.log((one * two) * (three * four))
    gain = 0.0
    least, at = np.inf, 0
    size = 0
    for label in range(n_labels):
        if costs[label] < least:
            least, at = costs[label], label
        if odds[label] > 0.0:
            gain += costs[label]
            likely[size] = label
            size += 1
    return -losses - gain, -losses, size, least, at


@kernel
def _next_label(order, costs, place):
    """Bring the label with the next smallest cost into its place. O(L)."""
    best = place
    for q in range(place + 1, costs.shape[0]):
        if costs[q] < costs[best]:
            best = q
    order[best], order[place] = order[place], order[best]
    costs[best], costs[place] = costs[place], costs[best]


@kernel
def _worth_looking(tops, rests, threshold):
    """Logarithm of what some component must give a set for it to exceed the threshold.

    tops fall, rests[c] = tops[c] + tops[c + 1] + ... A set that has at most x from each component
    has at most the sum of min(top, x) from all.
    """
    if rests[0] <= threshold:
        return np.inf
    n = tops.shape[0]
    for c in range(1, n):
        x = (threshold - rests[c]) / c
        if x >= tops[c]:
            return np.log(x)
    return np.log(threshold / n)


@kernel
def _members(likely, size, flips, n_flips, members):
    """The set that differs from the likely labels by the flips; its size."""
    count = 0
    for q in range(size):
        kept = True
        for f in range(n_flips):
            if flips[f] == likely[q]:
                kept = False
                flips[f] = -1
        if kept:
            members[count] = likely[q]
            count += 1
    for f in range(n_flips):
        if flips[f] >= 0:
            members[count] = flips[f]
            count += 1
    return count


@kernel
def _is_known(members, count, sets, n_found):
    """Whether a list of labels is one of some rows of flags. O(L) per row."""
    for b in range(n_found):
        same = np.sum(sets[b]) == count
        for q in range(count):
            same = same and sets[b, members[q]]
        if same:
            return True
    return False


@kernel
def best_sets(log_weights, log_odds, allow_empty, max_visits, sets, log_probabilities, visits):
    """The most probable sets of each point, in falling order.

    log_weights (n, K), log_odds (n, K, L); `sets` (n, B, L) and `log_probabilities` (n, B) are
    filled, with -inf where there are fewer than B sets; visits[i] becomes the number of visited
    sets, negative if `max_visits` ended the search, so that better sets may have been missed.

    Sets are visited in the order of weight times component probability, over all components at
    once. A set not yet visited gets no more than the present set from any component, and no more
    than the best of each: when the sum of these bounds does not exceed the probability of the B-th
    best set so far, the search ends. This implies both pruning rules of the paper. O(K·L) per
    point, O(K·|set| + log visits) per visit, and O(L) per flipped label.
    """
    n, n_components, n_labels = log_odds.shape
    n_best = sets.shape[1]
    off, best = np.empty(n_components), np.empty(n_components)
    tops, rests = np.empty(n_components), np.empty(n_components + 1)
    least, nearest = np.empty(n_components), np.empty(n_components, np.int64)
    likely = np.empty((n_components, n_labels), np.int64)
    n_likely = np.empty(n_components, np.int64)
    order = np.empty((n_components, n_labels), np.int64)
    costs = np.empty((n_components, n_labels))
    sorted_to = np.empty(n_components, np.int64)
    members, flips = np.empty(n_labels, np.int64), np.empty(n_labels, np.int64)
    linear = np.empty(n_best)
    powers, factors = np.empty(n_labels), np.empty(n_labels)
    bits = powers.view(np.int64)
    room = 1024
    keys, component = np.empty(room), np.empty(room, np.int64)
    last, rest = np.empty(room, np.int64), np.empty(room, np.int64)
    heap = np.empty(room, np.int64)
    for i in range(n):
        heaviest = np.argmax(log_weights[i])
        sure = -np.inf  # log-probability that the best set has at least
        for q in range(-1, n_components):
            k = heaviest if q < 0 else q
            if q == heaviest:
                continue
            if n_best == 1 and log_weights[i, k] < sure - _NOTHING:
                off[k] = best[k] = -np.inf
                continue
            none, whole, n_likely[k], least[k], nearest[k] = _survey(
                log_odds[i, k], likely[k], costs[k], powers, bits, factors
            )
            off[k] = log_weights[i, k] + none
            best[k] = log_weights[i, k] + whole
            sorted_to[k] = 0
            sure = max(sure, best[k] - (0.0 if allow_empty or n_likely[k] > 0 else least[k]))
        ranks = np.argsort(-best, kind="mergesort")
        shift = best[ranks[0]]
        rests[n_components] = 0.0
        for r in range(n_components - 1, -1, -1):
            k = ranks[r]
            off[k] -= shift
            best[k] -= shift
            tops[r] = np.exp(best[k])
            rests[r] = rests[r + 1] + tops[r]
        n_found = 0
        log_probabilities[i, :] = -np.inf
        sets[i, :, :] = False
        threshold, needed = -1.0, -np.inf
        used = size = root = visited = 0
        while True:
            # ---- the next set: a component's best, or the top of the heap
            is_root = root < n_components and tops[root] > 0.0
            if is_root and size > 0:
                is_root = best[ranks[root]] >= keys[heap[0]]
            if is_root:
                if used + 3 > room:
                    room *= 2
                    keys, component = _longer(keys, room), _longer(component, room)
                    last, rest, heap = _longer(last, room), _longer(rest, room), _longer(heap, room)
                node = used
                used += 1
                k = ranks[root]
                root += 1
                keys[node], component[node] = best[k], k
                last[node] = rest[node] = -1
            elif size > 0:
                node = _pop(heap, size, keys)
                size -= 1
                k = component[node]
            else:
                break
            key = keys[node]
            if key <= needed:
                break
            if visited == max_visits:
                visited = -visited
                break
            visited += 1
            # ---- its probability, unless it cannot be among the best
            n_flips = 0
            at = node
            while at >= 0 and last[at] >= 0:
                flips[n_flips] = order[k, last[at]]
                n_flips += 1
                at = rest[at]
            count = _members(likely[k], n_likely[k], flips, n_flips, members)
            own = np.exp(key)
            p = own
            hopeless = count == 0 and not allow_empty
            for r in range(n_components):
                if hopeless or p + min(rests[r], (n_components - r) * own) <= threshold:
                    hopeless = True
                    break
                m = ranks[r]
                if m != k:
                    value = off[m]
                    for q in range(count):
                        value += _capped(log_odds[i, m, members[q]])
                    p += np.exp(value)
            if not hopeless and p > threshold and not _is_known(members, count, sets[i], n_found):
                value = shift + (np.log(p) if p > 0.0 else key)
                b = min(n_found, n_best - 1)
                while b > 0 and log_probabilities[i, b - 1] < value:
                    log_probabilities[i, b] = log_probabilities[i, b - 1]
                    linear[b] = linear[b - 1]
                    sets[i, b, :] = sets[i, b - 1]
                    b -= 1
                log_probabilities[i, b] = value
                linear[b] = p
                sets[i, b, :] = False
                for q in range(count):
                    sets[i, b, members[q]] = True
                n_found = min(n_found + 1, n_best)
                if n_found == n_best:
                    threshold = linear[n_best - 1]
                    needed = _worth_looking(tops, rests, threshold)
            # ---- its successors
            after = last[node] + 1
            if after == n_labels or (after == 0 and key - least[k] <= needed):
                continue
            if sorted_to[k] == 0:
                for label in range(n_labels):
                    order[k, label] = label
                order[k, 0], order[k, nearest[k]] = nearest[k], 0
                costs[k, 0], costs[k, nearest[k]] = least[k], costs[k, 0]
                sorted_to[k] = 1
            if sorted_to[k] == after:
                _next_label(order[k], costs[k], after)
                sorted_to[k] += 1
            if used + 3 > room:
                room *= 2
                keys, component = _longer(keys, room), _longer(component, room)
                last, rest, heap = _longer(last, room), _longer(rest, room), _longer(heap, room)
            for replaces in range(2):
                following = key - costs[k, after]
                if replaces:
                    if last[node] < 0:
                        break
                    following += costs[k, last[node]]
                if following > needed:
                    keys[used], component[used] = following, k
                    last[used], rest[used] = after, rest[node] if replaces else node
                    _push(heap, size, keys, used)
                    used += 1
                    size += 1
        visits[i] = visited
