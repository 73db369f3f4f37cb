"""Kernels of the l1 solver: Newton steps on a working set of features, and which join it.

For the words used here see `_touched_kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from longtail._numba import kernel, unsigned
from longtail.solvers.linear._loss_kernels import SQUARED_HINGE, point_curvature, point_slope
from longtail.solvers.linear._quadratic_kernels import descend, descend_columns, mirror
from longtail.solvers.linear._touched_kernels import (
    UNTOUCHED,
    changes_along,
    enter,
    gather,
    local_gradient,
    local_violation,
    longer,
    nth_largest,
    objective_along,
    refresh,
    sleep,
    turn,
    wake,
    wake_violators,
    widen_model,
    wider,
)

SOLVED, OUT_OF_STEPS, OUT_OF_TIME, STUCK, STOPPED = 0, 1, 2, 3, 4
CHEAP = 100  # values of a column that make no feature dear
WAKE = 128  # rows that may wake at once, or as many as are awake
SPARSE = 1  # stored values that cost as much as a look at a feature
ROUNDING = 1e-14  # by which sums over points may be off, relatively


class Limits(NamedTuple):
    """When to stop, and how much to take on at once."""

    tol: Any
    steps: Any
    batch: Any  # features that enter first
    dense: Any  # local features up to which their products are kept


# ---- who violates ---------------------------------------------------------------------------


@kernel
def _exact(j, matrix, weights, rows, outside):
    """Gradient of the loss in feature j; rows not touched have the slope `outside`. O(column)."""
    g = outside * matrix.total[j]
    for p in range(matrix.column_indptr[j], matrix.column_indptr[j + 1]):
        i = matrix.row_indices[unsigned(p)]
        a = rows.place[i]
        if a >= 0:
            g += (rows.slope[a] - outside * rows.weight[a]) * matrix.column_data[unsigned(p)]
        elif a < UNTOUCHED:
            weight = weights[i] if weights.shape[0] else 1.0
            g -= outside * weight * matrix.column_data[unsigned(p)]
    return g


@kernel
def _add_up(base, matrix, rows, n_rows, features):
    """Gradients over the rows awake, of slopes above `base`; returns how many features these rows
    have, listed as candidates, or -1 where they have so many that a look at all D is cheaper. All
    gradients are zero before. O(nnz of the rows with such a slope)."""
    gradient, seen = features.gradient, features.candidate
    n_features = gradient.shape[0]
    stored = 0
    for a in range(n_rows):
        if rows.slope[a] != base * rows.weight[a]:
            i = rows.row[a]
            stored += matrix.indptr[i + 1] - matrix.indptr[i]
    listed = SPARSE * stored < n_features
    n = 0
    for a in range(n_rows):
        excess = rows.slope[a] - base * rows.weight[a]
        if excess == 0.0:
            continue
        i = rows.row[a]
        if listed:
            for p in range(matrix.indptr[i], matrix.indptr[i + 1]):
                j = unsigned(matrix.indices[unsigned(p)])
                g = gradient[j]
                seen[unsigned(n)] = np.int64(j)
                n += g == 0.0  # a sum that comes back to zero is listed twice
                gradient[j] = g + excess * matrix.data[unsigned(p)]
        else:
            for p in range(matrix.indptr[i], matrix.indptr[i + 1]):
                j = unsigned(matrix.indices[unsigned(p)])
                gradient[j] += excess * matrix.data[unsigned(p)]
    return n if listed else -1


@kernel
def _base(loss, rows, n_rows, outside):
    """A slope that is taken off all rows, so that few are left to add up: that of the rows not
    touched where most rows awake have it too, as with a bias above -1 those have whose features
    have no weight yet."""
    if loss != SQUARED_HINGE:
        return outside
    with_slope = with_another = 0
    for a in range(n_rows):
        with_slope += rows.slope[a] != 0.0
        with_another += rows.slope[a] != outside * rows.weight[a]
    return outside if with_another < with_slope else 0.0


@kernel
def _complete(base, columns, matrix, weights, rows, outside, sums):
    """Add the rows that are not awake, so that the gradients are exact above `base`; true if done.
    False, and nothing done, where that costs more than to read so many values of columns."""
    place = rows.place
    stored = place.shape[0]
    for i in range(place.shape[0]):
        if place[i] < 0 and (place[i] == UNTOUCHED) != (base > 0.0):
            stored += matrix.indptr[i + 1] - matrix.indptr[i]
    if stored >= columns:
        return False
    for i in range(place.shape[0]):
        if place[i] < 0 and (place[i] == UNTOUCHED) != (base > 0.0):
            slope = (weights[i] if weights.shape[0] else 1.0) * outside
            excess = -slope if base > 0.0 else slope
            for p in range(matrix.indptr[i], matrix.indptr[i + 1]):
                sums[unsigned(matrix.indices[unsigned(p)])] += excess * matrix.data[unsigned(p)]
    return True


@kernel
def _look(
    loss, matrix, weights, rows, n_rows, features, outside, untouched, asleep, strength, enough,
    wanted,
):  # fmt: skip
    """Features outside the working set that violate; the first `wanted` promise most.

    The rows awake are added up, which leaves each gradient in doubt by what the rows not touched
    may bring, or those asleep do not, of which there are these shares. Where none violates by more
    than `enough` without a doubt, their rows or the columns in doubt are read. Returns the number
    of violators and the largest violation. O(D + nnz of the rows added up).
    """
    sums, found = features.gradient, features.candidate
    base = _base(loss, rows, n_rows, outside)
    doubt = outside if loss == SQUARED_HINGE else 0.0
    expected = base - asleep * outside if base > 0.0 else untouched * outside
    n_seen = _add_up(base, matrix, rows, n_rows, features)
    everything = n_seen < 0 or loss != SQUARED_HINGE or outside * matrix.largest > strength
    n = 0
    worst = 0.0
    columns = 0  # stored values of those in doubt
    for place in range(sums.shape[0] if everything else n_seen):
        j = place if everything else found[place]
        if features.local[unsigned(j)] >= 0:
            continue
        v = abs(sums[unsigned(j)] + expected * matrix.total[unsigned(j)]) - strength
        if v + doubt * matrix.absolute[unsigned(j)] > 0.0:
            found[n] = j
            features.promise[n] = v
            worst = max(worst, v)
            columns += matrix.column_indptr[j + 1] - matrix.column_indptr[j]
            n += 1
    certain = doubt <= 0.0 or worst > enough
    completed = False
    if not certain:
        completed = _complete(base, columns, matrix, weights, rows, outside, sums)
    worst = 0.0
    kept = 0
    for q in range(n):
        j, v = found[q], features.promise[q]
        if completed:
            v = abs(sums[unsigned(j)] + base * matrix.total[unsigned(j)]) - strength
        elif not certain:
            v = abs(_exact(j, matrix, weights, rows, outside)) - strength
        if v > 0.0:
            worst = max(worst, v)
            found[kept] = j
            length = matrix.column_indptr[j + 1] - matrix.column_indptr[j]
            features.promise[kept] = v * v / (matrix.square[j] + 0.5) / (CHEAP + length)
            kept += 1
    sums[:] = 0.0
    if kept > wanted:
        _best_first(found, features.promise, kept, wanted)
    return kept, worst


@kernel
def _best_first(found, promise, n, wanted):
    """The `wanted` candidates that promise most come first, in the order in which they stood."""
    least = nth_largest(promise[:n].copy(), wanted)
    ties = wanted
    for q in range(n):
        if promise[q] > least:
            ties -= 1
    kept = 0
    for q in range(n):
        tie = promise[q] == least and ties > 0
        if promise[q] > least or tie:
            ties -= tie
            found[kept] = found[q]
            kept += 1


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
    all_weight = rest
    n_positive = positives.shape[0]
    for a in range(n_positive):
        wake(positives[a], targets[a], 0.0, weights, rows, a)
        rows.touched[a] = positives[a]
        rest -= rows.weight[a]
    n_rows = n_touched = n_positive
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
    whole = False
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
            model = wider(model, room) if dense else np.zeros((1, 1))
            w, gradient = longer(w, room), longer(gradient, room)
            step, product = longer(step, room), longer(product, room)
            ends, members = longer(ends, room), longer(members, room)
        first_new = size
        touched_before = n_touched
        for q in range(entering):
            j = features.candidate[q]
            n_touched, gone = enter(j, size, matrix, weights, rows, n_touched, features)
            rest = max(rest - gone, 0.0) if n_touched < rows.place.shape[0] else 0.0
            w[size] = start_weights[q + 1] if starting else 0.0
            members[size] = j
            size += 1
        if not hinge or w[0] > -1.0:  # they have a slope
            for t in range(touched_before, n_touched):
                wake(np.int64(rows.touched[t]), 0.0, 0.0, weights, rows, n_rows)
                n_rows += 1
        if starting:
            if hinge:
                n_rows = wake_violators(
                    matrix, members, w, size, weights, rows, n_touched, n_rows, n_touched
                )
            entries = gather(matrix, members, 1, size, rows, entries, ends)
            changes_along(rows, n_rows, entries, ends, size, w)
            rows.score[:n_rows] = rows.change[:n_rows]
            starting = False
        else:
            entries = gather(matrix, members, 1, size, rows, entries, ends)
        if dense:
            turn(rows, n_rows, entries, ends, size)
            widen_model(rows, n_rows, entries, first_new, model)
            whole = False  # only its lower triangle is kept up
        before = value
        woken = 0
        while True:
            # ---- Newton steps on the working set
            along, curved, whole = refresh(
                loss, w[0], 0.0, rows, n_positive, n_rows, entries, dense, size, whole, model,
                gradient,
            )  # fmt: skip
            local_gradient(rows, entries, ends, size, gradient)
            step[:size] = 0.0
            value = objective_along(
                loss, 0.0, rows, n_positive, n_rows, rest, w, step, strength, bias_strength, size
            )
            for tried in range(11):
                outside = point_slope(loss, 0.0, w[0]) if rest > 0.0 else 0.0
                gradient[0] = along + rest * outside
                violation = local_violation(w, gradient, strength, bias, bias_strength, size)
                if (
                    violation <= accuracy
                    or tried == 10
                    or steps >= limits.steps
                    or stop[0]
                    or late[0]
                ):
                    break
                steps += 1
                bent = 0.0 if hinge or rest <= 0.0 else rest * point_curvature(loss, 0.0, w[0])
                alone = rest if hinge else 0.0
                if dense:
                    model[0, 0] = curved + bent
                    if not whole:
                        mirror(model, size)
                        whole = True
                    descend(
                        model, w, gradient, strength, bias_strength, alone, first, size,
                        0.05 * violation, step, product,
                    )  # fmt: skip
                    changes_along(rows, n_rows, entries, ends, size, step)
                else:
                    descend_columns(
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
                    trial = objective_along(
                        loss, length, rows, n_positive, n_rows, rest, w, step, strength,
                        bias_strength, size,
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
                along, curved, whole = refresh(
                    loss, w[0], step[0], rows, n_positive, n_rows, entries, dense, size, whole,
                    model, gradient,
                )  # fmt: skip
                if not (hinge and dense):
                    local_gradient(rows, entries, ends, size, gradient)
            if not hinge:
                break
            now = wake_violators(
                matrix, members, w, size, weights, rows, n_touched, n_rows, max(n_rows, WAKE)
            )
            if now == n_rows:
                break
            woken += now - n_rows
            n_rows = now
            entries = gather(matrix, members, 1, size, rows, entries, ends)
            if dense:
                turn(rows, n_rows, entries, ends, size)
        # ---- who else violates
        outside = point_slope(loss, 0.0, w[0]) if rest > 0.0 else 0.0
        wanted = max(limits.batch, size)
        n, worst = _look(
            loss, matrix, weights, rows, n_rows, features, outside, rest / all_weight,
            (n_touched - n_rows) / rows.place.shape[0], strength, limits.tol * strength, wanted,
        )  # fmt: skip
        local_gradient(rows, entries, ends, size, gradient)
        violation = local_violation(w, gradient, strength, bias, bias_strength, size)
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
            idle = 0 if n + woken > 0 or value < before - ROUNDING * abs(before) else idle + 1
            if idle < 5:
                entering = min(n, wanted)
                if hinge:
                    n_rows = sleep(rows, n_positive, n_rows)
                accuracy = max(0.3 * worst if n > 0 else 0.0, 0.5 * limits.tol * strength)
                continue
            status = STUCK
        violation = everything
        break
    for t in range(n_touched):
        rows.place[rows.touched[t]] = UNTOUCHED
    for f in range(1, size):
        features.local[members[f]] = -1
    return members[:size], w[:size], value, violation, steps, status, entries
