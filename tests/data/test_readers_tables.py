"""JSONL, CSV and Parquet: cells of labels in every form, by hand-written examples."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from longtail.data import (
    Dataset,
    read_csv,
    read_dataset,
    read_jsonl,
    read_parquet,
)
from longtail.errors import DataError, DataWarning, ParameterError
from tests.data.readers_common import assert_same, written

TEXTS = ["at the beach", 'say "hi",\nnew line; ünïcode', ""]
SETS = [["sea", "sun"], [], ["wind"]]


def _jsonl(rows: list) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_tables_read_alike(tmp_path: Path) -> None:
    rows = [{"text": t, "labels": s} for t, s in zip(TEXTS, SETS, strict=True)]
    wanted = Dataset(None, SETS, texts=TEXTS)
    pl.DataFrame(rows, schema={"text": pl.String, "labels": pl.List(pl.String)}).write_parquet(
        tmp_path / "a.parquet"
    )
    quoted = (
        'id,text,labels\n1,at the beach,sea|sun\n2,"say ""hi"",\nnew line; ünïcode",\n3,"",wind\n'
    )
    for name, content in {
        "a.jsonl": "\n" + _jsonl(rows) + "\n\n",
        "b.json": _jsonl(rows).replace('["sea", "sun"]', '"sun, sea"').replace("[]", "null"),
        "c.csv": quoted,
        "d.csv": quoted.replace("\n1", "\r\n1").replace("\n2", "\r\n2").replace("sea|", " sea ;"),
        "e.tsv": quoted.replace(",text,", "\ttext\t")
        .replace(",at the beach,", "\tat the beach\t")
        .replace('2,"', '2\t"')
        .replace('code",', 'code"\t')
        .replace('3,"",', "3\t\t"),
    }.items():
        assert_same(read_dataset(written(tmp_path / name, content)), wanted)
        assert_same(
            read_dataset(written(tmp_path / f"{name}.gz", gzip.compress(content.encode()))), wanted
        )
    assert_same(read_dataset(tmp_path / "a.parquet"), wanted)


def test_labels_may_be_whole_numbers(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.jsonl", _jsonl([{"text": "a", "labels": [7, 3]}, {"text": "b", "labels": 7}])
    )
    data = read_jsonl(file)
    assert data.classes.tolist() == [3, 7]
    assert data.classes.dtype.kind == "i"
    pl.DataFrame({"text": ["a", "b"], "labels": [[7, 3], [7]]}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert_same(read_parquet(tmp_path / "a.parquet"), data)


def test_several_columns_of_text_and_none_of_labels(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "title,body,tags\nA,about,x\n")
    data = read_csv(file, text_column=["title", "body"], labels_column=None)
    assert data.texts == ["A\nabout"]
    assert data.Y.shape == (1, 0)


@pytest.mark.parametrize(
    ("cells", "separator", "wanted"),
    [
        (["a;b", "c"], None, [("a", "b"), ("c",)]),
        (["a|b", " c | "], None, [("a", "b"), ("c",)]),
        (["a,b", ""], None, [("a", "b"), ()]),
        (["a b", "c"], None, [("a b",), ("c",)]),
        (["a b", "c"], " ", [("a", "b"), ("c",)]),
        (["a,b;c", "c"], ";", [("a,b", "c"), ("c",)]),
        (["a,b;c", "c"], "", [("a,b;c",), ("c",)]),
        (['["a,b;c"]', "[]"], None, [("a,b;c",), ()]),
        (['["a", "b"]', ""], None, [("a", "b"), ()]),
    ],
)
def test_label_strings(tmp_path: Path, cells: list, separator: str | None, wanted: list) -> None:
    rows = [{"text": "t", "labels": cell} for cell in cells]
    file = written(tmp_path / "a.jsonl", _jsonl(rows))
    assert read_jsonl(file, label_separator=separator).label_sets() == wanted
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    assert read_parquet(tmp_path / "a.parquet", label_separator=separator).label_sets() == wanted


def test_lists_in_some_rows_and_names_in_others_are_refused(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text('text,labels\none,sea\ntwo,"[""sun"", ""fog""]"\n')
    with pytest.raises(DataError, match=r"line 3: 'labels' is a list in JSON, but not so in every"):
        read_csv(file)
    assert read_csv(file, label_separator=";").label_sets()[0] == ("sea",)
    file.write_text("text,labels\none,sea\ntwo,[draft];sun\n")  # a name of that look
    assert read_csv(file).label_sets() == [("sea",), ("[draft]", "sun")]


def test_label_strings_with_two_separators_ask(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", 'text,labels\na,x;y\nb,"x, z"\n')
    with pytest.raises(DataError, match=r"line 3: 'labels' holds ';' and ','.*label_separator"):
        read_csv(file)


def test_repeated_labels_count_once_with_a_warning(tmp_path: Path) -> None:
    rows = [{"text": "t", "labels": ["a"]}, *[{"text": "t", "labels": ["b", "b"]}] * 2]
    file = written(tmp_path / "a.jsonl", _jsonl(rows))
    with pytest.warns(DataWarning, match="line 2: a label occurs twice, and 1 more; counted once"):
        assert read_jsonl(file).label_sets() == [("a",), ("b",), ("b",)]


def test_label_names_beside_a_table_set_the_columns(tmp_path: Path) -> None:
    file = written(tmp_path / "a.jsonl", _jsonl([{"text": "t", "labels": ["b", "a"]}]))
    names = written(tmp_path / "label_names.txt", "z\nb\na\n")
    assert read_jsonl(file).classes.tolist() == ["z", "b", "a"]
    written(names, "z\nb\n")
    with pytest.raises(DataError, match=r"line 1: the label 'a' is not in label_names.txt"):
        read_jsonl(file)


def test_delimiter_is_checked(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "text;labels\na;b\n")
    assert read_csv(file, delimiter=";").label_sets() == [("b",)]
    for bad in ("", ";;", "\n", '"'):
        with pytest.raises(ParameterError, match="delimiter"):
            read_csv(file, delimiter=bad)
