"""`read_dataset`, `save`, `recognise`: formats told apart, folders, atomic writing, real sets."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from longtail.data import (
    Dataset,
    read_dataset,
    recognise,
    save,
)
from longtail.errors import DataError, InputError, ParameterError
from tests.data.readers_common import assert_same, small_set, written

XMC = "3 3 4\n0,2 0:0.5 2:1\n 1:-2.25\n1\n"
SVM = XMC.split("\n", 1)[1]


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("a.txt", XMC, "xmc"),
        ("a", "# r\n\n" + XMC, "xmc"),
        ("a.txt", SVM, "svmlight"),
        ("a.dat", " 1:2\n", "svmlight"),
        ("a.dat", "# by hand\n3\n", "svmlight"),
        ("a.SVM.gz", "", "svmlight"),
        ("a.txt", "% remark\n@RELATION r\n", "mulan"),
        ("a.txt", '{"text": 1}', "jsonl"),
        ("a", b"PAR1....", "parquet"),
        ("trn_X_Y.txt", "", "xmc-pair"),
        ("a.csv", XMC, "csv"),
    ],
)
def test_recognise(tmp_path: Path, name: str, content: str | bytes, wanted: str) -> None:
    assert recognise(written(tmp_path / name, content)) == wanted


def test_what_cannot_be_recognised_is_told_in_one_sentence(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", "Dear reader,\n")
    with pytest.raises(DataError, match=r"'Dear reader,'; expected XMC text .*format="):
        read_dataset(file)
    with pytest.raises(ParameterError, match="format must be one of xmc"):
        read_dataset(file, format="word")


def test_load_names_unknown_options(tmp_path: Path) -> None:
    file = written(tmp_path / "a.txt", XMC)
    with pytest.raises(ParameterError, match="read as xmc, which has no option 'text_column'"):
        read_dataset(file, text_column="a")
    with pytest.raises(ParameterError, match="part='train' is for folders"):
        read_dataset(file, part="train")
    with pytest.raises(ParameterError, match="part must be"):
        read_dataset(file, part="half")


@pytest.mark.parametrize("part", [None, "train", "test", "all"])
@pytest.mark.parametrize(
    ("name", "cause"), [("nowhere", "there is no such file"), ("a\0b", "cannot be read")]
)
def test_load_says_first_that_there_is_no_file(
    tmp_path: Path, part: str | None, name: str, cause: str
) -> None:
    with pytest.raises(DataError, match=cause):
        read_dataset(tmp_path / name, part=part)


def test_load_folder_with_train_and_test(tmp_path: Path) -> None:
    data = small_set(label_names=["a", "b", "c", "d"], feature_names=["x", "y", "z"])
    save(data.subset([0, 1]), tmp_path / "train.txt.gz")
    save(data.subset([2]), tmp_path / "test.txt.gz")
    written(tmp_path / "README.txt", "nothing")
    assert_same(read_dataset(tmp_path), data.subset([0, 1]))
    assert_same(read_dataset(tmp_path, part="test"), data.subset([2]))
    assert_same(read_dataset(tmp_path, part="all"), data)
    assert read_dataset(tmp_path).name == tmp_path.name


@pytest.mark.parametrize("names", [("toy-train.arff", "toy-test.arff"), ("trn.jsonl", "tst.jsonl")])
def test_load_folder_with_other_names(tmp_path: Path, names: tuple[str, str]) -> None:
    data = small_set(texts=["a", "b", "c"], label_names=["a", "b", "c", "d"])
    for rows, name in zip(([0, 1], [2]), names, strict=True):
        save(data.subset(rows), tmp_path / name)
    assert len(read_dataset(tmp_path)) == 2
    assert len(read_dataset(tmp_path, part="test")) == 1
    assert read_dataset(tmp_path, part="all").label_sets() == data.label_sets()


def test_load_folder_with_one_file(tmp_path: Path) -> None:
    save(small_set(), tmp_path / "whole.svm")
    assert_same(read_dataset(tmp_path), small_set())
    with pytest.raises(DataError, match=r"no test part here, only whole\.svm"):
        read_dataset(tmp_path, part="test")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], "holds no data that can be recognised"),
        (["a.txt", "b.txt"], r"several files could be meant \(a.txt, b.txt\)"),
        (["train.txt", "train.csv"], r"several files could be meant \(train.csv, train.txt\)"),
    ],
)
def test_load_folder_in_doubt(tmp_path: Path, files: list[str], words: str) -> None:
    for name in files:
        written(tmp_path / name, XMC)
    with pytest.raises(DataError, match=words):
        read_dataset(tmp_path)


def test_save_replaces_at_once_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    save(small_set(), file)
    before = file.read_bytes()
    with pytest.raises(InputError, match="line break"):
        save(small_set(label_names=["a", "b\n", "c", "d"]), file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    save(small_set().subset([0]), file)
    assert len(read_dataset(file)) == 1


def test_save_leaves_other_names_alone(tmp_path: Path) -> None:
    save(small_set(label_names=["a", "b", "c", "d"]), tmp_path / "train.txt")
    save(small_set(label_names=["a", "b", "c", "d"]), tmp_path / "test.txt")
    for names in (None, ["d", "b", "c", "a"]):
        with pytest.raises(InputError, match="another folder"):
            save(small_set(label_names=names), tmp_path / "more.txt")
    assert not (tmp_path / "more.txt").exists()


def test_save_says_what_it_cannot_do(tmp_path: Path) -> None:
    texts = Dataset(None, [("a",)], texts=["t"])
    for name in ("a.txt", "a.svm", "a.arff", "trn_X_Xf.txt"):
        with pytest.raises(InputError, match="JSONL"):
            save(texts, tmp_path / name)
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        with pytest.raises(InputError, match="XMC"):
            save(small_set(), tmp_path / name)
    for name in ("a.doc", "a.parquet.gz"):
        with pytest.raises(ParameterError, match=r"format|packed"):
            save(texts, tmp_path / name)
    with pytest.raises(DataError, match="is a folder"):
        save(small_set(), tmp_path, format="xmc")
    with pytest.raises(DataError, match="cannot be written"):
        save(small_set(), tmp_path / "no" / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_real_sets_have_the_sizes_that_are_published(data_folder: Path) -> None:
    for name, sizes in {
        "bibtex": (4880, 2515, 1836, 159),
        "eurlex-4k": (15539, 3809, 5000, 3993),
        "yeast": (1500, 917, 103, 14),
    }.items():
        train, test = (
            read_dataset(data_folder / name),
            read_dataset(data_folder / name, part="test"),
        )
        assert (len(train), len(test), train.n_features, train.n_labels) == sizes
        assert (test.n_features, test.n_labels) == sizes[2:]
        assert train.name == test.name == name
    assert read_dataset(data_folder / "bibtex").label_names[0] == "TAG_2005"


def test_real_set_agrees_with_scikit_learn(data_folder: Path, tmp_path: Path) -> None:
    content = gzip.decompress((data_folder / "rcv1-subset1" / "train.txt.gz").read_bytes())
    lines = written(tmp_path / "plain.svm", content.split(b"\n", 1)[1])
    theirs, labels = load_svmlight_file(
        str(lines), multilabel=True, zero_based=True, n_features=47236, dtype=np.float64
    )
    ours = read_dataset(data_folder / "rcv1-subset1", dtype="float64")
    assert (theirs != ours.X).nnz == 0
    ids, ends = ours.Y.indices.tolist(), ours.Y.indptr.tolist()
    assert [ids[a:b] for a, b in pairwise(ends)] == [list(map(int, row)) for row in labels]
