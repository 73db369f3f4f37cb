"""What is written reads back the same, to the bit, in every format."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.data import Dataset, read_dataset, save
from longtail.errors import InputError
from tests.data.readers_common import assert_same, small_set

MATRIX_FILES = ["a.txt", "a.txt.gz", "trn_X_Xf.txt", "tst_X_Xf.txt.gz", "a.svm", "a.libsvm.gz"]
TEXT_FILES = ["a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv.gz", "a.parquet"]

any_text = st.text(st.characters(exclude_categories=["Cs"]))
line_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))
xml_text = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\ufffe\uffff"),
    min_size=1,
)


@st.composite
def matrices(draw: st.DrawFn, n: int, width: int, dtype: type) -> sp.csr_array:
    bits = 32 if dtype == np.float32 else 64
    value = st.floats(allow_nan=False, allow_infinity=False, width=bits)
    dense = np.zeros((n, width), dtype=dtype)
    if n and width:
        places = st.tuples(st.integers(0, n - 1), st.integers(0, width - 1))
        for place, number in draw(st.lists(st.tuples(places, value), max_size=15)):
            dense[place] = number
    return sp.csr_array(dense)


@st.composite
def labels(draw: st.DrawFn, n: int, width: int) -> sp.csr_array:
    dense = np.zeros((n, width), dtype=np.float32)
    if n and width:
        places = st.tuples(st.integers(0, n - 1), st.integers(0, width - 1))
        for place in draw(st.lists(places, max_size=15)):
            dense[place] = 1
    return sp.csr_array(dense)


def distinct(names: st.SearchStrategy[str], width: int) -> st.SearchStrategy[list[str]]:
    return st.lists(names, min_size=width, max_size=width, unique=True)


@st.composite
def featured(draw: st.DrawFn, names: st.SearchStrategy[str] | None, dtype: type) -> Dataset:
    n, width, n_labels = draw(st.tuples(st.integers(0, 6), st.integers(1, 6), st.integers(0, 6)))
    both = [None, None]
    if names is not None:
        every = draw(distinct(names, width + n_labels))
        both = [every[:width], every[width:]]
    return Dataset(
        draw(matrices(n, width, dtype)),
        draw(labels(n, n_labels)),
        feature_names=both[0],
        label_names=both[1],
    )


def round_trip(data: Dataset, name: str, **options: object) -> Dataset:
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        save(data, file)
        return read_dataset(file, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MATRIX_FILES)
@settings(max_examples=25, deadline=None)
@given(choice=st.data())
def test_features(choice: st.DataObject, name: str, dtype: type) -> None:
    names = choice.draw(st.sampled_from([None, line_text]))
    data = choice.draw(featured(names, dtype))
    assert_same(round_trip(data, name, dtype=dtype), data)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=25, deadline=None)
@given(choice=st.data())
def test_mulan(choice: st.DataObject, dtype: type) -> None:
    data = choice.draw(featured(xml_text, dtype))
    assert_same(round_trip(data, "a.arff", dtype=dtype), data)


def test_mulan_gives_names_to_what_has_none() -> None:
    back = round_trip(small_set(), "a.arff.gz")
    assert_same(back, small_set(), names=False)
    assert back.feature_names.tolist() == ["f0", "f1", "f2"]
    assert back.label_names.tolist() == ["l0", "l1", "l2", "l3"]


@pytest.mark.parametrize(
    "changes",
    [
        {"label_names": ["a", "b", "c", "d"], "feature_names": ["a", "x", "y"]},
        {"feature_names": ["x", "x", "y"]},
        {"label_names": ["a", "b", "c", "\x00"]},
    ],
)
def test_mulan_refuses_names_that_it_cannot_hold(tmp_path: Path, changes: dict) -> None:
    with pytest.raises(InputError, match="name"):
        save(small_set(**changes), tmp_path / "a.arff")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TEXT_FILES)
@settings(max_examples=25, deadline=None)
@given(choice=st.data())
def test_texts(choice: st.DataObject, name: str) -> None:
    n, n_labels = choice.draw(st.tuples(st.integers(1, 6), st.integers(0, 6)))
    whole_numbers = choice.draw(st.booleans())
    label = st.integers(-(2**63), 2**63 - 1) if whole_numbers else line_text
    names = choice.draw(distinct(label, n_labels))
    Y = choice.draw(labels(n, n_labels))
    texts = choice.draw(st.lists(any_text, min_size=n, max_size=n))
    data = Dataset(
        None,
        Y,
        label_names=np.array(names, dtype=np.int64 if whole_numbers else object),
        texts=texts,
    )
    back = round_trip(data, name)
    if whole_numbers and not Y.nnz:
        assert back.classes.tolist() == [str(each) for each in names]
        return
    assert_same(back, data)


@pytest.mark.parametrize("name", TEXT_FILES)
def test_texts_with_line_breaks_in_label_names(name: str) -> None:
    data = Dataset(None, [("a\nb", "c; d"), ("a\nb",)], texts=["x\r\ny", "z\n"])
    assert_same(round_trip(data, name), data)


def test_packed_files_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one.txt.gz", "two.txt.gz"):
        save(small_set(), tmp_path / name)
    assert (tmp_path / "one.txt.gz").read_bytes() == (tmp_path / "two.txt.gz").read_bytes()


def test_halves_of_surrogate_pairs_are_refused(tmp_path: Path) -> None:
    for name in TEXT_FILES:
        with pytest.raises(InputError, match="UTF-8"):
            save(Dataset(None, [("a",)], texts=["\ud800"]), tmp_path / name)
    with pytest.raises(InputError, match="surrogate"):
        save(small_set(label_names=["a", "b", "c", "\udc80"]), tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
