"""Texts in chunks: what the readers give, with bounded memory and the same refusals."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import pytest

from longtail.data import read_csv, read_jsonl
from longtail.data.streaming import text_chunks
from longtail.errors import DataError, ParameterError

TEXTS = ["at the beach", 'with "quotes", commas', "é中", "", "two\nlines", "last"]


def flat(chunks):
    return [text for chunk in chunks for text in chunk]


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    lines = [json.dumps({"text": text, "labels": ["a"], "more": "x"}) for text in TEXTS]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "docs.csv"
    cells = ['"' + text.replace('"', '""') + '"' for text in TEXTS]
    path.write_text("more,text,labels\n" + "".join(f"x,{c},a\n" for c in cells), encoding="utf-8")
    return path


@pytest.mark.parametrize("size", [1, 2, 4, 6, 100])
def test_json_lines(jsonl, size):
    assert flat(text_chunks(jsonl, size=size)) == TEXTS == read_jsonl(jsonl).texts
    assert len(next(text_chunks(jsonl, size=size))) == min(size, 6)
    assert flat(text_chunks(io.BytesIO(jsonl.read_bytes()), size=size)) == TEXTS
    columns = ["more", "text"]
    both = flat(text_chunks(jsonl, text_column=columns))
    assert both == read_jsonl(jsonl, text_column=columns).texts


def test_tables(csv):
    assert flat(text_chunks(csv, format="csv", size=2)) == TEXTS == read_csv(csv).texts
    assert flat(text_chunks(io.BytesIO(csv.read_bytes()), format="csv")) == TEXTS


def test_other_tables_can_be_read_meanwhile(csv):
    chunks = text_chunks(csv, format="csv", size=1)
    assert next(chunks) == TEXTS[:1]
    assert read_csv(csv).texts == TEXTS
    assert flat(chunks) == TEXTS[1:]


@pytest.mark.parametrize("packed", [False, True])
def test_lines(tmp_path, packed):
    data = b"\xef\xbb\xbffirst\r\n\n third \n{last"
    wanted = ["first", "", " third ", "{last"]
    path = tmp_path / "lines"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert flat(text_chunks(path)) == wanted
    assert flat(text_chunks(io.BytesIO(data))) == wanted


def test_a_stream_is_read_no_further_than_needed():
    class Slow(io.BytesIO):
        lines = 0

        def readline(self, size=-1, /):
            self.lines += 1
            return super().readline(size)

    stream = Slow(b"one\ntwo\nthree\n")
    assert next(text_chunks(stream, size=1)) == ["one"]
    assert stream.lines == 1


@pytest.mark.parametrize(
    ("content", "format", "line", "part"),
    [
        (b'{"text": "a"}\n{"text": 5}\n', None, 2, "texts are strings"),
        (b'{"text": "a"}\n[]\n', None, 2, "expected a JSON object"),
        (b'{"text": "a"}\n{"txt": "b"}\n', None, 2, "there is no 'text'"),
        (b'{"text": "a", "text": "b"}\n', None, 1, "twice"),
        (b'{"text": "\\ud800"}\n', None, 1, "surrogate"),
        (b"good\nbad \xff\n", None, 2, "not UTF-8"),
        (b"text\na,b\n", "csv", 2, "expected 1 fields"),
        (b"txt\na\n", "csv", 1, "there is no 'text'"),
        (b"text,text\na,b\n", "csv", 1, "twice"),
        (b'text\n"a\n', "csv", 2, "quotes"),
        (b"good\n" + b"x" * 9_000_000, None, 2, "longer than"),
    ],
)
def test_refusals_name_the_line(tmp_path, content, format, line, part):
    path = tmp_path / "odd"
    path.write_bytes(content)
    for source in (path, io.BytesIO(content)):
        with pytest.raises(DataError, match=part) as caught:
            flat(text_chunks(source, format=format))
        assert caught.value.line == line
    assert caught.value.path == "standard input"


def test_an_empty_file_and_an_empty_stream(tmp_path):
    for nothing in (b"", b"\xef\xbb\xbf"):
        (tmp_path / "empty").write_bytes(nothing)
        with pytest.raises(DataError, match="empty"):
            flat(text_chunks(tmp_path / "empty"))
        assert flat(text_chunks(io.BytesIO(nothing))) == []


@pytest.mark.parametrize(("after", "texts"), [(b"\n", [""]), (b"a", ["a"])])
def test_the_mark_of_utf8_is_no_text(tmp_path, after, texts):
    content = b"\xef\xbb\xbf" + after
    (tmp_path / "a.txt").write_bytes(content)
    assert flat(text_chunks(tmp_path / "a.txt", format="lines")) == texts
    assert flat(text_chunks(io.BytesIO(content), format="lines")) == texts


def test_odd_parameters():
    with pytest.raises(ParameterError, match="format"):
        text_chunks(io.BytesIO(), format="xmc")
    with pytest.raises(ParameterError, match="size"):
        text_chunks(io.BytesIO(), size=0)


def test_memory_is_bounded_by_the_chunk(tmp_path):
    path = tmp_path / "long.txt"
    with open(path, "wb") as file:
        for _ in range(60):
            file.write(b"x" * 999_999 + b"\n")
    tracemalloc.start()
    for chunk in text_chunks(path):
        assert sum(map(len, chunk)) < 6e6
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6
