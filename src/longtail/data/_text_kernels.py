"""Kernels that parse blocks of `labels features` lines and put the entries of each row in order.

A block is a uint8 array of whole lines and ends with a newline, which stops every loop.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from longtail._numba import kernel
from longtail.data._decimal_kernels import MALFORMED, NOT_FINITE, UNDECIDED, read_number

LARGEST_ID = 2**31 - 2
"""The largest id that leaves the number of columns an int32."""

FINE = 0
ID_EXPECTED = 1
ID_NEGATIVE = 2
ID_TOO_LARGE = 3
VALUE_MISSING = 4
VALUE_MALFORMED = 5
VALUE_NOT_FINITE = 6
VALUE_TOO_LARGE = 7
LABEL_EXPECTED = 8
"""From here on the faults of labels' ids, in the order of the first three."""

_NEWLINE = 10
_RETURN = 13
_SPACE = 32
_TAB = 9
_HASH = 35
_COMMA = 44
_MINUS = 45
_COLON = 58


@kernel
def _is_gap(byte):
    return byte in (_SPACE, _TAB, _RETURN)


@kernel
def _read_id(buffer, position):
    """(status, id, position behind it)."""
    if buffer[position] == _MINUS:
        return ID_NEGATIVE, 0, position
    start = position
    number = 0
    digit = np.int64(buffer[position]) - 48
    while digit >= 0 and digit <= 9:
        number = number * 10 + digit
        if number > LARGEST_ID:
            return ID_TOO_LARGE, 0, start
        position += 1
        digit = np.int64(buffer[position]) - 48
    return (FINE if position > start else ID_EXPECTED), number, position


@kernel
def parse_lines(
    block,
    labels_first,
    blank_is_row,
    missing_value,
    too_large,
    label_ids,
    feature_ids,
    values,
    label_ends,
    feature_ends,
    row_lines,
    undecided,
):
    """Parse a block of lines into flat arrays that the caller made large enough. O(bytes).

    `labels_first`: a line starts with labels separated by commas. `blank_is_row`: a line without
    anything is a row without anything; else it is skipped, as are lines that start with `#`.
    `missing_value`: what a feature without a value gets, NaN to refuse it. `too_large`: the
    smallest number that the final type cannot hold.

    Of numbers that need exact arithmetic, `undecided` holds (entry, start, end) for the caller.
    Returns (status, position of the fault, lines begun, rows, labels, features, undecided numbers,
    whether every row is in order).
    """
    stop = block.shape[0]
    position = 0
    line = 0
    rows = 0
    labels = 0
    features = 0
    waiting = 0
    in_order = True
    while position < stop:
        row_labels = labels
        row_features = features
        line += 1
        start = position
        while _is_gap(block[position]):
            position += 1
        if block[position] == _NEWLINE or (labels_first and block[position] == _HASH):
            blank = block[position] == _NEWLINE
            while block[position] != _NEWLINE:
                position += 1
            position += 1
            if blank and blank_is_row:
                label_ends[rows] = labels
                feature_ends[rows] = features
                row_lines[rows] = line
                rows += 1
            continue
        if labels_first and position == start:
            while True:
                status, number, behind = _read_id(block, position)
                after = block[behind]
                if status == FINE and after == _COLON and labels == row_labels:
                    break
                if status == FINE and after != _COMMA and after != _NEWLINE and not _is_gap(after):
                    status = ID_EXPECTED
                if status != FINE:
                    fault = status + LABEL_EXPECTED - ID_EXPECTED
                    return fault, position, line, rows, labels, features, waiting, in_order
                if labels > row_labels and label_ids[labels - 1] >= number:
                    in_order = False
                label_ids[labels] = number
                labels += 1
                position = behind
                if after != _COMMA:
                    break
                position += 1
                while _is_gap(block[position]):
                    position += 1
        while True:
            while _is_gap(block[position]):
                position += 1
            if block[position] == _HASH and labels_first:
                while block[position] != _NEWLINE:
                    position += 1
            if block[position] == _NEWLINE:
                position += 1
                break
            status, number, behind = _read_id(block, position)
            if status != FINE:
                return status, position, line, rows, labels, features, waiting, in_order
            value = missing_value
            after = block[behind]
            if after != _COLON:
                if after != _NEWLINE and not _is_gap(after):
                    return ID_EXPECTED, position, line, rows, labels, features, waiting, in_order
                if np.isnan(missing_value):
                    return VALUE_MISSING, position, line, rows, labels, features, waiting, in_order
            else:
                begin = behind + 1
                if block[begin] == _NEWLINE or _is_gap(block[begin]):
                    return VALUE_MISSING, position, line, rows, labels, features, waiting, in_order
                status, value, behind = read_number(block, begin)
                if status == NOT_FINITE:
                    fault = VALUE_NOT_FINITE
                    return fault, position, line, rows, labels, features, waiting, in_order
                after = block[behind]
                if status == MALFORMED or (after != _NEWLINE and not _is_gap(after)):
                    fault = VALUE_MALFORMED
                    return fault, position, line, rows, labels, features, waiting, in_order
                if status == UNDECIDED:
                    undecided[waiting, 0] = features
                    undecided[waiting, 1] = begin
                    undecided[waiting, 2] = behind
                    waiting += 1
                elif value >= too_large or value <= -too_large:
                    fault = VALUE_TOO_LARGE
                    return fault, position, line, rows, labels, features, waiting, in_order
            if features > row_features and feature_ids[features - 1] >= number:
                in_order = False
            feature_ids[features] = number
            values[features] = value
            features += 1
            position = behind
        label_ends[rows] = labels
        feature_ends[rows] = features
        row_lines[rows] = line
        rows += 1
    return FINE, position, line, rows, labels, features, waiting, in_order


@kernel
def sort_rows(ends, ids, values):
    """Sort the ids of every row in place, `values` along with them unless it is empty.

    Returns (row, id) of the first id that a row holds twice, or (-1, -1). Costs O(entries log m) in
    rows of m entries, and O(entries) where they are in order.
    """
    begin = 0
    twice = (-1, np.int64(-1))
    for row in range(ends.shape[0]):
        end = ends[row]
        in_order = True
        for p in range(begin + 1, end):
            if ids[p - 1] >= ids[p]:
                in_order = False
                break
        if not in_order:
            order = np.argsort(ids[begin:end], kind="mergesort")
            ids[begin:end] = ids[begin:end][order]
            if values.shape[0]:
                values[begin:end] = values[begin:end][order]
            if twice[0] < 0:
                for p in range(begin + 1, end):
                    if ids[p - 1] == ids[p]:
                        twice = (row, np.int64(ids[p]))
                        break
        begin = end
    return twice
