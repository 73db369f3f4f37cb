"""The four forms of Y: in, out, round trip, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from longtail.errors import InputError
from longtail.labels import (
    decode_labels,
    encode_labels,
    matrix_to_names,
    name_array,
    names_to_matrix,
)

NAMES = st.one_of(
    st.text(max_size=5),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none(),
    st.binary(max_size=3),
    st.tuples(st.integers(0, 3), st.text(max_size=2)),
)


def round_trip(Y, **options):
    encoded = encode_labels(Y, **options)
    return encoded, decode_labels(encoded.matrix, encoded.classes, encoded.kind)


class TestForms:
    def test_multiclass(self):
        encoded, back = round_trip(np.array(["b", "a", "b"]))
        assert encoded.kind == "multiclass"
        assert encoded.classes.tolist() == ["a", "b"]
        assert encoded.matrix.toarray().tolist() == [[0, 1], [1, 0], [0, 1]]
        assert back.tolist() == ["b", "a", "b"]

    def test_dense(self):
        Y = np.array([[0, 1, 1], [0, 0, 0]])
        encoded, back = round_trip(Y)
        assert encoded.kind == "dense"
        assert encoded.classes.tolist() == [0, 1, 2]
        assert encoded.matrix.nnz == 2
        np.testing.assert_array_equal(back, Y)
        assert back.dtype == np.int64

    @pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
    @pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
    def test_sparse(self, make, dtype):
        Y = np.array([[0, 1, 1], [0, 0, 0]], dtype=dtype)
        encoded, back = round_trip(make(Y))
        assert encoded.kind == "sparse"
        assert isinstance(back, sp.csr_array)
        np.testing.assert_array_equal(back.toarray(), Y.astype(int))

    @pytest.mark.parametrize("collection", [tuple, list, set, frozenset, np.array])
    def test_names(self, collection):
        rows = [collection(["sun", "sea"]), collection(["fog"])]
        encoded, back = round_trip(rows)
        assert encoded.kind == "names"
        assert encoded.classes.tolist() == ["fog", "sea", "sun"]
        assert back == [("sea", "sun"), ("fog",)]

    def test_every_form_gives_a_canonical_float32_csr(self):
        for Y in (
            np.array([2, 1, 2]),
            np.eye(3),
            sp.csc_array(np.eye(3)),
            [("b", "a", "a"), (), ("c",)],
        ):
            matrix = encode_labels(Y).matrix
            assert isinstance(matrix, sp.csr_array)
            assert matrix.dtype == np.float32
            assert matrix.has_canonical_format
            assert (matrix.data == 1).all()


class TestContainers:
    def test_pandas_and_polars(self):
        assert encode_labels(pd.Series(["a", "b"])).kind == "multiclass"
        assert encode_labels(pd.DataFrame([[1, 0], [0, 1]])).kind == "dense"
        mixed = pd.DataFrame({"x": [True, False], "y": [0, 1]})
        assert encode_labels(mixed).matrix.toarray().tolist() == [[1, 0], [0, 1]]
        assert encode_labels(pl.DataFrame({"x": [1, 0], "y": [0, 1]})).kind == "dense"
        rows = round_trip(pl.Series([["a"], ["b", "c"], []]))[1]
        assert rows == [("a",), ("b", "c"), ()]
        assert round_trip(pd.Series([["a"], []]))[1] == [("a",), ()]

    def test_nested_lists_of_zeros_and_ones_are_a_matrix(self):
        assert encode_labels([[0, 1, 0], [1, 0, 0]]).kind == "dense"

    def test_rows_of_unlike_length_are_names_even_of_zeros_and_ones(self):
        assert round_trip([[0, 1], [1]])[1] == [(0, 1), (1,)]

    def test_object_arrays(self):
        rows = np.empty(2, dtype=object)
        rows[:] = [("a", "b"), ()]
        assert round_trip(rows)[1] == [("a", "b"), ()]
        indicator = np.array([[1, 0], [0, 1]], dtype=object)
        assert encode_labels(indicator).kind == "dense"

    def test_generators(self):
        assert round_trip(iter([("a",), ("b",)]))[1] == [("a",), ("b",)]

    def test_column_vectors_of_classes_are_flattened_with_a_warning(self):
        with pytest.warns(DataConversionWarning):
            assert encode_labels(np.array([[3], [4]])).kind == "multiclass"

    def test_one_label_column(self):
        assert encode_labels(np.array([[1], [0]])).matrix.shape == (2, 1)

    def test_empty_things(self):
        assert encode_labels(np.zeros((0, 3))).matrix.shape == (0, 3)
        assert encode_labels(np.zeros((3, 0))).matrix.shape == (3, 0)
        assert encode_labels(sp.csr_array((3, 0))).matrix.shape == (3, 0)
        assert round_trip([(), ()])[1] == [(), ()]
        assert encode_labels([]).matrix.shape == (0, 0)


class TestLabelNames:
    def test_name_the_columns_of_a_matrix(self):
        assert encode_labels(np.eye(2), label_names=["x", "y"]).classes.tolist() == ["x", "y"]

    def test_order_the_columns_of_names(self):
        encoded, back = round_trip([("a",), ("b",)], label_names=["c", "b", "a"])
        assert encoded.matrix.toarray().tolist() == [[0, 0, 1], [0, 1, 0]]
        assert back == [("a",), ("b",)]
        encoded, back = round_trip(np.array(["a", "b"]), label_names=["c", "b", "a"])
        assert encoded.kind == "multiclass"
        assert back.tolist() == ["a", "b"]

    @pytest.mark.parametrize(
        ("Y", "names", "says"),
        [
            (np.eye(2), ["x"], "1 label names for 2"),
            (np.eye(2), ["x", "x"], "not distinct"),
            (np.eye(2), [["x"], ["y"]], "not hashable"),
            ([("x",)], ["x", "x"], "not distinct"),
            ([("x",)], [["x"]], "not hashable"),
            ([("x",), ("z",)], ["x", "y"], "Row 1 of y holds the label 'z'"),
            (np.array([7]), [1, 2], "label 7"),
        ],
    )
    def test_bad_names(self, Y, names, says):
        with pytest.raises(InputError, match=says):
            encode_labels(Y, label_names=names)


@pytest.mark.parametrize(
    ("Y", "says"),
    [
        (None, "Expected array-like"),
        (7, "Expected array-like"),
        ("abc", "non-string sequence"),
        (b"abc", "non-string sequence"),
        (np.array(3), "0 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.array([[np.nan, 0.0]]), "NaN or infinity"),
        (np.array([[np.inf, 0.0]]), "NaN or infinity"),
        (sp.csr_array([[np.nan, 0.0]]), "NaN or infinity"),
        (np.array([[2, 0], [0, 1]]), "only 0 and 1, but holds 2"),
        (np.array([[-1, 0], [0, 1]]), "only 0 and 1, but holds -1"),
        (sp.csr_array([[0.5, 0]]), "only 0 and 1, but holds 0.5"),
        (sp.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(1, 2)), "holds 2"),
        pytest.param(
            sp.coo_array(np.array([1, 0, 1])),
            "1 dimension",
            marks=pytest.mark.skipif(
                sp.coo_array(np.array([1, 0, 1])).ndim == 2, reason="this scipy makes rows of it"
            ),
        ),
        (np.array([[1j, 0]]), "0 and 1"),
        (np.array([["a", "b"]]), "list of label collections"),
        (np.array([0.5, 1.0]), "^Unknown label type: continuous; .* so give classes as names"),
        (np.array([np.nan, 1.0]), "NaN"),
        (np.array([np.nan, "a"], dtype=object), "NaN"),
        ([("a", float("nan"))], "NaN"),
        ([["a"], "b"], "mixes single labels, as in row 1, and collections"),
        ([[["a"]], [["b"]]], "Row 0 of y holds a label that is not hashable"),
        ([("a",), ({},)], "Row 1 of y holds a label that is not hashable"),
    ],
    ids=repr,
)
def test_hostile_input_gets_one_sentence(Y, says):
    with pytest.raises(InputError, match=says) as caught:
        encode_labels(Y)
    assert "\n" not in str(caught.value)


def test_an_empty_row_is_not_a_class():
    with pytest.raises(InputError, match="no label"):
        decode_labels(sp.csr_array([[1, 0], [0, 0]]), np.array(["a", "b"]), "multiclass")


def test_stored_zeros_are_no_labels_and_the_input_stays():
    Y = sp.csr_array((np.array([1.0, 0.0]), ([0, 1], [0, 1])), shape=(2, 2))
    encoded = encode_labels(Y)
    assert encoded.matrix.nnz == 1
    assert Y.nnz == 2
    encoded.matrix.data[:] = 5
    assert Y.data.tolist() == [1.0, 0.0]


def test_names_that_cannot_be_compared_keep_the_order_of_appearance():
    assert names_to_matrix([["b", 1], ["a"]])[1].tolist() in (["b", 1, "a"], [1, "b", "a"])


@settings(deadline=None)
@given(st.lists(st.sets(NAMES, max_size=4), min_size=1, max_size=6))
def test_names_round_trip(rows):
    encoded, back = round_trip(rows)
    assert encoded.kind == "names"
    assert [set(row) for row in back] == rows
    assert len(set(encoded.classes.tolist())) == encoded.matrix.shape[1]
    again = encode_labels(back, label_names=encoded.classes.tolist())
    np.testing.assert_array_equal(again.matrix.toarray(), encoded.matrix.toarray())


@settings(deadline=None)
@given(st.lists(st.one_of(st.text(max_size=4), st.integers()), min_size=1, max_size=8))
@example(["a\0", "a"])
@example([1, "1"])
def test_classes_round_trip(rows):
    assert round_trip(rows)[1].tolist() == rows


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.data())
def test_matrices_round_trip(n, L, data):
    row = st.lists(st.integers(0, 1), min_size=L, max_size=L)
    Y = np.array(data.draw(st.lists(row, min_size=n, max_size=n)))
    np.testing.assert_array_equal(round_trip(Y)[1], Y)
    np.testing.assert_array_equal(round_trip(sp.csr_array(Y))[1].toarray(), Y)


@settings(deadline=None)
@given(st.lists(NAMES, unique=True, max_size=6))
def test_name_arrays_keep_every_name(names):
    array = name_array(names)
    assert array.shape == (len(names),)
    assert array.tolist() == names
    assert [type(name) for name in array.tolist()] == [type(name) for name in names]


@settings(deadline=None)
@given(
    st.recursive(
        st.one_of(NAMES, st.floats()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.tuples(inner), st.dictionaries(st.text(), inner)
        ),
        max_leaves=12,
    )
)
def test_junk_is_encoded_or_refused_but_never_crashes(junk):
    try:
        encoded = encode_labels(junk)
    except InputError:
        return
    assert encoded.matrix.shape[1] == len(encoded.classes)


def test_matrix_to_names():
    matrix = sp.csr_array([[1, 0, 1], [0, 0, 0]])
    assert matrix_to_names(matrix, name_array(["a", "b", "c"])) == [("a", "c"), ()]
