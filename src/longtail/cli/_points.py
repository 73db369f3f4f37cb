"""Points to predict, in chunks: from a file of any format, or from standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longtail.cli._models import CHUNK, Model, chunks
from longtail.cli._options import Reading
from longtail.data.recognise import format_by_name, recognise
from longtail.data.streaming import text_chunks
from longtail.errors import DataError, InputError, ParameterError

STANDARD_INPUT = Path("-")

_STREAMED = ("jsonl", "csv", "lines")


def points_to_predict(model: Model, path: Path, reading: Reading) -> Iterator[Any]:
    """Inputs of the model, some at a time.

    JSON lines, CSV and plain lines of text are read as they are predicted; other files are read
    whole first.
    """
    if not model.takes_text:
        if path == STANDARD_INPUT or reading.format == "lines":
            raise InputError("The model takes features; texts, line by line, are not for it.")
        return chunks(model.inputs(reading.load(path, usual_part="test")))
    columns = reading.text_column or ["text"]
    if path == STANDARD_INPUT:
        if reading.format not in (None, *_STREAMED):
            raise ParameterError(
                f"From standard input come {', '.join(_STREAMED)}, not {reading.format}."
            )
        size = 1 if sys.stdin.isatty() else CHUNK
        return text_chunks(
            sys.stdin.buffer,
            format=reading.format,  # type: ignore[arg-type]
            text_column=columns,
            size=size,
        )
    format = reading.format or (None if path.is_dir() else _format_of_texts(path))
    if format in _STREAMED and not path.is_dir() and not reading.read:
        return text_chunks(path, format=format, text_column=columns, size=CHUNK)  # type: ignore[arg-type]
    if format == "lines":
        raise ParameterError(f"Lines of text are read from a file without options, not {path}.")
    return chunks(model.inputs(_unlabelled(path, reading)))


def _format_of_texts(path: Path) -> str:
    """The format of a file with texts; a text file is one text a line unless it looks different."""
    by_name = format_by_name(path)
    if by_name is not None:
        return by_name
    try:
        found = recognise(path)
    except DataError as error:
        if "cannot be told" not in error.reason:
            raise
        return "lines"
    if found == "xmc":
        raise InputError(
            f"The model takes texts, but {path} looks like features in XMC format; if its lines are "
            "texts, say --format lines."
        )
    return "lines" if found == "svmlight" else found


def _unlabelled(path: Path, reading: Reading) -> Any:
    """A data set whose labels, if it has any, nobody asks for."""
    from longtail.data import load

    options = reading.arguments(path, usual_part="test")
    if reading.labels_column is None:
        options["labels_column"] = None
    try:
        return load(path, **options)
    except ParameterError:
        options.pop("labels_column")  # features always come with labels
        return load(path, **options)
