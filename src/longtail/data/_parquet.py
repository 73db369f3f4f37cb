"""Rows of a Parquet file: decoded in another process, unless the file is trusted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longtail.data import _parquet_child
from longtail.data._budget import Budget
from longtail.data._source import shown
from longtail.errors import DataError

LIBRARIES = 3 * 2**30
"""Bytes of address space for the libraries of the other process, most of it never touched."""
MEMORY = 2**30
"""Bytes that decoding may take, beside `MEMORY_PER_BYTE`, within what the budget has."""
MEMORY_PER_BYTE = 100
LONGEST_LINE = 2**28
"""Bytes of one line of the exchange: the child starts a new one after `_parquet_child.LINE`."""
SECONDS = 60
"""Seconds of the processor that decoding may take, beside `SECONDS_PER_MEGABYTE`."""
SECONDS_PER_MEGABYTE = 2


def decoded(path: Path, columns: Sequence[str], budget: Budget, *, trusted: bool) -> Iterator[Any]:
    """What `_parquet_child.decode` yields; every failure is a `DataError`.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Those that are wanted.
    budget : Budget
        What is left of it is what decoding in another process may take.
    trusted : bool
        Whether to decode in this process, where a damaged file may end it.
    """
    decode = _parquet_child.decode(str(path), columns)
    for line in decode if trusted else _from_child(path, columns, budget):
        if isinstance(line, dict) and "error" in line:
            raise _damaged(path, line["error"])
        yield line


def _from_child(path: Path, columns: Sequence[str], budget: Budget) -> Iterator[Any]:
    size = path.stat().st_size
    memory = LIBRARIES + int(min(MEMORY + MEMORY_PER_BYTE * size, budget.limit))
    seconds = SECONDS + SECONDS_PER_MEGABYTE * (size >> 20)
    command = [sys.executable, "-P", _parquet_child.__file__, os.path.abspath(path)]
    with subprocess.Popen(
        [*command, str(memory), str(seconds), *columns],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as child:  # fmt: skip
        assert child.stdout is not None
        try:
            while line := child.stdout.readline(LONGEST_LINE):
                if not line.endswith(b"\n"):
                    raise DataError(f"a row takes more than {LONGEST_LINE:,} bytes", path=path)
                budget.look_at_line(line, b",:[{")
                yield json.loads(line, object_hook=_object)
            code = child.wait()
        finally:
            child.kill()
    if code:
        raise _damaged(
            path, f"decoding it ended with {code}, within {memory >> 30} GB and {seconds} seconds"
        )


def _object(found: dict[str, Any]) -> Any:
    """A value of a kind that JSON does not have, as an object of a class of that name."""
    kind = found.get(_parquet_child.KIND)
    return found if kind is None else type(kind, (), {})()


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"this is not a Parquet file, or a damaged one ({shown(why, 120)})", path=path)
