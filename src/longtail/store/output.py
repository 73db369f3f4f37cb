"""Where a file that a user names is written to: a regular file whole, anything else through."""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from longtail.store.atomic import atomic_file

_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d+)|(stdout|stderr))")
_STREAMS = {"stdout": 1, "stderr": 2}


@contextlib.contextmanager
def output_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write to, packed if its name ends in `.gz`, the same bytes every time.

    A regular file appears when the block ends without an error, and not at all otherwise. Anything
    else, such as a FIFO, a device or `/dev/stdout`, is written to directly and never replaced.

    Parameters
    ----------
    path : path-like
        Where the bytes go; missing parents of a regular file are made.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with output_file(place) as file:
    ...     _ = file.write(b"whole")
    >>> place.read_text()
    'whole'
    >>> with output_file("/dev/null") as file:
    ...     _ = file.write(b"gone")
    """
    with contextlib.ExitStack() as stack:
        if _is_regular(path):
            raw: Any = stack.enter_context(open(stack.enter_context(atomic_file(path)), "wb"))
        else:
            raw = stack.enter_context(_as_it_is(path))
        if Path(path).suffix.lower() == ".gz":
            raw = stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0))
        yield raw


def _is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether a path is free, or names a regular file or a folder, which `atomic_file` refuses."""
    if _DESCRIPTOR.fullmatch(os.fspath(path)):
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _as_it_is(path: str | os.PathLike[str]) -> IO[bytes]:
    """The FIFO or the device itself; of an open descriptor a copy, which keeps its position."""
    found = _DESCRIPTOR.fullmatch(os.fspath(path))
    if found is None:
        return open(os.open(path, os.O_WRONLY), "wb")
    return open(os.dup(int(found[1] or _STREAMS[found[2]])), "wb")
