"""Set metrics against scikit-learn, plain Python sets and hand-worked cases."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from longtail.errors import InputError, ParameterError
from longtail.metrics import f1, hamming_loss, jaccard, subset_accuracy


@st.composite
def pairs_of_matrices(draw):
    n, L = draw(st.integers(1, 8)), draw(st.integers(2, 7))
    row = st.lists(st.integers(0, 1), min_size=L, max_size=L)
    matrix = st.lists(row, min_size=n, max_size=n).map(np.array)
    return draw(matrix), draw(matrix)


SK_AVERAGE = {"micro": "micro", "macro": "macro", "example": "samples"}


@settings(max_examples=50, deadline=None)
@given(pairs_of_matrices(), st.sampled_from([0, 1]))
def test_agrees_with_scikit_learn(pair, zero):
    truth, predicted = pair
    sparse = sp.csr_array(truth), sp.csr_array(predicted)
    assert hamming_loss(*sparse) == pytest.approx(sk.hamming_loss(truth, predicted), abs=1e-9)
    assert subset_accuracy(*sparse) == pytest.approx(sk.accuracy_score(truth, predicted), abs=1e-9)
    for ours, theirs in SK_AVERAGE.items():
        assert f1(*sparse, average=ours, zero_division=zero) == pytest.approx(
            sk.f1_score(truth, predicted, average=theirs, zero_division=zero), abs=1e-9
        )
        assert jaccard(*sparse, average=ours, zero_division=zero) == pytest.approx(
            sk.jaccard_score(truth, predicted, average=theirs, zero_division=zero), abs=1e-9
        )


@settings(max_examples=50, deadline=None)
@given(pairs_of_matrices())
def test_leaving_out_empty_labels_agrees_with_scikit_learn(pair):
    truth, predicted = pair
    ours = f1(truth, predicted, average="macro", zero_division=np.nan)
    theirs = sk.f1_score(truth, predicted, average="macro", zero_division=np.nan)
    assert ours == pytest.approx(theirs, abs=1e-9, nan_ok=True)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_single_classes_agree_with_scikit_learn(rows):
    truth, predicted = (np.array(column) for column in zip(*rows, strict=True))
    assert hamming_loss(truth, predicted) == pytest.approx(sk.hamming_loss(truth, predicted))
    for average in ("micro", "macro"):
        assert f1(truth, predicted, average=average) == pytest.approx(
            sk.f1_score(truth, predicted, average=average, zero_division=0), abs=1e-9
        )
        assert jaccard(truth, predicted, average=average) == pytest.approx(
            sk.jaccard_score(truth, predicted, average=average, zero_division=0), abs=1e-9
        )


name_sets = st.lists(st.sets(st.sampled_from("abcde")), min_size=6, max_size=6)


@settings(max_examples=50, deadline=None)
@given(name_sets, name_sets)
def test_names_agree_with_python_sets(truth, predicted):
    pairs = list(zip(truth, predicted, strict=True))
    universe = set().union(*truth, *predicted)
    wrong = sum(len(y ^ z) for y, z in pairs)
    assert hamming_loss(truth, predicted) == pytest.approx(
        wrong / (6 * len(universe)) if universe else 0.0
    )
    assert hamming_loss(truth, predicted, classes="abcdefgh") == pytest.approx(wrong / (6 * 8))
    assert subset_accuracy(truth, predicted) == sum(y == z for y, z in pairs) / 6
    assert jaccard(truth, predicted) == pytest.approx(
        sum(len(y & z) / len(y | z) if y | z else 1 for y, z in pairs) / 6
    )
    assert f1(truth, predicted, average="example") == pytest.approx(
        sum(2 * len(y & z) / (len(y) + len(z)) if y or z else 1 for y, z in pairs) / 6
    )


def test_by_hand():
    truth = [("a", "b"), ("c",), ()]
    predicted = [("a",), ("b", "c"), ()]
    assert hamming_loss(truth, predicted) == pytest.approx(2 / 9)
    assert subset_accuracy(truth, predicted) == pytest.approx(1 / 3)
    assert jaccard(truth, predicted) == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert jaccard(truth, predicted, average="micro") == pytest.approx(2 / 4)
    assert jaccard(truth, predicted, average="macro") == pytest.approx((1 + 0 + 1) / 3)
    assert f1(truth, predicted, average="example") == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert f1(truth, predicted, average="micro") == pytest.approx(4 / 6)
    assert f1(truth, predicted, average="macro") == pytest.approx((1 + 0 + 1) / 3)


def test_empty_sets():
    empty = np.zeros((2, 3), dtype=int)
    assert jaccard(empty, empty) == f1(empty, empty, average="example") == 1.0
    assert f1(empty, empty, average="micro") == f1(empty, empty, average="macro") == 0.0
    assert np.isnan(f1(empty, empty, average="macro", zero_division=np.nan))
    assert subset_accuracy(empty, empty) == 1.0
    assert hamming_loss([(), ()], [(), ()]) == 0.0


def test_forms_may_differ_if_classes_are_given():
    truth = [("sun", "sea"), ("snow",)]
    matrix = np.array([[1, 0, 1], [0, 1, 0]])
    names = ["sea", "snow", "sun"]
    assert subset_accuracy(truth, matrix, classes=names) == 1.0
    assert subset_accuracy(sp.csr_array(matrix), truth, classes=names) == 1.0
    with pytest.raises(InputError, match="give classes="):
        subset_accuracy(truth, matrix)
    with pytest.raises(InputError, match="2 classes for 3"):
        subset_accuracy(truth, matrix, classes=names[:2])


def test_names_beyond_the_classes_still_count():
    assert hamming_loss([("fog",)], [("sun",)], classes=["sun"]) == 1.0
    assert subset_accuracy([("fog",)], np.array([[1, 0]]), classes=["sun", "sea"]) == 0.0


@pytest.mark.parametrize(
    ("truth", "predicted", "says"),
    [
        (np.eye(2), np.eye(3), "2 rows and the prediction has 3"),
        (np.zeros((2, 3)), np.zeros((2, 4)), "3 label columns and the prediction has 4"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "no rows"),
        (np.eye(2), np.eye(2) * 0.5, "only 0 and 1"),
    ],
)
@pytest.mark.parametrize("metric", [hamming_loss, subset_accuracy, jaccard, f1])
def test_bad_input_is_named(metric, truth, predicted, says):
    with pytest.raises(InputError, match=says):
        metric(truth, predicted)


def test_bad_options_are_named():
    with pytest.raises(ParameterError, match="average must be"):
        f1(np.eye(2), np.eye(2), average="samples")
    with pytest.raises(ParameterError, match="zero_division"):
        jaccard(np.eye(2), np.eye(2), zero_division=0.5)


def test_arguments_are_left_alone():
    truth, predicted = sp.csr_array(np.eye(3)), sp.csr_array(np.eye(3)[::-1])
    f1(truth, predicted)
    np.testing.assert_array_equal(truth.toarray(), np.eye(3))
    np.testing.assert_array_equal(predicted.toarray(), np.eye(3)[::-1])
