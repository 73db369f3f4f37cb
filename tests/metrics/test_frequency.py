"""Precision and recall by frequency bin, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.errors import ParameterError
from longtail.metrics import by_frequency, precision_at_k
from tests.metrics import naive
from tests.metrics.problems import label_matrix, random_problem, score_matrix


def test_against_plain_counting():
    truth, scores, p = random_problem(4)
    train, _, _ = random_problem(5, n=400)
    L = len(p)
    counts = [sum(label in y for y in train) for label in range(L)]
    starts = {"few": 0, "some": 10, "many": 14}
    table = by_frequency(
        label_matrix(truth, L),
        score_matrix(scores, L),
        label_matrix(train, L),
        bins=starts,
        k=[1, 4],
    )
    edges = [*starts.values(), 10**9]
    assert table["bin"].to_list() == ["few", "some", "many"]
    for row, low, high in zip(table.iter_rows(named=True), edges[:-1], edges[1:], strict=True):
        inside = {label for label in range(L) if low <= counts[label] < high}
        assert row["labels"] == len(inside) > 0
        assert row["true"] == sum(len(y & inside) for y in truth)
        for k in (1, 4):
            shown = [set(naive.top(s, k)) & inside for s in scores]
            right = sum(len(y & z) for y, z in zip(truth, shown, strict=True))
            assert row[f"P@{k}"] == pytest.approx(right / sum(map(len, shown)))
            assert row[f"R@{k}"] == pytest.approx(right / row["true"])


def test_shares_add_up_to_precision():
    truth, scores, p = random_problem(6)
    Y, S = label_matrix(truth, len(p)), score_matrix(scores, len(p))
    table = by_frequency(Y, S, Y, bins=[1, 5, 15], k=[1, 3, 500])
    for k in (1, 3, 500):
        assert table[f"share of P@{k}"].sum() == pytest.approx(precision_at_k(Y, S, k))


def test_usual_bins_and_empty_ones():
    table = by_frequency(np.eye(2), np.eye(2), np.ones((120, 2)), k=1)
    assert table["bin"].to_list() == ["unseen", "tail", "torso", "head"]
    assert table["to"].to_list() == [0, 9, 99, None]
    assert table["P@1"].to_list() == [None, None, None, 1.0]
    assert table["labels"].to_list() == [0, 0, 0, 2]


def test_unseen_names_have_their_bin():
    table = by_frequency(
        [("sun",), ("hail",)],
        np.array([[0.9, 0.1], [0.9, 0.1]]),
        [("sun",), ("sea",)],
        classes=["sun", "sea"],
        k=1,
    )
    unseen, tail = table.rows(named=True)[:2]
    assert (unseen["labels"], unseen["true"], unseen["R@1"]) == (1, 1, 0.0)
    assert (tail["labels"], tail["P@1"], tail["R@1"]) == (2, 0.5, 1.0)


def test_names_of_bins():
    Y = np.eye(2)
    assert by_frequency(Y, Y, Y, bins=[1, 2, 10])["bin"].to_list() == ["0", "1", "2-9", "10+"]
    assert by_frequency(Y, Y, Y, bins={"rare": 2})["bin"].to_list() == ["below rare", "rare"]


@pytest.mark.parametrize("bins", [[], [3, 1], [1, 1], [-1, 2], [0.5], ["a"]])
def test_bad_bins(bins):
    with pytest.raises(ParameterError, match="bins are rising whole numbers"):
        by_frequency(np.eye(2), np.eye(2), np.eye(2), bins=bins)


def test_counts_in_place_of_training_labels():
    truth, scores, p = random_problem(4)
    train, _, _ = random_problem(5, n=400)
    L = len(p)
    Y, S, T = label_matrix(truth, L), score_matrix(scores, L), label_matrix(train, L)
    counts = np.asarray(T.sum(axis=0)).ravel().astype(np.int64)
    assert by_frequency(Y, S, counts=counts).equals(by_frequency(Y, S, T))


def test_labels_in_the_truth_alone_have_a_count_of_zero():
    table = by_frequency(
        [("new",), ("old",)], np.array([[0.5], [0.7]]), counts=[3], classes=["old"]
    )
    assert table["labels"].to_list() == [1, 1, 0, 0]
    assert table["true"].to_list() == [1, 1, 0, 0]


@pytest.mark.parametrize("counts", [None, [1], [1, -1], [0.5, 1.0], [[1, 2]]])
def test_odd_counts_are_refused(counts):
    with pytest.raises(ParameterError, match="counts"):
        by_frequency(np.eye(2), np.eye(2), counts=counts)


def test_labels_and_counts_together_are_refused():
    with pytest.raises(ParameterError, match="either"):
        by_frequency(np.eye(2), np.eye(2), np.eye(2), counts=[1, 1])
