"""Texts as they come, a chunk at a time: for data to predict, which need not fit into memory.

What a file may hold, and every sentence about a file that holds something else, is as in
`longtail.data.read_jsonl` and `longtail.data.read_csv`; there are no labels here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from longtail.data._label_cells import TableOptions, TableRows, at_line, missing_column
from longtail.data._source import (
    MAX_LINE_BYTES,
    LineBlocks,
    PathLike,
    decoded,
    without_gz,
)
from longtail.data.tables import _csv_records, _field_limit, _json_object
from longtail.errors import DataError, ParameterError

TextFormat = Literal["jsonl", "csv", "lines"]

_CHUNK_CHARACTERS = 2**22
"""A chunk ends early when its texts are longer than this together."""


def text_chunks(
    source: PathLike | BinaryIO,
    *,
    format: TextFormat | None = None,
    text_column: str | Sequence[str] = "text",
    size: int = 1024,
) -> Iterator[list[str]]:
    """The texts of a file or stream in lists of at most `size`, in order.

    Parameters
    ----------
    source : path-like or binary file
        A file, gzipped or not, or an open stream such as `sys.stdin.buffer`, of which no more is
        read than is handed out.
    format : {"jsonl", "csv", "lines"}, optional
        A JSON object a line, a table with a header line, or a text a line (an empty line is an
        empty text). By default lines, or JSON objects where the first line starts with ``{``.
    text_column : str or sequence of str
        As in `read_jsonl`.
    size : int
        Texts a chunk.

    Yields
    ------
    list of str

    Raises
    ------
    DataError
        With file and line, once the texts before it are handed out.

    Notes
    -----
    Working memory is one chunk, of at most some 4 million characters and one line of 8 MB.

    Examples
    --------
    >>> import io
    >>> lines = io.BytesIO(b"at the beach\\nin the snow\\nat sea\\n")
    >>> list(text_chunks(lines, size=2))
    [['at the beach', 'in the snow'], ['at sea']]
    """
    if format is not None and format not in get_args(TextFormat):
        raise ParameterError(f"format must be 'jsonl', 'csv' or 'lines', not {format!r}.")
    if size < 1:
        raise ParameterError(f"size must be at least 1, not {size}.")
    return _chunks(source, format, TableOptions(text_column, labels_column=None), size)


def _chunks(
    source: PathLike | BinaryIO, format: TextFormat | None, options: TableOptions, size: int
) -> Iterator[list[str]]:
    with _opened(source) as lines:
        chunk: list[str] = []
        characters = 0
        for text in _texts(lines, format, options):
            chunk.append(text)
            characters += len(text)
            if len(chunk) == size or characters > _CHUNK_CHARACTERS:
                yield chunk
                chunk, characters = [], 0
        if chunk:
            yield chunk


class _StreamLines:
    """Lines of an open stream, with the interface of `LineBlocks` as far as it is needed here."""

    def __init__(self, stream: BinaryIO) -> None:
        self.path = Path("standard input")
        self.is_empty = False
        self._stream = stream

    def lines(self, *, keep_returns: bool = False) -> Iterator[tuple[int, bytes]]:
        number = 0
        while line := self._stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise self.error(f"the line is longer than {MAX_LINE_BYTES:,} bytes", line=number)
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            line = line.removesuffix(b"\n")
            yield number, line if keep_returns else line.removesuffix(b"\r")

    def error(self, message: str, *, line: int | None = None) -> DataError:
        return DataError(message, path=self.path, line=line)


@contextmanager
def _opened(source: PathLike | BinaryIO) -> Iterator[LineBlocks | _StreamLines]:
    if hasattr(source, "readline"):
        yield _StreamLines(source)  # type: ignore[arg-type]
        return
    with LineBlocks(source) as blocks:  # type: ignore[arg-type]
        yield blocks


def _texts(
    lines: LineBlocks | _StreamLines, format: TextFormat | None, options: TableOptions
) -> Iterator[str]:
    if lines.is_empty:
        raise DataError("the file is empty; expected texts", path=lines.path)
    if format == "csv":
        yield from _csv_texts(lines, options)
        return
    rows = TableRows(lines.path, options, at_line)
    for number, line in lines.lines():
        text = decoded(lines, number, line)  # type: ignore[arg-type]
        if format is None:
            format = "jsonl" if text.lstrip().startswith("{") else "lines"
        if format == "lines":
            yield text
        elif text.strip():
            record = _json_object(lines.path, number, text)
            for name in options.columns:
                if name not in record:
                    raise missing_column(lines.path, name, list(record), number)
            yield _joined(rows, number, [record[name] for name in options.text_columns])


def _csv_texts(lines: LineBlocks | _StreamLines, options: TableOptions) -> Iterator[str]:
    delimiter = "\t" if without_gz(lines.path).suffix.lower() == ".tsv" else ","
    rows = TableRows(lines.path, options, at_line)
    records = _csv_records(lines, delimiter)  # type: ignore[arg-type]
    _, header = _next_record(records) or (1, [])
    for name in options.columns:
        if name not in header:
            raise missing_column(lines.path, name, header, 1)
        if header.count(name) > 1:
            raise lines.error(f"the header names {name!r} twice; rename one", line=1)
    places = [header.index(name) for name in options.text_columns]
    while found := _next_record(records):
        number, record = found
        if len(record) != len(header):
            raise lines.error(
                f"expected {len(header)} fields as in the header, found {len(record)}; fields "
                f"that hold {delimiter!r} need quotes",
                line=number,
            )
        yield _joined(rows, number, [record[place] for place in places])


def _next_record(records: Iterator[tuple[int, list[str]]]) -> tuple[int, list[str]] | None:
    # The limit is a setting of the process: it must not stay while the caller is at work.
    with _field_limit(MAX_LINE_BYTES):
        return next(records, None)


def _joined(rows: TableRows, number: int, parts: list[str]) -> str:
    """The text of one row, checked; the rows keep nothing."""
    rows.add(number, parts, None)
    text = rows.texts.pop()
    rows.cells.clear()
    rows.places.clear()
    return text
