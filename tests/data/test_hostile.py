"""Hostile files: each gets one sentence with file and line, and nothing but a DataError."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from longtail.data import (
    Dataset,
    read_csv,
    read_dataset,
    read_filter_pairs,
    read_jsonl,
    read_mulan,
    read_parquet,
    read_split,
    read_svmlight,
    read_xmc,
    read_xmc_matrix,
    read_xmc_pair,
)
from longtail.errors import DataError
from tests.data.readers_common import written


@dataclass(frozen=True)
class Format:
    """A reader, the name of the file it reads, and a good file."""

    read: Callable[..., object]
    file: str
    good: str
    beside: tuple[tuple[str, str], ...] = ()


ARFF_HEAD = "@relation r\n@attribute a real\n@attribute b {x,y}\n@attribute l {0,1}\n@data\n"
LABEL_XML = '<labels><label name="l"/></labels>'

FORMATS = {
    "xmc": Format(read_xmc, "a.txt", "2 3 4\n0,2 0:0.5 2:1\n 1:2\n"),
    "svmlight": Format(read_svmlight, "a.svm", "0,2 0:0.5 2:1\n 1:2\n"),
    "xmc-features": Format(
        read_xmc_pair, "trn_X_Xf.txt", "2 3\n0:0.5\n1:2\n", (("trn_X_Y.txt", "2 1\n0:1\n\n"),)
    ),
    "xmc-labels": Format(
        read_xmc_pair, "trn_X_Y.txt", "2 3\n0:1\n1:1\n", (("trn_X_Xf.txt", "2 1\n0:1\n\n"),)
    ),
    "xmc-matrix": Format(read_xmc_matrix, "lbl_X_Xf.txt", "2 3\n0:0.5\n1:2\n"),
    "split": Format(read_split, "a_trSplit.txt", "1 2\n2 1\n"),
    "filter": Format(read_filter_pairs, "filter_labels_test.txt", "0 1\n2 3\n"),
    "mulan": Format(
        read_mulan, "a.arff", ARFF_HEAD + "1,x,0\n{0 2,2 1}\n", (("a.xml", LABEL_XML),)
    ),
    "mulan-xml": Format(
        lambda path, **options: read_mulan(Path(path).with_name("a.arff"), **options),
        "a.xml",
        LABEL_XML,
        (("a.arff", ARFF_HEAD + "1,x,0\n"),),
    ),
    "jsonl": Format(read_jsonl, "a.jsonl", '{"text": "a", "labels": ["x"]}\n'),
    "csv": Format(read_csv, "a.csv", "text,labels\na,x;y\nb,\n"),
    "names": Format(
        lambda path: read_xmc(Path(path).with_name("a.txt")),
        "label_names.txt",
        "a\nb\n",
        (("a.txt", "1 1 2\n0,1 0:1\n"),),
    ),
}

LONG = 10 * 2**20

# (format, what is wrong, the whole file, the line that the error names, words of the error)
CASES: list[tuple[str, str, str | bytes, int | None, str]] = [
    ("xmc", "no header", "0,2 0:0.5 2:1\n 1:2\n", 1, "expected a first line of 3 counts"),
    ("xmc", "short header", "2 3\n0 0:1\n", 1, "points, features, labels"),
    ("xmc", "words for a header", "N D L\n0 0:1\n", 1, "found 'N D L'"),
    ("xmc", "negative header", "2 -3 4\n", 1, "expected a first line of 3 counts"),
    ("xmc", "header beyond 2^31", "2 3 2147483648\n", 1, "2147483648 labels, more than the 2^31"),
    ("xmc", "header beyond all", "1000000000000 3 4\n0 0:1\n", 1, "1000000000000 points"),
    ("xmc", "header of 5000 digits", f"2 3 {'9' * 5000}\n", 1, "more than the 2^31"),
    ("xmc", "header in other digits", "２ ３ ４\n", 1, "expected a first line"),
    ("xmc", "negative label", "1 3 4\n-1 0:1\n", 2, "label id -1 is negative; ids start at 0"),
    ("xmc", "later negative label", "1 3 4\n0,-1 0:1\n", 2, "label id -1 is negative"),
    ("xmc", "negative feature", "2 3 4\n\n0 0:1\n1 -2:1\n", 4, "feature id -2 is negative"),
    ("xmc", "label beyond 2^31", "1 3 4\n2147483648 0:1\n", 2, "label id 2147483648 is beyond"),
    ("xmc", "label 2^31 - 1", "1 3 4\n2147483647 0:1\n", 2, "beyond 2147483646"),
    ("xmc", "feature beyond 2^64", f"1 3 4\n0 {2**64 + 1}:1\n", 2, "is beyond 2147483646"),
    ("xmc", "NaN", "1 3 4\n0 0:1 1:nan\n", 2, "the value 'nan' of feature 1 is not finite"),
    ("xmc", "infinite", "1 3 4\n0 0:-Infinity\n", 2, "'-Infinity' of feature 0 is not finite"),
    ("xmc", "overflow", "1 3 4\n0 0:1e999\n", 2, "'1e999' is too large for float32"),
    ("xmc", "slow overflow", f"1 3 4\n1 0:1\n0 0:{'9' * 400}\n", 3, "too large for float32"),
    ("xmc", "no value", "1 3 4\n0 0:1 1\n", 2, "feature 1 has no value; write 1:1"),
    ("xmc", "empty value", "1 3 4\n0 1: 2:1\n", 2, "feature 1 has no value"),
    ("xmc", "not a number", "1 3 4\n0 1:one\n", 2, "'one' of feature 1 is not a number"),
    ("xmc", "hex", "1 3 4\n0 1:0x10\n", 2, "'0x10' of feature 1 is not a number"),
    ("xmc", "two colons", "1 3 4\n0 1:2:3\n", 2, "not a number"),
    ("xmc", "comma for a point", "1 3 4\n0 1:0,5\n", 2, "'0,5' of feature 1 is not a number"),
    ("xmc", "feature twice", "1 3 4\n0 2:1 0:1 2:3\n", 2, "feature id 2 occurs twice"),
    ("xmc", "label twice", "2 3 4\n1 0:1\n0,1,0 0:1\n", 3, "label id 0 occurs twice"),
    ("xmc", "name for a label", "1 3 4\nsea 0:1\n", 2, "expected a label id, found 'sea'"),
    ("xmc", "comma at the end", "1 3 4\n0, 0:1\n", 2, "expected a label id, found '0:1'"),
    ("xmc", "comma alone", "1 3 4\n0,\n", 2, "expected a label id, found the end of the line"),
    ("xmc", "labels with semicolons", "1 3 4\n0;1 0:1\n", 2, "expected a label id, found '0;1'"),
    ("xmc", "NUL bytes", b"1 3 4\n0 0:1\x00 1:1\n", 2, r"'1\x00'"),
    ("xmc", "Latin-1", b"1 3 4\n0 caf\xe9:1\n", 2, r"found 'caf\xe9:1'"),
    ("svmlight", "nothing but remarks", "# a\n\n# b\n", None, "there are no points"),
    ("svmlight", "negative label", "0 0:1\n-1 0:1\n", 2, "label id -1 is negative"),
    ("svmlight", "fractional label", "0.5 0:1\n", 1, "expected a label id, found '0.5'"),
    ("svmlight", "negative feature", "0 -1:1\n", 1, "feature id -1 is negative"),
    ("svmlight", "label beyond 2^31", "99999999999 0:1\n", 1, "label id 99999999999 is beyond"),
    ("svmlight", "feature beyond 2^31", "0 2147483647:1\n", 1, "is beyond 2147483646"),
    ("svmlight", "NaN", "0 0:1\n0 1:NaN\n", 2, "'NaN' of feature 1 is not finite"),
    ("svmlight", "infinite", "0 0:inf\n", 1, "not finite"),
    ("svmlight", "no value", "0 3\n", 1, "feature 3 has no value"),
    ("svmlight", "query", "0 qid:3 1:1\n", 1, "expected a feature id, found 'qid:3'"),
    ("svmlight", "feature twice", "0 0:1 0:1\n", 1, "feature id 0 occurs twice"),
    ("svmlight", "label twice", "3,3 0:1\n", 1, "label id 3 occurs twice"),
    (
        "svmlight",
        "remark claims too much",
        "# 1 points, 9999999999 features, 1 labels\n0 0:1\n",
        1,
        "more features or labels than the 2^31 - 1",
    ),
    ("xmc-features", "no header", "0:0.5\n1:2\n", 1, "expected a first line of 2 counts"),
    ("xmc-features", "header of the old layout", "2 3 4\n0:1\n", 1, "points, features"),
    ("xmc-features", "labels inside", "2 3\n0,1 0:1\n\n", 2, "expected a feature id, found '0,1'"),
    ("xmc-features", "negative", "2 3\n\n-1:1\n", 3, "feature id -1 is negative"),
    ("xmc-features", "beyond 2^31", "2 3\n2147483648:1\n\n", 2, "beyond"),
    ("xmc-features", "NaN", "2 3\n0:nan\n\n", 2, "not finite"),
    ("xmc-features", "no value", "2 3\n\n7\n", 3, "feature 7 has no value; write 7:1"),
    ("xmc-features", "twice", "2 3\n\n0:1 0:1\n", 3, "feature id 0 occurs twice"),
    ("xmc-features", "too few points", "1 3\n0:1\n", None, "2 points here, but 1 in trn_X_Xf.txt"),
    ("xmc-labels", "no header", "0:1\n1:1\n", 1, "expected a first line of 2 counts"),
    ("xmc-labels", "header beyond 2^31", "2 2147483648\n\n\n", 1, "more than the 2^31"),
    ("xmc-labels", "negative", "2 3\n-5:1\n\n", 2, "label id -5 is negative"),
    ("xmc-labels", "beyond 2^31", "2 3\n\n4294967296:1\n", 3, "label id 4294967296 is beyond"),
    ("xmc-labels", "NaN", "2 3\n1:nan\n\n", 2, "not finite"),
    ("xmc-labels", "weight", "2 3\n\n1:0.5\n", 3, "the label 1 has the value 0.5; expected 1"),
    ("xmc-labels", "no value", "2 3\n1\n\n", 2, "label 1 has no value; write 1:1"),
    ("xmc-labels", "twice", "2 3\n2:1 2:1\n\n", 2, "label id 2 occurs twice"),
    ("xmc-matrix", "no header", "0:1\n", 1, "expected a first line of 2 counts"),
    ("xmc-matrix", "negative", "1 3\n-1:1\n", 2, "feature id -1 is negative"),
    ("xmc-matrix", "infinite", "1 3\n1:inf\n", 2, "not finite"),
    (
        "split",
        "words",
        "1 2\none two\n",
        2,
        "expected row numbers from 1 to 2147483647, found 'one'",
    ),
    ("split", "zero", "1\n0\n", 2, "found '0'"),
    ("split", "negative", "-1\n", 1, "found '-1'"),
    ("split", "beyond 2^31", "4294967296\n", 1, "found '4294967296'"),
    ("split", "ragged", "1 2\n3\n", 2, "expected 2 row numbers as in the first line, found 1"),
    ("split", "twice", "1\n2\n1\n", None, "split 1 holds row 1 twice"),
    ("filter", "one number", "1\n", 1, "number of a point and of a label, found '1'"),
    ("filter", "negative", "1 2\n1 -2\n", 2, "found '1 -2'"),
    ("filter", "beyond 2^31", "1 2147483647\n", 1, "found '1 2147483647'"),
    ("mulan", "no header", "1,x,0\n", 1, "expected @relation, @attribute or @data"),
    ("mulan", "no data", "@relation r\n@attribute a real\n", 2, "ends without @data"),
    ("mulan", "no attributes", "@relation r\n@data\n", 2, "no @attribute before @data"),
    ("mulan", "attribute twice", "@relation r\n@attribute a real\n@attribute a real\n", 3, "twice"),
    ("mulan", "text", "@relation r\n@attribute a string\n", 2, "is of type 'string'"),
    ("mulan", "open brace", "@relation r\n@attribute a {0,1\n", 2, "must end with }"),
    ("mulan", "open quote", "@relation r\n@attribute 'a real\n", 2, "a quote is not closed"),
    ("mulan", "value listed twice", "@relation r\n@attribute a {0,0}\n", 2, "lists a value twice"),
    ("mulan", "too few values", ARFF_HEAD + "1,x\n", 6, "expected 3 values, one per attribute"),
    ("mulan", "NaN", ARFF_HEAD + "NaN,x,0\n", 6, "'NaN' of 'a' is not finite"),
    ("mulan", "infinite", ARFF_HEAD + "{0 -inf}\n", 6, "'-inf' of 'a' is not finite"),
    ("mulan", "overflow", ARFF_HEAD + "1e39,x,0\n", 6, "too large for float32; pass dtype"),
    ("mulan", "not a number", ARFF_HEAD + "1,x,0\n1_0,x,0\n", 7, "'1_0' of 'a' is not a number"),
    ("mulan", "missing", ARFF_HEAD + "?,x,0\n", 6, "the value of 'a' is missing"),
    ("mulan", "missing label", ARFF_HEAD + "1,x,?\n", 6, "the value of 'l' is missing"),
    ("mulan", "not listed", ARFF_HEAD + "1,z,0\n", 6, "'z' is not among the values 'x,y' of 'b'"),
    ("mulan", "label of 2", ARFF_HEAD + "1,x,2\n", 6, "'2' is not among the values '0,1' of 'l'"),
    ("mulan", "negative number", ARFF_HEAD + "{-1 5}\n", 6, "attribute number '-1' is negative"),
    (
        "mulan",
        "number too large",
        ARFF_HEAD + "{3 5}\n",
        6,
        "there is no attribute 3; the last is 2",
    ),
    ("mulan", "beyond 2^31", ARFF_HEAD + "{99999999999999999999 5}\n", 6, "no attribute"),
    ("mulan", "no value", ARFF_HEAD + "{0}\n", 6, "attribute '0' has no value"),
    ("mulan", "attribute twice in a row", ARFF_HEAD + "{0 1,0 2}\n", 6, "attribute 0 occurs twice"),
    ("mulan", "open row", ARFF_HEAD + "{0 1,2 1\n", 6, "must end with }"),
    ("mulan", "open quote in a row", ARFF_HEAD + "1,'x,0\n", 6, "a quote is not closed"),
    (
        "mulan",
        "Latin-1",
        b"@relation r\n@attribute caf\xe9 real\n",
        2,
        "byte 15 of the line is not",
    ),
    ("mulan", "Latin-1 row", ARFF_HEAD.encode() + b"1,caf\xe9,0\n", 6, "is not UTF-8"),
    (
        "mulan-xml",
        "no such label",
        '<labels><label name="z"/></labels>',
        None,
        "'z' is not an attr",
    ),
    (
        "mulan-xml",
        "feature for a label",
        '<labels><label name="b"/></labels>',
        None,
        "{0,1} or num",
    ),
    (
        "mulan-xml",
        "label twice",
        '<labels>\n<label name="l"/><label name="l"/></labels>',
        2,
        "twice",
    ),
    ("mulan-xml", "other XML", "<html/>", 1, "expected <labels>, found <html>"),
    ("mulan-xml", "other element", "<labels>\n<tag/></labels>", 2, "expected <label name=...>"),
    ("mulan-xml", "no name", "<labels>\n\n<label/></labels>", 3, "a <label> has no name"),
    ("mulan-xml", "cut off", '<labels>\n<label name="l"', 2, "not the XML of labels"),
    (
        "mulan-xml",
        "entities that unfold",
        '<!DOCTYPE labels [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n'
        '<labels><label name="&b;"/></labels>',
        1,
        "declares a document type or entities",
    ),
    (
        "mulan-xml",
        "outside file",
        '<!DOCTYPE labels SYSTEM "file:///etc/passwd">\n<labels/>',
        1,
        "declares a document type or entities",
    ),
    ("mulan-xml", "encoding", '<?xml version="1.0" encoding="x-no"?><labels/>', 1, "encoding"),
    ("jsonl", "no JSON", "hello\n", 1, "expected a JSON object, found 'hello'"),
    ("jsonl", "cut off", '{"text": "a", "labels": []}\n{"text": "b"', 2, "expected a JSON object"),
    ("jsonl", "array", '[{"text": "a", "labels": []}]\n', 1, "expected a JSON object such as"),
    ("jsonl", "no text", '\n{"labels": []}\n', 2, "there is no 'text' (found: 'labels')"),
    ("jsonl", "no labels", '{"text": "a", "tags": []}\n', 1, "there is no 'labels'"),
    ("jsonl", "null text", '{"text": null, "labels": []}\n', 1, "'text' is null, but texts are"),
    ("jsonl", "list for a text", '{"text": ["a"], "labels": []}\n', 1, "'text' is a list"),
    ("jsonl", "object for labels", '{"text": "a", "labels": {"a": 1}}\n', 1, "is an object; exp"),
    ("jsonl", "NaN label", '{"text": "a", "labels": [NaN]}\n', 1, "a label is a fraction; labels"),
    ("jsonl", "null label", '{"text": "a", "labels": [null]}\n', 1, "a label is null; labels are"),
    ("jsonl", "truth", '{"text": "a", "labels": [true]}\n', 1, "a label is a truth value"),
    ("jsonl", "list in a list", '{"text": "a", "labels": [["b"]]}\n', 1, "a label is a list"),
    ("jsonl", "beyond 2^63", f'{{"text": "a", "labels": [{2**63}]}}\n', 1, "beyond 64 bits"),
    ("jsonl", "beyond all", f'{{"text": "a", "labels": [{"9" * 5000}]}}\n', 1, "too long to read"),
    ("jsonl", "mixed", '{"text": "a", "labels": ["a", 3]}\n', 1, "the label '3' is a whole number"),
    ("jsonl", "key twice", '{"text": "a", "text": "b", "labels": []}\n', 1, "a key occurs twice"),
    ("jsonl", "deep", '{"text": "a", "labels": ' + "[" * 100_000, 1, "nested too deep"),
    ("jsonl", "half a pair", '{"text": "\\ud800", "labels": []}\n', 1, "half of a surrogate pair"),
    ("jsonl", "half a label", '{"text": "a", "labels": ["\\udc00"]}\n', 1, "half of a surrogate"),
    ("jsonl", "Latin-1", b'{"text": "a", "labels": []}\n{"text": "caf\xe9"}\n', 2, "is not UTF-8"),
    (
        "csv",
        "no header",
        "at the beach,sea\n",
        1,
        "there is no 'text' (found: 'at the beach', 'sea')",
    ),
    ("csv", "header only", "text,labels\n", None, "there are no rows"),
    ("csv", "column twice", "text,labels,text\na,b,c\n", 1, "the header names 'text' twice"),
    (
        "csv",
        "too many fields",
        "text,labels\na,b\nc,d,e\n",
        3,
        "expected 2 fields as in the header",
    ),
    ("csv", "too few fields", 'text,labels\n"a\nb",x\nc\n', 4, "expected 2 fields"),
    ("csv", "open quote", 'text,labels\na,b\n"c,d\ne,f\n', 3, "quotes or fields from here on"),
    ("csv", "text after a quote", 'text,labels\n"a"b,c\n', 2, "quotes or fields from here on"),
    ("csv", "broken list", 'text,labels\na,"[""x"", ]"\n', 2, "'labels' is not a list in JSON"),
    ("csv", "NaN label", 'text,labels\na,"[NaN]"\n', 2, "a label is a fraction"),
    ("csv", "Latin-1", b"text,labels\na,b\ncaf\xe9,c\n", 3, "byte 4 of the line is not UTF-8"),
    ("names", "too few", "a\n", None, "there are 1 label names, but a.txt has 2 labels"),
    ("names", "twice", "a\na\n", 2, "the label name 'a' already stands in line 1"),
    ("names", "Latin-1", b"a\ncaf\xe9\n", 2, "is not UTF-8"),
]


def laid_out(folder: Path, format: str, content: str | bytes | None) -> Path:
    """The file of a format in a folder, with what must lie beside it."""
    for name, other in FORMATS[format].beside:
        written(folder / name, other)
    path = folder / FORMATS[format].file
    return path if content is None else written(path, content)


def refused(folder: Path, format: str, content: str | bytes) -> DataError:
    with pytest.raises(DataError) as caught:
        FORMATS[format].read(laid_out(folder, format, content))
    error = caught.value
    assert type(error) is DataError
    assert error.path is not None
    assert str(error).startswith(error.path)
    assert "\n" not in str(error)
    assert len(error.reason) < 400
    return error


@pytest.mark.parametrize("format", FORMATS)
def test_the_good_files_are_good(tmp_path: Path, format: str) -> None:
    assert FORMATS[format].read(laid_out(tmp_path, format, FORMATS[format].good)) is not None


@pytest.mark.parametrize(
    ("format", "content", "line", "words"),
    [pytest.param(f, c, n, w, id=f"{f}-{what}") for f, what, c, n, w in CASES],
)
def test_bad_content(
    tmp_path: Path, format: str, content: str | bytes, line: int | None, words: str
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    for file in (raw, gzip.compress(raw, 1)):
        error = refused(tmp_path, format, file)
        assert words in error.reason
        assert error.line == line


NEVER_EMPTY = [name for name in FORMATS if name != "filter"]


@pytest.mark.parametrize("format", NEVER_EMPTY)
def test_empty_file(tmp_path: Path, format: str) -> None:
    refused(tmp_path, format, b"")


@pytest.mark.parametrize("format", FORMATS)
def test_cut_off_gzip(tmp_path: Path, format: str) -> None:
    packed = gzip.compress(FORMATS[format].good.encode())
    for size in (2, 5, 11, len(packed) // 2, len(packed) - 1):
        error = refused(tmp_path, format, packed[:size])
        assert "gzip file is cut off or damaged" in error.reason
    damaged = bytearray(packed)
    damaged[-5] ^= 255
    assert "damaged" in refused(tmp_path, format, bytes(damaged)).reason
    assert "damaged" in refused(tmp_path, format, packed + b"more").reason


def test_cut_off_gzip_names_the_line(tmp_path: Path) -> None:
    lines = "2000000 3 4\n" + "0,2 0:0.5 2:1\n" * 200_000
    packed = gzip.compress(lines.encode(), 1)
    error = refused(tmp_path, "xmc", packed[: 3 * len(packed) // 4])
    assert error.line is not None
    assert 70_000 < error.line < 200_000


@pytest.mark.parametrize("format", FORMATS)
def test_long_line(tmp_path: Path, format: str) -> None:
    if format == "mulan-xml":
        error = refused(tmp_path, format, f'<labels><label name="{"a" * LONG}"/></labels>')
        assert "a tag is longer than 1,048,576 bytes" in error.reason
        assert error.line == 1
        return
    for filler in (b"1", b"0 ", b"a"):
        error = refused(tmp_path, format, filler * (LONG // len(filler)))
        assert "line is longer than 8,388,608 bytes; if intended, pass" in error.reason
        assert error.line == 1
    good = FORMATS[format].good.encode()
    error = refused(tmp_path, format, good + b"0" * LONG + b"\n" + good)
    assert error.line == good.count(b"\n") + 1


@pytest.mark.parametrize("format", FORMATS)
def test_other_encodings(tmp_path: Path, format: str) -> None:
    for encoding in ("utf-16", "utf-16-be"):
        if format == "mulan-xml":
            continue  # XML may be UTF-16, and says so itself
        content = ("" if encoding == "utf-16" else "\ufeff") + FORMATS[format].good
        error = refused(tmp_path, format, content.encode(encoding))
        assert "UTF-16; save it as UTF-8" in error.reason
        assert error.line == 1


@pytest.mark.parametrize("format", FORMATS)
def test_binary_junk(tmp_path: Path, format: str) -> None:
    refused(tmp_path, format, bytes(range(255, -1, -1)) * 400)
    refused(tmp_path, format, b"\x7fELF\x02\x01\x01" + bytes(2000))
    refused(tmp_path, format, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10)


@pytest.mark.parametrize("format", FORMATS)
def test_no_file(tmp_path: Path, format: str) -> None:
    path = laid_out(tmp_path, format, None)
    if format in ("mulan-xml", "names"):
        return
    with pytest.raises(DataError, match=r"no such file|is not there"):
        FORMATS[format].read(path)
    path.mkdir()
    with pytest.raises(DataError, match=r"folder, not a file|is not there"):
        FORMATS[format].read(path)
    with pytest.raises(DataError):
        FORMATS[format].read(str(path) + "\x00")
    with pytest.raises(DataError):
        FORMATS[format].read(tmp_path / ("a" * 300))


def test_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(DataError, match="not a regular file"):
        read_dataset(tmp_path / "pipe.txt")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", "1 1 1\n")
    file.chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        read_dataset(file)


def test_gzip_is_judged_by_what_is_kept_of_it(tmp_path: Path) -> None:
    packed = gzip.compress(b"100000 1 1\n" + b"# nothing\n" * 2**20 + b"0 0:1\n" * 100_000)
    file = written(tmp_path / "a.txt.gz", packed)
    assert len(read_xmc(file, memory_limit=0.01)) == 100_000
    with pytest.raises(DataError, match=r"more memory than memory_limit of 0.002 GB"):
        read_xmc(file, memory_limit=0.002)


# --- Parquet, which has rows but no lines ------------------------------------------------------


def parquet(folder: Path, texts: list, labels: list, schema: dict | None = None) -> Path:
    pl.DataFrame(
        {"text": texts, "labels": labels},
        schema={"text": pl.String, "labels": pl.List(pl.String), **(schema or {})},
    ).write_parquet(folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize(
    ("texts", "labels", "schema", "words"),
    [
        (["a", None], [["x"], []], {}, "row 2: 'text' is null"),
        ([1, 2], [["x"], []], {"text": pl.Int64}, "row 1: 'text' is a whole number"),
        (["a"], [[None]], {}, "row 1: a label is null"),
        (["a"], [[0.5]], {"labels": pl.List(pl.Float64)}, "row 1: a label is a fraction"),
        (["a"], [float("nan")], {"labels": pl.Float64}, "row 1: 'labels' is a fraction"),
        (["a"], [True], {"labels": pl.Boolean}, "row 1: 'labels' is a truth value"),
        (["a"], [[2**64 - 1]], {"labels": pl.List(pl.UInt64)}, "row 1: a label is a number beyond"),
        (["a"], [b"\xff"], {"labels": pl.Binary}, "row 1: 'labels' is a bytes"),
        (["a", "b"], ["x;y", "x,y"], {"labels": pl.String}, "row 2: 'labels' holds ';' and ','"),
        ([], [], {}, "there are no rows"),
    ],
)
def test_bad_parquet(tmp_path: Path, texts: list, labels: list, schema: dict, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_parquet(parquet(tmp_path, texts, labels, schema))
    assert words in caught.value.reason
    assert caught.value.path == str(tmp_path / "a.parquet")


def test_parquet_columns(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no 'tags' \(found: 'text', 'labels'\)"):
        read_parquet(parquet(tmp_path, ["a"], [["x"]]), labels_column="tags")


def test_no_parquet_at_all(tmp_path: Path) -> None:
    good = parquet(tmp_path, ["a"] * 50, [["x"]] * 50).read_bytes()
    for content in (
        b"",
        b"PAR1",
        b"PAR1" + b"junk" * 100 + b"PAR1",
        good[:-1],
        good[: len(good) // 2],
        good[len(good) // 2 :],
        bytes(range(256)) * 100,
        b"0" * LONG,
    ):
        with pytest.raises(DataError, match="Parquet"):
            read_parquet(written(tmp_path / "b.parquet", content))
    with pytest.raises(DataError, match="no such file"):
        read_parquet(tmp_path / "c.parquet")
    with pytest.raises(DataError, match="is a folder"):
        read_parquet(tmp_path)


def test_parquet_text_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    data = read_parquet(parquet(tmp_path, ["a" * LONG], [["x"]]))
    assert isinstance(data, Dataset)
    assert len(data.texts[0]) == LONG
