"""Files written whole or not at all: to a temporary name beside the target, then renamed."""

from __future__ import annotations

import gzip
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from longtail.data._source import PathLike
from longtail.errors import DataError, InputError


@contextmanager
def written_whole(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path` when the block ends well, and not at all otherwise.

    A name that ends in `.gz` is packed, the same bytes every time.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder; give the name of a file in it", path=path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        raw = open(temporary, "xb")  # noqa: SIM115 - closed below, before the rename
    except OSError as error:
        raise DataError(f"the file cannot be written: {error.strerror}", path=path) from None
    try:
        with raw:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                    yield packed  # type: ignore[misc]
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise DataError(f"the file cannot be written: {error.strerror}", path=path) from None
    finally:
        temporary.unlink(missing_ok=True)


def as_utf8(text: str) -> bytes:
    """Text as UTF-8; half of a surrogate pair, which UTF-8 cannot hold, gets a sentence."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"The character {error.object[error.start]!a} cannot be written as UTF-8; remove it."
        ) from None
