"""The rows of JSON lines, CSV and plain lines, one at a time: for whole files and for streams.

A row is a `Row`, or the `DataError` that says what is wrong with it; the caller decides whether to
raise it. What concerns the whole file, such as a header without the column, is raised here. CSV is
read by Python's own `csv`, which knows the line of every fault.
"""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from longtail.data._budget import SHORT, Budget
from longtail.data._label_cells import TableOptions, missing_column
from longtail.data._source import (
    GZIP_MAGIC,
    MAX_LINE_BYTES,
    UTF8_MARK,
    UTF16_MARKS,
    LineBlocks,
    decoded,
    shown,
    without_gz,
)
from longtail.errors import DataError, ParameterError

TextFormat = Literal["jsonl", "csv", "lines"]
_FIELD_LIMIT = threading.Lock()


class Row(NamedTuple):
    """One point as it stands in the file: its line, its columns of text, its cell of labels."""

    place: int
    texts: list[Any]
    cell: Any = None


class StreamLines:
    """Lines of an open stream, with the interface of `LineBlocks` as far as tables need it.

    No more is read of the stream than is handed out.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.path = Path("standard input")
        self.budget = Budget(self.path)
        self.is_empty = False
        self._stream = stream

    def lines(self, *, keep_returns: bool = False) -> Iterator[tuple[int, bytes]]:
        """As `LineBlocks.lines`."""
        number = 0
        while line := self._stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number == 1:
                if line.startswith(GZIP_MAGIC):
                    raise self.error("the stream is gzipped; unpack it first", line=1)
                if line.startswith(UTF16_MARKS):
                    raise self.error("the text is UTF-16; save it as UTF-8", line=1)
                line = line.removeprefix(UTF8_MARK)
                if not line:
                    return
            if len(line) > MAX_LINE_BYTES:
                raise self.error(f"the line is longer than {MAX_LINE_BYTES:,} bytes", line=number)
            line = line.removesuffix(b"\n")
            yield number, line if keep_returns else line.removesuffix(b"\r")

    def error(self, message: str, *, line: int | None = None) -> DataError:
        """As `LineBlocks.error`."""
        return DataError(message, path=self.path, line=line)


Lines = LineBlocks | StreamLines


def table_rows(
    lines: Lines,
    format: TextFormat | None,
    options: TableOptions,
    *,
    delimiter: str | None = None,
    max_field_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Row | DataError]:
    """The rows of a file or stream; blank lines of JSON and CSV are skipped.

    Parameters
    ----------
    lines : LineBlocks or StreamLines
    format : {"jsonl", "csv", "lines"}, optional
        By default lines, or JSON objects where the first line starts with ``{``.
    options : TableOptions
        Which columns to take.
    delimiter : str, optional
        Of CSV: by default a tab if the name says `.tsv`, a comma otherwise.
    max_field_bytes : int
        Of CSV: a longer field is refused.
    """
    if format == "csv":
        yield from _csv_rows(lines, options, delimiter, max_field_bytes)
        return
    for number, line in lines.lines():
        row: Row | DataError
        lines.budget.look_at_line(line, b",:[{")
        try:
            text = decoded(lines, number, line)
            if format is None:
                format = "jsonl" if text.lstrip().startswith("{") else "lines"
            if format == "lines":
                row = Row(number, [text])
            elif text.strip():
                row = _json_row(lines.path, number, text, options)
            else:
                continue
        except DataError as error:
            row = error
        yield row


def _json_row(path: Path, number: int, text: str, options: TableOptions) -> Row:
    record = _json_object(path, number, text)
    for name in options.columns:
        if name not in record:
            raise missing_column(path, name, list(record), number)
    cell = None if options.labels_column is None else record[options.labels_column]
    return Row(number, [record[name] for name in options.text_columns], cell)


def _json_object(path: Path, number: int, text: str) -> dict[str, Any]:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise DataError("a key occurs twice in the object", path=path, line=number)
        return found

    try:
        value = json.loads(text, object_pairs_hook=distinct)
    except json.JSONDecodeError as error:
        raise DataError(
            f"expected a JSON object, found {shown(text)} ({error.msg} at column {error.colno})",
            path=path,
            line=number,
        ) from None
    except DataError:
        raise
    except RecursionError:
        raise DataError("the JSON is nested too deep", path=path, line=number) from None
    except ValueError:
        raise DataError(
            "the JSON holds a number too long to read", path=path, line=number
        ) from None
    if not isinstance(value, dict):
        raise DataError(
            f'expected a JSON object such as {{"text": ..., "labels": [...]}}, found {shown(text)}',
            path=path,
            line=number,
        )
    return value


def usual_delimiter(path: Path) -> str:
    """What stands between the fields of a table, by its name.

    Examples
    --------
    >>> usual_delimiter(Path("docs.tsv.gz")), usual_delimiter(Path("docs.csv"))
    ('\\t', ',')
    """
    return "\t" if without_gz(path).suffix.lower() == ".tsv" else ","


def check_delimiter(delimiter: str | None) -> None:
    """Refuse a delimiter that no table can have; None is for the usual one."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ParameterError(f"delimiter must be a single character, not {delimiter!r}.")


def _csv_rows(
    lines: Lines, options: TableOptions, delimiter: str | None, max_field_bytes: int
) -> Iterator[Row | DataError]:
    delimiter = usual_delimiter(lines.path) if delimiter is None else delimiter
    records = _csv_records(lines, delimiter, max_field_bytes)
    number, header = next(records, (1, []))
    if isinstance(header, DataError):
        raise header
    for name in options.columns:
        if name not in header:
            raise missing_column(lines.path, name, header, 1)
        if header.count(name) > 1:
            raise lines.error(f"the header names {name!r} twice; rename one", line=1)
    places = [header.index(name) for name in options.text_columns]
    of_labels = None if options.labels_column is None else header.index(options.labels_column)
    for number, record in records:
        if isinstance(record, DataError):
            yield record
        elif len(record) != len(header):
            yield lines.error(
                f"expected {len(header)} fields as in the header, found {len(record)}; fields "
                f"that hold {delimiter!r} need quotes",
                line=number,
            )
        else:
            cell = None if of_labels is None else record[of_labels]
            yield Row(number, [record[place] for place in places], cell)


def _csv_records(
    lines: Lines, delimiter: str, max_field_bytes: int
) -> Iterator[tuple[int, list[str] | DataError]]:
    """Records, or what is wrong with them, with the line that each starts in."""
    undecodable: DataError | None = None
    marks, size, needed = [delimiter.encode("utf-8", "replace")], 0, 0

    def texts() -> Iterator[str]:
        nonlocal undecodable, size, needed
        for number, line in lines.lines(keep_returns=True):
            size += len(line)
            if size > SHORT:
                needed = lines.budget.look_at_line(line, marks, needed or 1)
            try:
                text = decoded(lines, number, line)
            except DataError as error:  # raised from in here, it would end the reader
                undecodable = undecodable or error
                text = line.decode("utf-8", "replace")
            yield f"{text}\n"

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    while True:
        start, size, needed = reader.line_num + 1, 0, 0
        found: list[str] | DataError | None
        try:
            # The limit is a setting of the process: it must not stay while others are at work.
            with _field_limit(max_field_bytes):
                found = next(reader, None)
        except csv.Error as error:
            found = lines.error(
                f"the quotes or fields from here on cannot be read ({error})", line=start
            )
        if found is None:
            return
        if undecodable:
            found, undecodable = undecodable, None
        if found:
            yield start, found


@contextmanager
def _field_limit(size: int) -> Iterator[None]:
    """Let `csv` take fields up to `size`; its own limit is one setting for the whole process."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(size)
        try:
            yield
        finally:
            csv.field_size_limit(before)
