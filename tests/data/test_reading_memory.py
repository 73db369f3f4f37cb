"""Readers keep their bound on memory: per byte of what a file unpacks to, and as counted."""

from __future__ import annotations

import gzip
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longtail.choosing.peak_memory import PeakMemory
from longtail.data import (
    _budget,
    read_csv,
    read_dataset,
    read_jsonl,
    read_mulan,
    read_parquet,
    read_xmc,
)
from longtail.data._budget import FIXED, Budget
from longtail.data.streaming import text_chunks
from longtail.errors import DataError
from longtail.store import pack, unpack
from tests.data.readers_common import written
from tests.data.test_hostile import ARFF_HEAD, FORMATS, LABEL_XML, laid_out, parquet
from tests.forking import answer_of

LIMIT = 0.02
FORMATS_PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
MEKA = "@relation 'r: -C 1'\n"
SMALL = {
    "a.csv.gz": gzip.compress(b"text,labels\na,b\n"),
    "a.csv": b"text,labels\na,b\n",
    "a.jsonl": b'{"text": "a", "labels": ["b"]}\n',
    "a.arff": f"{MEKA}@attribute l {{0,1}}\n@data\n1\n".encode(),
    "a.txt": b"1 1 1\n0 0:1\n",
}


def names(n: int, joint: str, form: str = "{:06d}") -> str:
    return joint.join(map(form.format, range(n)))


# (file, what it holds, bytes at the peak per byte of that: docs/formats.md has the same numbers)
CASES: dict[str, tuple[str, Callable[[], str], float]] = {
    "CSV rows of nothing": ("a.csv.gz", lambda: "text,labels\n" + ",\n" * 1_000_000, 20),
    "CSV row of labels": ("a.csv", lambda: "text,labels\nt," + names(500_000, ";"), 25),
    "JSONL row of labels": (
        "a.jsonl",
        lambda: f'{{"text": "t", "labels": [{names(450_000, ",", chr(34) + "{:06d}" + chr(34))}]}}',
        20,
    ),
    "ARFF attributes": (
        "a.arff",
        lambda: MEKA + names(150_000, "\n", "@attribute a{:06d} real") + "\n@data\n{0 1}\n",
        10,
    ),
    "XMC rows of a label": ("a.txt", lambda: "2000000 1 1\n" + "0\n" * 2_000_000, 10),
}


def measured(folder: str, file: str, memory_limit: float | None) -> tuple[int, int, str]:
    """Bytes at the peak of reading, bytes counted, and the error."""
    warnings.simplefilter("ignore")
    counted = [0]
    for method in (Budget.take, Budget.look):

        def noted(self: Budget, size: int, method: Any = method) -> None:
            transient = size if method.__name__ == "look" else 0
            method(self, size)
            counted[0] = max(counted[0], self.taken + transient)

        setattr(Budget, method.__name__, noted)
    small = Path(folder, "small")
    small.mkdir(exist_ok=True)
    read_dataset(written(small / file, SMALL[file]))  # kernels compiled
    error = ""
    with PeakMemory() as memory:
        try:
            read_dataset(Path(folder, file), memory_limit=memory_limit)
        except DataError as refused:
            error = str(refused)
    return memory.peak_bytes, counted[0], error


@pytest.mark.parametrize("case", CASES)
def test_the_peak_of_reading(tmp_path: Path, case: str) -> None:
    file, content, multiple = CASES[case]
    raw = content().encode()
    written(tmp_path / file, gzip.compress(raw, 1) if file.endswith(".gz") else raw)
    peak, counted, error = answer_of(measured, str(tmp_path), file, None)
    assert not error
    assert peak < FIXED + multiple * len(raw)
    assert peak < FIXED + counted
    peak, _, error = answer_of(measured, str(tmp_path), file, LIMIT)
    assert f"reading this takes more memory than memory_limit of {LIMIT} GB; raise" in error
    assert peak < FIXED + LIMIT * 1e9


def stream_peak(path: str) -> int:
    for _ in text_chunks(path, format="csv"):
        break
    with PeakMemory() as memory:
        assert sum(map(len, text_chunks(path, format="csv"))) == 300_000
    return memory.peak_bytes


def test_the_peak_of_a_stream(tmp_path: Path) -> None:
    content = b"text,labels\n" + b"some words,\n" * 300_000
    path = written(tmp_path / "a.csv.gz", gzip.compress(content, 1))
    assert answer_of(stream_peak, str(path)) < FIXED


LIMITED = [name for name, format in FORMATS.items() if name not in ("split", "filter", "names")]


@pytest.mark.parametrize("format", LIMITED)
def test_every_reader_has_a_limit(tmp_path: Path, format: str) -> None:
    path = laid_out(tmp_path, format, FORMATS[format].good)
    with pytest.raises(DataError, match="more memory than memory_limit of 1e-09 GB"):
        FORMATS[format].read(path, memory_limit=1e-9)


def test_parquet_has_a_limit(tmp_path: Path) -> None:
    path = parquet(tmp_path, ["a"] * 50_000, [["x"]] * 50_000)
    for trusted in (False, True):
        with pytest.raises(DataError, match=r"more memory than memory_limit of 0.002 GB"):
            read_parquet(path, memory_limit=0.002, trusted=trusted)
    many = ["x" * 100_000] * 100
    assert read_parquet(parquet(tmp_path, many, [["x"]] * 100)).texts == many
    with pytest.raises(DataError, match=r"memory_limit of 0.005 GB"):
        read_parquet(tmp_path / "a.parquet", memory_limit=0.005)


def test_the_limit_is_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_budget, "available_memory", lambda: 1000)
    for read, file, rows in (
        (read_xmc, "a.txt", "1 1 1\n" + "0 0:1\n" * 100),
        (read_csv, "a.csv", "text,labels\n" + "a,b\n" * 100),
    ):
        with pytest.raises(DataError, match=r"takes more memory than the 1e-06 GB left here"):
            read(written(tmp_path / file, rows))
    monkeypatch.setattr(_budget, "available_memory", lambda: None)
    assert len(read_csv(tmp_path / "a.csv")) == 100


def test_a_record_over_many_lines_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", 'text,labels\n"' + '\n","\n' * 400_000 + '"\n')
    with pytest.raises(DataError, match=r"memory_limit of 0.02 GB"):
        read_csv(path, memory_limit=LIMIT)


LONG = "x" * 65_000
MANY = [f"name {number}" for number in range(3000)]


def read_back(folder: Path, form: str, found: list[str]) -> Any:
    """The names of columns that a reader finds in a file that has these."""
    if form == "jsonl":
        rows = "".join(f'{{"text": "t", "labels": ["{name}"]}}\n' for name in found)
        return read_jsonl(written(folder / "a.jsonl", rows)).label_names
    if form == "csv":
        rows = "".join(f"t,{name}\n" for name in found)
        return read_csv(written(folder / "a.csv", "text,labels\n" + rows)).label_names
    if form == "parquet":
        path = parquet(folder, ["t"] * len(found), [[name] for name in found])
        return read_parquet(path).label_names
    if form == "names":
        written(folder / "label_names.txt", "\n".join(found))
        return read_xmc(written(folder / "a.txt", f"1 1 {len(found)}\n0 0:1\n")).label_names
    head = "".join(f"@attribute '{name}' numeric\n" for name in found)
    path = written(folder / "a.arff", f"@relation r\n{head}@data\n{{0 1}}\n")
    labels = found if form == "xml" else found[:1]
    names = "".join(f'<label name="{name}"/>' for name in labels)
    written(folder / "a.xml", f"<labels>{names}</labels>")
    data = read_mulan(path)
    return data.label_names if form == "xml" else data.feature_names


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "names", "arff", "xml"])
def test_names_are_kept_at_their_own_width(tmp_path: Path, form: str) -> None:
    kept = unpack(*pack({"names": read_back(tmp_path, form, [*MANY, LONG])}))["names"]
    assert LONG in kept.tolist()
    assert kept.nbytes < 2**20
    with pytest.raises(DataError, match="a name has more than 65,536 characters"):
        read_back(tmp_path, form, [*MANY, LONG + "x" * 1000])


def test_a_name_is_not_repeated_in_too_many_columns(tmp_path: Path) -> None:
    values = ",".join(f"v{number}" for number in range(6000))
    head = ARFF_HEAD.replace("{x,y}", f"{{{values}}}")
    written(tmp_path / "a.xml", LABEL_XML)
    short = read_mulan(written(tmp_path / "a.arff", head + "1,v5,0\n"))
    assert short.feature_names[:3].tolist() == ["a", "b=v1", "b=v2"]
    assert short.n_features == 6000
    with pytest.raises(DataError, match=r"line 3: the name 'x+...' of 30,000 characters would be"):
        read_mulan(written(tmp_path / "a.arff", head.replace(" b ", f" {LONG[:30_000]} ")))


def test_labels_listed_and_in_strings(tmp_path: Path) -> None:
    rows = ('["b","a"]', '"c;a"', "null", '"  "', '"a;a"')
    path = written(tmp_path / "a.jsonl", "".join(f'{{"text":"","labels":{r}}}\n' for r in rows))
    with pytest.warns(match="line 5: a label occurs twice; counted once"):
        data = read_jsonl(path)
    assert data.label_sets() == [("a", "b"), ("a", "c"), (), (), ("a",)]
    assert set(data.Y.data.tolist()) == {1.0}
    assert data.Y.data.dtype == np.float32


def test_options_say_what_is_refused(tmp_path: Path) -> None:
    for format in LIMITED:
        read = FORMATS[format].read
        if format != "mulan-xml":
            assert inspect.signature(read).parameters["memory_limit"].default is None
    with pytest.raises(ValueError, match="memory_limit must be above 0"):
        read_csv(tmp_path / "a.csv", memory_limit=0)


def test_the_page_states_the_bounds() -> None:
    page = FORMATS_PAGE.read_text("utf-8")
    for case, (_, _, multiple) in CASES.items():
        assert f"| {case} | {multiple} |" in page
    for stated in (
        f"{FIXED >> 20} MiB for buffers",
        f"or ARFF | {_budget.ROW}, and its text",
        f"a label of such a row | {_budget.LABEL} |",
        f"a name of a column | {_budget.NAME}, twice",
        f"{_budget.LINE_BYTE} per byte, and {_budget.CELL} per value",
    ):
        assert stated in page
