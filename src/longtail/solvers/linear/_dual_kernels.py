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


@kernel
def dual_descent(
    indptr, indices, data, rows, bias, signs, costs, alpha, w, tol, max_epochs, seed, stop
):
    """Coordinate descent on the dual over the given rows of X, from alpha and its w, in place.

    Sweeps the rows in random order, leaves out rows that rest at zero (liblinear's shrinking), and
    stops when the duality gap over these rows is at most tol times the primal value. O(nnz of the
    rows not left out) per sweep. Returns (primal, dual, sweeps).
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
    dual = -np.inf
    sweeps = 0
    while sweeps < max_epochs and stop[0] == 0:
        sweeps += 1
        for a in range(size - 1, 0, -1):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            b = np.int64(state % np.uint64(a + 1))
            order[a], order[b] = order[b], order[a]
        new_largest = 0.0
        worst = 0.0
        a = 0
        while a < size:
            i = order[a]
            first = indptr[rows[i]]
            last = indptr[rows[i] + 1]
            z = bias * w[d]
            for p in range(first, last):
                z += data[p] * w[unsigned(indices[p])]
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
            worst = max(worst, abs(slope))
            new = max(alpha[i] - slope / square[i], 0.0)
            change = (new - alpha[i]) * signs[i]
            alpha[i] = new
            if change != 0.0:
                for p in range(first, last):
                    w[unsigned(indices[p])] += change * data[p]
                w[d] += change * bias
            a += 1
        largest = new_largest if new_largest > 0.0 else np.inf
        # the gap costs as much as a sweep: look when the steps have become small
        if worst <= 10.0 * tol or sweeps % 5 == 0 or sweeps == max_epochs:
            primal, dual = values(indptr, indices, data, rows, bias, signs, costs, alpha, w)
            if primal - dual <= tol * primal:
                break
            if size < n:
                size = n
                largest = np.inf
    return primal, dual, sweeps


@kernel
def values(indptr, indices, data, rows, bias, signs, costs, alpha, w):
    """Primal and dual value over the given rows. O(nnz)."""
    d = w.shape[0] - 1
    half_norm = 0.0
    for j in range(d + 1):
        half_norm += w[j] * w[j]
    half_norm *= 0.5
    primal = half_norm
    dual = -half_norm
    for i in range(signs.shape[0]):
        z = bias * w[d]
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            z += data[p] * w[unsigned(indices[p])]
        slack = 1.0 - signs[i] * z
        if slack > 0.0:
            primal += costs[i] * slack * slack
        dual += alpha[i] - alpha[i] * alpha[i] / (4.0 * costs[i])
    return primal, dual


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
