"""The values that labels are ranked by, against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import ParameterError
from longtail.labels import TailRanking
from longtail.labels.ranking import rank_bound, rank_value

finite = st.floats(-1e6, 1e6)


@settings(deadline=None)
@given(score=finite, scale=st.floats(1e-3, 1e3), shift=finite, offset=st.floats(-50, 50))
def test_value_is_log_sigmoid_plus_offset(score, scale, shift, offset):
    expected = -np.logaddexp(0.0, -(scale * score + shift)) + offset
    ranking = TailRanking(scale, shift, [0.0, offset])
    (value,) = ranking.values(np.array([score]), np.array([1]))
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=500)
@given(
    score=st.one_of(st.floats(allow_nan=False), st.floats(-3, 3), st.floats(-1e-6, 1e-6)),
    scale=st.floats(1e-3, 1e3),
    shift=st.sampled_from([0.0, -0.5, 1.0]),
    offset=st.floats(-50, 50),
)
def test_bound_holds_to_the_last_bit(score, scale, shift, offset):
    assert rank_value(score, scale, shift, offset) <= rank_bound(score, scale, shift, offset)


def test_extreme_scores_do_not_overflow():
    ranking = TailRanking(2.0, 0.0, np.zeros(4))
    scores = np.array([1e308, -1e300, 800.0, -800.0])
    with np.errstate(all="raise"):
        values = ranking.values(scores, np.arange(4))
    assert values.tolist() == [0.0, -2e300, 0.0, -1600.0]


def test_stored_entries_stay_where_they_are():
    scores = sp.csr_array(
        (np.array([0.0, -2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 1, 1, 3])), shape=(3, 3)
    )
    ranking = TailRanking(1.0, 0.5, [0.0, 1.0, 2.0])
    ranked = ranking.of(scores)
    assert isinstance(ranked, sp.csr_array)
    assert ranked.indptr.tolist() == [0, 1, 1, 3]
    assert ranked.indices.tolist() == [2, 0, 1]
    expected = -np.logaddexp(0, -(np.array([0.0, -2.0, 3.0]) + 0.5)) + [2.0, 0.0, 1.0]
    assert ranked.data == pytest.approx(expected)
    assert scores.data.tolist() == [0.0, -2.0, 3.0]


def test_any_sparse_matrix_of_any_numbers():
    ranking = TailRanking(1.0, 0.0, np.zeros(2))
    expected = -np.logaddexp(0, [-3.0, 1.0])
    for scores in (sp.coo_matrix([[3, -1]]), sp.csc_array(np.array([[3, -1]], dtype=np.float32))):
        assert ranking.of(scores).data == pytest.approx(expected)
    assert ranking.of(sp.csr_array((0, 2))).shape == (0, 2)


def test_a_ranking_does_not_change():
    offsets = np.zeros(3)
    ranking = TailRanking(1.0, 0.0, offsets)
    offsets[0] = 5.0
    assert ranking.offsets.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        ranking.offsets[0] = 1.0
    with pytest.raises(AttributeError):
        ranking.scale = 3.0


def test_rankings_of_the_same_numbers_are_equal():
    ranking = TailRanking(2.0, 0.5, [0.0, 1.0])
    same = TailRanking(2, 0.5, np.array([0, 1]))
    assert ranking == same
    assert hash(ranking) == hash(same)
    for other in ((1.0, 0.5, [0.0, 1.0]), (2.0, 0.0, [0.0, 1.0]), (2.0, 0.5, [0.0, 2.0])):
        assert ranking != TailRanking(*other)
    assert ranking != TailRanking(2.0, 0.5, [0.0]) != "a ranking"


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan, "2", None, True])
def test_bad_scale(scale):
    with pytest.raises(ParameterError, match="scale"):
        TailRanking(scale, 0.0, np.zeros(2))


@pytest.mark.parametrize("shift", [np.inf, np.nan, "2", None])
def test_bad_shift(shift):
    with pytest.raises(ParameterError, match="shift"):
        TailRanking(1.0, shift, np.zeros(2))


@pytest.mark.parametrize("offsets", [[np.nan], [np.inf, 0.0], [[0.0]], 1.0, ["a"], [[0.0], [1, 2]]])
def test_bad_offsets(offsets):
    with pytest.raises(ParameterError, match="offsets"):
        TailRanking(1.0, 0.0, offsets)


def test_another_number_of_labels():
    with pytest.raises(ParameterError, match="2 labels, but there are 3"):
        TailRanking(1.0, 0.0, np.zeros(2)).of(sp.csr_array((1, 3)))
