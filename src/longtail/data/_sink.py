"""Files written whole or not at all, packed where the name says so."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from longtail.data._source import PathLike
from longtail.errors import DataError, InputError, ModelError
from longtail.store import atomic_file


@contextmanager
def written_whole(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path` when the block ends well, and not at all otherwise.

    A name that ends in `.gz` is packed, the same bytes every time.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder; give the name of a file in it", path=path)
    if not path.parent.is_dir():
        raise DataError(f"the file cannot be written: there is no folder {path.parent}", path=path)
    try:
        with atomic_file(path) as place, open(place, "wb") as raw:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
    except OSError as error:
        raise DataError(f"the file cannot be written: {error.strerror}", path=path) from None
    except ModelError as error:
        raise DataError(f"the file cannot be written: {error}", path=path) from None


def as_utf8(text: str) -> bytes:
    """Text as UTF-8; half of a surrogate pair, which UTF-8 cannot hold, gets a sentence."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"The character {error.object[error.start]!a} cannot be written as UTF-8; remove it."
        ) from None
