"""What a cell of a labels column may hold, and how it becomes labels.

A cell is a list of names, or a string of names with a separator between them, or empty. Names are
strings or whole numbers, one kind in a data set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from longtail.data._names import LABEL_NAMES, check_distinct, read_names
from longtail.data._source import shown, sibling
from longtail.data.dataset import Dataset, dataset_from_file
from longtail.errors import DataError, DataWarning, ParameterError, SkippedRows, warn
from longtail.labels import names_to_matrix

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


@dataclass
class TableRows:
    """Texts and label cells of a file, with their lines, or rows if not `by_line`."""

    path: Path
    options: TableOptions
    by_line: bool = True
    texts: list[str] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    skipped: SkippedRows = field(default_factory=SkippedRows)

    def add(self, place: int, texts: Iterable[Any], cell: Any) -> None:
        """One point, whose columns of text are joined by newlines."""
        try:
            text = self.text_of(place, texts)
        except DataError as error:
            self.refuse(error)
            return
        self.texts.append(text)
        self.cells.append(cell)
        self.places.append(place)

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
        if self.options.labels_column is None:
            rows: list[list[Any]] = [[] for _ in self.cells]
        else:
            rows = self._labels()
        if not self.texts:
            also = f" ({self.skipped.in_words()})" if self.skipped.count else ""
            raise DataError(f"there are no rows; expected at least one{also}", path=self.path)
        self.skipped.warn()
        known = None if self.options.labels_column is None else self._known_names(rows)
        matrix, names = names_to_matrix(rows, classes=known)
        named = None if self.options.labels_column is None else names
        return dataset_from_file(
            self.path, None, matrix, label_names=named, texts=self.texts, name=name
        )

    def _labels(self) -> list[list[Any]]:
        """The labels of every row, checked; rows that are skipped go with their texts."""
        split = self._splitter()
        rows: list[list[Any]] = []
        kept: list[int] = []
        kind: type | None = None
        repeated: list[int] = []
        for number, (place, cell) in enumerate(zip(self.places, self.cells, strict=True)):
            try:
                row = self._cell(place, cell, split)
                found = kind or (type(row[0]) if row else None)
                for label in row:
                    self._check_label(place, label, found)
            except DataError as error:
                self.refuse(error)
                continue
            kind = found
            if len(set(row)) < len(row):
                repeated.append(place)
            rows.append(row)
            kept.append(number)
        if len(kept) < len(self.texts):
            self.texts = [self.texts[number] for number in kept]
            self.places = [self.places[number] for number in kept]
        if repeated:
            more = f", and {len(repeated) - 1} more" if len(repeated) > 1 else ""
            warn(
                f"{self.error(repeated[0], 'a label occurs twice')}{more}; counted once",
                DataWarning,
            )
        return rows

    def _cell(self, place: int, cell: Any, split: Callable[[int, str], list[Any]]) -> list[Any]:
        if cell is None:
            return []
        if isinstance(cell, str):
            return split(place, cell)
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
        """How strings are taken apart, decided from all of them unless the user said it."""
        separator = self.options.label_separator
        if separator is not None:
            return lambda place, cell: _separated(cell, separator)
        strings = [cell for cell in self.cells if isinstance(cell, str) and cell.strip()]
        if strings and all(cell.strip()[0] == "[" and cell.strip()[-1] == "]" for cell in strings):
            return self._json_list
        for place, cell in zip(self.places, self.cells, strict=True):
            if isinstance(cell, str) and isinstance(_json_value(cell), list):
                raise self.error(
                    place,
                    f"{self.options.labels_column!r} is a list in JSON, but not so in every row; "
                    "write all rows alike, or say with label_separator what stands between labels",
                )
        found = [mark for mark in _SEPARATORS if any(mark in cell for cell in strings)]
        if len(found) > 1:
            marks = " and ".join(repr(mark) for mark in found)
            at = next(
                place
                for place, cell in zip(self.places, self.cells, strict=True)
                if isinstance(cell, str) and found[-1] in cell
            )
            raise self.error(
                at,
                f"{self.options.labels_column!r} holds {marks} in this file; say with "
                "label_separator which of them stands between labels",
            )
        only = found[0] if found else ""
        return lambda place, cell: _separated(cell, only)

    def _json_list(self, place: int, cell: str) -> list[Any]:
        if not cell.strip():
            return []
        value = _json_value(cell)
        if not isinstance(value, list):
            raise self.error(
                place,
                f"{self.options.labels_column!r} is not a list in JSON: {shown(cell)}",
            )
        return value

    def _known_names(self, rows: list[list[Any]]) -> list[Any] | None:
        """The labels and their order from the file beside this one, if it is there."""
        file = sibling(self.path, LABEL_NAMES)
        if file is None:
            return None
        names: list[Any] = read_names(file)
        check_distinct(names, file)
        if any(type(label) is int for row in rows for label in row):
            try:
                names = [int(name) for name in names]
            except ValueError:
                raise DataError(
                    f"the labels of {self.path.name} are numbers, but these names are not",
                    path=file,
                ) from None
        known = set(names)
        for place, row in zip(self.places, rows, strict=True):
            for label in row:
                if label not in known:
                    raise self.error(
                        place,
                        f"the label {shown(str(label))} is not in {file.name}; add it there, or "
                        "move that file away",
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
