"""Dataset: what it refuses, what it keeps, and alignment to a model's columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from longtail.data import Dataset, concatenate
from longtail.errors import InputError
from tests.data.readers_common import assert_same, small_set


def test_counts_and_names() -> None:
    data = small_set(label_names=["a", "b", "c", "d"], feature_names=["x", "y", "z"], name="tiny")
    assert (len(data), data.n_features, data.n_labels) == (3, 3, 4)
    assert data.classes.tolist() == ["a", "b", "c", "d"]
    assert data.label_sets() == [("a", "c"), (), ("b",)]
    assert repr(data) == "Dataset 'tiny': 3 points, 3 features, 4 labels (1 a point), 0.0 MB"


def test_classes_are_numbers_without_names() -> None:
    assert small_set().classes.tolist() == [0, 1, 2, 3]
    assert small_set().label_sets() == [(0, 2), (), (1,)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_types_are_kept_and_others_become_float32(dtype: type) -> None:
    Y = [[1], [0]]
    assert Dataset(np.ones((2, 2), dtype=dtype), Y).X.dtype == dtype
    assert Dataset(np.ones((2, 2), dtype=np.int64), Y).X.dtype == np.float32
    assert Dataset(np.ones((2, 2), dtype=dtype), Y).Y.dtype == np.float32


def test_wide_indices_are_made_narrow() -> None:
    wide = sp.csr_array(np.eye(3, dtype=np.float32))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    data = Dataset(wide, wide)
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert data.Y.indices.dtype == data.Y.indptr.dtype == np.int32


def test_stored_zeros_of_labels_are_no_labels() -> None:
    Y = sp.csr_array(([1.0, 0.0], [0, 1], [0, 2]), shape=(1, 2))
    data = Dataset([[1.0]], Y)
    assert data.label_sets() == [(0,)]
    assert Y.nnz == 2, "the matrix given must not change"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X": None}, "needs features X, texts, or both; give one"),
        ({"X": np.ones((2, 3))}, "X has 2 rows, but Y has 3; give the labels of every row"),
        ({"texts": ["a"]}, "1 texts, but Y has 3 rows; give the labels of every text"),
        ({"texts": ["a", "b", 3]}, "Text 2 is of type int; give strings"),
        ({"feature_names": ["a"]}, "1 feature names for 3 features; give one name per column"),
        ({"label_names": ["a"]}, "1 label names for 4 label columns"),
        ({"label_names": ["a", "b", "c", "a"]}, "not distinct"),
        ({"X": np.array([[np.nan], [1], [1]])}, "NaN or infinite"),
        ({"X": np.array([["a"], ["b"], ["c"]])}, "type <U1"),
        ({"Y": sp.csr_array(np.full((3, 4), 2.0))}, "only 0 and 1"),
        ({"Y": sp.csr_array(np.full((3, 4), np.nan))}, "only 0 and 1"),
        ({"X": None, "texts": ["a", "b", "c"], "feature_names": ["a"]}, "leave the names out"),
    ],
)
def test_what_is_refused(changes: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        small_set(**changes)


def test_claimed_labels_take_no_memory() -> None:
    Y = sp.csr_array((np.ones(1, np.float32), [5], [0, 1]), shape=(1, 2**31 - 1))
    data = Dataset([[1.0]], Y)
    assert data.n_labels == 2**31 - 1
    assert data.label_sets() == [(5,)]
    assert "2,147,483,647 labels" in repr(data)


@pytest.mark.parametrize("rows", [[2, 0], slice(0, 2), np.array([True, False, True]), [], [-1]])
def test_subset_is_numpy_indexing(rows: object) -> None:
    data = small_set(texts=["a", "b", "c"])
    wanted = np.arange(3)[rows]
    part = data.subset(rows)
    np.testing.assert_array_equal(part.X.toarray(), data.X.toarray()[wanted])
    np.testing.assert_array_equal(part.Y.toarray(), data.Y.toarray()[wanted])
    assert part.texts == [data.texts[i] for i in wanted]


@pytest.mark.parametrize("rows", [[3], np.array([True]), [0.5]])
def test_subset_refuses_rows_that_are_not_there(rows: object) -> None:
    with pytest.raises(InputError, match="not in the data set"):
        small_set().subset(rows)


def test_split_parts_make_the_whole() -> None:
    data = Dataset(np.arange(1.0, 41.0)[:, None], (np.arange(40)[:, None] % 4 == np.arange(4)))
    train, test = data.split(test_size=0.25, random_state=0)
    rows = np.concatenate([train.X.toarray().ravel(), test.X.toarray().ravel()])
    assert len(test) == 10
    assert sorted(rows) == list(range(1, 41))


names = st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1)


@given(ours=names, theirs=names, seed=st.integers(0, 99))
def test_aligned_labels_keep_every_label_set(ours: list, theirs: list, seed: int) -> None:
    dense = np.random.default_rng(seed).integers(0, 2, (5, len(ours)))
    data = Dataset(np.ones((5, 1)), dense, label_names=ours)
    occurring = {name for row in data.label_sets() for name in row}
    if occurring and not occurring & set(theirs):
        with pytest.raises(InputError, match="None of the labels is known"):
            data.aligned_to(label_names=theirs)
        return
    aligned = data.aligned_to(label_names=theirs)
    assert list(map(set, aligned.label_sets())) == list(map(set, data.label_sets()))
    assert aligned.classes.tolist()[: len(theirs)] == theirs
    assert set(aligned.classes.tolist()) == set(theirs) | occurring


def test_alignment_by_number_goes_by_column() -> None:
    aligned = small_set().aligned_to(label_names=np.arange(2))
    assert aligned.classes.tolist() == [0, 1, 2]
    assert aligned.label_sets() == [(0, 2), (), (1,)]


def test_scores_can_be_widened_to_aligned_labels() -> None:
    aligned = Dataset([[1.0]], [("new", "old")]).aligned_to(label_names=["old"])
    scores = sp.csr_array(np.array([[0.5]]))
    scores.resize(aligned.Y.shape)
    assert scores.multiply(aligned.Y).sum() == 0.5
    assert aligned.Y.sum() == 2


def test_aligned_features_drop_the_unknown_and_add_empty_columns() -> None:
    data = small_set(feature_names=["x", "y", "z"])
    aligned = data.aligned_to(feature_names=["z", "new", "x"])
    np.testing.assert_array_equal(aligned.X.toarray(), [[1, 0, 0.5], [0, 0, 0], [0, 0, 0]])
    assert aligned.feature_names.tolist() == ["z", "new", "x"]
    with pytest.raises(InputError, match="needs feature names"):
        small_set().aligned_to(feature_names=["x"])
    with pytest.raises(InputError, match="not distinct"):
        small_set(feature_names=["x", "x", "z"]).aligned_to(feature_names=["x"])


@pytest.mark.parametrize("width", [2, 3, 5])
def test_aligned_features_by_number(width: int) -> None:
    aligned = small_set().aligned_to(n_features=width)
    dense = small_set().X.toarray()
    wanted = np.zeros((3, width))
    wanted[:, : min(3, width)] = dense[:, :width]
    np.testing.assert_array_equal(aligned.X.toarray(), wanted)


def test_concatenate_by_name_and_by_number() -> None:
    first = Dataset([[1.0, 2.0]], [("a", "c")], feature_names=["x", "y"], texts=["s"], name="n")
    second = Dataset([[3.0, 4.0]], [("b", "c")], feature_names=["y", "x"], texts=["t"], name="n")
    both = concatenate(first, second)
    assert both.label_sets() == [("a", "c"), ("c", "b")]
    np.testing.assert_array_equal(both.X.toarray(), [[1, 2], [4, 3]])
    assert both.texts == ["s", "t"]
    assert both.name == "n"
    halves = concatenate(small_set().subset([0]), small_set().subset([1, 2]))
    assert_same(halves, small_set())


def test_concatenate_refuses_what_does_not_match() -> None:
    with pytest.raises(InputError, match="has features"):
        concatenate(small_set(), small_set(X=None, texts=["a", "b", "c"]))
    with pytest.raises(InputError, match="has label names"):
        concatenate(small_set(), small_set(label_names=list("abcd")))
