"""The ranking metrics against formulas written out point by point, and worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from longtail._sparse import ranked
from longtail.errors import InputError, ParameterError
from longtail.labels import propensities
from longtail.metrics import _align as align
from longtail.metrics import (
    coverage_at_k,
    ndcg_at_k,
    precision_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from tests.metrics import naive
from tests.metrics.problems import label_matrix, random_problem, ranking_problems, score_matrix

PLAIN = [
    (precision_at_k, naive.precision),
    (ndcg_at_k, naive.ndcg),
    (recall_at_k, naive.recall),
    (coverage_at_k, naive.coverage),
]
WEIGHTED = [(psp_at_k, naive.psp), (psndcg_at_k, naive.psndcg)]
ALL = [metric for metric, _ in PLAIN + WEIGHTED]
NAMES = [metric.__name__ for metric in ALL]


def call(metric, *arguments, p=None, **options):
    if metric in (psp_at_k, psndcg_at_k):
        options["propensities"] = p
    return metric(*arguments, **options)


@settings(deadline=None)
@given(ranking_problems(), st.lists(st.integers(1, 12), min_size=1, max_size=4), st.data())
def test_all_agree_with_the_formulas(problem, ks, data):
    truth, scores, L = problem
    p = data.draw(st.lists(st.floats(1e-3, 1.0), min_size=L, max_size=L))
    Y, S = label_matrix(truth, L), score_matrix(scores, L)
    for metric, formula in PLAIN:
        expected = [formula(truth, scores, k) for k in ks]
        np.testing.assert_allclose(metric(Y, S, ks), expected, rtol=0, atol=1e-9)
    for metric, formula in WEIGHTED:
        expected = [formula(truth, scores, k, p) for k in ks]
        np.testing.assert_allclose(metric(Y, S, ks, propensities=p), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_large_random_problems(seed):
    truth, scores, p = random_problem(seed)
    Y, S = label_matrix(truth, len(p)), score_matrix(scores, len(p))
    for k in (1, 3, 5, 20, 100):
        for metric, formula in PLAIN:
            assert metric(Y, S, k) == pytest.approx(formula(truth, scores, k), abs=1e-9)
        for metric, formula in WEIGHTED:
            expected = formula(truth, scores, k, p.tolist())
            assert metric(Y, S, k, propensities=p) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("metric", ALL, ids=NAMES)
@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_do_not_show(metric, block, monkeypatch):
    truth, scores, p = random_problem(3)
    Y, S = label_matrix(truth, len(p)), score_matrix(scores, len(p))
    whole = call(metric, Y, S, [1, 3, 5], p=p)
    dense = np.where(S.toarray() == 0, -np.inf, S.toarray())
    whole_dense = call(metric, Y, dense, [1, 3, 5], p=p)
    monkeypatch.setattr(align, "_BLOCK", block)
    np.testing.assert_array_equal(call(metric, Y, S, [1, 3, 5], p=p), whole)
    np.testing.assert_array_equal(call(metric, Y, dense, [1, 3, 5], p=p), whole_dense)


@settings(deadline=None)
@given(ranking_problems())
def test_dense_scores_rank_every_label(problem):
    truth, scores, L = problem
    full = [{label: row.get(label, 0.0) for label in range(L)} for row in scores]
    dense = np.array([[row[label] for label in range(L)] for row in full])
    for k in (1, 3):
        expected = naive.precision(truth, full, k)
        assert precision_at_k(label_matrix(truth, L), dense, k) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(ranking_problems(), st.integers(1, 9))
def test_same_ranking_as_the_rest_of_the_library(problem, k):
    truth, scores, L = problem
    S = score_matrix(scores, L)
    best = ranked(S, k)[0]
    hits = sum(label in y for y, row in zip(truth, best.tolist(), strict=True) for label in row)
    assert precision_at_k(label_matrix(truth, L), S, k) == pytest.approx(hits / (len(truth) * k))


@pytest.mark.parametrize("k", [1, 3, 5, None])
def test_ndcg_agrees_with_scikit_learn(k):
    """Where every point has a label and no scores are equal, the conventions coincide."""
    rng = np.random.default_rng(0)
    truth = (rng.random((50, 12)) < 0.3).astype(int)
    truth[truth.sum(axis=1) == 0, 0] = 1
    scores = rng.random((50, 12))
    assert ndcg_at_k(truth, scores, k or 12) == pytest.approx(
        ndcg_score(truth, scores, k=k), abs=1e-9
    )


class TestByHand:
    """Two points, four labels: {0, 2} ranked 0, 1, 2; {1} with 3 alone predicted."""

    truth = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])
    scores = sp.csr_array(([0.9, 0.8, 0.1, 0.5], ([0, 0, 0, 1], [0, 1, 2, 3])), shape=(2, 4))
    p = (0.5, 0.8, 0.1, 0.4)
    log3 = 1 / math.log2(3)

    def test_precision(self):
        np.testing.assert_allclose(
            precision_at_k(self.truth, self.scores, [1, 2, 3, 4]), [1 / 2, 1 / 4, 2 / 6, 2 / 8]
        )

    def test_recall(self):
        np.testing.assert_allclose(
            recall_at_k(self.truth, self.scores, [1, 2, 3]), [1 / 4, 1 / 4, 1 / 2]
        )

    def test_ndcg(self):
        second = 1 / (1 + self.log3) / 2
        third = (1 + 1 / 2) / (1 + self.log3) / 2
        np.testing.assert_allclose(
            ndcg_at_k(self.truth, self.scores, [1, 2, 3]), [1 / 2, second, third]
        )

    def test_coverage(self):
        np.testing.assert_allclose(
            coverage_at_k(self.truth, self.scores, [1, 2, 3]), [1 / 3, 1 / 3, 2 / 3]
        )

    def test_psp_is_a_ratio_of_means(self):
        np.testing.assert_allclose(
            psp_at_k(self.truth, self.scores, [1, 3], propensities=self.p),
            [2 / (10 + 1.25), 12 / (12 + 1.25)],
        )

    def test_psndcg(self):
        ideal = 1 + self.log3
        reached = (2 + 10 / 2) / ideal
        reachable = (10 + 2 * self.log3) / ideal + 1.25
        assert psndcg_at_k(self.truth, self.scores, 3, propensities=self.p) == pytest.approx(
            reached / reachable, abs=1e-12
        )


def test_points_without_labels_stay_in_the_mean():
    truth, scores = np.array([[1, 0], [0, 0]]), np.array([[0.9, 0.1], [0.9, 0.1]])
    assert precision_at_k(truth, scores, 1) == 0.5
    assert ndcg_at_k(truth, scores, 2) == 0.5
    assert recall_at_k(truth, scores, 1) == 0.5
    assert psp_at_k(truth, scores, 1, propensities=[0.5, 0.5]) == 1.0


@pytest.mark.parametrize("metric", ALL, ids=NAMES)
def test_no_labels_at_all_is_zero(metric):
    assert call(metric, np.zeros((2, 3)), np.ones((2, 3)), 2, p=[0.5] * 3) == 0.0


@pytest.mark.parametrize("metric", ALL, ids=NAMES)
def test_perfect_ranking_of_k_labels_is_one(metric):
    truth = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    assert call(metric, truth, truth * 1.0, 2, p=[0.1, 0.5, 0.3, 1.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("metric", ALL, ids=NAMES)
def test_one_k_gives_a_float_and_several_an_array(metric):
    truth, scores = np.eye(3), np.eye(3)
    p = np.full(3, 0.5)
    assert isinstance(call(metric, truth, scores, 1, p=p), float)
    several = call(metric, truth, scores, (3, 1), p=p)
    assert several.shape == (2,)
    assert several.tolist() == [call(metric, truth, scores, k, p=p) for k in (3, 1)]


def test_stored_zero_and_negative_scores_are_predictions():
    truth = np.array([[0, 1, 1]])
    scores = sp.csr_array((np.array([0.0, -3.0]), ([0, 0], [1, 2])), shape=(1, 3))
    assert precision_at_k(truth, scores, [1, 2, 3]).tolist() == [1.0, 1.0, 2 / 3]


def test_ties_go_to_the_smaller_column():
    assert precision_at_k(np.array([[1, 0, 0]]), np.array([[0.5, 0.5, 0.5]]), 1) == 1.0
    assert precision_at_k(np.array([[0, 0, 1]]), np.array([[0.5, 0.5, 0.5]]), 2) == 0.0


def test_unsorted_and_duplicated_entries_are_read_as_scipy_means_them():
    scores = sp.csr_array(
        (np.array([0.3, 0.5, 0.4]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3)
    )
    before = scores.copy()
    assert precision_at_k(np.array([[0, 0, 1]]), scores, 1) == 1.0  # 0.3 + 0.4 > 0.5
    np.testing.assert_array_equal(scores.indices, before.indices)


def test_p1_equals_ndcg1():
    truth, scores, p = random_problem(9)
    Y, S = label_matrix(truth, len(p)), score_matrix(scores, len(p))
    assert precision_at_k(Y, S, 1) == ndcg_at_k(Y, S, 1)


class TestNames:
    classes = ("sea", "snow", "sun")
    scores = np.array([[0.9, 0.1, 0.5], [0.1, 0.2, 0.3]])

    def test_columns_are_matched(self):
        truth = [("sun", "sea"), ("snow",)]
        assert precision_at_k(truth, self.scores, [1, 2], classes=self.classes).tolist() == [
            0.5,
            0.75,
        ]

    def test_single_classes(self):
        assert precision_at_k(["sun", "sun"], self.scores, 1, classes=self.classes) == 0.5

    def test_unknown_names_are_missed_labels(self):
        truth = [("sea", "fog"), ("sun",)]
        assert recall_at_k(truth, self.scores, 1, classes=self.classes) == 0.75
        assert coverage_at_k(truth, self.scores, 1, classes=self.classes) == pytest.approx(2 / 3)

    def test_propensities_by_name(self):
        p = {"sea": 0.5, "snow": 0.2, "sun": 1.0, "fog": 0.1}
        value = psp_at_k(
            [("sea", "fog"), ("sun",)], self.scores, 1, classes=self.classes, propensities=p
        )
        assert value == pytest.approx((2 + 1) / (10 + 1))

    def test_without_classes_sorted_names_must_fill_the_columns(self):
        assert precision_at_k([("a", "b"), ("c",)], self.scores, 1) == 1.0
        with pytest.raises(InputError, match="give classes="):
            precision_at_k([("a",), ("b",)], self.scores, 1)

    def test_unknown_name_without_propensity(self):
        with pytest.raises(InputError, match="'fog'"):
            psp_at_k(
                [("fog",), ()], self.scores, 1, classes=self.classes, propensities=[0.5, 0.5, 0.5]
            )
        with pytest.raises(InputError, match="no propensity for the label 'fog'"):
            psp_at_k(
                [("fog",), ()],
                self.scores,
                1,
                classes=self.classes,
                propensities=dict.fromkeys(self.classes, 0.5),
            )


Y2 = np.array([[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize("metric", ALL, ids=NAMES)
@pytest.mark.parametrize(
    ("truth", "scores", "k", "error", "says"),
    [
        (Y2, np.zeros((3, 3)), 1, InputError, "2 rows and the scores have 3"),
        (Y2, np.zeros((2, 4)), 1, InputError, "3 labels and the scores have 4"),
        (Y2, np.zeros(3), 1, InputError, "1 dimension;"),
        (Y2, np.full((2, 3), np.nan), 1, InputError, "NaN"),
        (Y2, sp.csr_array(np.array([[np.nan, 0, 0], [0, 0, 1]])), 1, InputError, "NaN"),
        (Y2, np.full((2, 3), 1j), 1, InputError, "real numbers"),
        (Y2, np.array([["a", "b", "c"]] * 2), 1, InputError, "real numbers"),
        (np.zeros((0, 3)), np.zeros((0, 3)), 1, InputError, "no rows"),
        (Y2 * 2, np.zeros((2, 3)), 1, InputError, "only 0 and 1"),
        (Y2, np.zeros((2, 3)), 0, ParameterError, "at least 1"),
        (Y2, np.zeros((2, 3)), (1, -1), ParameterError, "at least 1"),
        (Y2, np.zeros((2, 3)), (), ParameterError, "at least 1"),
        (Y2, np.zeros((2, 3)), 1.5, ParameterError, "whole number"),
        (Y2, np.zeros((2, 3)), True, ParameterError, "whole number"),
        (Y2, np.zeros((2, 3)), "5", ParameterError, "whole number"),
    ],
)
def test_bad_input_is_named(metric, truth, scores, k, error, says):
    with pytest.raises(error, match=says) as caught:
        call(metric, truth, scores, k, p=[0.5] * 3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("p", "says"),
    [
        ([0.5, 0.5], "2 propensities for 3 labels"),
        ([[0.5, 0.5, 0.5]], "1-d array"),
        ([2.0, 3.0, 4.0], "inverse"),
        ([0.0, 0.5, 0.5], "above 0"),
        ([np.nan, 0.5, 0.5], "above 0"),
    ],
)
def test_bad_propensities_are_named(p, says):
    with pytest.raises(InputError, match=says):
        psp_at_k(Y2, np.zeros((2, 3)), 1, propensities=p)


def test_classes_must_fit_the_columns():
    with pytest.raises(InputError, match="2 classes for 3 columns"):
        precision_at_k([("a",), ("b",)], np.zeros((2, 3)), 1, classes=["a", "b"])
    with pytest.raises(InputError, match="not distinct"):
        precision_at_k([("a",), ("b",)], np.zeros((2, 3)), 1, classes=["a", "b", "a"])


def test_a_k_beyond_all_labels_costs_nothing_and_divides_by_k():
    assert precision_at_k(Y2, Y2 * 1.0, 10**12) == pytest.approx(1e-12)
    assert ndcg_at_k(Y2, Y2 * 1.0, 10**12) == 1.0


def test_wide_scores_stay_sparse():
    """A million labels, a hundred points: dense would be 800 MB."""
    import tracemalloc

    n, L = 100, 1_000_000
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n), 5)
    columns = rng.integers(0, L, n * 5)
    scores = sp.csr_array((rng.random(n * 5), (rows, columns)), shape=(n, L))
    truth = (scores > 0.5).astype(int)
    p = propensities(truth)
    psp_at_k(truth, scores, 5, propensities=p)
    tracemalloc.start()
    psp_at_k(truth, scores, 5, propensities=p)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
