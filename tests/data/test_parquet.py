"""Parquet is decoded in another process: whatever becomes of it, the caller gets one sentence."""

from __future__ import annotations

import base64
import contextlib
import zlib

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


ENDS_ITS_READER = """
eNqNUsFu00AQXW8sU1U55NBZ2VIOPjRWK6ziGKLYlB7WpWkpKXWDaGjFxa5tkspNUGzawJFvyJEv4CP4EL6G2bUJN8Ranpmd
mfferHZDPuqCCpuwOQQKhBAF/wgItKBlQwOdBhohFLNUIQ1oGj2itQxdLdNlCYRRdskuLdvaIIjZhm1bsPzFNPBD25C0MaI7
RDM8LY/iNC/UfFqUj9I8vUtnFdeADayVQow2s8FlCMFopcBAhECNDyfqYj4vQSXQ7NBqhg4ZtrHao3rNigNowxcipepSAWjV
/kepRjBqtA3b+qa0/3Eo9oPCFrF+yab/mp39pMAI+64wam2g2xKH0Jt8NDofPy9uJuldpK/oE7G8dxzXkTDePe6XF/Vepl5z
XvBD6S/44xDrDw8i/4rzj3Ufhjy4EZtAmNNbbPIlOBSm6gsGglZSC3PoCOnjNUiScD6SDeu6LB3nzvXYkdml1L8SoOJqfJrH
J2ecn38VhyjWJEGtVw33VuihH9VznFX8L72a/6iaJ3Cu309Q5OCA6G/CeR4tCnPn05dyMp/tmvfpopjOZ6a7191zzJ348zRP
zH7mO26cPM2yxO1nmecm3Wdu34scP3L9Xpa5WT9KE9/dNWy8Z3HV+/gUQ3zovwGI8J9R
"""
"""A file of 749 bytes, packed, of one text with one label, in which one bit is flipped.

polars asks for 2^61 bytes to read it, and then ends its process.
"""


def test_a_file_that_ends_the_process_that_reads_it_is_refused(tmp_path):
    path = tmp_path / "docs.parquet"
    path.write_bytes(zlib.decompress(base64.b64decode(ENDS_ITS_READER)))
    with pytest.raises(DataError, match=r"docs.parquet.*not a Parquet file, or a damaged one"):
        read_parquet(path)


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
