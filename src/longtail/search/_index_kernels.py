"""Kernels of prediction: for each feature of a point, the labels that use it.

`total` holds a score for every label and, between rows, its score where no feature speaks: the
bias. `unmet` is one for every label between rows. A row changes both only where its features meet
labels, and puts back what it changed, so that nothing of length L is done for a row of few
weights. A row of many weights is cheaper done over all labels, in order.
"""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned
from longtail._sparse import replace_worst
from longtail.labels.ranking import rank_bound, rank_value

FEW = 4  # a row is done label by label if it meets fewer than L / FEW weights
SPAN = unsigned(64)  # labels that are looked at together
SORT = 32  # of L / SORT labels on, looking at all in order is cheaper than sorting
SHORT = 16  # lists up to here are sorted by insertion


@kernel
def _weights_met(indices, first, last, w_indptr):
    """How many weights a row meets. O(its features)."""
    count = 0
    for p in range(unsigned(first), unsigned(last)):
        j = unsigned(indices[p])
        count += w_indptr[j + unsigned(1)] - w_indptr[j]
    return count


@kernel
def _add(indices, data, first, last, w_indptr, w_indices, w_data, total):
    """Add the scores of a row to `total`. O(weights met)."""
    for p in range(unsigned(first), unsigned(last)):
        j = unsigned(indices[p])
        x = np.float64(data[p])
        for q in range(unsigned(w_indptr[j]), unsigned(w_indptr[j + unsigned(1)])):
            total[unsigned(w_indices[q])] += x * w_data[q]


@kernel
def _add_and_list(indices, data, first, last, w_indptr, w_indices, w_data, total, unmet, met):
    """The same, and list the labels met; returns their number.

    A label is written to the list each time, but the list grows by new ones only, which spares a
    branch that no processor could foresee.
    """
    size = unsigned(0)
    for p in range(unsigned(first), unsigned(last)):
        j = unsigned(indices[p])
        x = np.float64(data[p])
        for q in range(unsigned(w_indptr[j]), unsigned(w_indptr[j + unsigned(1)])):
            label = unsigned(w_indices[q])
            total[label] += x * w_data[q]
            met[size] = w_indices[q]
            size += unsigned(unmet[label])
            unmet[label] = 0
    return size


@kernel
def _put_back(biases, total, unmet, met, size):
    for t in range(size):
        label = unsigned(met[t])
        total[label] = biases[label]
        unmet[label] = 1


@kernel
def _sort_by_label(labels, values):
    """Sort entries by label, in place. O(k log k)."""
    size = labels.shape[0]
    if size <= SHORT:
        for t in range(1, size):
            label, value = labels[t], values[t]
            q = t
            while q > 0 and labels[q - 1] > label:
                labels[q], values[q] = labels[q - 1], values[q - 1]
                q -= 1
            labels[q], values[q] = label, value
        return
    root, end = size // 2, size
    while end > 1:
        if root > 0:
            root -= 1
        else:
            end -= 1
            labels[0], labels[end] = labels[end], labels[0]
            values[0], values[end] = values[end], values[0]
        q = root
        label, value = labels[q], values[q]
        while 2 * q + 1 < end:
            c = 2 * q + 1
            if c + 1 < end and labels[c + 1] > labels[c]:
                c += 1
            if labels[c] <= label:
                break
            labels[q], values[q] = labels[c], values[c]
            q = c
        labels[q], values[q] = label, value


@kernel
def _best_of_met(
    total, met, size, order, rest, unmet, ranked, scale, shift, offsets, labels, values
):
    """The best of the labels met, and of the others in the order that holds for these."""
    for t in range(size):
        label = met[t]
        value = total[unsigned(label)]
        if ranked:
            offset = offsets[unsigned(label)]
            if rank_bound(value, scale, shift, offset) < values[0]:
                continue
            value = rank_value(value, scale, shift, offset)
        if value > values[0] or (value == values[0] and label < labels[0]):
            replace_worst(labels, values, label, value)
    for t in range(order.shape[0]):
        label = order[t]
        value = rest[label]
        if value < values[0] or (value == values[0] and label > labels[0]):
            break
        if unmet[label] and not np.isnan(value):
            replace_worst(labels, values, label, value)


@kernel
def _best_of_all(total, ranked, scale, shift, offsets, labels, values):
    """The best of all labels. They come in order, so of equals the first stays."""
    n_labels = unsigned(total.shape[0])
    first = unsigned(0)
    while first < n_labels:
        last = min(first + SPAN, n_labels)
        worst = values[0]
        promising = 0
        if ranked:
            for label in range(first, last):
                promising += rank_bound(total[label], scale, shift, offsets[label]) > worst
        else:
            for label in range(first, last):
                promising += total[label] > worst
        if promising > 0:
            for label in range(first, last):
                value = total[label]
                if ranked:
                    if not rank_bound(value, scale, shift, offsets[label]) > values[0]:
                        continue
                    value = rank_value(value, scale, shift, offsets[label])
                if value > values[0]:
                    replace_worst(labels, values, np.int32(label), value)
        first = last


@kernel
def _fill(total, labels, values):
    """Give the places that are still free to labels whose value overflowed to -∞ or NaN."""
    label = np.int32(0)
    for t in range(labels.shape[0]):
        if labels[t] < 0:
            while (labels == label).any():
                label += np.int32(1)
            labels[t] = label
            if np.isnan(total[label]):
                values[t] = np.nan


@kernel
def _all(total, ranked, scale, shift, offsets, labels, values):
    """Every label with its value."""
    for label in range(total.shape[0]):
        labels[label] = label
        values[label] = total[label]
        if ranked:
            values[label] = rank_value(total[label], scale, shift, offsets[label])


@kernel
def topk_rows(
    indptr, indices, data, start, stop, w_indptr, w_indices, w_data, biases, order, rest,
    ranked, scale, shift, offsets, total, unmet, met, labels, values,
):  # fmt: skip
    """The k best labels of rows start..stop, in label order; ties go to the smaller label.

    `order` holds all labels by `rest`, their values where no feature speaks, the best first.
    O(weights met + k log k) per row, plus a little for each label that enters the list of the best.
    """
    n_labels = biases.shape[0]
    k = labels.shape[1]
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        best_labels, best_values = labels[i], values[i]
        if k == n_labels:
            _add(indices, data, first, last, w_indptr, w_indices, w_data, total)
            _all(total, ranked, scale, shift, offsets, best_labels, best_values)
            total[:] = biases
            continue
        best_labels[:] = -1
        best_values[:] = -np.inf
        if FEW * _weights_met(indices, first, last, w_indptr) < n_labels:
            size = _add_and_list(
                indices, data, first, last, w_indptr, w_indices, w_data, total, unmet, met
            )
            _best_of_met(
                total, met, size, order, rest, unmet, ranked, scale, shift, offsets, best_labels,
                best_values,
            )  # fmt: skip
            if best_labels[0] < 0:
                _fill(total, best_labels, best_values)
            _put_back(biases, total, unmet, met, size)
        else:
            _add(indices, data, first, last, w_indptr, w_indices, w_data, total)
            _best_of_all(total, ranked, scale, shift, offsets, best_labels, best_values)
            if best_labels[0] < 0:
                _fill(total, best_labels, best_values)
            total[:] = biases
        _sort_by_label(best_labels, best_values)


@kernel
def _count_above(total, threshold):
    count = 0
    for label in range(total.shape[0]):
        count += total[label] >= threshold
    return count


@kernel
def _list_above(total, threshold, out_labels, out_values):
    n_labels = unsigned(total.shape[0])
    size = 0
    first = unsigned(0)
    while first < n_labels:
        last = min(first + SPAN, n_labels)
        promising = 0
        for label in range(first, last):
            promising += total[label] >= threshold
        if promising > 0:
            for label in range(first, last):
                if total[label] >= threshold:
                    out_labels[size] = label
                    out_values[size] = total[label]
                    size += 1
        first = last


@kernel
def above_rows(
    indptr, indices, data, first_row, start, stop, w_indptr, w_indices, w_data, biases, always,
    threshold, total, unmet, met, out_ends, out_labels, out_values,
):  # fmt: skip
    """All labels that score at least `threshold`, for rows start..stop, in label order.

    `always` lists the labels that do so where no feature speaks. The ends of the rows' labels are
    counted from row `first_row`. Stops early when the output is full; returns the first row not
    done. O(weights met + labels found, sorted) per row.
    """
    n_labels = biases.shape[0]
    size = out_ends[start - first_row]
    for i in range(start, stop):
        first, last = indptr[i], indptr[i + 1]
        few = FEW * _weights_met(indices, first, last, w_indptr) < n_labels
        n_met = unsigned(0)
        found = 0
        if few and SORT * always.shape[0] < n_labels:
            n_met = _add_and_list(
                indices, data, first, last, w_indptr, w_indices, w_data, total, unmet, met
            )
            for t in range(n_met):
                found += total[unsigned(met[t])] >= threshold
            for t in range(always.shape[0]):
                found += unmet[always[t]]
            in_order = SORT * found >= n_labels
        else:
            few = False
            in_order = True
            _add(indices, data, first, last, w_indptr, w_indices, w_data, total)
            found = _count_above(total, threshold)
        end = size + found
        full = end > out_labels.shape[0]
        if not full and in_order:
            _list_above(total, threshold, out_labels[size:end], out_values[size:end])
        elif not full:
            q = size
            for t in range(n_met):
                label = met[t]
                if total[unsigned(label)] >= threshold:
                    out_labels[q] = label
                    out_values[q] = total[unsigned(label)]
                    q += 1
            for t in range(always.shape[0]):
                if unmet[always[t]]:
                    out_labels[q] = always[t]
                    out_values[q] = biases[always[t]]
                    q += 1
            _sort_by_label(out_labels[size:end], out_values[size:end])
        if few:
            _put_back(biases, total, unmet, met, n_met)
        else:
            total[:] = biases
        if full:
            return i
        size = end
        out_ends[i - first_row + 1] = size
    return stop


@kernel
def all_rows(indptr, indices, data, start, stop, w_indptr, w_indices, w_data, biases, out):
    """The scores of all labels for rows start..stop. O(labels + weights met) per row."""
    for i in range(start, stop):
        out[i] = biases
        _add(indices, data, indptr[i], indptr[i + 1], w_indptr, w_indices, w_data, out[i])
