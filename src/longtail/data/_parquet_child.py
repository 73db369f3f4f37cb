"""Parquet decoded in a process of its own, which this file is the whole program of.

A damaged file can make the decoder end its process: an allocation that fails is not an exception
there. So the caller starts `python _parquet_child.py FILE COLUMN...`, with limits on memory and on
seconds of the processor, and reads lines of JSON. Only polars is imported here, so that this starts
fast.

The lines are: `{"columns": [...], "rows": N}`, then lists of rows, each a list of the cells of the
columns; or `{"error": "..."}` and nothing more.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

KIND = "\0kind"
ROWS, LINE = 4096, 2**20
"""Most rows per line, and the bytes of the columns after which a line ends."""


def decode(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """The lines as objects; without one of the columns, only the first."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False)
        names = frame.collect_schema().names()
        claimed = int(frame.select(pl.len()).collect().item())
        yield {"columns": names, "rows": claimed}
        if not set(columns) <= set(names):
            return
        table = frame.select(list(dict.fromkeys(columns))).collect()
        if len(table) != claimed:
            yield {"error": f"it claims {claimed} rows and holds {len(table)}"}
            return
        first = 0
        while first < len(table):
            rows = table.slice(first, ROWS)
            while len(rows) > 1 and rows.estimated_size() > LINE:
                rows = rows.head(len(rows) // 2)
            cells = [rows[name].to_list() for name in columns]
            yield list(map(list, zip(*cells, strict=True)))
            first += len(rows)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        yield {"error": str(error)}


def limit(memory: int, seconds: int) -> None:
    """Take no more than so many bytes of address space and seconds of the processor."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    for kind, most in (
        (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


def main(path: str, memory: str, seconds: str, *columns: str) -> None:
    """Print the lines."""
    os.environ.setdefault("POLARS_MAX_THREADS", "2")
    limit(int(memory), int(seconds))
    for line in decode(path, columns):
        print(json.dumps(line, default=_kind), flush=True)


def _kind(value: Any) -> dict[str, str]:
    """A value that JSON does not have, by its kind, which is all that is said of it."""
    return {KIND: type(value).__name__}


if __name__ == "__main__":
    main(*sys.argv[1:])
