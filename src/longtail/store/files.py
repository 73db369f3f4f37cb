"""Opening files that others may have made: plain files only, and no links within a model."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from longtail.errors import ModelError


@contextlib.contextmanager
def open_plain(path: Path, *, follow: bool = False) -> Iterator[BufferedReader]:
    """A plain file open for reading; links, folders, pipes and devices are refused.

    With `follow`, the last part of the path may be a symbolic link.
    """
    if not follow and path.is_symlink():
        raise ModelError(f"{path}: is a symbolic link; a model consists of plain files only.")
    flags = os.O_RDONLY
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY", *(() if follow else ("O_NOFOLLOW",))):
        flags |= getattr(os, name, 0)
    with explained(path, "read"):
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            raise ModelError(f"{path}: is missing.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ModelError(f"{path}: is not a plain file.")
    with open(descriptor, "rb") as file:
        yield file


@contextlib.contextmanager
def explained(path: Path, doing: str) -> Iterator[None]:
    """Turn what the operating system refuses into a `ModelError` that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(f"{path}: cannot be {doing}: {reason}.") from error
