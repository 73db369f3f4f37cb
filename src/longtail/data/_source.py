"""Files as bytes: opened with care, unpacked as they are read, written whole or not at all.

Every reader takes its bytes from here, so all of them answer alike to a missing file, a folder, a
cut-off gzip file and a line without end. Working memory is one block of lines, whatever the size of
the file; what readers keep of it is counted in a `Budget`.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from longtail.data._budget import Budget
from longtail.errors import DataError, InputError, ModelError, ParameterError
from longtail.store import output_file

PathLike = str | os.PathLike[str]

MAX_LINE_BYTES = 8 * 2**20
"""Longest line that readers take unless told otherwise."""

_BLOCK_BYTES = 2**20
GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def checked_file(path: PathLike) -> Path:
    """The path of a file that exists and is one; anything else raises an error."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DataError("there is no such file; check the path", path=path) from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(mode):
        raise DataError("this is a folder, not a file; name a file in it", path=path)
    if not stat.S_ISREG(mode):
        raise DataError("this is not a regular file; write the data to one first", path=path)
    return path


def without_gz(path: Path) -> Path:
    """The path as it would be called unpacked.

    Examples
    --------
    >>> without_gz(Path("train.txt.gz")).name
    'train.txt'
    """
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def sibling(path: Path, name: str) -> Path | None:
    """The file of that name beside `path`, plain or gzipped, or None."""
    for candidate in (path.parent / name, path.parent / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    return None


class Source(AbstractContextManager["Source"]):
    """The bytes of a file, unpacked on the way if it is gzipped (seen by content, not by name)."""

    def __init__(self, path: PathLike) -> None:
        self.path = checked_file(path)
        try:
            self._raw = open(self.path, "rb")  # noqa: SIM115 - closed by close()
            self._file: io.BufferedIOBase = self._raw
            if self._raw.peek(2)[:2] == GZIP_MAGIC:
                self._file = gzip.GzipFile(fileobj=self._raw, mode="rb")
        except OSError as error:
            raise _unreadable(self.path, error) from None

    def readinto(self, view: memoryview, *, line: int | None = None) -> int:
        """Fill `view` as far as the file goes; `line` is where an error will be placed."""
        filled = 0
        try:
            while filled < len(view):
                count = self._file.readinto(view[filled:])
                if not count:
                    break
                filled += count
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise DataError(
                "the gzip file is cut off or damaged here; fetch it again",
                path=self.path,
                line=line,
            ) from None
        except OSError as error:
            raise _unreadable(self.path, error) from None
        return filled

    def read(self, size: int) -> bytes:
        """Up to `size` bytes."""
        buffer = bytearray(size)
        return bytes(buffer[: self.readinto(memoryview(buffer))])

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._raw.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class LineBlocks(AbstractContextManager["LineBlocks"]):
    """A file in blocks of whole lines, each ending with a newline.

    Parameters
    ----------
    path : path-like
        The file, gzipped or not. A UTF-8 mark at its start is skipped; UTF-16 is refused.
    max_line_bytes : int
        A longer line is refused, which bounds the memory that reading takes.
    budget : Budget, optional
        Where readers count what they keep; by default one with all memory that is left.

    Attributes
    ----------
    line : int
        The number of the line that comes next, counted from one, as far as `blocks` handed them
        out; a parser that counts lines itself adds to it.
    """

    def __init__(
        self,
        path: PathLike,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        budget: Budget | None = None,
    ) -> None:
        if max_line_bytes < _BLOCK_BYTES:
            raise ParameterError(
                f"max_line_bytes must be at least {_BLOCK_BYTES}, not {max_line_bytes}."
            )
        self._source = Source(path)
        self.path = self._source.path
        self.budget = budget or Budget(self.path)
        self.line = 1
        self._max_line_bytes = max_line_bytes
        self._buffer = np.empty(2 * _BLOCK_BYTES, dtype=np.uint8)
        self._begin = 0
        self._end = 0
        self._done = False
        size = self._fill()
        start = self._buffer[: min(3, self._end)].tobytes()
        if start[:2] in UTF16_MARKS:
            self.close()
            raise DataError("the text is UTF-16; save it as UTF-8", path=self.path, line=1)
        if start == UTF8_MARK:
            self._begin = 3
            self._end = self._end if size > 3 else 3  # the mark alone is no line

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left, which right after opening means an empty file."""
        return self._begin == self._end

    def next_line(self) -> bytes | None:
        """The next line without its end, or None; counts it."""
        if not self._complete_line():
            return None
        stop = self._begin + _find_newline(self._buffer[self._begin : self._end])
        line = self._buffer[self._begin : stop].tobytes()
        self._begin = stop + 1
        self.line += 1
        return line.removesuffix(b"\r")

    def blocks(self) -> Iterator[NDArray[np.uint8]]:
        """The rest in blocks, valid until the next is asked for; the caller counts their lines."""
        while self._complete_line():
            window = self._buffer[self._begin : self._end]
            stop = self._begin + len(window) - _find_newline(window[::-1])
            block = self._buffer[self._begin : stop]
            self._begin = stop
            yield block

    def lines(self, *, keep_returns: bool = False) -> Iterator[tuple[int, bytes]]:
        """The rest as (line number, line without its newline and the return before it)."""
        for block in self.blocks():
            lines = block.tobytes().split(b"\n")
            lines.pop()
            for line in lines:
                self.line += 1
                yield self.line - 1, line if keep_returns else line.removesuffix(b"\r")

    def error(self, message: str, *, line: int | None = None) -> DataError:
        """An error at a line, by default the next one."""
        return DataError(message, path=self.path, line=self.line if line is None else line)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _complete_line(self) -> bool:
        """Have at least one whole line in the buffer, or say that there is none left."""
        searched = self._begin
        while True:
            length = _find_newline(self._buffer[searched : self._end])
            whole = searched + length < self._end
            if searched - self._begin + length > self._max_line_bytes:
                raise self.error(
                    f"the line is longer than {self._max_line_bytes:,} bytes; if intended, pass "
                    "a larger max_line_bytes"
                )
            if whole:
                return True
            if self._done:
                return False
            searched = self._end - self._begin
            self._fill()
            searched += self._begin

    def _fill(self) -> int:
        """Move what is left to the front, make room for one block, read it; returns its bytes."""
        left = self._end - self._begin
        if left + _BLOCK_BYTES + 1 > len(self._buffer):
            larger = np.empty(2 * len(self._buffer), dtype=np.uint8)
            larger[:left] = self._buffer[self._begin : self._end]
            self._buffer = larger
        elif self._begin:
            self._buffer[:left] = self._buffer[self._begin : self._end].copy()
        self._begin, self._end = 0, left
        view = self._buffer.data[left : left + _BLOCK_BYTES]
        count = self._source.readinto(view, line=self.line)
        self._end += count
        if count < _BLOCK_BYTES:
            self._done = True
            if self._end and self._buffer[self._end - 1] != ord("\n"):
                self._buffer[self._end] = ord("\n")
                self._end += 1
        return count


class _Places(Protocol):
    """What can say where an error is."""

    def error(self, message: str, *, line: int | None = None) -> DataError: ...


def decoded(blocks: _Places, number: int, line: bytes) -> str:
    """A line as text; bytes that are not UTF-8 raise an error."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise blocks.error(
            f"byte {error.start + 1} of the line is not UTF-8; convert the file to UTF-8",
            line=number,
        ) from None


def shown(text: str | bytes, limit: int = 40) -> str:
    """Foreign text made safe and short enough for a message.

    Examples
    --------
    >>> shown(b"caf\\xe9"), shown("a" * 50, limit=5)
    ("'caf\\\\xe9'", "'aaaaa...'")
    """
    if isinstance(text, bytes):
        text = text[: limit + 1].decode("ascii", errors="backslashreplace")
    return ascii(text if len(text) <= limit else text[:limit] + "...").replace("\\\\x", "\\x")


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


def _find_newline(window: NDArray[np.uint8]) -> int:
    """Where the first newline is, or the length of the window; looks at as little as it can."""
    step = 4096
    start = 0
    while start < len(window):
        hits = np.flatnonzero(window[start : start + step] == ord("\n"))
        if len(hits):
            return start + int(hits[0])
        start += step
        step = min(2 * step, 2**20)
    return len(window)


def _unreadable(path: Path, error: Exception) -> DataError:
    reason = getattr(error, "strerror", None) or str(error)
    return DataError(f"the file cannot be read: {reason}", path=path)
