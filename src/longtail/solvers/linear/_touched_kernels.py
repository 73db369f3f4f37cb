"""Kernels of one l1 problem on the rows and columns that it touches: what is known of them.

The words used here. A *touched* row is one with a positive target, or one that has a feature of
the working set. All other rows are negatives whose score is the bias alone. Of the touched rows,
some are *awake*: all positives, and negatives that cost something or did lately; they are numbered
0, 1, ... in the order of arrival, the positives first, and everything known of them stands in
arrays in that order. Those *asleep* are negatives beyond their margin, which cost nothing; now and
then their scores are computed, and those that would cost something wake. With the logistic loss all
touched rows are awake. A *local* feature is one of the working set, numbered from 1 in the order of
arrival; local 0 is the bias. An *entry* is a stored value of X in a row that is awake and a local
feature; entries are kept by feature and, a second time, by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.solvers.linear._loss_kernels import (
    SQUARED_HINGE,
    point_curvature,
    point_loss,
    point_slope,
)


class Matrix(NamedTuple):
    """X by rows and by columns, with sums over its columns."""

    indptr: Any
    indices: Any
    data: Any
    column_indptr: Any
    row_indices: Any
    column_data: Any
    total: Any  # of each column, every row times its weight
    absolute: Any  # the same of absolute values
    square: Any  # the same of squares
    largest: Any  # absolute sum of a column


UNTOUCHED, ASLEEP, ASLEEP_AGAIN = -1, -2, -3
"""Places of rows that are not awake; one that was awake before stays so if it wakes again."""


class Rows(NamedTuple):
    """What is known of the rows; all of length N."""

    place: Any  # of each row of X: its number among those awake, or why it has none
    touched: Any  # rows of X
    total: Any  # by row of X: room to add up scores, zero in between
    row: Any  # from here on by number
    stays: Any  # awake until the end
    target: Any
    weight: Any
    score: Any  # without the bias
    change: Any  # of the score along the step
    slope: Any
    curvature: Any
    fresh: Any  # curvature at the new scores
    end: Any  # of its entries


class Features(NamedTuple):
    """What is known of all features; all of length D."""

    local: Any  # number in the working set, or -1
    gradient: Any
    candidate: Any
    promise: Any


class Entries(NamedTuple):
    """Values of X in rows awake and local features, by feature and by row."""

    row: Any
    value: Any
    feature: Any
    value_by_row: Any


# ---- room -----------------------------------------------------------------------------------


@kernel
def room_for_entries(entries, needed):
    size = max(2 * entries.row.shape[0], needed)
    row = np.empty(size, np.int32)
    value = np.empty(size, entries.value.dtype)
    for p in range(entries.row.shape[0]):
        row[p], value[p] = entries.row[p], entries.value[p]
    return Entries(row, value, np.empty(size, np.int32), np.empty(size, entries.value.dtype))


@kernel
def wider(square, size):
    out = np.zeros((size, size))
    for f in range(square.shape[0]):
        for q in range(square.shape[0]):
            out[f, q] = square[f, q]
    return out


@kernel
def longer(vector, size):
    out = np.zeros(size, vector.dtype)
    for f in range(vector.shape[0]):
        out[f] = vector[f]
    return out


@kernel
def nth_largest(values, n):
    """The n-th largest of the values, which change their order: Hoare's quickselect. numpy's would
    take seconds to compile. O(values), usually."""
    first, last = 0, values.shape[0] - 1
    place = n - 1
    while first < last:
        pivot = values[(first + last) // 2]
        a, b = first, last
        while a <= b:
            while values[a] > pivot:
                a += 1
            while values[b] < pivot:
                b -= 1
            if a <= b:
                values[a], values[b] = values[b], values[a]
                a += 1
                b -= 1
        if place <= b:
            last = b
        elif place >= a:
            first = a
        else:
            break
    return values[place]


# ---- rows and features join -----------------------------------------------------------------


@kernel
def wake(i, target, score, weights, rows, n_rows):
    """Row i of X is awake from now on, as number `n_rows`."""
    rows.stays[n_rows] = rows.place[i] == ASLEEP_AGAIN
    rows.place[i] = n_rows
    rows.row[n_rows] = i
    rows.target[n_rows] = target
    rows.weight[n_rows] = weights[i] if weights.shape[0] else 1.0
    rows.score[n_rows] = score
    rows.change[n_rows] = 0.0
    rows.slope[n_rows] = 0.0
    rows.curvature[n_rows] = 0.0


@kernel
def enter(j, local, matrix, weights, rows, n_touched, features):
    """Feature j joins the working set, and its rows are touched; returns the number of touched
    rows, and the weight of those that are new. O(column j)."""
    features.local[j] = local
    gone = 0.0
    for p in range(matrix.column_indptr[j], matrix.column_indptr[j + 1]):
        i = np.int64(matrix.row_indices[unsigned(p)])
        if rows.place[i] == UNTOUCHED:
            rows.place[i] = ASLEEP
            rows.touched[n_touched] = i
            n_touched += 1
            gone += weights[i] if weights.shape[0] else 1.0
    return n_touched, gone


@kernel
def gather(matrix, members, first, size, rows, entries, ends):
    """The entries of the features from `first` on, behind those of the others; returns all, which
    may have been given more room. O(columns)."""
    n = ends[first - 1]
    for f in range(first, size):
        begin, end = matrix.column_indptr[members[f]], matrix.column_indptr[members[f] + 1]
        if n + end - begin > entries.row.shape[0]:
            entries = room_for_entries(entries, n + end - begin)
        for p in range(begin, end):  # most rows are asleep, which no processor can foretell
            a = rows.place[unsigned(matrix.row_indices[unsigned(p)])]
            entries.row[unsigned(n)] = a
            entries.value[unsigned(n)] = matrix.column_data[unsigned(p)]
            n += a >= 0
        ends[f] = n
    return entries


@kernel
def wake_violators(matrix, members, w, size, weights, rows, n_touched, n_rows, most):
    """Wake the rows asleep that cost something, the `most` worst of them; returns the number of
    rows awake. O(touched + columns with a weight)."""
    total = rows.total  # zero between calls
    for f in range(1, size):
        v = w[f]
        if v != 0.0:
            for p in range(matrix.column_indptr[members[f]], matrix.column_indptr[members[f] + 1]):
                total[matrix.row_indices[unsigned(p)]] += v * matrix.column_data[unsigned(p)]
    level = -1.0 - w[0]
    first = n_rows
    for t in range(n_touched):
        i = np.int64(rows.touched[unsigned(t)])
        score = total[i]
        total[i] = 0.0
        if score > level and rows.place[i] < UNTOUCHED:
            rows.row[n_rows], rows.fresh[n_rows] = i, score
            n_rows += 1
    found = n_rows - first
    if found > most:
        level = nth_largest(rows.fresh[first:n_rows].copy(), most)
    n_rows = first
    for a in range(first, first + found):
        if rows.fresh[a] >= level:
            wake(np.int64(rows.row[a]), 0.0, rows.fresh[a], weights, rows, n_rows)
            n_rows += 1
    return n_rows


@kernel
def sleep(rows, n_positive, n_rows):
    """Negatives that cost nothing fall asleep, unless they have woken twice; returns how many rows
    are awake. O(awake)."""
    kept = n_positive
    for a in range(n_positive, n_rows):
        i = rows.row[a]
        if rows.slope[a] == 0.0 and not rows.stays[a]:
            rows.place[i] = ASLEEP_AGAIN
            continue
        rows.place[i] = kept
        rows.row[kept] = i
        rows.stays[kept] = rows.stays[a]
        rows.target[kept] = rows.target[a]
        rows.weight[kept] = rows.weight[a]
        rows.score[kept] = rows.score[a]
        rows.slope[kept] = rows.slope[a]
        rows.curvature[kept] = rows.curvature[a]
        kept += 1
    return kept


@kernel
def turn(rows, n_rows, entries, ends, size):
    """The entries by row, the features of each in their order. O(entries + awake)."""
    end = rows.end
    end[:n_rows] = 0
    for p in range(ends[size - 1]):
        end[entries.row[unsigned(p)]] += 1
    total = 0
    for a in range(n_rows):
        count = end[unsigned(a)]
        end[unsigned(a)] = total
        total += count
    for f in range(1, size):
        for p in range(ends[f - 1], ends[f]):
            a = entries.row[unsigned(p)]
            q = end[a]
            entries.feature[q] = f
            entries.value_by_row[q] = entries.value[unsigned(p)]
            end[a] = q + 1


@kernel
def widen_model(rows, n_rows, entries, first_new, model):
    """Products with the features from `first_new` on, over the rows that are curved already."""
    begin = 0
    for a in range(n_rows):
        end = rows.end[a]
        curvature = rows.curvature[a]
        if curvature != 0.0:
            e = end - 1
            while e >= begin and entries.feature[e] >= first_new:
                f = entries.feature[e]
                x = curvature * entries.value_by_row[e]
                model[f, 0] += x
                for q in range(begin, e + 1):
                    model[f, entries.feature[unsigned(q)]] += x * entries.value_by_row[unsigned(q)]
                e -= 1
        begin = end


# ---- slopes, curvatures, gradients ----------------------------------------------------------


@kernel
def _bend(loss, bias, rows, n_positive, n_rows):
    """Slopes and fresh curvatures of the negatives among the rows awake. O(awake)."""
    score, weight, slope, fresh = rows.score, rows.weight, rows.slope, rows.fresh
    if loss == SQUARED_HINGE:
        above = 1.0 + bias
        for a in range(n_positive, n_rows):
            high = score[unsigned(a)] + above
            twice = 2.0 * weight[unsigned(a)]
            slope[unsigned(a)] = twice * high if high > 0.0 else 0.0
            fresh[unsigned(a)] = twice if high > 0.0 else 0.0
    else:
        for a in range(n_positive, n_rows):
            z = score[a] + bias
            slope[a] = weight[a] * point_slope(loss, 0.0, z)
            fresh[a] = weight[a] * point_curvature(loss, 0.0, z)


@kernel
def _total(values, first, last):
    """Sum of values[first:last], in four strands."""
    s0 = s1 = s2 = s3 = 0.0
    a = first
    while a + 4 <= last:
        s0 += values[unsigned(a)]
        s1 += values[unsigned(a + 1)]
        s2 += values[unsigned(a + 2)]
        s3 += values[unsigned(a + 3)]
        a += 4
    while a < last:
        s0 += values[unsigned(a)]
        a += 1
    return (s0 + s1) + (s2 + s3)


@kernel
def _follow(begin, end, change, entries, whole, model):
    """The products of a row's features, times `change`, join the model: its lower triangle, or all
    of it. O(entries²)."""
    for e in range(begin, end):
        f = entries.feature[unsigned(e)]
        x = change * entries.value_by_row[unsigned(e)]
        model[f, 0] += x
        for q in range(begin, e + 1):
            model[f, entries.feature[unsigned(q)]] += x * entries.value_by_row[unsigned(q)]
        if whole:
            model[0, f] += x
            for q in range(begin, e):
                model[entries.feature[unsigned(q)], f] += x * entries.value_by_row[unsigned(q)]


@kernel
def refresh(
    loss, bias, moved, rows, n_positive, n_rows, entries, dense, size, whole, model, gradient
):
    """Slopes and curvatures at the new scores, which have moved by `change` and the bias by
    `moved`; returns the sums of both, and whether the model is whole.

    If `dense`, `model` follows the curvatures that changed: all of it if it was `whole` and few
    have, else its lower triangle. For the squared hinge `gradient`, which holds what the old
    curvatures predicted, is corrected where they changed. O(awake + entries² of the rows whose
    curvature changed).
    """
    hinge = loss == SQUARED_HINGE
    for a in range(n_positive):
        z, t, c = rows.score[a] + bias, rows.target[a], rows.weight[a]
        new = c * point_slope(loss, t, z)
        foretold = rows.slope[a] + rows.curvature[a] * (rows.change[a] + moved)
        rows.slope[a] = new
        rows.fresh[a] = c * point_curvature(loss, t, z)
        rows.change[a] = new - foretold
    _bend(loss, bias, rows, n_positive, n_rows)
    if dense:
        if whole:
            products = 0
            for a in range(n_rows):
                if rows.fresh[unsigned(a)] != rows.curvature[unsigned(a)]:
                    products += (rows.end[a] - (rows.end[a - 1] if a else 0)) ** 2
            whole = 2 * products < size * size
        for a in range(n_rows):
            change = rows.fresh[unsigned(a)] - rows.curvature[unsigned(a)]
            if change != 0.0:
                rows.curvature[a] = rows.fresh[a]
                off = rows.change[a] if a < n_positive else change * (rows.score[a] + bias + 1.0)
                begin = rows.end[a - 1] if a else 0
                if hinge:
                    for e in range(begin, rows.end[a]):
                        gradient[entries.feature[unsigned(e)]] += (
                            off * entries.value_by_row[unsigned(e)]
                        )
                _follow(begin, rows.end[a], change, entries, whole, model)
    else:
        rows.curvature[:n_rows] = rows.fresh[:n_rows]
    return _total(rows.slope, 0, n_rows), _total(rows.curvature, 0, n_rows), whole


@kernel
def local_gradient(rows, entries, ends, size, gradient):
    """Gradient of the loss in the local features from 1 on. O(entries)."""
    for f in range(1, size):
        s = 0.0
        for p in range(ends[f - 1], ends[f]):
            s += rows.slope[entries.row[unsigned(p)]] * entries.value[unsigned(p)]
        gradient[f] = s


@kernel
def _off(w, gradient, strength):
    """Distance of a derivative of the loss from where optimality wants it."""
    if w > 0.0:
        return abs(gradient + strength)
    if w < 0.0:
        return abs(gradient - strength)
    return max(abs(gradient) - strength, 0.0)


@kernel
def local_violation(w, gradient, strength, bias, bias_strength, size):
    """The largest distance of the local features from optimality."""
    worst = bias * _off(w[0], gradient[0], bias_strength)
    for f in range(1, size):
        worst = max(worst, _off(w[f], gradient[f], strength))
    return worst


# ---- along a step ---------------------------------------------------------------------------


@kernel
def changes_along(rows, n_rows, entries, ends, size, step):
    """Scores along the step, without the bias. O(entries of the weights that move)."""
    rows.change[:n_rows] = 0.0
    for f in range(1, size):
        s = step[f]
        if s != 0.0:
            for p in range(ends[f - 1], ends[f]):
                rows.change[entries.row[unsigned(p)]] += s * entries.value[unsigned(p)]


@kernel
def _loss_along(loss, bias, length, rows, n_positive, n_rows):
    """Loss of the rows awake after `length` of the change. O(awake)."""
    score, change, weight = rows.score, rows.change, rows.weight
    total = 0.0
    hinge = loss == SQUARED_HINGE
    for a in range(n_positive if hinge else n_rows):
        z = score[a] + length * change[a] + bias
        total += weight[a] * point_loss(loss, rows.target[a], z)
    if not hinge:
        return total
    above = 1.0 + bias
    s0 = s1 = s2 = s3 = 0.0
    a = n_positive
    while a + 4 <= n_rows:
        h0 = max(score[unsigned(a)] + length * change[unsigned(a)] + above, 0.0)
        h1 = max(score[unsigned(a + 1)] + length * change[unsigned(a + 1)] + above, 0.0)
        h2 = max(score[unsigned(a + 2)] + length * change[unsigned(a + 2)] + above, 0.0)
        h3 = max(score[unsigned(a + 3)] + length * change[unsigned(a + 3)] + above, 0.0)
        s0 += weight[unsigned(a)] * h0 * h0
        s1 += weight[unsigned(a + 1)] * h1 * h1
        s2 += weight[unsigned(a + 2)] * h2 * h2
        s3 += weight[unsigned(a + 3)] * h3 * h3
        a += 4
    while a < n_rows:
        h0 = max(score[unsigned(a)] + length * change[unsigned(a)] + above, 0.0)
        s0 += weight[unsigned(a)] * h0 * h0
        a += 1
    return total + (s0 + s1) + (s2 + s3)


@kernel
def objective_along(
    loss, length, rows, n_positive, n_rows, rest, w, step, strength, bias_strength, size
):
    """Objective at w + length·step. O(awake + size)."""
    bias = w[0] + length * step[0]
    total = _loss_along(loss, bias, length, rows, n_positive, n_rows)
    if rest > 0.0:
        total += rest * point_loss(loss, 0.0, bias)
    norm = 0.0
    for f in range(1, size):
        norm += abs(w[f] + length * step[f])
    return total + strength * norm + bias_strength * abs(bias)
