"""From lines of `l1,l2 f:v f:v` to sparse matrices: the common part of XMC text and svmlight.

Reading goes block by block through a compiled parser. Each block leaves arrays of just the size it
needs, which are joined at the end one kind at a time, so that the peak is about twice the result
and never depends on what a header claims. Cost: O(bytes) time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from longtail.data import _text_kernels as kernels
from longtail.data._budget import Budget
from longtail.data._source import LineBlocks, shown
from longtail.data._text_kernels import LARGEST_ID, parse_lines, sort_rows
from longtail.errors import DataWarning, ParameterError, warn

Duplicates = Literal["error", "merge"]
MissingValue = float | Literal["error"]

_ROW = 12
"""Bytes per row of a matrix: its count, its offset, and slack."""
_NO_VALUES = np.empty(0, dtype=np.float64)


@dataclass
class LineOptions:
    """How lines are to be taken; checked on creation."""

    labels_first: bool = True
    blank_is_row: bool = False
    missing_value: MissingValue = "error"
    duplicates: Duplicates = "error"
    dtype: DTypeLike = np.float32
    thing: str = "feature"
    only_ones: bool = False

    def __post_init__(self) -> None:
        if self.duplicates not in ("error", "merge"):
            raise ParameterError(f"duplicates must be 'error' or 'merge', not {self.duplicates!r}.")
        value = self.missing_value
        if value != "error" and (isinstance(value, str) or not np.isfinite(value)):
            raise ParameterError(
                f"missing_value must be 'error' or a finite number, not {value!r}."
            )
        self.dtype = checked_dtype(self.dtype)

    @property
    def too_large(self) -> float:
        """The smallest float64 that the type cannot hold."""
        if self.dtype == np.float32:
            return float(np.finfo(np.float32).max) + 2.0**103
        return np.inf


def checked_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """float32 or float64; anything else raises an error."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.float32, np.float64):
        raise ParameterError(f"dtype must be float32 or float64, not {dtype!r}.")
    return found


@dataclass
class SparseRows:
    """Rows gathered block by block; `matrix` makes a CSR matrix of them and frees the parts.

    With `only_ones` there are no values, and the matrix is one of ones.
    """

    dtype: np.dtype[Any]
    budget: Budget
    only_ones: bool = False
    counts: list[NDArray[np.int32]] = field(default_factory=list)
    ids: list[NDArray[np.int32]] = field(default_factory=list)
    values: list[NDArray[Any]] = field(default_factory=list)
    width: int = 0
    n_rows: int = 0

    def add(
        self, ends: NDArray[np.int64], ids: NDArray[np.int32], values: NDArray[np.float64]
    ) -> None:
        """Take the rows of one block, copied."""
        entry = 12 if self.only_ones else 8 + 2 * self.dtype.itemsize
        self.budget.take(_ROW * len(ends) + entry * len(ids))
        self.counts.append(np.diff(ends, prepend=0).astype(np.int32))
        self.n_rows += len(ends)
        if len(ids):
            self.width = max(self.width, int(ids.max()) + 1)
        self.ids.append(ids.copy())
        if not self.only_ones:
            self.values.append(values.astype(self.dtype))

    def drop_empty_rows_from(self, n: int) -> None:
        """Forget the rows from number `n` on, if there are any and all of them are empty."""
        counts = np.concatenate([*self.counts, np.empty(0, dtype=np.int32)])
        if not counts[n:].any():
            self.counts, self.n_rows = [counts[:n]], min(n, len(counts))

    def matrix(self, width: int, *, merge: bool = False) -> sp.csr_array:
        """The rows as a CSR matrix without stored zeros; ones if no values were given."""
        nnz = sum(len(part) for part in self.ids)
        index = np.int32 if nnz < 2**31 else np.int64
        indptr = np.zeros(self.n_rows + 1, dtype=index)
        _move(self.counts, indptr[1:])
        np.cumsum(indptr, out=indptr, dtype=index)
        indices = _move(self.ids, np.empty(nnz, dtype=index))
        if self.only_ones:
            data = np.ones(nnz, dtype=self.dtype)
        else:
            data = _move(self.values, np.empty(nnz, dtype=self.dtype))
        out = sp.csr_array((data, indices, indptr), shape=(self.n_rows, width))
        if merge:
            out.sum_duplicates()
            if self.only_ones:
                out.data[:] = 1
        if not out.data.all():
            out.eliminate_zeros()
        return out


def read_sparse_lines(blocks: LineBlocks, options: LineOptions) -> tuple[SparseRows, SparseRows]:
    """Read all lines that are left: the rows of labels and the rows of features."""
    labels = SparseRows(np.dtype(np.float32), blocks.budget, only_ones=True)
    features = SparseRows(np.dtype(options.dtype), blocks.budget)
    missing = np.nan if options.missing_value == "error" else float(options.missing_value)
    scratch = _Scratch.of_size(0)
    for block in blocks.blocks():
        if len(block) > len(scratch.row_lines):
            scratch = _Scratch.of_size(len(block))
        found = parse_lines(
            block,
            options.labels_first,
            options.blank_is_row,
            missing,
            options.too_large,
            *scratch,
        )
        status, position, n_lines, n_rows, n_labels, n_features, n_undecided, in_order = found
        if status != kernels.FINE:
            token = _token(block, position)
            raise blocks.error(_fault(status, token, options), line=blocks.line + n_lines - 1)
        values = scratch.values[:n_features]
        row_lines = scratch.row_lines[:n_rows]
        ends = scratch.feature_ends[:n_rows]
        for entry, begin, end in scratch.undecided[:n_undecided].tolist():
            values[entry] = float(block[begin:end].tobytes())
            if abs(values[entry]) >= options.too_large:
                row = int(np.searchsorted(ends, entry, side="right"))
                text = block[begin:end].tobytes()
                raise blocks.error(
                    _fault(kernels.VALUE_TOO_LARGE, text, options),
                    line=blocks.line + int(row_lines[row]) - 1,
                )
        label_ids = scratch.label_ids[:n_labels]
        label_ends = scratch.label_ends[:n_rows]
        feature_ids = scratch.feature_ids[:n_features]
        if not in_order:
            for thing, (row, repeated) in (
                ("label", sort_rows(label_ends, label_ids, _NO_VALUES)),
                (options.thing, sort_rows(ends, feature_ids, values)),
            ):
                if row >= 0 and options.duplicates == "error":
                    raise blocks.error(
                        f"the {thing} id {repeated} occurs twice; remove one, or pass "
                        "duplicates='merge'",
                        line=blocks.line + int(row_lines[row]) - 1,
                    )
        if options.only_ones and not ((values == 0) | (values == 1)).all():
            entry = int(np.flatnonzero((values != 0) & (values != 1))[0])
            row = int(np.searchsorted(ends, entry, side="right"))
            raise blocks.error(
                f"the {options.thing} {feature_ids[entry]} has the value {values[entry]:g}; "
                f"expected 1, as in {feature_ids[entry]}:1",
                line=blocks.line + int(row_lines[row]) - 1,
            )
        if options.labels_first:
            labels.add(label_ends, label_ids, _NO_VALUES)
        features.add(ends, feature_ids, values)
        blocks.line += n_lines
    return labels, features


class _Scratch(NamedTuple):
    """What the parser fills, in the order of its arguments."""

    label_ids: NDArray[np.int32]
    feature_ids: NDArray[np.int32]
    values: NDArray[np.float64]
    label_ends: NDArray[np.int64]
    feature_ends: NDArray[np.int64]
    row_lines: NDArray[np.int64]
    undecided: NDArray[np.int64]

    @classmethod
    def of_size(cls, size: int) -> _Scratch:
        """Arrays large enough for whatever a block of `size` bytes can hold."""
        entries = size // 2 + 1
        return cls(
            label_ids=np.empty(entries, dtype=np.int32),
            feature_ids=np.empty(entries, dtype=np.int32),
            values=np.empty(entries, dtype=np.float64),
            label_ends=np.empty(size, dtype=np.int64),
            feature_ends=np.empty(size, dtype=np.int64),
            row_lines=np.empty(size, dtype=np.int64),
            # The shortest number that the kernel leaves undecided is a subnormal such as 1e-310.
            undecided=np.empty((size // 8 + 1, 3), dtype=np.int64),
        )


def read_header(
    blocks: LineBlocks, names: tuple[str, ...], *, skip_blank: bool, remedy: str
) -> tuple[int, ...]:
    """The first line as that many counts."""
    expected = f"expected a first line of {len(names)} counts ({', '.join(names)})"
    while True:
        line = blocks.next_line()
        if line is None:
            raise blocks.error(f"the file is empty; {expected}", line=1)
        if not skip_blank or (line.strip() and not line.lstrip().startswith(b"#")):
            break
    number = blocks.line - 1
    tokens = line.split()
    if len(tokens) != len(names) or not all(token.isdigit() for token in tokens):
        raise blocks.error(f"{expected}, found {shown(line)}; {remedy}", line=number)
    for name, token in zip(names, tokens, strict=True):
        if len(token) > 18 or int(token) > LARGEST_ID + 1:
            raise blocks.error(
                f"the header claims {shown(token, 30)[1:-1]} {name}, more than the 2^31 - 1 "
                "allowed; correct the header",
                line=number,
            )
    return tuple(int(token) for token in tokens)


def agreed(blocks: LineBlocks, what: str, claimed: int, found: int) -> int:
    """The larger of what the header claims and the lines hold; warns if the lines hold more."""
    if found > claimed:
        warn(
            f"{blocks.path}: the header says {claimed} {what}, but ids go up to {found - 1}; "
            f"taking {found}",
            DataWarning,
        )
    return max(claimed, found)


def check_row_count(blocks: LineBlocks, claimed: int, found: int) -> None:
    """Warn where the header and the lines disagree on the number of points; the lines are right."""
    if claimed != found:
        hint = "; is the file cut off?" if found < claimed else ""
        warn(
            f"{blocks.path}: the header says {claimed} points, but the file holds {found}{hint}",
            DataWarning,
        )


def _move(parts: list[NDArray[Any]], out: NDArray[Any]) -> NDArray[Any]:
    """The parts in one array; the list is emptied on the way, so that they need not all stay."""
    end = len(out)
    while parts:
        part = parts.pop()
        out[end - len(part) : end] = part
        end -= len(part)
    return out


def _token(block: NDArray[np.uint8], position: int) -> bytes:
    """What stands at `position`, up to the next gap."""
    pieces = block[position : position + 80].tobytes().split(b"\n")[0].split()
    return pieces[0] if pieces else b""


def _fault(status: int, token: bytes, options: LineOptions) -> str:
    thing = options.thing
    if status >= kernels.LABEL_EXPECTED:
        status -= kernels.LABEL_EXPECTED - kernels.ID_EXPECTED
        thing = "label"
    found = shown(token) if token else "the end of the line"
    value = shown(token.split(b":", 1)[-1])
    name = shown(token.split(b":", 1)[0].split(b",")[0])[1:-1]
    form = "l1,l2 f:v f:v" if options.labels_first else f"{thing[0]}:v {thing[0]}:v"
    if status == kernels.ID_EXPECTED:
        return f"expected a {thing} id, found {found}; lines look like '{form}'"
    if status == kernels.ID_NEGATIVE:
        return f"the {thing} id {name} is negative; ids start at 0"
    if status == kernels.ID_TOO_LARGE:
        return f"the {thing} id {name} is beyond {LARGEST_ID}, the largest that can be"
    if status == kernels.VALUE_MISSING:
        hint = ", or pass missing_value=1" if options.labels_first else ""
        return f"the {thing} {name} has no value; write {name}:1{hint}"
    if status == kernels.VALUE_NOT_FINITE:
        return f"the value {value} of {thing} {name} is not finite; remove or replace it"
    if status == kernels.VALUE_TOO_LARGE:
        hint = "; pass dtype='float64'" if options.dtype == np.float32 else ""
        return f"the value {value} is too large for {options.dtype}{hint}"
    return f"the value {value} of {thing} {name} is not a number"
