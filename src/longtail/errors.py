"""What longtail raises and warns: each message is one sentence that names the cause and the remedy.

Everything raised on purpose derives from `LongtailError`, so a program can catch the family;
each also derives from the builtin a scikit-learn user would expect.
"""

from __future__ import annotations

import errno
import inspect
import math
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PACKAGE = os.path.dirname(__file__) + os.sep


class LongtailError(Exception):
    """Base of everything that longtail raises on purpose."""


class ParameterError(LongtailError, ValueError):
    """A parameter has a value that makes no sense."""


class InputError(LongtailError, ValueError):
    """X or Y, as passed to a method, cannot be used."""


class InputTypeError(InputError, TypeError):
    """X or Y holds objects that are no numbers; a `TypeError` too, as scikit-learn raises it."""


class DataError(LongtailError, ValueError):
    """A data file cannot be read as what it should be.

    Parameters
    ----------
    message : str
        What is wrong and what would be right.
    path : path-like, optional
        The file.
    line : int, optional
        The line, counted from one.

    Examples
    --------
    >>> print(DataError("the label id -3 is negative; ids start at 0", path="a.txt", line=7))
    a.txt, line 7: the label id -3 is negative; ids start at 0
    """

    def __init__(
        self, message: str, *, path: str | os.PathLike[str] | None = None, line: int | None = None
    ) -> None:
        self.reason = message
        self.path = None if path is None else os.fspath(path)
        self.line = line
        place = "" if self.path is None else self.path
        if line is not None:
            place += f"{', ' if place else ''}line {line}"
        super().__init__(f"{place}: {message}" if place else message)


class ModelError(LongtailError, ValueError):
    """A model folder cannot be read or written."""


class CheckpointError(LongtailError, ValueError):
    """A checkpoint folder belongs to other work or cannot be used."""


class MissingExtraError(LongtailError, ImportError):
    """An optional dependency is not installed.

    Examples
    --------
    >>> print(MissingExtraError("Plots", package="matplotlib", extra="report"))
    Plots need matplotlib, which is not installed: pip install "longtail[report]"
    """

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        super().__init__(
            f'{what} need {package}, which is not installed: pip install "longtail[{extra}]"'
        )


class OutOfMemoryError(LongtailError, MemoryError):
    """The memory of the machine, or what this process may take of it, was not enough.

    Examples
    --------
    >>> print(OutOfMemoryError("to train"))
    There is not enough memory to train; use fewer points or features, or allow it more.
    """

    def __init__(self, purpose: str) -> None:
        super().__init__(
            f"There is not enough memory {purpose}; use fewer points or features, or allow it more."
        )


_NO_MEMORY = re.compile(
    "start new thread|map segment|allocate memory|out of memory|memory allocation|capacity overflow"
    "|spawn.*thread|OutOfMemory",
    re.IGNORECASE,
)


def address_space() -> float:
    """Bytes of addresses that this process may use: `ulimit -v`, inf for no limit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else float(limit)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or what led to it, says that there is no more memory.

    Without any, Python's own `MemoryError` is but one of many: threads cannot be started, libraries
    cannot be loaded, and code in Rust panics with an error that is no `Exception`.

    Examples
    --------
    >>> is_out_of_memory(RuntimeError("can't start new thread")), is_out_of_memory(ValueError("x"))
    (True, False)
    """
    seen: BaseException | None = error
    for _ in range(20):
        if seen is None:
            return False
        if isinstance(seen, MemoryError) or getattr(seen, "errno", None) == errno.ENOMEM:
            return True
        foreign = type(seen).__name__ in ("PanicException", "LLVMException", "SafetensorError")
        told = foreign or isinstance(seen, OSError | RuntimeError | ImportError | SystemError)
        if told and _NO_MEMORY.search(str(seen)):
            return True
        # An extension that could not allocate says nothing else.
        if isinstance(seen, SystemError) and address_space() < math.inf:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


@contextmanager
def memory_needed(purpose: str) -> Iterator[None]:
    """Say what the memory was for if there is no more of it.

    Examples
    --------
    >>> with memory_needed("to train"):
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    longtail.errors.OutOfMemoryError: There is not enough memory to train; use fewer points or \
features, or allow it more.
    """
    try:
        yield
    except BaseException as error:
        say_out_of_memory(error, purpose)
        raise


def say_out_of_memory(error: BaseException, purpose: str) -> None:
    """Raise `OutOfMemoryError` if an error of others says that there is no more memory."""
    if not isinstance(error, LongtailError) and is_out_of_memory(error):
        raise OutOfMemoryError(purpose) from error


class LongtailWarning(UserWarning):
    """Base of everything that longtail warns about."""


class DataWarning(LongtailWarning):
    """A file was read, but something in it looks wrong."""


class SkippedRowsWarning(DataWarning):
    """Bad rows of a file were left out."""


class SkippedRows:
    """Bad rows as they are skipped: how many, and the first of them for the warning.

    Examples
    --------
    >>> rows = SkippedRows()
    >>> rows.add(DataError("'text' is null", path="a.jsonl", line=7))
    >>> rows.in_words()
    "1 row was skipped: a.jsonl, line 7: 'text' is null"
    """

    SHOWN = 5

    def __init__(self) -> None:
        self.count = 0
        self.first: list[DataError] = []

    def add(self, error: DataError) -> None:
        """One more."""
        self.count += 1
        if self.count <= self.SHOWN:
            self.first.append(error)

    def in_words(self) -> str:
        """How many, and which."""
        rows = "1 row was" if self.count == 1 else f"{self.count:,} rows were"
        more = f"; and {self.count - self.SHOWN:,} more" if self.count > self.SHOWN else ""
        return f"{rows} skipped: {'; '.join(map(str, self.first))}{more}"

    def warn(self) -> None:
        """Warn, if there is any."""
        if self.count:
            warn(self.in_words(), SkippedRowsWarning)


class ConvergenceWarning(LongtailWarning):
    """Some problems hit the iteration limit before the tolerance."""


def one_sentence(error: Exception) -> str:
    """What went wrong, for people, where the work goes on without what failed.

    Examples
    --------
    >>> one_sentence(InputError("There is no point; give at least one."))
    'There is no point; give at least one.'
    >>> one_sentence(KeyError("x"))
    "It stopped with KeyError: 'x'"
    """
    text = " ".join(str(error).split())
    if isinstance(error, LongtailError):
        return text
    if is_out_of_memory(error):
        return str(OutOfMemoryError("for it"))
    return f"It stopped with {type(error).__name__}{f': {text}' if text else '.'}"


def printable(value: Any, limit: int | None = None) -> str:
    """A name or text on one line: white space as single blanks, control characters as escapes.

    Parameters
    ----------
    value : object
        Anything; its `str` is shown.
    limit : int, optional
        Characters at most; what is cut off is replaced by an ellipsis.

    Examples
    --------
    >>> printable("two\\n lines \\x1b[31m")
    'two lines \\\\x1b[31m'
    >>> printable("a long name", limit=6)
    'a lon…'
    """
    text = str(value)
    if limit is not None:
        text = text[: 4 * limit + 100]
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
            for letter in line
        )
    if limit is not None and len(line) > limit:
        line = line[: max(limit - 1, 0)].rstrip() + "…"
    return line


def warn(message: str, category: type[Warning]) -> None:
    """Warn where longtail was called, however many of its own functions lie in between.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn("Every row has the label 'sea'; leave it out.", DataWarning)
    >>> print(seen[0].message)
    Every row has the label 'sea'; leave it out.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
