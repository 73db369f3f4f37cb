"""Flipped and cut Parquet files.

longtail decodes a file in a process of its own that may die. That start costs a third of a second,
so most inputs go straight to what this process does, here, where a death counts as a refusal; one
in `THROUGH_THE_READER` goes all the way.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from longtail.data import _parquet_child, read_parquet
from longtail.errors import DataError
from tests.fuzz.kinds import Kind, Wrong, note
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import sound

THROUGH_THE_READER = 100


def prepare(folder: Path) -> None:
    """Good files: small and large, with strings, numbers and no labels."""
    for number, n in enumerate((3, 200, 5000)):
        texts = [f"text {row} ü {'x' * (row % 7)}" for row in range(n)]
        names = [["sea", "sun", "été"][: row % 4] for row in range(n)]
        _write(folder / f"names-{number}.parquet", texts, names, pl.String)
        ids = [[row % 5, 7][: 1 + row % 2] for row in range(n)]
        _write(folder / f"ids-{number}.parquet", texts, ids, pl.Int64)


def _write(path: Path, texts: list[str], labels: list[Any], kind: Any) -> None:
    """A table by polars itself: the process is a fork, in which longtail writes none."""
    schema = {"text": pl.String, "labels": pl.List(kind)}
    pl.DataFrame({"text": texts, "labels": labels}, schema=schema).write_parquet(path)


def attempt(rng: np.random.Generator, folder: Path, common: Path) -> None:
    """One damaged file, mostly in its last bytes, where it describes itself."""
    files = sorted(common.glob("*.parquet"))
    file = files[int(rng.integers(len(files)))]
    content = bytearray(file.read_bytes())
    tail = rng.random() < 0.7
    for _ in range(int(rng.integers(1, 5))):
        span = min(len(content), 700) if tail else len(content)
        content[-1 - int(rng.integers(span))] ^= 1 << int(rng.integers(8))
    if rng.random() < 0.15:
        content = bytearray(mutated(rng, bytes(content), large=False))
    path = folder / "a.parquet"
    path.write_bytes(content)
    through = int(rng.integers(THROUGH_THE_READER)) == 0
    note(folder, f"{file.name}, {'the reader' if through else 'the decoder'}")
    if through:
        sound(read_parquet(path))
        return
    rows = None
    seen = 0
    for line in _parquet_child.decode(str(path), ["text", "labels"]):
        told = json.loads(json.dumps(line, default=lambda value: {"kind": type(value).__name__}))
        if isinstance(told, dict) and "error" in told:
            raise DataError(" ".join(told["error"].split())[:200], path=path)
        if isinstance(told, dict):
            rows = told["rows"]
            if not {"text", "labels"} <= set(told["columns"]):
                raise DataError("a column is missing", path=path)
        else:
            seen += len(told)
    if seen != rows:
        raise Wrong(f"a file of {rows} rows gives {seen}")


PARQUET = Kind("parquet", attempt, prepare, may_die=True)
