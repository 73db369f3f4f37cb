"""Parquet is decoded in another process: whatever becomes of it, the caller gets one sentence."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from longtail.data import Dataset, _parquet, _parquet_child, read_parquet
from longtail.data.tables import write_parquet
from longtail.errors import DataError


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "docs.parquet"
    texts = [f"text {number} ü" for number in range(9000)]
    labels = [["sea", "sun"][: 1 + number % 2] for number in range(9000)]
    write_parquet(Dataset(None, labels, texts=texts), path)
    return path


def test_both_ways_read_the_same(file):
    there, here = read_parquet(file), read_parquet(file, trusted=True)
    assert there.texts == here.texts
    assert there.classes.tolist() == here.classes.tolist()
    assert (there.Y != here.Y).nnz == 0


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.abort()",
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "x = bytearray(2**33)",
        "while True: pass",
    ],
    ids=["abort", "crash", "memory", "time"],
)
def test_a_decoder_that_dies_harms_nobody(file, tmp_path, monkeypatch, program):
    child = tmp_path / "child.py"
    limits = "import sys\nfrom longtail.data._parquet_child import limit\n"
    child.write_text(f"{limits}limit(int(sys.argv[2]), int(sys.argv[3]))\n{program}\n")
    monkeypatch.setattr(_parquet_child, "__file__", str(child))
    monkeypatch.setattr(_parquet, "SECONDS", 1)
    with pytest.raises(DataError, match=r"docs.parquet.*damaged one \('decoding it ended with"):
        read_parquet(file)


def test_flipped_bytes_are_read_or_refused(file):
    rng = np.random.default_rng(0)
    whole = file.read_bytes()
    for _ in range(12):
        changed = bytearray(whole)
        changed[-1 - int(rng.integers(600))] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        with contextlib.suppress(DataError):
            assert len(read_parquet(file)) == 9000


def test_a_file_that_claims_other_rows_than_it_holds(file, monkeypatch):
    decode = _parquet_child.decode

    class Claims:
        """A frame whose number of rows is not that of its table."""

        def __init__(self, frame):
            self.frame = frame

        def __getattr__(self, name):
            return getattr(self.frame, name)

        def select(self, what):
            return (
                self.frame.select(what) if isinstance(what, list) else self.frame.select(what + 1)
            )

    import polars as pl

    scan = pl.scan_parquet
    monkeypatch.setattr(pl, "scan_parquet", lambda *a, **k: Claims(scan(*a, **k)))
    assert list(decode(str(file), ["text"]))[1:] == [
        {"error": "it claims 9001 rows and holds 9000"}
    ]
