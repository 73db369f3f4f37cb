"""Texts as they come, a chunk at a time: for data to predict, which need not fit into memory.

What a file may hold, and every sentence about a file that holds something else, is as in
`longtail.data.read_jsonl` and `longtail.data.read_csv`; there are no labels here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, BinaryIO, Literal, get_args

from longtail.data._label_cells import TableOptions, TableRows
from longtail.data._records import StreamLines, TextFormat, table_rows
from longtail.data._source import LineBlocks, PathLike
from longtail.errors import DataError, ParameterError

_CHUNK_CHARACTERS = 2**22
"""A chunk ends early when its texts are longer than this together."""


def text_chunks(
    source: PathLike | BinaryIO,
    *,
    format: TextFormat | None = None,
    text_column: str | Sequence[str] = "text",
    size: int = 1024,
    on_error: Literal["raise", "return"] = "raise",
) -> Iterator[list[Any]]:
    """The texts of a file or stream in lists of at most `size`, in order.

    Parameters
    ----------
    source : path-like or binary file
        A file, gzipped or not, or an open stream such as `sys.stdin.buffer`, of which no more is
        read than is handed out.
    format : {"jsonl", "csv", "lines"}, optional
        One JSON object per line, a table with a header line, or one text per line (an empty line is
        an empty text). By default lines, or JSON objects where the first line starts with ``{``.
    text_column : str or sequence of str
        As in `read_jsonl`.
    size : int
        Texts per chunk.
    on_error : {"raise", "return"}
        What becomes of a bad row. "return": its `DataError` stands in the place of its text, and
        reading goes on.

    Yields
    ------
    list of str

    Raises
    ------
    DataError
        With file and line, once the chunks before it are handed out.

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
    if on_error not in ("raise", "return"):
        raise ParameterError(f"on_error must be 'raise' or 'return', not {on_error!r}.")
    options = TableOptions(text_column, labels_column=None)
    return _chunks(source, format, options, size, on_error == "raise")


def _chunks(
    source: PathLike | BinaryIO,
    format: TextFormat | None,
    options: TableOptions,
    size: int,
    raises: bool,
) -> Iterator[list[Any]]:
    opened: Any = (
        nullcontext(StreamLines(source))  # type: ignore[arg-type]
        if hasattr(source, "readline")
        else LineBlocks(source)  # type: ignore[arg-type]
    )
    with opened as lines:
        if lines.is_empty:
            raise DataError("the file is empty; expected texts", path=lines.path)
        rows = TableRows(lines.path, options, lines.budget)
        chunk: list[str | DataError] = []
        characters = 0
        for row in table_rows(lines, format, options):
            try:
                if isinstance(row, DataError):
                    raise row
                text = rows.text_of(row.place, row.texts)
            except DataError as error:
                if raises:
                    raise
                chunk.append(error)
            else:
                chunk.append(text)
                characters += len(text)
            if len(chunk) == size or characters > _CHUNK_CHARACTERS:
                yield chunk
                chunk, characters = [], 0
        if chunk:
            yield chunk
