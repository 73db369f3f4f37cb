"""Votes of neighbours: counting, ranking, choosing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail import ranked
from longtail.metrics import f1
from longtail.search import (
    THRESHOLDS,
    Neighbours,
    choose_voting,
    closeness,
    example_f1_at,
    kept_from,
    random_folds,
    scored_votes,
    vote,
    vote_in_parts,
    voted_labels,
)


@st.composite
def elections(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    voters, n_labels = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    n, k = draw(st.integers(0, 5)), draw(st.integers(1, 7))
    labels = (rng.random((voters, n_labels)) < 0.4).astype(float)
    neighbours = rng.integers(-1, voters, size=(n, k))
    weights = rng.random((n, k)) + 0.1
    return labels, neighbours, weights


def by_hand(labels, neighbours, weights):
    shares = np.zeros((len(neighbours), labels.shape[1]))
    for row, voters, heights in zip(shares, neighbours, weights, strict=True):
        there = voters >= 0
        if there.any():
            row[:] = heights[there] @ labels[voters[there]] / heights[there].sum()
    return shares


@settings(max_examples=60, deadline=None)
@given(elections())
def test_votes_are_means_of_label_vectors(election):
    labels, neighbours, weights = election
    plain = vote(sp.csr_array(labels), neighbours)
    assert np.allclose(plain.toarray(), by_hand(labels, neighbours, np.ones_like(weights)))
    weighted = vote(sp.csr_array(labels), neighbours, weights)
    assert np.allclose(weighted.toarray(), by_hand(labels, neighbours, weights))
    assert plain.has_canonical_format
    assert (plain.data > 0).all()


def test_real_label_vectors_are_averaged():
    labels = sp.csr_array([[0.25, 0.0], [0.5, 1.0]])
    assert vote(labels, np.array([[0, 1]])).toarray().tolist() == [[0.375, 0.5]]


def test_halves_are_exact():
    labels = sp.csr_array(np.eye(10)[:, :3] + np.eye(10, 3, k=-5) > 0)
    shares = vote(labels.astype(np.int8), np.arange(10)[None, :])
    assert shares.toarray().tolist() == [[0.2, 0.2, 0.2]]
    half = vote(sp.csr_array(np.arange(6)[:, None] < 3), np.arange(6)[None, :])
    assert kept_from(half, 0.5).nnz == 1


def test_equal_shares_rank_by_distance_then_by_column():
    labels = sp.csr_array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    found = Neighbours(np.array([[2, 1, 0]]), np.array([[0.1, 0.5, 0.9]]))
    shares, scores = scored_votes(labels, found)
    assert ranked(scores, 4)[0].tolist() == [[2, 1, 3, 0]]
    assert np.allclose(scores.toarray(), shares.toarray(), atol=1e-6)
    assert (scores.data >= shares.data).all()
    same = Neighbours(np.array([[2, 1, 0]]), np.zeros((1, 3)))
    assert ranked(scored_votes(labels, same)[1], 4)[0].tolist() == [[0, 1, 2, 3]]


def test_a_larger_share_beats_any_distance():
    labels = sp.csr_array([[1, 0]] + [[0, 1]] * 2)
    found = Neighbours(np.array([[0, 1, 2]]), np.array([[0.0, 1e9, 1e9]]))
    assert ranked(scored_votes(labels, found)[1], 2)[0].tolist() == [[1, 0]]


def test_unanimous_scores_are_one():
    found = Neighbours(np.array([[0, 1, 2]]), np.array([[0.1, 0.2, 0.7]]))
    assert scored_votes(sp.csr_array(np.ones((3, 1))), found)[1].data.tolist() == [1.0]


def test_closeness_falls_with_distance():
    weights = closeness(np.array([[0.0, 1.0, 5.0, np.inf], [0.0, 0.0, 0.0, 0.0]]))
    assert (np.diff(weights[0]) < 0).all()
    assert weights[0, -1] == 0
    assert weights[1].tolist() == [1.0] * 4


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_f1_at_thresholds_is_that_of_the_sets(seed):
    rng = np.random.default_rng(seed)
    truth = sp.csr_array((rng.random((6, 5)) < 0.3).astype(int))
    scores = sp.csr_array(np.where(rng.random((6, 5)) < 0.6, rng.integers(1, 5, (6, 5)) / 4, 0))
    thresholds = np.array([0.25, 0.5, 1.0])
    expected = [f1(truth, kept_from(scores, t).astype(int), average="example") for t in thresholds]
    assert np.allclose(example_f1_at([scores[:2], scores[2:]], truth, thresholds), expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_labels_from_a_threshold_are_those_of_the_shares(seed):
    rng = np.random.default_rng(seed)
    labels = sp.csr_array(np.where(rng.random((12, 7)) < 0.4, rng.integers(1, 5, (12, 7)) / 4, 0))
    neighbours = rng.integers(-1, 12, (9, 4))
    threshold = float(rng.choice([0.25, 0.5, 0.75]))
    expected = kept_from(vote(labels, neighbours), threshold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("longtail.search.votes.VOTES", 10)  # several spans
        found = voted_labels(labels, neighbours, threshold)
    assert np.array_equal(found.indptr, expected.indptr)
    assert np.array_equal(found.indices, expected.indices)


def test_choice_is_the_best_pair():
    rng = np.random.default_rng(3)
    labels = sp.csr_array((rng.random((40, 6)) < 0.4).astype(int))
    truth = sp.csr_array((rng.random((15, 6)) < 0.4).astype(int))
    neighbours = np.argsort(rng.random((15, 40)), axis=1)[:, :10]
    sizes = (1, 5, 10)
    choice = choose_voting(
        lambda k: vote_in_parts(labels, neighbours[:, :k]),
        truth,
        numbers_of_neighbors=sizes,
        threshold=None,
    )
    table = np.array(
        [
            [
                f1(
                    truth,
                    kept_from(vote(labels, neighbours[:, :k]), t).astype(int),
                    average="example",
                )
                for t in THRESHOLDS
            ]
            for k in sizes
        ]
    )
    assert np.allclose(choice.f1, table)
    at = sizes.index(choice.n_neighbors), np.flatnonzero(choice.threshold == THRESHOLDS)[0]
    assert table[at] == table.max()


def test_equal_choices_are_the_smallest_and_the_most_usual():
    labels = sp.csr_array(np.ones((30, 1), dtype=int))
    neighbours = np.tile(np.arange(20), (4, 1))
    choice = choose_voting(
        lambda k: vote_in_parts(labels, neighbours[:, :k]), labels[:4], threshold=None
    )
    assert (choice.n_neighbors, choice.threshold) == (1, 0.5)


def test_folds_are_even_and_seeded():
    folds = random_folds(23, 5, 1)
    assert sorted(np.bincount(folds).tolist()) == [4, 4, 5, 5, 5]
    assert np.array_equal(folds, random_folds(23, 5, 1))
    assert not np.array_equal(folds, random_folds(23, 5, 2))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_nobody_votes(shape):
    labels = sp.csr_array(np.ones((3, 2)))
    shares = vote(labels, np.full(shape, -1, dtype=np.int64))
    assert shares.shape == (shape[0], 2)
    assert shares.nnz == 0
