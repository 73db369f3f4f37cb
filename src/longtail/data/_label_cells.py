"""What a cell of a labels column may hold, and how it becomes labels.

A cell is a list of names, or a string of names with a separator between them, or empty. Names are
strings or whole numbers, one kind in a data set.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.data._budget import LABEL, NAME_TOO_LONG, Budget
from longtail.data._names import LABEL_NAMES, check_distinct, read_names
from longtail.data._source import shown, sibling
from longtail.data.dataset import Dataset, dataset_from_file
from longtail.errors import DataError, DataWarning, ParameterError, SkippedRows, warn
from longtail.labels import LONGEST_NAME

OnError = Literal["raise", "skip"]
"""What to do with a bad row: stop reading, or leave it out with a warning."""
_SEPARATORS = (";", "|", ",")
_INT64 = np.iinfo(np.int64)


@dataclass
class TableOptions:
    """Which columns hold what, and what becomes of bad rows; checked on creation."""

    text_column: str | Sequence[str] = "text"
    labels_column: str | None = "labels"
    label_separator: str | None = None
    on_error: OnError = "raise"

    def __post_init__(self) -> None:
        if not self.text_columns or not all(isinstance(name, str) for name in self.text_columns):
            raise ParameterError("text_column must be the name of a column, or several.")
        if self.labels_column is not None and not isinstance(self.labels_column, str):
            raise ParameterError("labels_column must be the name of a column, or None.")
        if self.on_error not in get_args(OnError):
            raise ParameterError(f"on_error must be 'raise' or 'skip', not {self.on_error!r}.")

    @property
    def text_columns(self) -> list[str]:
        """The columns of text, in order."""
        return [self.text_column] if isinstance(self.text_column, str) else list(self.text_column)

    @property
    def columns(self) -> list[str]:
        """All columns needed."""
        return self.text_columns + ([] if self.labels_column is None else [self.labels_column])


class _Columns(dict[Any, int]):
    """The columns of names, in the order of their first appearance; a new name is counted."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget

    def __missing__(self, name: Any) -> int:
        self._budget.take_name(name)
        column = self[name] = len(self)
        return column


class _Entries:
    """Columns of label matrix rows, in flat arrays."""

    def __init__(self) -> None:
        self.ids, self.ends = array("i"), array("q", [0])

    def add_row(self, labels: Iterable[Any], columns: _Columns) -> None:
        self.ids.extend(map(columns.__getitem__, labels))
        self.ends.append(len(self.ids))

    def matrix(self, rows: NDArray[np.int64] | None, shape: tuple[int, int]) -> sp.csr_array:
        """The entries as they were added, in these rows of a matrix; by default in all."""
        ids, ends = np.asarray(self.ids), np.asarray(self.ends)
        if rows is not None:
            counts = np.zeros(shape[0] + 1, dtype=np.int64)
            counts[rows + 1] = np.diff(ends)
            ends = np.cumsum(counts, out=counts)
        return sp.csr_array((np.ones(len(ids), dtype=np.float32), ids, ends), shape=shape)


class TableRows:
    """Texts and labels of a file, row by row: labels become numbers as they come.

    Strings of labels wait, as bytes, until all rows are known, if the separator is not given.

    Parameters
    ----------
    path : Path
    options : TableOptions
    budget : Budget
        Where all that is kept is counted.
    by_line : bool
        Whether the place of a row is its line.
    """

    def __init__(
        self, path: Path, options: TableOptions, budget: Budget, *, by_line: bool = True
    ) -> None:
        self.path, self.options, self.budget, self.by_line = path, options, budget, by_line
        self.texts: list[str] = []
        self.skipped = SkippedRows()
        self._places = array("q")
        self._kind: type | None = None
        self._columns = _Columns(budget)
        self._entries = _Entries()
        self._waiting, self._cells, self._cell_ends = array("q"), bytearray(), array("q", [0])

    def add(self, place: int, texts: Iterable[Any], cell: Any) -> None:
        """One point, whose columns of text are joined by newlines."""
        waits = isinstance(cell, str) and self.options.label_separator is None
        try:
            text = self.text_of(place, texts)
            row = [] if waits else self._checked(place, self._cell(place, cell))
        except DataError as error:
            self.refuse(error)
            return
        self.budget.take_row(text, len(row))
        if waits and cell.strip():
            encoded = cell.encode("utf-8", "surrogatepass")
            self.budget.take(LABEL + 2 * len(encoded))
            self._waiting.append(len(self.texts))
            self._cells += encoded
            self._cell_ends.append(len(self._cells))
        self.texts.append(text)
        self._places.append(place)
        self._entries.add_row(row, self._columns)

    def error(self, place: int, message: str) -> DataError:
        """An error in a line, or in a row of a file that has no lines."""
        if self.by_line:
            return DataError(message, path=self.path, line=place)
        return DataError(f"row {place}: {message}", path=self.path)

    def refuse(self, error: DataError) -> None:
        """A bad row: raised, or remembered where bad rows are skipped."""
        if self.options.on_error == "raise":
            raise error
        self.skipped.add(error)

    def text_of(self, place: int, texts: Iterable[Any]) -> str:
        """The text of one row, checked."""
        parts = list(texts)
        for name, part in zip(self.options.text_columns, parts, strict=True):
            if not isinstance(part, str):
                raise self.error(place, f"{name!r} is {_kind(part)}, but texts are strings")
            if not _is_clean(part):
                raise self.error(
                    place, f"{name!r} holds half of a surrogate pair; correct the text"
                )
        return parts[0] if len(parts) == 1 else "\n".join(parts)

    def dataset(self, name: str) -> Dataset:
        """The data set; a `label_names.txt` beside the file sets the order of its labels."""
        Y = self._matrix()
        if not self.texts:
            also = f" ({self.skipped.in_words()})" if self.skipped.count else ""
            raise DataError(f"there are no rows; expected at least one{also}", path=self.path)
        self.skipped.warn()
        names = None
        if self.options.labels_column is not None:
            Y, names = self._named(Y)
        Y.sum_duplicates()
        again = np.flatnonzero(Y.data > 1)
        if len(again):
            Y.data[:] = 1
            repeated = np.unique(np.searchsorted(Y.indptr, again, side="right") - 1)
            more = f", and {len(repeated) - 1} more" if len(repeated) > 1 else ""
            place = self._places[int(repeated[0])]
            warn(f"{self.error(place, 'a label occurs twice')}{more}; counted once", DataWarning)
        return dataset_from_file(self.path, None, Y, label_names=names, texts=self.texts, name=name)

    def _matrix(self) -> sp.csr_array:
        """The labels of every row, in columns as they appeared; rows skipped lose their texts."""
        kept = np.ones(len(self.texts), dtype=bool)
        split = self._splitter() if self._waiting else None
        found = _Entries()
        for row, cell in self._waiting_cells():
            labels: list[Any] = []
            try:
                labels = self._checked(self._places[row], split(self._places[row], cell))  # type: ignore[misc]
            except DataError as error:
                self.refuse(error)
                kept[row] = False
            self.budget.take(LABEL * len(labels))
            found.add_row(labels, self._columns)
        shape = len(self.texts), len(self._columns)
        Y = self._entries.matrix(None, shape)
        if found.ids:
            split_Y = found.matrix(np.asarray(self._waiting), shape)
            Y = Y + split_Y if Y.nnz else split_Y
        if not kept.all():
            numbers = np.flatnonzero(kept)
            self.texts = [self.texts[number] for number in numbers]
            self._places = array("q", np.asarray(self._places)[numbers].tobytes())
            Y = Y[numbers]
        return Y

    def _waiting_cells(self) -> Iterator[tuple[int, str]]:
        """Strings of labels with the numbers of their rows."""
        for row, (begin, end) in zip(self._waiting, pairwise(self._cell_ends), strict=True):
            cell = bytes(self._cells[begin:end])
            self.budget.look_at_line(cell, b";|,")
            yield row, cell.decode("utf-8", "surrogatepass")

    def _named(self, Y: sp.csr_array) -> tuple[sp.csr_array, NDArray[Any]]:
        """The labels in the columns of their names: sorted, or as `label_names.txt` has them."""
        names = self._known_names(Y)
        if names is None:
            names = sorted(self._columns)
            place = np.empty(len(names), dtype=np.int32)
            ours = np.fromiter(map(self._columns.__getitem__, names), np.int64, len(names))
            place[ours] = np.arange(len(names), dtype=np.int32)
        else:
            known = {name: column for column, name in enumerate(names)}
            place = np.fromiter((known[name] for name in self._columns), dtype=np.int32)
        self._columns.clear()
        moved = (Y.data, place[Y.indices], Y.indptr)
        return sp.csr_array(moved, shape=(Y.shape[0], len(names))), self.budget.name_array(names)

    def _checked(self, place: int, row: list[Any]) -> list[Any]:
        kind = self._kind or (type(row[0]) if row else None)
        for label in row:
            if not (type(label) is kind is str and label in self._columns):
                self._check_label(place, label, kind)
        self._kind = kind
        return row

    def _cell(self, place: int, cell: Any) -> list[Any]:
        if cell is None:
            return []
        if isinstance(cell, str):
            return _separated(cell, self.options.label_separator or "")
        if isinstance(cell, list):
            return cell
        if isinstance(cell, int) and not isinstance(cell, bool):
            return [cell]
        raise self.error(
            place,
            f"{self.options.labels_column!r} is {_kind(cell)}; expected a list of labels, or a "
            "string of labels with a separator",
        )

    def _check_label(self, place: int, label: Any, kind: type | None) -> None:
        if type(label) is str:
            if len(label) > LONGEST_NAME:
                raise self.error(place, NAME_TOO_LONG)
            if not _is_clean(label):
                raise self.error(place, "a label holds half of a surrogate pair; correct it")
        elif type(label) is not int:
            raise self.error(
                place, f"a label is {_kind(label)}; labels are strings or whole numbers"
            )
        elif not _INT64.min <= label <= _INT64.max:
            raise self.error(place, "a label is a number beyond 64 bits; write it as a string")
        if kind is not None and type(label) is not kind:
            raise self.error(
                place,
                f"the label {shown(str(label))} is {_kind(label)}, but the first label is "
                f"{_kind(kind())}; write all as strings",
            )

    def _splitter(self) -> Callable[[int, str], list[Any]]:
        """How strings are taken apart, decided from all of them."""
        stripped = (cell.strip() for _, cell in self._waiting_cells())
        if all(cell[:1] == "[" and cell[-1:] == "]" for cell in stripped):
            return self._json_list
        for row, cell in self._waiting_cells() if b"[" in self._cells else ():
            if isinstance(_json_value(cell), list):
                raise self.error(
                    self._places[row],
                    f"{self.options.labels_column!r} is a list in JSON, but not so in every row; "
                    "write all rows alike, or say with label_separator what stands between labels",
                )
        found = [mark for mark in _SEPARATORS if mark.encode() in self._cells]
        if len(found) > 1:
            marks = " and ".join(repr(mark) for mark in found)
            at = next(row for row, cell in self._waiting_cells() if found[-1] in cell)
            raise self.error(
                self._places[at],
                f"{self.options.labels_column!r} holds {marks} in this file; say with "
                "label_separator which of them stands between labels",
            )
        only = found[0] if found else ""
        return lambda place, cell: _separated(cell, only)

    def _json_list(self, place: int, cell: str) -> list[Any]:
        value = _json_value(cell)
        if not isinstance(value, list):
            raise self.error(
                place,
                f"{self.options.labels_column!r} is not a list in JSON: {shown(cell)}",
            )
        return value

    def _known_names(self, Y: sp.csr_array) -> list[Any] | None:
        """The labels and their order from the file beside this one, if it is there."""
        file = sibling(self.path, LABEL_NAMES)
        if file is None:
            return None
        names: list[Any] = read_names(file, self.budget)
        check_distinct(names, file)
        if self._kind is int:
            try:
                names = [int(name) for name in names]
            except ValueError:
                raise DataError(
                    f"the labels of {self.path.name} are numbers, but these names are not",
                    path=file,
                ) from None
        known = set(names)
        ours = list(self._columns)
        unknown = np.flatnonzero([name not in known for name in ours])
        if len(unknown):
            entry = int(np.isin(Y.indices, unknown).argmax())
            row = int(np.searchsorted(Y.indptr, entry, side="right")) - 1
            raise self.error(
                self._places[row],
                f"the label {shown(str(ours[Y.indices[entry]]))} is not in {file.name}; add it "
                "there, or move that file away",
            )
        return names


def labels_as_text(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Label sets as cells of a table: `a;b` if every name is plain enough, lists in JSON if not.

    Examples
    --------
    >>> labels_as_text([("sea", "sun"), ()]), labels_as_text([("sea, blue",), ()])
    (['sea;sun', ''], ['["sea, blue"]', '[]'])
    """
    rows = [list(row) for row in rows]
    plain = all(
        isinstance(name, str)
        and name
        and name == name.strip()
        and not name.startswith("[")
        and not any(mark in name for mark in _SEPARATORS)
        for row in rows
        for name in row
    )
    if plain:
        return [_SEPARATORS[0].join(row) for row in rows]
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def missing_column(path: Path, name: str, columns: Sequence[str], line: int | None) -> DataError:
    """The error for a missing column; it lists the existing ones."""
    listed = ", ".join(shown(column, 20) for column in columns[:8]) or "none"
    more = ", ..." if len(columns) > 8 else ""
    remedy = "say which to take with text_column and labels_column"
    mark = next((mark for mark in (";", "\t", "|") if mark in "".join(columns)), None)
    if mark is not None and len(columns) == 1:
        remedy = f"if columns are told apart by {mark!r}, say so with delimiter={mark!r}"
    elif line is not None and line > 1:
        remedy += "; a point without labels has an empty list"
    return DataError(
        f"there is no {name!r} (found: {listed}{more}); {remedy}",
        path=path,
        line=line,
    )


def _json_value(cell: str) -> Any:
    """What a cell that starts like a list says in JSON; None if it is not JSON."""
    if not cell.lstrip().startswith("["):
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


def _separated(cell: str, separator: str) -> list[Any]:
    pieces = [cell] if not separator else cell.split(separator)
    return [piece for piece in map(str.strip, pieces) if piece]


def _is_clean(text: str) -> bool:
    """Whether UTF-8 can hold the text."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: Any) -> str:
    names = {
        type(None): "null",
        bool: "a truth value",
        int: "a whole number",
        float: "a fraction",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), f"a {type(value).__name__}")
