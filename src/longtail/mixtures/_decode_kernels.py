"""Kernels that find the most probable label sets of a mixture of independent labels.

A component is a weight and the log-odds of every label. Its most probable set has the labels with
positive odds; every other set is that one with some labels flipped, and loses |odds| for each. So
the sets of a component in falling order are the subsets of its labels by rising sum of |odds|, and
these are had from a heap without repetition: after a subset whose last label (in the order of
|odds|) is the i-th come the same with the next label added, and with the next label in place of the
last.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel

CAP = 40.0  # beyond these log-odds a label is as good as certain, and sums stay exact


@kernel
def _log_sigmoid(z):
    if z >= 0.0:
        return -np.log1p(np.exp(-z))
    return z - np.log1p(np.exp(z))


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
    """Take the top away; the heap has size - 1 nodes afterwards."""
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
def _next_label(order, sorted_to, odds):
    """Bring the label with the next smallest |odds| into its place. O(L)."""
    best = sorted_to
    for q in range(sorted_to + 1, order.shape[0]):
        if abs(odds[order[q]]) < abs(odds[order[best]]):
            best = q
    label = order[best]
    order[best] = order[sorted_to]
    order[sorted_to] = label


@kernel
def _same(members, n, other, n_labels):
    """Whether a list of labels and a row of flags are one set."""
    count = 0
    for label in range(n_labels):
        count += other[label]
    if count != n:
        return False
    missing = 0
    for q in range(n):
        missing += not other[members[q]]
    return missing == 0


@kernel
def best_sets(log_weights, log_odds, allow_empty, max_visits, sets, log_probabilities, visits):
    """The most probable sets of each point, in falling order.

    log_weights (n, K), log_odds (n, K, L); `sets` (n, B, L) and `log_probabilities` (n, B) are
    filled, with -inf where there are fewer than B sets; visits[i] becomes the number of sets looked
    at, negative if `max_visits` ended the search, so that better sets may have been missed.

    Sets are looked at in the order of weight times component probability, over all components at
    once. Let M be the probability of the B-th best set so far. A set that is better has more than M
    / K from some component, so the search ends when the next set has no more from its own; and a
    component is given up when its next set, with all other components at their best, would not do.
    O(K·L) a point, O(K·|set| + log visits) a visit, and O(L) for each label that is flipped.
    """
    n, n_components, n_labels = log_odds.shape
    n_best = sets.shape[1]
    off, best, top = np.empty(n_components), np.empty(n_components), np.empty(n_components)
    order = np.empty((n_components, n_labels), np.int64)
    sorted_to = np.empty(n_components, np.int64)
    given_up = np.empty(n_components, np.bool_)
    odds = np.empty((n_components, n_labels))
    flag = np.zeros(n_labels, np.bool_)
    members = np.empty(n_labels, np.int64)
    room = 1024
    keys, component = np.empty(room), np.empty(room, np.int64)
    last, rest = np.empty(room, np.int64), np.empty(room, np.int64)
    heap = np.empty(room, np.int64)
    for i in range(n):
        shift = -np.inf
        for k in range(n_components):
            all_off = gain = 0.0
            for label in range(n_labels):
                z = min(max(log_odds[i, k, label], -CAP), CAP)
                odds[k, label] = z
                all_off += _log_sigmoid(-z)
                if z > 0.0:
                    gain += z
                order[k, label] = label
            off[k] = log_weights[i, k] + all_off
            best[k] = off[k] + gain
            sorted_to[k] = 0
            given_up[k] = False
            shift = max(shift, best[k])
        everything = 0.0
        for k in range(n_components):
            top[k] = np.exp(best[k] - shift)
            everything += top[k]
        n_found = 0
        for b in range(n_best):
            log_probabilities[i, b] = -np.inf
            sets[i, b, :] = False
        used = size = 0
        for k in range(n_components):
            if top[k] > 0.0:
                if used == room:
                    room *= 2
                    keys, component = _longer(keys, room), _longer(component, room)
                    last, rest, heap = _longer(last, room), _longer(rest, room), _longer(heap, room)
                keys[used], component[used] = best[k] - shift, k
                last[used] = rest[used] = -1
                _push(heap, size, keys, used)
                used += 1
                size += 1
        visited = 0
        while size > 0:
            threshold = 0.0  # M, over exp(shift)
            if n_found == n_best:
                threshold = np.exp(log_probabilities[i, n_best - 1] - shift)
            node = _pop(heap, size, keys)
            size -= 1
            k = component[node]
            own = np.exp(keys[node])
            if n_found == n_best and own * n_components <= threshold:
                break
            if given_up[k]:
                continue
            if n_found == n_best and own + (everything - top[k]) <= threshold:
                given_up[k] = True
                continue
            if visited == max_visits:
                visited = -visited
                break
            visited += 1
            # ---- the set: the component's best with some labels flipped
            for label in range(n_labels):
                flag[label] = odds[k, label] > 0.0
            at = node
            while at >= 0 and last[at] >= 0:
                label = order[k, last[at]]
                flag[label] = not flag[label]
                at = rest[at]
            count = 0
            for label in range(n_labels):
                if flag[label]:
                    members[count] = label
                    count += 1
            if count > 0 or allow_empty:
                p = 0.0
                for m in range(n_components):
                    value = off[m] - shift
                    for q in range(count):
                        value += odds[m, members[q]]
                    p += np.exp(value)
                value = np.log(p) + shift
                known = False
                for b in range(n_found):
                    if _same(members, count, sets[i, b], n_labels):
                        known = True
                if not known and (n_found < n_best or value > log_probabilities[i, n_best - 1]):
                    b = min(n_found, n_best - 1)
                    while b > 0 and log_probabilities[i, b - 1] < value:
                        log_probabilities[i, b] = log_probabilities[i, b - 1]
                        sets[i, b, :] = sets[i, b - 1]
                        b -= 1
                    log_probabilities[i, b] = value
                    sets[i, b, :] = flag
                    n_found = min(n_found + 1, n_best)
            # ---- those that come after it
            after = last[node] + 1
            if after < n_labels:
                if sorted_to[k] <= after:
                    _next_label(order[k], after, odds[k])
                    sorted_to[k] = after + 1
                if used + 2 > room:
                    room *= 2
                    keys, component = _longer(keys, room), _longer(component, room)
                    last, rest, heap = _longer(last, room), _longer(rest, room), _longer(heap, room)
                cost = abs(odds[k, order[k, after]])
                keys[used], component[used] = keys[node] - cost, k
                last[used], rest[used] = after, node
                _push(heap, size, keys, used)
                used += 1
                size += 1
                if last[node] >= 0:
                    keys[used] = keys[node] - cost + abs(odds[k, order[k, last[node]]])
                    component[used] = k
                    last[used], rest[used] = after, rest[node]
                    _push(heap, size, keys, used)
                    used += 1
                    size += 1
        visits[i] = visited
