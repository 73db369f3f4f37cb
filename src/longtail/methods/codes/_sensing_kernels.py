"""Kernels that find label sets whose projection is close to a given one, row by row.

A label is a column of signs, `code[label]`, of length B; divided by √B it has length one. A row
needs only its correlations a_l'z with all labels, and the correlations between labels: `products[j,
m]` = code[j]·code[m], a whole number; if the array is empty, columns are computed when needed.

`sizes` lists the wanted sizes of the label set in ascending order; the set of each goes to
`labels[row, size number]` and `values[row, size number]`, with -1 in empty places.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail._sparse import offer

NONE = -1
NEGLIGIBLE = 1e-10  # correlations, and squared distances to a span, that are rounding errors
CLEARLY = 1.0 + 1e-12  # correlations within this factor are equal up to rounding
STEP = 0.9  # from one penalty of the Lasso to the next
LEAST = 1e-3  # the last penalty, relative to the first
EXACT = 1e-5  # change of a coefficient, relative to the first penalty, that ends the sweeps
SWEEPS = 1000


@kernel
def best_of(scores, allowed, k):
    """The k largest scores of each row among the allowed labels, best first; about O(L) per row.

    Returns the labels, -1 in empty places, and their scores.
    """
    labels = np.full((scores.shape[0], k), NONE)
    values = np.zeros((scores.shape[0], k))
    for i in range(scores.shape[0]):
        size = 0
        for j in range(scores.shape[1]):
            if allowed[j]:
                size = offer(labels[i], values[i], size, j, scores[i, j])
    return labels, values


@kernel
def _products_with(label, code, products, slot):
    """The inner products of a label with all labels: looked up, or computed in O(L·B)."""
    if products.shape[0] > 0:
        return products[label]
    for j in range(code.shape[0]):
        total = np.int32(0)
        for b in range(code.shape[1]):
            total += np.int32(code[j, b]) * np.int32(code[label, b])
        slot[j] = total
    return slot


@kernel
def _solve_normal(factor, size, rhs, out):
    """out = (F F')⁻¹ rhs for a lower triangular F. O(size²)."""
    for s in range(size):
        total = rhs[s]
        for t in range(s):
            total -= factor[s, t] * out[t]
        out[s] = total / factor[s, s]
    for s in range(size - 1, -1, -1):
        total = out[s]
        for t in range(s + 1, size):
            total -= factor[t, s] * out[t]
        out[s] = total / factor[s, s]


@kernel
def matching_pursuit(correlations, code, products, allowed, sizes, labels, values):
    """Orthogonal matching pursuit; its coefficients are the values.

    The label with the largest absolute correlation with the residual joins the set, of equal ones
    the first. Then the projection is fitted by least squares on the whole set, until the set has
    the wanted size or the residual is zero. The normal equations are kept as a Cholesky factor that
    grows by one row per step. O(size²·L + size³) per row, and O(size·L·B) more without `products`.
    """
    n_labels = correlations.shape[1]
    most = min(sizes[-1], code.shape[1])  # columns of length B: no more are independent
    per_product = 1.0 / code.shape[1]
    chosen = np.empty(most, np.int64)
    factor = np.empty((most, most))
    wanted = np.empty(most)
    coefficients = np.empty(most)
    left = np.empty(n_labels)
    slots = np.empty((most if products.shape[0] == 0 else 0, n_labels), np.float32)
    is_open = np.empty(n_labels, np.bool_)
    for i in range(correlations.shape[0]):
        size = 0
        largest = 0.0
        for j in range(n_labels):
            left[j] = correlations[i, j]
            is_open[j] = allowed[j]
            if allowed[j] and abs(left[j]) > largest:
                largest = abs(left[j])
        exhausted = False
        for number in range(sizes.shape[0]):
            while size < min(sizes[number], most) and not exhausted:
                best = NONE
                height = NEGLIGIBLE * largest
                for j in range(n_labels):
                    if is_open[j] and abs(left[j]) > height * CLEARLY:
                        best = j
                        height = abs(left[j])
                if best == NONE:
                    exhausted = True
                    break
                distance = 1.0
                for s in range(size):
                    total = _entry(chosen[s], best, products, slots, s) * per_product
                    for t in range(s):
                        total -= factor[s, t] * factor[size, t]
                    factor[size, s] = total / factor[s, s]
                    distance -= factor[size, s] ** 2
                if distance <= NEGLIGIBLE:
                    exhausted = True
                    break
                factor[size, size] = np.sqrt(distance)
                chosen[size] = best
                is_open[best] = False
                wanted[size] = correlations[i, best]
                if products.shape[0] == 0 and size + 1 < most:
                    _products_with(best, code, products, slots[size])
                size += 1
                _solve_normal(factor, size, wanted, coefficients)
                if size == most:
                    break
                for j in range(n_labels):
                    left[j] = correlations[i, j]
                for s in range(size):
                    scale = coefficients[s] * per_product
                    column = slots[s] if products.shape[0] == 0 else products[chosen[s]]
                    for j in range(n_labels):
                        left[j] -= scale * column[j]
            for q in range(labels.shape[2]):
                if q < size:
                    labels[i, number, q] = chosen[q]
                    values[i, number, q] = coefficients[q]
                else:
                    labels[i, number, q] = NONE
                    values[i, number, q] = 0.0


@kernel
def _entry(chosen, label, products, slots, place):
    if products.shape[0] > 0:
        return products[chosen, label]
    return slots[place, label]


@kernel
def lasso(correlations, code, products, allowed, sizes, labels, values, penalties):
    """The Lasso with coefficients that are not negative; the largest of them are the values.

    ½‖z - Ay‖² + penalty·Σy is minimised over y >= 0 by coordinate descent for falling penalties,
    each 0.9 times the previous one, from the largest one that leaves a label. The set of a size
    holds the largest coefficients at the first penalty with so many labels, or at the last penalty
    of a thousandth; that penalty goes to `penalties`. O(L) per sweep and O(L) per change of a
    coefficient, and O(L·B) more per change without `products`.
    """
    n_labels = correlations.shape[1]
    per_product = 1.0 / code.shape[1]
    left = np.empty(n_labels)
    y = np.empty(n_labels)
    slot = np.empty(n_labels, np.float32)
    for i in range(correlations.shape[0]):
        first = 0.0
        for j in range(n_labels):
            left[j] = correlations[i, j]
            y[j] = 0.0
            if allowed[j] and left[j] > first:
                first = left[j]
        penalty = first
        number = 0
        while number < sizes.shape[0]:
            last = first <= 0.0 or penalty * STEP < LEAST * first
            penalty *= STEP
            if first > 0.0:
                for _ in range(SWEEPS):
                    change = 0.0
                    for j in range(n_labels):
                        if allowed[j] and (y[j] > 0.0 or left[j] > penalty):
                            new = max(0.0, y[j] + left[j] - penalty)
                            delta = new - y[j]
                            if delta != 0.0:
                                y[j] = new
                                column = _products_with(j, code, products, slot)
                                scale = delta * per_product
                                for m in range(n_labels):
                                    left[m] -= scale * column[m]
                                change = max(change, abs(delta))
                    if change <= EXACT * first:
                        break
            active = 0
            for j in range(n_labels):
                if y[j] > 0.0:
                    active += 1
            while number < sizes.shape[0] and (last or active >= sizes[number]):
                size = 0
                for j in range(n_labels):
                    if y[j] > 0.0:
                        size = offer(
                            labels[i, number, : sizes[number]],
                            values[i, number, : sizes[number]],
                            size, j, y[j],
                        )  # fmt: skip
                for q in range(size, labels.shape[2]):
                    labels[i, number, q] = NONE
                    values[i, number, q] = 0.0
                penalties[i, number] = penalty
                number += 1
