"""Data files written whole or not at all, and text as UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from longtail.data._source import PathLike
from longtail.errors import DataError, InputError, ModelError
from longtail.store import output_file


@contextmanager
def written_whole(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary file as `store.output_file` opens it, whose faults are those of a data file."""
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder; give the name of a file in it", path=path)
    if not path.parent.is_dir():
        raise DataError(f"the file cannot be written: there is no folder {path.parent}", path=path)
    try:
        with output_file(path) as file:
            yield file
    except OSError as error:
        raise DataError(f"the file cannot be written: {error.strerror}", path=path) from None
    except ModelError as error:
        raise DataError(f"the file cannot be written: {error}", path=path) from None


def as_utf8(text: str) -> bytes:
    """Text as UTF-8; half of a surrogate pair, which UTF-8 cannot hold, raises an error."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"The character {error.object[error.start]!a} cannot be written as UTF-8; remove it."
        ) from None
