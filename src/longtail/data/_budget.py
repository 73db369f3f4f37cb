"""What reading may take: counted as a file is read, and refused before it is allocated.

Every reader counts its rows, entries and names at the rates below. They cover the final arrays and
all that is held on the way to them, so the count is a bound on the peak, beside `FIXED` for the
buffers. How much a file unpacks to does not matter, only what is kept of it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from longtail.errors import DataError, ParameterError
from longtail.labels import LONGEST_NAME, name_array, padded_size
from longtail.runtime import available_memory

FIXED = 32 * 2**20
"""Bytes for buffers, whatever the file holds."""
ROW = 48
"""Bytes per row, beside its text."""
LABEL = 24
"""Bytes per label of a row."""
NAME = 128
"""Bytes per name of a column, beside what Python and numpy take for its characters."""
NAME_TOO_LONG = f"a name has more than {LONGEST_NAME:,} characters; is this the right column?"
CELL = 100
"""Bytes per value of a line while it is parsed, beside `LINE_BYTE` for each of its bytes."""
LINE_BYTE = 14
SHORT = 2**16
"""Bytes of lines that `FIXED` has room for."""


class Budget:
    """Bytes that reading one data set may take.

    Parameters
    ----------
    path : path-like
        The file, for the error.
    memory_limit : float, optional
        GB; by default what the machine, or the process's control group, has left.

    Examples
    --------
    >>> Budget("docs.csv", 1e-6).take(10**6)
    Traceback (most recent call last):
    ...
    longtail.errors.DataError: docs.csv: reading this takes more memory than memory_limit of 1e-06 \
GB; raise memory_limit, or split the file and read its parts
    """

    def __init__(self, path: Any, memory_limit: float | None = None) -> None:
        if memory_limit is not None and not memory_limit > 0:
            raise ParameterError(f"memory_limit must be above 0 GB, not {memory_limit}.")
        self.path = Path(path)
        self.taken = 0
        self._named = memory_limit is not None
        left = available_memory() if memory_limit is None else memory_limit * 1e9
        self.limit = math.inf if left is None else left

    def take(self, size: int) -> None:
        """Count what stays until the data set is made."""
        self.taken += size
        if self.taken > self.limit:
            self._refuse()

    def look(self, size: int) -> None:
        """Refuse what is needed for a moment if there is no room for it."""
        if self.taken + size > self.limit:
            self._refuse()

    def _refuse(self) -> NoReturn:
        limit = f"{self.limit / 1e9:.3g} GB"
        what = f"memory_limit of {limit}" if self._named else f"the {limit} left here"
        raise DataError(
            f"reading this takes more memory than {what}; raise memory_limit, or split the file "
            "and read its parts",
            path=self.path,
        )

    def look_at_line(self, line: bytes, marks: Iterable[bytes | int], before: int = 0) -> int:
        """Refuse a line if there is no room to parse it; a value stands beside each mark.

        Returns the bytes that it takes, with those of the lines `before` it in one record. Short
        lines need no look.
        """
        if len(line) <= SHORT and not before:
            return 0
        size = before + LINE_BYTE * len(line) + CELL * sum(line.count(mark) for mark in marks)
        self.look(size)
        return size

    def take_row(self, text: str, n_labels: int) -> None:
        """Count a row with its text and its labels."""
        self.take(ROW + LABEL * n_labels + (sys.getsizeof(text) if text else 0))

    def take_name(self, name: Any) -> None:
        """Count a name of a column."""
        self.take(NAME + 2 * sys.getsizeof(name))

    def name_array(self, names: Sequence[Any]) -> NDArray[Any]:
        """As `longtail.labels.name_array`, of names that are counted one by one already."""
        if names and isinstance(names[0], str):
            self.take(padded_size(np.fromiter(map(len, names), dtype=np.int64, count=len(names))))
        return name_array(names)
