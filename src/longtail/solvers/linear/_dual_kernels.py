"""Kernels of the dual solver for the l2-regularised squared hinge.

With C_i = weight_i / strength the dual of  ½‖w‖² + Σ C_i max(0, 1 - s_i⟨w, x_i⟩)²  is

    max  Σ α_i - ½‖w‖² - Σ α_i² / (4 C_i),   w = Σ α_i s_i x_i,   α >= 0,

and a coordinate step is closed-form (Hsieh et al. 2008). Rows outside the working set have α = 0,
so the dual value of the working set is the dual value of the whole problem, and the difference to
the primal value over all rows is a certificate.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned

EARLY = 0.2  # of the tolerance: a sweep that gains less may be the last


@kernel
def dual_descent(
    indptr, indices, data, rows, bias, signs, costs, alpha, w, dual, tol, max_epochs, seed, stop
):
    """Coordinate descent on the dual over the given rows of X, from alpha and its w, in place.

    Sweeps the rows in random order, leaves out rows that rest at zero (liblinear's shrinking), and
    stops when the duality gap over these rows is at most tol times the primal value. The gap is
    computed when a sweep has gained little, and every five sweeps; then the rows that may move are
    chosen anew. `dual` is the value before, as far as known. O(nnz of the rows not left out) per
    sweep. Returns (primal, dual, sweeps).
    """
    n = signs.shape[0]
    d = w.shape[0] - 1
    square = np.empty(n)
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        order[i] = i
        total = bias * bias
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += np.float64(data[p]) * np.float64(data[p])
        square[i] = total + 0.5 / costs[i]
    state = np.uint64(seed) * np.uint64(2654435769) + np.uint64(88172645463325252)
    size = n
    largest = np.inf
    primal = np.inf
    sweeps = 0
    since = 0
    while sweeps < max_epochs and stop[0] == 0:
        sweeps += 1
        since += 1
        for a in range(size - 1, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            b = np.int64(state % np.uint64(a + 1))
            order[a], order[b] = order[b], order[a]
        new_largest = 0.0
        before = dual
        a = 0
        while a < size:
            i = order[a]
            first = unsigned(indptr[rows[i]])
            last = unsigned(indptr[rows[i] + 1])
            z = bias * w[d] + row_score(indices, data, first, last, w)
            slope = signs[i] * z - 1.0 + 0.5 * alpha[i] / costs[i]
            if alpha[i] == 0.0:
                if slope > largest:
                    size -= 1
                    order[a], order[size] = order[size], order[a]
                    continue
                if slope >= 0.0:
                    a += 1
                    continue
            new_largest = max(new_largest, slope)
            new = max(alpha[i] - slope / square[i], 0.0)
            change = new - alpha[i]
            dual -= change * (slope + 0.5 * square[i] * change)
            alpha[i] = new
            change *= signs[i]
            if change != 0.0:
                for p in range(first, last):
                    w[unsigned(indices[p])] += change * data[p]
                w[d] += change * bias
            a += 1
        largest = new_largest if new_largest > 0.0 else np.inf
        # the gap costs a pass over all rows: look when a sweep has gained little
        if dual - before <= EARLY * tol * dual or since >= 5 or sweeps == max_epochs:
            since = 0
            primal, dual, size = values(
                indptr, indices, data, rows, bias, signs, costs, alpha, w, order
            )
            if primal - dual <= tol * primal:
                break
            largest = np.inf
    return primal, dual, sweeps


@kernel
def values(indptr, indices, data, rows, bias, signs, costs, alpha, w, order):
    """Primal and dual value over the given rows, where w = Σ α s x, and who may still move. O(nnz).

    Puts the rows that do not rest at zero first in `order`, and returns how many these are.
    """
    d = w.shape[0] - 1
    squared = 0.0
    loss = 0.0
    gain = 0.0
    front = 0
    back = signs.shape[0]
    for i in range(signs.shape[0]):
        first = unsigned(indptr[rows[i]])
        last = unsigned(indptr[rows[i] + 1])
        z = signs[i] * (bias * w[d] + row_score(indices, data, first, last, w))
        slack = 1.0 - z
        if slack > 0.0:
            loss += costs[i] * slack * slack
        if alpha[i] > 0.0:
            squared += alpha[i] * z  # ‖w‖² = Σ α s⟨w, x⟩
            gain += alpha[i] - alpha[i] * alpha[i] / (4.0 * costs[i])
        if slack > 0.0 or alpha[i] > 0.0:
            order[front] = i
            front += 1
        else:
            back -= 1
            order[back] = i
    return 0.5 * squared + loss, gain - 0.5 * squared, front


@kernel
def row_score(indices, data, first, last, w):
    """Sum over a row's entries, in four sums side by side, so that none waits for the other."""
    a = b = c = d = 0.0
    p = first
    while p + unsigned(4) <= last:
        a += data[p] * w[unsigned(indices[p])]
        b += data[p + unsigned(1)] * w[unsigned(indices[p + unsigned(1)])]
        c += data[p + unsigned(2)] * w[unsigned(indices[p + unsigned(2)])]
        d += data[p + unsigned(3)] * w[unsigned(indices[p + unsigned(3)])]
        p += unsigned(4)
    while p < last:
        a += data[p] * w[unsigned(indices[p])]
        p += unsigned(1)
    return (a + b) + (c + d)


@kernel
def combine(indptr, indices, data, rows, factors, out):
    """out += Σ factor_r · x_r over the given rows (features only). O(nnz of the rows)."""
    for r in range(rows.shape[0]):
        factor = factors[r]
        if factor == 0.0:
            continue
        i = rows[r]
        for p in range(indptr[i], indptr[i + 1]):
            out[unsigned(indices[p])] += factor * data[p]
