"""Points to predict, in chunks: from a file of any format, or from standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longtail.cli._models import CHUNK, Model, chunks
from longtail.cli._options import Reading
from longtail.data import load
from longtail.data.recognise import parts_of_folder, recognise
from longtail.data.streaming import text_chunks
from longtail.errors import DataError, InputError, ParameterError

STANDARD_INPUT = Path("-")

_STREAMED = ("jsonl", "csv", "lines")


def points_to_predict(model: Model, path: Path, reading: Reading) -> Iterator[Any]:
    """Inputs of the model, some at a time.

    JSON lines, CSV and plain lines of text are read as they are predicted; other files are read
    whole first.
    """
    if model.takes_text:
        return _texts(path, reading)
    if path == STANDARD_INPUT or reading.format == "lines":
        raise InputError("The model takes features; give a file with features, not lines of text.")
    return chunks(model.inputs(reading.load(path, usual_part="test")))


def _texts(path: Path, reading: Reading) -> Iterator[list[str]]:
    columns = reading.text_column or ["text"]
    if path == STANDARD_INPUT:
        if reading.format not in (None, *_STREAMED):
            raise ParameterError(
                f"Standard input holds {', '.join(_STREAMED)}, not {reading.format}."
            )
        size = 1 if sys.stdin.isatty() else CHUNK
        return text_chunks(
            sys.stdin.buffer,
            format=reading.format,  # type: ignore[arg-type]
            text_column=columns,
            size=size,
        )
    file = _file_of_part(path, reading.part)
    format = reading.format or _format_of_texts(file)
    if format in _STREAMED and not reading.read:
        return text_chunks(file, format=format, text_column=columns, size=CHUNK)  # type: ignore[arg-type]
    options = {**reading.arguments(file, usual_part="test"), "part": None, "labels_column": None}
    return chunks(load(file, **options).texts)


def _file_of_part(path: Path, part: str | None) -> Path:
    if not path.is_dir():
        if part is not None:
            raise ParameterError(f"--part is for folders; {path} is a file.")
        return path
    parts = parts_of_folder(path)
    wanted = part or ("test" if "test" in parts else next(iter(parts)))
    if wanted not in parts:
        found = ", ".join(each.file.name for each in parts.values())
        raise DataError(f"there is no {wanted} part here to predict, only {found}", path=path)
    return parts[wanted].file


def _format_of_texts(file: Path) -> str:
    """The format of a file with texts; what looks like nothing else is one text a line."""
    try:
        found = recognise(file)
    except DataError as error:
        if "cannot be told" not in error.reason:
            raise
        return "lines"
    if found in ("jsonl", "csv", "parquet"):
        return found
    raise InputError(
        f"The model takes texts, but {file} looks like features ({found}); if its lines are texts, "
        "say --format lines."
    )
