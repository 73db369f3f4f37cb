"""Class metrics: by hand, against scikit-learn, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from longtail.errors import InputError
from longtail.metrics import accuracy, covered_classes, f1, maf1

TRUTH = ["a", "a", "a", "b", "b", "c"]
GUESS = ["a", "a", "b", "b", "c", "a"]


def test_by_hand():
    precision = (2 / 3 + 1 / 2 + 0) / 3
    recall = (2 / 3 + 1 / 2 + 0) / 3
    assert accuracy(TRUTH, GUESS) == 0.5
    assert maf1(TRUTH, GUESS) == pytest.approx(2 * precision * recall / (precision + recall))
    assert covered_classes(TRUTH, GUESS) == pytest.approx(2 / 3)


def test_maf1_is_not_the_mean_of_f1():
    truth, guess = ["a", "a", "b"], ["a", "b", "b"]
    assert maf1(truth, guess) == pytest.approx(2 * 0.75 * 0.75 / 1.5)
    assert f1(truth, guess, average="macro") == pytest.approx(2 / 3)


def test_all_classes_of_the_problem_count_if_given():
    classes = ["a", "b", "c", "d"]
    mean = (2 / 3 + 1 / 2) / 4
    assert maf1(TRUTH, GUESS, classes=classes) == pytest.approx(mean)
    assert covered_classes(TRUTH, GUESS, classes=classes) == 0.5


def test_a_class_that_is_only_predicted_lowers_maf1_but_not_coverage():
    assert maf1(["a", "a"], ["a", "z"]) == pytest.approx(2 * 0.5 * 0.25 / 0.75)
    assert covered_classes(["a", "a"], ["a", "z"]) == 1.0


def test_nothing_right():
    assert maf1(["a"], ["b"]) == covered_classes(["a"], ["b"]) == accuracy(["a"], ["b"]) == 0.0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_agrees_with_scikit_learn(rows):
    truth, guess = (np.array(column) for column in zip(*rows, strict=True))
    options = {"average": "macro", "zero_division": 0}
    precision = sk.precision_score(truth, guess, **options)
    recall = sk.recall_score(truth, guess, **options)
    expected = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert maf1(truth, guess) == pytest.approx(expected, abs=1e-9)
    assert accuracy(truth, guess) == pytest.approx(sk.accuracy_score(truth, guess), abs=1e-9)


@pytest.mark.parametrize("metric", [accuracy, maf1, covered_classes])
def test_label_sets_are_refused(metric):
    with pytest.raises(InputError, match="one class per point"):
        metric([("a",), ("b",)], [("a",), ("b",)])
    with pytest.raises(InputError, match="2 rows and the prediction has 1"):
        metric(["a", "b"], ["a"])
