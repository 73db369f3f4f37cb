"""Kernels that minimise a quadratic model with an l1 penalty: the Newton step of the l1 solver.

The model is that of one problem in the local features of `_touched_kernels`, the bias first. It is
minimised by coordinate descent, sped up where sweeps head one way and solved directly where they
crawl.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned

MEMORY = 5  # sweeps from which the next ones are predicted
CRAWL = 150  # sweeps after which a model is solved directly
DIRECT = 600  # weights up to which a model is solved as a linear system
TINY = 1e-10  # added to the diagonal of the model, relatively
LAZY = 0.1  # moves that remove less than this part of what may be left are not made


@kernel
def mirror(model, size):
    """The lower triangle of the model into the upper one, in tiles that the cache holds.
    O(size²)."""
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
def _sweep(
    model, w, gradient, strength, bias_strength, rest, outside, first, size, least, step, product
):
    """One round of coordinate descent, without moves that would remove no more than `least` of a
    slope, unless they turn a sign or end at zero; returns the largest slope that it removed.
    O(size) per move."""
    largest = 0.0
    for f in range(first, size):
        now = w[f] + step[f]
        h = model[f, f] + TINY * (1.0 + model[f, f])
        g = gradient[f] + product[f]
        if f == 0:
            new = _best_bias(now, h, g - outside, bias_strength, rest)
        elif now == 0.0 and abs(g) <= strength:
            continue
        else:
            new = _shrunk(h * now - g, strength, h)
        move = new - now
        turns = now * new <= 0.0 and now != 0.0  # else a tiny weight may keep the wrong sign
        if move != 0.0 and (f == 0 or turns or abs(move) * h > least):
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
    models on which coordinate descent crawls. O(n³) per turn for n such weights."""
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
            A[a, a] += TINY * (1.0 + A[a, a])
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
def descend(model, w, gradient, strength, bias_strength, rest, first, size, enough, step, product):
    """Minimise the quadratic model; `step` and `product` = model·step come back.

    `rest` is the weight of the rows outside that are no part of the model: their squared hinge is
    minimised as it is. Cost per sweep: O(size) for each weight that moves.
    """
    step[:size] = 0.0
    product[:size] = 0.0
    outside = 2.0 * rest * max(0.0, 1.0 + w[0])
    steps, products = np.empty((MEMORY + 1, size)), np.empty((MEMORY + 1, size))
    known = 0
    for sweep in range(1, 4 * CRAWL):
        largest = _sweep(
            model, w, gradient, strength, bias_strength, rest, outside, first, size, LAZY * enough,
            step, product,
        )  # fmt: skip
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
def descend_columns(
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
