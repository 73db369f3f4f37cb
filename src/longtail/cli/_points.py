"""Points to predict, in chunks: from a file of any format, or from standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from longtail.cli._models import CHUNK, Model, chunks
from longtail.cli._options import ReadingTexts
from longtail.data import read_dataset
from longtail.data.recognise import parts_of_folder, recognise
from longtail.data.streaming import text_chunks
from longtail.errors import DataError, InputError, ParameterError

STANDARD_INPUT = Path("-")

_STREAMED = ("jsonl", "csv", "lines")


def points_to_predict(model: Model, path: Path, reading: ReadingTexts) -> Iterator[Any]:
    """Inputs of the model, some at a time; a bad row that is skipped is its `DataError`.

    JSON lines, CSV and plain lines of text are read as they are predicted; other files are read
    whole first.
    """
    if model.takes_text:
        return _texts(path, reading)
    if path == STANDARD_INPUT or reading.format == "lines":
        raise InputError("The model takes features; give a file with features, not lines of text.")
    if reading.skips_errors:
        raise _only_rows_of_texts()
    return chunks(model.inputs(reading.load(path, usual_part="test")))


def _texts(path: Path, reading: ReadingTexts) -> Iterator[list[str]]:
    options: dict[str, Any] = {
        "text_column": reading.text_column or ["text"],
        "on_error": "return" if reading.skips_errors else "raise",
    }
    if path == STANDARD_INPUT:
        if reading.format not in (None, *_STREAMED):
            raise ParameterError(
                f"Standard input holds {', '.join(_STREAMED)}, not {reading.format}."
            )
        size = 1 if sys.stdin.isatty() else CHUNK
        format: Any = reading.format
        return text_chunks(sys.stdin.buffer, format=format, size=size, **options)
    file = _file_of_part(path, reading.part)
    format = reading.format or _format_of_texts(file)
    if format in _STREAMED and not reading.read:
        return text_chunks(file, format=format, size=CHUNK, **options)
    if reading.skips_errors:
        raise _only_rows_of_texts()
    arguments = {**reading.arguments(file, usual_part="test"), "part": None, "labels_column": None}
    return chunks(read_dataset(file, **arguments).texts)


def _only_rows_of_texts() -> ParameterError:
    return ParameterError(
        "--on-error skip is for texts that are read row by row: jsonl, csv and lines without "
        "--read; leave it out, or convert the file."
    )


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
    """The format of a file with texts; what looks like nothing else is one text per line."""
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
