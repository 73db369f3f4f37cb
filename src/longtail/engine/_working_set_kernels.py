"""Kernels of the l1 solver: one problem on the rows and columns that it touches.

The words used here. A *touched* row is one with a positive target, or one that has a feature of
the working set; touched rows are numbered 0, 1, ... in the order of arrival, the positives first,
and everything known of them stands in arrays in that order. All other rows are negatives whose
score is the bias alone. A *local* feature is one of the working set, numbered from 1 in the order
of arrival; local 0 is the bias. An *entry* is a stored value of X in a touched row and a local
feature; entries are kept by feature and, a second time, by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.engine._loss_kernels import SQUARED_HINGE, point_curvature, point_loss, point_slope

SOLVED, OUT_OF_STEPS, OUT_OF_TIME, STUCK, STOPPED = 0, 1, 2, 3, 4
MEMORY = 5  # sweeps from which the next ones are foretold
CRAWL = 150  # sweeps after which a model is solved directly
DIRECT = 600  # weights up to which a model is solved as a linear system
ROUNDING = 1e-14  # by which sums over points may be off, relatively


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


class Rows(NamedTuple):
    """What is known of the touched rows; all of length N."""

    place: Any  # of each row of X: its number among the touched, or -1
    row: Any
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
    """Values of X in touched rows and local features, by feature and by row."""

    row: Any
    value: Any
    feature: Any
    value_by_row: Any


class Limits(NamedTuple):
    """When to stop, and how much to take on at once."""

    tol: Any
    steps: Any
    batch: Any  # features that enter first
    dense: Any  # local features up to which their products are kept


# ---- room -----------------------------------------------------------------------------------


@kernel
def _room_for_entries(entries, needed):
    size = max(2 * entries.row.shape[0], needed)
    row = np.empty(size, np.int32)
    value = np.empty(size, entries.value.dtype)
    for p in range(entries.row.shape[0]):
        row[p], value[p] = entries.row[p], entries.value[p]
    return Entries(row, value, np.empty(size, np.int32), np.empty(size, entries.value.dtype))


@kernel
def _wider(square, size):
    out = np.zeros((size, size))
    for f in range(square.shape[0]):
        for q in range(square.shape[0]):
            out[f, q] = square[f, q]
    return out


@kernel
def _longer(vector, size):
    out = np.zeros(size, vector.dtype)
    for f in range(vector.shape[0]):
        out[f] = vector[f]
    return out


# ---- rows and features join -----------------------------------------------------------------


@kernel
def _touch(i, target, weights, rows, n_rows):
    """Row i of X joins the touched rows, with no local feature yet."""
    rows.place[i] = n_rows
    rows.row[n_rows] = i
    rows.target[n_rows] = target
    rows.weight[n_rows] = weights[i] if weights.shape[0] else 1.0
    rows.score[n_rows] = 0.0
    rows.change[n_rows] = 0.0
    rows.slope[n_rows] = 0.0
    rows.curvature[n_rows] = 0.0


@kernel
def _enter(j, local, matrix, weights, rows, n_rows, features, entries, n_entries):
    """Feature j joins the working set; returns the number of touched rows, and the weight of those
    that are new. O(column j)."""
    features.local[j] = local
    gone = 0.0
    for p in range(matrix.column_indptr[j], matrix.column_indptr[j + 1]):
        i = np.int64(matrix.row_indices[p])
        a = np.int64(rows.place[i])
        if a < 0:
            a = n_rows
            _touch(i, 0.0, weights, rows, a)
            gone += rows.weight[a]
            n_rows += 1
        entries.row[n_entries] = a
        entries.value[n_entries] = matrix.column_data[p]
        n_entries += 1
    return n_rows, gone


@kernel
def _turn(rows, n_rows, entries, ends, size):
    """The entries by row, the features of each in their order. O(entries + touched)."""
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
def _widen_model(rows, n_rows, entries, first_new, model):
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
    """Slopes and fresh curvatures of the negatives among the touched rows. O(touched)."""
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
def _refresh(loss, bias, moved, rows, n_positive, n_rows, entries, dense, model, gradient):
    """Slopes and curvatures at the new scores, which have moved by `change` and the bias by
    `moved`; returns the sums of both.

    If `dense`, `model` follows the curvatures that changed. For the squared hinge `gradient`, which
    holds what the old curvatures foretold, is put right where they did. O(touched + entries² of the
    rows whose curvature changed).
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
        for a in range(n_rows):
            change = rows.fresh[unsigned(a)] - rows.curvature[unsigned(a)]
            if change != 0.0:
                rows.curvature[a] = rows.fresh[a]
                off = rows.change[a] if a < n_positive else change * (rows.score[a] + bias + 1.0)
                begin = rows.end[a - 1] if a else 0
                for e in range(begin, rows.end[a]):
                    f = entries.feature[unsigned(e)]
                    value = entries.value_by_row[unsigned(e)]
                    if hinge:
                        gradient[f] += off * value
                    x = change * value
                    model[f, 0] += x
                    for q in range(begin, e + 1):
                        model[f, entries.feature[unsigned(q)]] += (
                            x * entries.value_by_row[unsigned(q)]
                        )
    else:
        rows.curvature[:n_rows] = rows.fresh[:n_rows]
    return _total(rows.slope, 0, n_rows), _total(rows.curvature, 0, n_rows)


@kernel
def _local_gradient(rows, entries, ends, size, gradient):
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
def _violation(w, gradient, strength, bias, bias_strength, size):
    """The largest distance of the local features from optimality."""
    worst = bias * _off(w[0], gradient[0], bias_strength)
    for f in range(1, size):
        worst = max(worst, _off(w[f], gradient[f], strength))
    return worst


# ---- the quadratic model --------------------------------------------------------------------


@kernel
def _mirror(model, size):
    """The lower triangle of the model into the upper one, in tiles that the cache holds, and the
    diagonal a hair larger. O(size²)."""
    for f in range(size):
        model[f, f] += 1e-10 * (1.0 + model[f, f])
    for top in range(0, size, 16):
        for left in range(0, top + 1, 16):
            for f in range(top, min(top + 16, size)):
                for q in range(left, min(left + 16, f)):
                    model[unsigned(q), unsigned(f)] = model[unsigned(f), unsigned(q)]


@kernel
def _shrunk(u, strength, curvature):
    """Minimiser of ½·curvature·v² - u·v + strength·|v|."""
    if u > strength:
        return (u - strength) / curvature
    if u < -strength:
        return (u + strength) / curvature
    return 0.0


@kernel
def _best_bias(now, h, g, strength, rest):
    """Minimiser in the bias, with `rest` untouched rows that cost max(0, 1 + bias)² each.

    h and g are curvature and slope, at `now`, of everything else.
    """
    u = h * now - g
    if h > 0.0:
        new = _shrunk(u, strength, h)
        if new <= -1.0 or rest <= 0.0:
            return new
    elif rest <= 0.0:
        return now
    elif g - strength >= 0.0:  # nothing holds it below -1
        return min(now, -1.0)
    return max(_shrunk(u - 2.0 * rest, strength, h + 2.0 * rest), -1.0)


@kernel
def _sweep(model, w, gradient, strength, bias_strength, rest, outside, first, size, step, product):
    """One round of coordinate descent; returns the largest slope that it found to remove."""
    largest = 0.0
    for f in range(first, size):
        now = w[f] + step[f]
        h = model[f, f]
        g = gradient[f] + product[f]
        if f == 0:
            new = _best_bias(now, h, g - outside, bias_strength, rest)
        elif now == 0.0 and abs(g) <= strength:
            continue
        else:
            new = _shrunk(h * now - g, strength, h)
        move = new - now
        if move != 0.0:
            step[f] += move
            for q in range(size):
                product[unsigned(q)] += move * model[unsigned(f), unsigned(q)]
            largest = max(largest, abs(move) * h)
    return largest


@kernel
def _solve_positive(A, b, n):
    """Solve A x = b for a positive definite A, both overwritten; b becomes x. O(n³).

    Four rows of the factor at a time, so that the rest of A is read a quarter as often.
    """
    for k in range(0, n, 4):
        last = min(k + 4, n)
        for r in range(k, last):
            for p in range(k, r):
                x = A[p, r]
                for q in range(r, n):
                    A[unsigned(r), unsigned(q)] -= x * A[unsigned(p), unsigned(q)]
            pivot = A[r, r]
            if not pivot > 0.0:
                return False
            root = np.sqrt(pivot)
            for q in range(r, n):
                A[unsigned(r), unsigned(q)] /= root
        for r in range(last, n):
            x0, x1, x2, x3 = A[k, r], A[k + 1, r], A[k + 2, r], A[k + 3, r]
            for q in range(r, n):
                A[unsigned(r), unsigned(q)] -= (
                    x0 * A[unsigned(k), unsigned(q)]
                    + x1 * A[unsigned(k + 1), unsigned(q)]
                    + x2 * A[unsigned(k + 2), unsigned(q)]
                    + x3 * A[unsigned(k + 3), unsigned(q)]
                )
    for k in range(n):
        b[k] /= A[k, k]
        for q in range(k + 1, n):
            b[unsigned(q)] -= b[k] * A[unsigned(k), unsigned(q)]
    for k in range(n - 1, -1, -1):
        x = b[k]
        for q in range(k + 1, n):
            x -= A[k, q] * b[q]
        b[k] = x / A[k, k]
    return True


@kernel
def _polish(model, w, gradient, strength, bias_strength, rest, outside, first, size, step, product):
    """Solve the model for the weights that are not zero as if their signs stayed, and go to the
    lowest point on the way there; weights that arrive at zero stay there, and it begins again. For
    models on which coordinate descent crawls. O(n³) a turn for n such weights."""
    held = np.empty(size, np.int64)
    along, crossing = np.empty(size), np.empty(size)
    for _ in range(50):
        n = 0
        for f in range(first, size):
            if w[f] + step[f] != 0.0:
                held[n] = f
                n += 1
        if n == 0 or n > DIRECT:
            return
        extra = 2.0 * rest if w[0] + step[0] > -1.0 else 0.0  # curvature of the rows outside
        A, shift = np.empty((n, n)), np.empty(n)
        for a in range(n):
            f = held[a]
            now = w[f] + step[f]
            s = bias_strength if f == 0 else strength
            shift[a] = -(gradient[f] + product[f] + (s if now > 0.0 else -s))
            for q in range(n):
                A[a, q] = model[f, held[q]]
            if f == 0:
                shift[a] -= extra * (1.0 + now) - outside
                A[a, a] += extra
        slope = 0.0  # along the way to the solution, at its beginning
        for a in range(n):
            crossing[a] = -shift[a]
        if not _solve_positive(A, shift, n):
            return
        for a in range(n):
            slope += crossing[a] * shift[a]
        if not slope < 0.0:
            return
        curved = -slope  # so that the slope is zero at the solution, were it not for the crossings
        limit = 1.0
        for a in range(n):
            f = held[a]
            now = w[f] + step[f]
            crossing[a] = -now / shift[a] if shift[a] * now < 0.0 else 2.0
            if f == 0 and rest > 0.0 and (1.0 + now) * (1.0 + now + shift[a]) < 0.0:
                limit = -(1.0 + now) / shift[a]
        length = limit
        last = -1
        while True:
            a = -1  # the next crossing
            for q in range(n):
                if crossing[q] < limit and (a < 0 or crossing[q] < crossing[a]):
                    a = q
            if a < 0 or slope + curved * crossing[a] >= 0.0:
                break
            s = bias_strength if held[a] == 0 else strength
            slope += 2.0 * s * abs(shift[a])
            last = a
            length = crossing[a]
            crossing[a] = 2.0
            if slope + curved * length >= 0.0:
                break
        arrived = last >= 0 and slope + curved * length >= 0.0
        if last >= 0 and not arrived:  # the slope vanishes between two crossings
            length = min(limit, -slope / curved)
        along[:] = 0.0
        for a in range(n):
            f = held[a]
            move = length * shift[a]
            if a == last and arrived:
                move = -(w[f] + step[f])
            step[f] += move
            for q in range(size):
                along[unsigned(q)] += move * model[unsigned(f), unsigned(q)]
        for f in range(size):
            product[f] += along[f]
        if last < 0:
            return


@kernel
def _model_value(w, gradient, strength, bias_strength, rest, outside, first, size, step, product):
    """The quadratic model, penalty and rows outside included, at `step`. O(size)."""
    total = 0.0
    if first == 0:
        bias = w[0] + step[0]
        total += bias_strength * abs(bias) - outside * step[0]
        if rest > 0.0:
            total += rest * max(0.0, 1.0 + bias) ** 2
    for f in range(first, size):
        total += (gradient[f] + 0.5 * product[f]) * step[f]
        if f > 0:
            total += strength * abs(w[f] + step[f])
    return total


@kernel
def _extrapolate(steps, products, first, size, step, product):
    """Where the last sweeps are heading: the combination of them that would have changed least by
    one sweep more (Anderson). `step` and `product` come back; false if there is none. O(size)."""
    n = steps.shape[0] - 1
    A, share = np.empty((n, n)), np.ones(n)
    for a in range(n):
        for b in range(a + 1):
            s = 0.0
            for f in range(first, size):
                s += (steps[a + 1, f] - steps[a, f]) * (steps[b + 1, f] - steps[b, f])
            A[a, b] = A[b, a] = s
    small = 0.0
    for a in range(n):
        small += A[a, a]
    for a in range(n):
        A[a, a] += 1e-9 * small
    if not _solve_positive(A, share, n):
        return False
    total = share.sum()
    if not abs(total) > 0.0:
        return False
    step[:size] = 0.0
    product[:size] = 0.0
    for a in range(n):
        c = share[a] / total
        for f in range(size):
            step[f] += c * steps[a + 1, f]
            product[f] += c * products[a + 1, f]
    return True


@kernel
def _descend(model, w, gradient, strength, bias_strength, rest, first, size, enough, step, product):
    """Minimise the quadratic model; `step` and `product` = model·step come back.

    `rest` is the weight of the rows outside that are no part of the model: their squared hinge is
    minimised as it is. Cost a sweep: O(size) for each weight that moves.
    """
    step[:size] = 0.0
    product[:size] = 0.0
    outside = 2.0 * rest * max(0.0, 1.0 + w[0])
    steps, products = np.empty((MEMORY + 1, size)), np.empty((MEMORY + 1, size))
    known = 0
    for sweep in range(1, 4 * CRAWL):
        largest = _sweep(
            model, w, gradient, strength, bias_strength, rest, outside, first, size, step, product
        )
        if largest <= enough:
            return
        steps[known, :], products[known, :] = step[:size], product[:size]
        known += 1
        if known > MEMORY:
            known = 0
            value = _model_value(
                w, gradient, strength, bias_strength, rest, outside, first, size, step, product
            )
            further = _extrapolate(steps, products, first, size, step, product)
            if (
                not further
                or not _model_value(
                    w, gradient, strength, bias_strength, rest, outside, first, size, step, product
                )
                < value
            ):
                step[:size], product[:size] = steps[MEMORY, :], products[MEMORY, :]
        if sweep % CRAWL == 0:
            _polish(
                model, w, gradient, strength, bias_strength, rest, outside, first, size, step,
                product,
            )  # fmt: skip
            known = 0


@kernel
def _descend_columns(
    rows, entries, ends, curved, w, gradient, strength, bias_strength, rest, first, size, enough,
    step,
):  # fmt: skip
    """The same without products kept: a coordinate costs its column. `rows.change` comes back."""
    step[:size] = 0.0
    n_rows = 0
    for p in range(ends[size - 1]):
        n_rows = max(n_rows, entries.row[p] + 1)
    rows.change[:n_rows] = 0.0
    outside = 2.0 * rest * max(0.0, 1.0 + w[0])
    bent = 0.0  # Σ curvature · change
    for _ in range(100):
        largest = 0.0
        for f in range(first, size):
            now = w[f] + step[f]
            if f == 0:
                h = curved
                g = gradient[0] + bent + curved * step[0] - outside
                new = _best_bias(now, h, g, bias_strength, rest)
            else:
                h = g = 0.0
                for p in range(ends[f - 1], ends[f]):
                    a = entries.row[unsigned(p)]
                    x = rows.curvature[a] * entries.value[unsigned(p)]
                    h += x * entries.value[unsigned(p)]
                    g += x * (rows.change[a] + step[0])
                g += gradient[f]
                h += 1e-10 * (1.0 + h)
                if now == 0.0 and abs(g) <= strength:
                    continue
                new = _shrunk(h * now - g, strength, h)
            move = new - now
            if move != 0.0:
                step[f] += move
                if f > 0:
                    for p in range(ends[f - 1], ends[f]):
                        a = entries.row[unsigned(p)]
                        rows.change[a] += move * entries.value[unsigned(p)]
                        bent += move * rows.curvature[a] * entries.value[unsigned(p)]
                largest = max(largest, abs(move) * h)
        if largest <= enough:
            break


# ---- along a step ---------------------------------------------------------------------------


@kernel
def _changes(rows, n_rows, entries, ends, size, step):
    """Scores along the step, without the bias. O(entries of the weights that move)."""
    rows.change[:n_rows] = 0.0
    for f in range(1, size):
        s = step[f]
        if s != 0.0:
            for p in range(ends[f - 1], ends[f]):
                rows.change[entries.row[unsigned(p)]] += s * entries.value[unsigned(p)]


@kernel
def _loss_along(loss, bias, length, rows, n_positive, n_rows):
    """Loss of the touched rows after `length` of the change. O(touched)."""
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
def _value(loss, length, rows, n_positive, n_rows, rest, w, step, strength, bias_strength, size):
    """Objective at w + length·step. O(touched + size)."""
    bias = w[0] + length * step[0]
    total = _loss_along(loss, bias, length, rows, n_positive, n_rows)
    if rest > 0.0:
        total += rest * point_loss(loss, 0.0, bias)
    norm = 0.0
    for f in range(1, size):
        norm += abs(w[f] + length * step[f])
    return total + strength * norm + bias_strength * abs(bias)


# ---- who violates ---------------------------------------------------------------------------


@kernel
def _exact(j, matrix, rows, outside):
    """Gradient of the loss in feature j; rows not touched have the slope `outside`. O(column)."""
    g = outside * matrix.total[j]
    for p in range(matrix.column_indptr[j], matrix.column_indptr[j + 1]):
        a = rows.place[matrix.row_indices[unsigned(p)]]
        if a >= 0:
            g += (rows.slope[a] - outside * rows.weight[a]) * matrix.column_data[unsigned(p)]
    return g


@kernel
def _look(loss, matrix, rows, n_rows, features, outside, strength, wanted):
    """Features outside the working set that violate; the first `wanted` promise most. Exact.

    For the squared hinge the touched rows with a slope are added up, which leaves each gradient in
    doubt by what the rows not touched may bring; where that matters the column is read. The
    logistic loss gives every row a slope, so there all touched rows are added up, above what they
    would have if they were not touched. Returns their number and the largest violation. O(D + nnz
    of the rows added up).
    """
    gradient = features.gradient
    base = 0.0 if loss == SQUARED_HINGE else outside
    gradient[:] = 0.0
    for a in range(n_rows):
        excess = rows.slope[a] - base * rows.weight[a]
        if excess != 0.0:
            i = rows.row[a]
            for p in range(matrix.indptr[i], matrix.indptr[i + 1]):
                gradient[matrix.indices[unsigned(p)]] += excess * matrix.data[unsigned(p)]
    doubt = outside - base
    n = 0
    worst = 0.0
    for j in range(gradient.shape[0]):
        g = gradient[unsigned(j)] + base * matrix.total[unsigned(j)]
        if abs(g) + doubt * matrix.absolute[unsigned(j)] <= strength:
            continue
        if features.local[j] >= 0:
            continue
        if doubt > 0.0:
            g = _exact(j, matrix, rows, outside)
        v = abs(g) - strength
        if v > 0.0:
            worst = max(worst, v)
            features.candidate[n] = j
            features.promise[n] = v * v / (matrix.square[j] + 0.5)
            n += 1
    for place in range(min(n, wanted)):
        best = place
        for q in range(place + 1, n):
            if features.promise[unsigned(q)] > features.promise[unsigned(best)]:
                best = q
        j, v = features.candidate[place], features.promise[place]
        features.candidate[place] = features.candidate[best]
        features.promise[place] = features.promise[best]
        features.candidate[best], features.promise[best] = j, v
    return n, worst


# ---- the solver -----------------------------------------------------------------------------


@kernel
def solve_problem(
    matrix, weights, positives, targets, start_features, start_weights, bias, bias_strength, loss,
    strength, limits, rows, features, entries, stop, late,
):  # fmt: skip
    """Solve one problem.

    The bias counts as the score that it brings, and `start_weights` begins with it; `bias` is the
    value of its feature, zero for none, and `bias_strength` the strength of its penalty in these
    terms. stop[0] ends all work, late[0] that on this problem. Returns the members of the working
    set (from 1 on) and their weights (the bias first), objective, violation, Newton steps, status,
    and the entries, which may have been given more room.
    """
    hinge = loss == SQUARED_HINGE
    first = 0 if bias > 0.0 else 1
    rest = float(rows.place.shape[0]) if not weights.shape[0] else weights.sum()
    n_positive = positives.shape[0]
    for a in range(n_positive):
        _touch(positives[a], targets[a], weights, rows, a)
        rest -= rows.weight[a]
    n_rows = n_positive
    room = 64
    model = np.zeros((room, room))
    w, gradient, step, product = np.zeros(room), np.zeros(room), np.zeros(room), np.zeros(room)
    ends, members = np.zeros(room, np.int64), np.zeros(room, np.int64)
    size = np.int64(1)  # local features with the bias; a plain 1 would compile everything twice
    w[0] = start_weights[0]
    entering = start_features.shape[0]
    features.candidate[:entering] = start_features
    starting = True
    dense = True
    accuracy = np.inf  # to which the working set is to be solved
    idle = 0  # rounds that brought nothing
    value = violation = np.inf
    steps = 0
    status = OUT_OF_STEPS
    while True:
        # ---- the features chosen enter
        if size + entering > room:
            while size + entering > room:
                room *= 2
            dense = dense and room <= limits.dense
            model = _wider(model, room) if dense else np.zeros((1, 1))
            w, gradient = _longer(w, room), _longer(gradient, room)
            step, product = _longer(step, room), _longer(product, room)
            ends, members = _longer(ends, room), _longer(members, room)
        first_new = size
        for q in range(entering):
            j = features.candidate[q]
            needed = ends[size - 1] + matrix.column_indptr[j + 1] - matrix.column_indptr[j]
            if needed > entries.row.shape[0]:
                entries = _room_for_entries(entries, needed)
            n_rows, gone = _enter(
                j, size, matrix, weights, rows, n_rows, features, entries, ends[size - 1]
            )
            rest = max(rest - gone, 0.0) if n_rows < rows.place.shape[0] else 0.0
            w[size] = start_weights[q + 1] if starting else 0.0
            members[size] = j
            ends[size] = needed
            size += 1
        if dense and (entering > 0 or starting):
            _turn(rows, n_rows, entries, ends, size)
            _widen_model(rows, n_rows, entries, first_new, model)
        if starting:
            _changes(rows, n_rows, entries, ends, size, w)
            rows.score[:n_rows] = rows.change[:n_rows]
        # ---- Newton steps on the working set
        before = value
        along, curved = _refresh(
            loss, w[0], 0.0, rows, n_positive, n_rows, entries, dense, model, gradient
        )
        _local_gradient(rows, entries, ends, size, gradient)
        if starting:
            step[:size] = 0.0
            value = _value(
                loss, 0.0, rows, n_positive, n_rows, rest, w, step, strength, bias_strength, size
            )
            starting = False
        for tried in range(11):
            outside = point_slope(loss, 0.0, w[0]) if rest > 0.0 else 0.0
            gradient[0] = along + rest * outside
            violation = _violation(w, gradient, strength, bias, bias_strength, size)
            if violation <= accuracy or tried == 10 or steps >= limits.steps or stop[0] or late[0]:
                break
            steps += 1
            bent = 0.0 if hinge or rest <= 0.0 else rest * point_curvature(loss, 0.0, w[0])
            alone = rest if hinge else 0.0
            if dense:
                model[0, 0] = curved + bent
                _mirror(model, size)
                _descend(
                    model, w, gradient, strength, bias_strength, alone, first, size,
                    0.05 * violation, step, product,
                )  # fmt: skip
                _changes(rows, n_rows, entries, ends, size, step)
            else:
                _descend_columns(
                    rows, entries, ends, curved + bent, w, gradient, strength, bias_strength,
                    alone, first, size, 0.05 * violation, step,
                )  # fmt: skip
            slope = 0.0
            for f in range(first, size):
                s = bias_strength if f == 0 else strength
                slope += gradient[f] * step[f] + s * (abs(w[f] + step[f]) - abs(w[f]))
            length = 1.0
            trial = np.inf
            for _ in range(40):
                trial = _value(
                    loss, length, rows, n_positive, n_rows, rest, w, step, strength, bias_strength,
                    size,
                )  # fmt: skip
                if trial <= value + 0.01 * length * slope + ROUNDING * abs(value):
                    break
                length *= 0.5
            if not trial <= value + ROUNDING * abs(value):
                break
            value = trial
            for f in range(first, size):
                step[f] *= length
                w[f] += step[f]
                gradient[f] += length * product[f]
            for a in range(n_rows):
                rows.change[unsigned(a)] *= length
                rows.score[unsigned(a)] += rows.change[unsigned(a)]
            along, curved = _refresh(
                loss, w[0], step[0], rows, n_positive, n_rows, entries, dense, model, gradient
            )
            if not (hinge and dense):
                _local_gradient(rows, entries, ends, size, gradient)
        # ---- who else violates
        outside = point_slope(loss, 0.0, w[0]) if rest > 0.0 else 0.0
        wanted = max(limits.batch, size // 2)
        n, worst = _look(loss, matrix, rows, n_rows, features, outside, strength, wanted)
        base = 0.0 if hinge else outside
        for f in range(1, size):
            gradient[f] = features.gradient[members[f]] + base * matrix.total[members[f]]
        violation = _violation(w, gradient, strength, bias, bias_strength, size)
        everything = max(worst, violation)
        if everything <= limits.tol * strength:
            status = SOLVED
        elif stop[0]:
            status = STOPPED
        elif late[0]:
            status = OUT_OF_TIME
        elif steps < limits.steps:
            if worst <= limits.tol * strength:
                n = 0
            idle = 0 if n > 0 or value < before - ROUNDING * abs(before) else idle + 1
            if idle < 5:
                entering = min(n, wanted)
                accuracy = max(0.1 * worst if n > 0 else 0.0, 0.5 * limits.tol * strength)
                continue
            status = STUCK
        violation = everything
        break
    for a in range(n_rows):
        rows.place[rows.row[a]] = -1
    for f in range(1, size):
        features.local[members[f]] = -1
    return members[:size], w[:size], value, violation, steps, status, entries
