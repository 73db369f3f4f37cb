"""Random files, and the worst ones under a watch on memory; mutated ones are in `tests/fuzz`."""

from __future__ import annotations

import gzip
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.data import read_dataset
from longtail.errors import DataError, DataWarning
from tests.data.test_hostile import FORMATS, laid_out

TOKENS = [
    *b"0 1 2 -1 2147483647 99999999999 0:1 1:0.5 2:-3e5 1: :1 nan inf 1e999 , ; { } [ ]".split(),
    *b'0,1 @data @attribute @relation real {0,1} ? % # \\ \' <labels> <label name="l"/>'.split(),
    *b'{"text": "labels": "a" null true \\ud800 text,labels 1e-320 123456789012345678901'.split(),
    b" ",
    b"\n",
    b"\r\n",
    b"\t",
    b"\x00",
    b"\xff",
    b"\xc3\xa9",
]


def check(read: Callable[[], object]) -> None:
    """It may read, or refuse with one sentence; any other exception is a failure."""
    refusal = None
    try:
        read()
    except DataError as error:
        refusal = error
    if refusal is not None:
        assert refusal.path is not None
        assert "\n" not in str(refusal)


def reads_or_refuses(format: str, content: bytes) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        path = laid_out(Path(folder), format, content)
        check(lambda: FORMATS[format].read(path))


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=25, deadline=None)
@given(choice=st.data())
def test_random_files(format: str, choice: st.DataObject) -> None:
    tokens = st.lists(st.sampled_from(TOKENS), max_size=30).map(b"".join)
    spaced = st.lists(st.sampled_from(TOKENS), max_size=30).map(b" ".join)
    reads_or_refuses(format, choice.draw(st.one_of(st.binary(max_size=200), tokens, spaced)))


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(["a", "a.txt", "a.json", "train.txt", "a.gz", "trn_X_Y.txt", "b.parquet"]),
    content=st.one_of(
        st.binary(max_size=100), st.lists(st.sampled_from(TOKENS), max_size=20).map(b" ".join)
    ),
)
def test_load_of_anything(name: str, content: bytes) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        path = Path(folder, name)
        path.write_bytes(content)
        for place in (path, Path(folder)):
            check(partial(read_dataset, place))


HUGE = 2**31 - 1
# What becomes of the file, and how many megabytes that may take.
ROW = "0,5 " + " ".join(f"{i}:0.{i:05}" for i in range(200)) + "\n"
WORST = {
    "large_and_good.txt": ("8000 200 6\n" + ROW * 8000, ("read", 4 * 8000 * 202 * 8 / 2**20)),
    "claims.txt": (f"{HUGE} {HUGE} {HUGE}\n0,5 0:1 7:2\n1 1:1\n", ("read", 10)),
    "far_ids.txt": (f"2 1 1\n{HUGE - 1} {HUGE - 1}:1\n0 0:1\n", ("read", 10)),
    "far_ids.svm": (f"{HUGE - 1} {HUGE - 1}:1\n0 0:1\n", ("read", 10)),
    "long_line.txt": ("1 3 4\n0 " + "1 " * (16 * 2**20), ("refused", 40)),
    "long_line.jsonl": ('{"text": "' + "a" * (32 * 2**20), ("refused", 40)),
    "long_line.csv": ('text,labels\n"' + "a" * (32 * 2**20), ("refused", 40)),
    "open_quote.csv": ('text,labels\n"' + "a,b\n" * (8 * 2**20), ("refused", 120)),
    "zeros.svm": ("0" * (32 * 2**20), ("refused", 40)),
    "newlines.txt": ("1 1 1\n" + "\n" * (32 * 2**20), ("read", 40)),
}
PROBE = """
import sys, warnings
from pathlib import Path
from longtail.data import read_dataset
from longtail.errors import DataError

def megabytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1024

def outcome(path):
    try:
        read_dataset(path)
    except DataError:
        return "refused"
    return "read"

warnings.simplefilter("ignore")
good, worst = (sorted(Path(folder).iterdir()) for folder in sys.argv[1:])
for path in good:
    read_dataset(path)
for path in worst:
    Path("/proc/self/clear_refs").write_text("5")
    before = megabytes("VmRSS")
    result = outcome(path)
    print(path.name, result, megabytes("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_memory_is_not_a_hostage_of_the_file(tmp_path: Path) -> None:
    good, worst = tmp_path / "good", tmp_path / "worst"
    good.mkdir()
    worst.mkdir()
    for name in ("xmc", "svmlight", "jsonl", "csv"):
        (good / FORMATS[name].file).write_text(FORMATS[name].good)
    for name, (content, _) in WORST.items():
        (worst / name).write_text(content)
        (worst / f"{name}.gz").write_bytes(gzip.compress(content.encode(), 1))
    run = subprocess.run(
        [sys.executable, "-c", PROBE, str(good), str(worst)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    results = [line.split() for line in run.stdout.splitlines()]
    assert len(results) == 2 * len(WORST)
    for name, result, megabytes in results:
        _, (wanted, limit) = WORST[name.removesuffix(".gz")]
        assert result == wanted, name
        assert float(megabytes) < limit, name
