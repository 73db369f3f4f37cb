"""Mutated text files of every format, read whole and as streams."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from longtail.data import Dataset, read_dataset, save
from longtail.data.streaming import text_chunks
from longtail.errors import LongtailError
from tests.data.test_hostile import FORMATS, laid_out
from tests.fuzz import readings
from tests.fuzz.kinds import UNPACKED, Kind, Wrong, note
from tests.fuzz.limits import PeakGrowth, reading_bound
from tests.fuzz.mutations import mutated

NAMES = ("sea", "sun", "été", "山", "a b", "x;y", 'a "b"', "7", "-", "ﬃ")


def _numbers(rng: np.random.Generator, n: int, width: int) -> str:
    places = np.sort(rng.choice(width, min(n, width), replace=False))
    return " ".join(f"{place}:{rng.normal():.{int(rng.integers(1, 17))}g}" for place in places)


def _labels(rng: np.random.Generator, width: int) -> str:
    places = rng.choice(width, int(rng.integers(0, min(4, width))), replace=False)
    return ",".join(map(str, np.sort(places)))


def _sparse(rng: np.random.Generator, header: bool) -> str:
    n, d, labels = int(rng.integers(1, 30)), int(rng.integers(1, 40)), int(rng.integers(1, 12))
    rows = [f"{_labels(rng, labels)} {_numbers(rng, 6, d)}\n" for _ in range(n)]
    return (f"{n} {d} {labels}\n" if header else "") + "".join(rows)


def _named(rng: np.random.Generator) -> list[str]:
    return [NAMES[int(place)] for place in rng.integers(len(NAMES), size=int(rng.integers(4)))]


def _table(rng: np.random.Generator, name: str, folder: Path) -> str:
    """JSON lines or a table as longtail writes it."""
    n = int(rng.integers(1, 20))
    texts = [" ".join(["word", "Wörter", 'a "quote"', "two\nlines", ",;|\t"][: int(k)])
             for k in rng.integers(0, 6, size=n)]  # fmt: skip
    labels = [tuple(sorted(set(_named(rng)))) for _ in range(n)]
    path = folder / name
    save(Dataset(None, labels, texts=texts), path)
    text = path.read_text("utf-8")
    for left in folder.iterdir():
        left.unlink()
    return text


def _arff(rng: np.random.Generator) -> str:
    rows = []
    for _ in range(int(rng.integers(1, 12))):
        value, nominal, label = rng.normal(), "xy"[int(rng.integers(2))], int(rng.integers(2))
        sparse = rng.random() < 0.3
        rows.append(f"{{0 {value:.4g},2 {label}}}" if sparse else f"{value:.4g},{nominal},{label}")
    head = FORMATS["mulan"].good.partition("@data\n")[0]
    return f"{head}@data\n" + "\n".join(rows) + "\n"


@dataclass(frozen=True)
class Source:
    """How good files of a format are made, read, and read in the plainest way."""

    file: str
    make: Callable[[np.random.Generator, Path], str]
    streams: str | None = None
    format: str | None = None


def _given(name: str) -> Source:
    return Source(FORMATS[name].file, lambda rng, folder: FORMATS[name].good, format=name)


SOURCES = {
    "xmc": Source("a.txt", lambda rng, folder: _sparse(rng, True), format="xmc"),
    "svmlight": Source("a.svm", lambda rng, folder: _sparse(rng, False), format="svmlight"),
    "jsonl": Source("a.jsonl", lambda rng, folder: _table(rng, "a.jsonl", folder), "jsonl"),
    "csv": Source("a.csv", lambda rng, folder: _table(rng, "a.csv", folder), "csv"),
    "tsv": Source("a.tsv", lambda rng, folder: _table(rng, "a.tsv", folder)),
    "lines": Source("a.lines", lambda rng, folder: "at sea\n\nin the snow\r\nat sea\n", "lines"),
    "mulan": Source("a.arff", lambda rng, folder: _arff(rng), format="mulan"),
}
SOURCES = {name: _given(name) for name in FORMATS} | SOURCES


def attempt(rng: np.random.Generator, folder: Path, common: Path) -> None:
    """One mutated file: read whole, as a stream, and compared."""
    name = sorted(SOURCES)[int(rng.integers(len(SOURCES)))]
    source = SOURCES[name]
    good = source.make(rng, folder).encode()
    packing = ["none", "none", "none", "whole", "damaged"][int(rng.integers(5))]
    plain = good if packing == "damaged" else mutated(rng, good)
    content = plain if packing == "none" else gzip.compress(plain, 1, mtime=0)
    content = mutated(rng, content, large=False) if packing == "damaged" else content
    (folder / UNPACKED).write_text(str(len(plain)))
    note(folder, f"{name}, gzip: {packing}")
    inputs = folder / "input"
    inputs.mkdir()
    path = laid_out(inputs, source.format, None) if source.format else inputs / source.file
    path.write_bytes(content)
    refusals: list[LongtailError] = []
    data = None
    if name != "lines":
        data = _read(lambda: _whole(source, path), len(plain), refusals)
    streamed = None
    if source.streams is not None:
        streamed = _read(lambda: _streamed(path, source.streams), len(plain), refusals)
        through = _read(lambda: _through(content, source.streams), len(plain), refusals)
        if packing == "none" and streamed is not None and streamed != through:
            raise Wrong("a file and a stream of the same bytes differ")
    if packing != "damaged":
        _compare(name, plain, data, streamed, inputs)
    if refusals:
        raise refusals[0]


def _read(read: Callable[[], Any], size: int, refusals: list[LongtailError]) -> Any:
    """What a reader gives, or None where it refuses; it must keep to the bound on memory."""
    growth, found = PeakGrowth(), None
    try:
        found = read()
    except LongtailError as error:
        refusals.append(error)
    if (grown := growth.bytes()) > reading_bound(size):
        raise Wrong(f"{grown >> 20} MiB to read it, instead of {reading_bound(size) >> 20}")
    return found


def _whole(source: Source, path: Path) -> Any:
    if source.format is not None and source.format in FORMATS:
        return FORMATS[source.format].read(path)
    return read_dataset(path)


def _streamed(path: Path, format: str | None) -> list[str]:
    return [text for chunk in text_chunks(path, format=format) for text in chunk]  # type: ignore[arg-type]


def _through(content: bytes, format: str | None) -> list[str]:
    chunks: Iterator[list[str]] = text_chunks(io.BytesIO(content), format=format)  # type: ignore[arg-type]
    return [text for chunk in chunks for text in chunk]


def _compare(name: str, plain: bytes, data: Any, streamed: Any, folder: Path) -> None:
    """What was accepted must be what the plainest reading gives."""
    if isinstance(data, Dataset):
        sound(data)
    if name in ("xmc", "svmlight") and data is not None and b"based" not in plain:
        if readings.points_of(data) != readings.sparse_lines(plain, header=name == "xmc"):
            raise Wrong(f"{name} differs from the reference reading")
    elif name == "lines" and streamed is not None and not plain.lstrip().startswith(b"{"):
        if streamed != readings.plain_lines(plain):
            raise Wrong("lines differ from the reference reading")
    elif name == "jsonl" and data is not None:
        _compare_rows(name, data, streamed, readings.json_lines(plain))
    elif name in ("csv", "tsv") and data is not None:
        _compare_rows(name, data, streamed, readings.table(plain, "\t" if name == "tsv" else ","))
    elif name == "mulan" and data is not None:
        save(data, folder / "again.arff")
        again = read_dataset(folder / "again.arff")
        if readings.points_of(again) != readings.points_of(data):
            raise Wrong("a data set differs after it is saved and read again")


def _compare_rows(name: str, data: Dataset, streamed: Any, wanted: list[tuple[str, Any]]) -> None:
    if data.texts != [text for text, _ in wanted]:
        raise Wrong(f"the texts of {name} differ from the reference reading")
    if streamed is not None and streamed != data.texts:
        raise Wrong(f"the texts of {name} differ between file and stream")
    for found, (_, cell) in zip(data.label_sets(), wanted, strict=True):
        if isinstance(cell, list) and set(found) != set(cell):
            raise Wrong(f"the labels of {name} differ from the reference reading")
        if isinstance(cell, str) and not all(_within(str(label), cell) for label in found):
            raise Wrong(f"the labels of {name} differ from the reference reading")


def _within(label: str, cell: str) -> bool:
    """Whether a cell holds a label, as it is or as JSON writes it."""
    return label in cell or cell.lstrip().startswith("[")


def sound(data: Dataset) -> None:
    """Refuse a data set whose matrices are not what every part of longtail relies on."""
    for matrix in (data.X, data.Y):
        if matrix is None:
            continue
        if matrix.shape[0] != len(data) or not np.isfinite(matrix.data).all():
            raise Wrong("a data set of the wrong size, or with values that are not finite")
        matrix.check_format(full_check=True)
    if data.Y is not None and not (data.Y.data == 1).all():
        raise Wrong("labels that are neither 0 nor 1")
    if data.texts is not None and len(data.texts) != len(data):
        raise Wrong("texts that are not one per point")


def warm_up(folder: Path) -> None:
    """Read a good file of every format."""
    for format in FORMATS:
        place = folder / format
        place.mkdir()
        FORMATS[format].read(laid_out(place, format, FORMATS[format].good))
    (folder / "unsorted.svm").write_text("1,0 4:0.5 1:1\n")
    read_dataset(folder / "unsorted.svm")


READERS = Kind("readers", attempt, warm_up=warm_up)
