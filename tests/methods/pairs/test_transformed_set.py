"""T(S): pairs and signs of Algorithm 1, and the streamed form against them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import longtail.methods.pairs.transformed_set as module
from longtail.errors import ParameterError
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.transformed_set import (
    Rivals,
    TransformedSet,
    proper_cover,
    transformed_pairs,
)
from longtail.solvers.streamed import Block, fit_streamed
from tests.methods.pairs._dense import all_features

CORPORA = {"n": st.integers(2, 12), "n_classes": st.integers(2, 6), "seed": st.integers(0, 999)}


def corpus(n=12, n_words=15, n_classes=6, seed=0, several=False):
    """Documents of few words, some of none, and their classes, one each or several."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.25, (n, n_words))
    Y = np.eye(n_classes, dtype=int)[rng.integers(0, n_classes, n)]
    if several:
        Y |= rng.random(Y.shape) < 0.2
    return sp.csr_array(X.astype(float)), sp.csr_array(Y)


def whole(pairs, width, rivals=None, **options):
    """All rows and weights of a stream."""
    blocks = [make() for make in pairs.stream(width, rivals, **options)()]
    return np.vstack([b.rows for b in blocks]), np.concatenate([b.weights for b in blocks])


def literal_rows(pairs, width):
    """Difference vectors and signs as Algorithm 1 makes them, of the usable true classes."""
    members = pairs.profiles.members
    counts = np.asarray(members.sum(axis=0)).ravel()
    rows, signs = [], []
    for document, true, other, sign in transformed_pairs(members).tolist():
        if pairs.leave_one_out and counts[true] < 2:
            continue
        features = all_features(pairs, document) / width
        rows.append(sign * (features[true] - features[other]))
        signs.append(sign)
    return np.array(rows).reshape(-1, 10), np.array(signs, dtype=float)


def loss(w, rows, signs, weights):
    return float(weights @ np.maximum(0, 1 - signs * (rows @ w)) ** 2)


def test_the_example_of_figure_1_and_its_cover():
    pairs = transformed_pairs(np.eye(3))
    first_and_second = [
        (f"x{d}^{y}", f"x{d}^{k}") if sign > 0 else (f"x{d}^{k}", f"x{d}^{y}")
        for d, y, k, sign in np.add(pairs, [1, 1, 1, 0]).tolist()
    ]
    assert first_and_second == [
        ("x1^2", "x1^1"), ("x1^3", "x1^1"), ("x2^2", "x2^1"),
        ("x2^3", "x2^2"), ("x3^3", "x3^1"), ("x3^3", "x3^2"),
    ]  # fmt: skip
    assert pairs[:, 3].tolist() == [-1, -1, 1, -1, 1, 1]
    cover = proper_cover(3, 3)
    assert [numbers.tolist() for numbers in cover] == [[0, 2, 4], [1, 3, 5]]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_pairs_and_signs_follow_algorithm_1(y):
    names, y = np.unique(y, return_inverse=True)
    n_classes, expected = len(names), []
    for i, true in enumerate(y.tolist()):
        for k in range(n_classes):
            if true > k:
                expected.append([i, true, k, 1])
            if true < k:
                expected.append([i, true, k, -1])
    assert transformed_pairs(np.eye(n_classes)[y]).tolist() == expected
    cover = proper_cover(len(y), n_classes)
    numbers = [number for numbers in cover for number in numbers.tolist()]
    assert sorted(numbers) == list(range((n_classes - 1) * len(y)))
    documents = np.array(expected, dtype=int).reshape(-1, 4)[:, 0]
    assert all(sorted(documents[numbers]) == list(range(len(y))) for numbers in cover)


def test_with_several_labels_only_the_others_compete():
    assert transformed_pairs([[1, 0, 1, 0, 0], [0, 1, 0, 1, 0]]).tolist() == [
        [0, 0, 1, -1], [0, 0, 3, -1], [0, 2, 1, 1], [0, 2, 3, -1],
        [1, 1, 0, 1], [1, 1, 2, -1], [1, 3, 0, 1], [1, 3, 2, 1],
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(**CORPORA, several=st.booleans(), leave_one_out=st.booleans())
def test_what_is_minimised_is_the_squared_hinge_on_exactly_these_pairs(
    n, n_classes, seed, several, leave_one_out
):
    X, Y = corpus(n, n_classes=n_classes, seed=seed, several=several)
    pairs = TransformedSet(ClassProfiles.of(X, Y), leave_one_out=leave_one_out)
    _, width = pairs.normalisation()
    rows, signs = literal_rows(pairs, width)
    streamed, weights = whole(pairs, width)
    assert weights.sum() == len(rows) == pairs.n_pairs
    ones = np.ones(len(rows))
    for w in np.random.default_rng(seed).normal(size=(3, 10)):
        literal = loss(w, rows, signs, ones)
        assert loss(w, streamed, np.ones(len(streamed)), weights) == pytest.approx(literal)
        # a pair and its mirror image with the other sign are one: no bias
        assert loss(w, -rows, -signs, ones) == literal
    fit = fit_streamed(pairs.stream(width), 10, Cs=[0.7])
    w = fit.weights[0, 0]
    value = 0.5 * w @ w + 0.7 * loss(w, rows, signs, ones)
    assert fit.objective[0, 0] == pytest.approx(value)


def test_merged_rows_are_the_pairs_with_classes_that_share_no_word():
    X, Y = corpus(20, n_words=40, n_classes=8, seed=3)
    pairs = TransformedSet(ClassProfiles.of(X, Y))
    _, width = pairs.normalisation()
    rows, weights = whole(pairs, width)
    assert weights.max() > 1
    unmerged = np.repeat(rows, weights.astype(int), axis=0)
    literal, signs = literal_rows(pairs, width)

    def in_order(vectors):
        return vectors[np.lexsort(vectors.round(9).T)]

    assert in_order(unmerged) == pytest.approx(in_order(literal * signs[:, None]))
    merged = fit_streamed(lambda: [Block(rows, weights)], 10).weights
    assert fit_streamed(lambda: [Block(unmerged)], 10).weights == pytest.approx(merged)


def test_features_are_normalised_to_0_and_1_over_all_documents_and_classes():
    X, Y = corpus(30, seed=5)
    pairs = TransformedSet(ClassProfiles.of(X, Y), n_jobs=2)
    values = np.vstack([all_features(pairs, d) for d in range(30)])
    lowest, width = pairs.normalisation()
    assert lowest.tolist() == values.min(axis=0).tolist()
    assert width == pytest.approx(np.ptp(values, axis=0))
    same = TransformedSet(ClassProfiles.of(sp.csr_array((3, 2)), np.eye(3)))
    assert same.normalisation()[1].tolist() == [1.0] * 10


@pytest.fixture(scope="module")
def pairs():
    X, Y = corpus(40, n_words=12, n_classes=20, seed=1, several=True)
    return TransformedSet(ClassProfiles.of(X, Y))


@pytest.fixture(scope="module")
def width(pairs):
    return pairs.normalisation()[1]


class TestSampling:
    def test_uniform_pairs_have_the_right_expectation(self, pairs, width):
        rows, weights = whole(pairs, width)
        for w in np.random.default_rng(0).normal(size=(3, 10)):
            exact = loss(w, rows, np.ones(len(rows)), weights)
            found = []
            for seed in range(400):
                some, theirs = whole(pairs, width, Rivals("uniform", 3, seed))
                assert len(some) < len(rows)
                found.append(loss(w, some, np.ones(len(some)), theirs))
            spread = np.std(found) / np.sqrt(len(found))
            assert spread > 0
            assert abs(np.mean(found) - exact) < 4 * spread
            assert abs(np.mean(found) - exact) < 0.02 * exact

    def test_their_weights_add_up_to_all_pairs(self, pairs, width):
        for kind in ("uniform", "adversarial"):
            rivals = Rivals(kind, 4, 0, np.arange(10.0))
            assert whole(pairs, width, rivals)[1].sum() == pytest.approx(pairs.n_pairs)
        everything = whole(pairs, width, Rivals("uniform", 1000, 0))
        assert np.array_equal(everything[0], whole(pairs, width)[0])

    def test_draws_depend_on_the_seed_only(self, pairs, width, monkeypatch):
        rivals = Rivals("uniform", 3, 7)
        expected = whole(pairs, width, rivals)
        assert not np.array_equal(expected[0], whole(pairs, width, Rivals("uniform", 3, 8))[0])
        monkeypatch.setattr(module, "BLOCK_PAIRS", 1)
        small = TransformedSet(pairs.profiles)
        assert len(small.bounds) == 40
        monkeypatch.setattr(module, "KEPT_BYTES", 0)
        for found in (whole(small, width, rivals), whole(pairs, width, rivals)):
            assert np.array_equal(found[0], expected[0])
            assert np.array_equal(found[1], expected[1])

    def test_every_draw_is_as_likely(self, pairs, width):
        """Of the rivals of one document, each is drawn about as often as any other."""
        counts = {}
        for seed in range(600):
            rows, _ = whole(pairs, width, Rivals("uniform", 2, seed))
            for row in rows[:2].round(9).tolist():
                counts[tuple(row)] = counts.get(tuple(row), 0) + 1
        n_rivals = len(pairs.similarities(0, 1).classes) - len(pairs.own(0, 1)[1])
        assert len(counts) == n_rivals
        expected = 1200 / n_rivals
        assert all(abs(c - expected) < 5 * np.sqrt(expected) for c in counts.values())

    def test_adversarial_pairs_are_those_that_score_highest(self, pairs, width):
        weights = np.random.default_rng(2).normal(size=10)
        rows, found = whole(pairs, width, Rivals("adversarial", 2, 0, weights))
        at = 0
        for document in range(40):
            listed = pairs.similarities(document, document + 1)
            _, own, usable = pairs.own(document, document + 1)
            rival = ~np.isin(listed.classes, own)
            hardest = np.sort(listed.values[rival] @ weights)[::-1][:2]
            for true in own[usable]:
                score = all_features(pairs, document)[true] @ weights
                ours = rows[at : at + len(hardest)] * width @ weights
                assert np.sort(score - ours)[::-1] == pytest.approx(hardest)
                at += len(hardest)
                if len(own) + rival.sum() < pairs.n_classes:
                    assert found[at] == pairs.n_classes - len(own) - rival.sum()
                    at += 1
        assert at == len(rows)

    def test_other_kinds_are_refused(self, pairs, width):
        with pytest.raises(ParameterError, match="all, uniform, adversarial"):
            pairs.stream(width, Rivals("some"))


def test_blocks_are_kept_up_to_a_limit_and_are_the_same(monkeypatch):
    X, Y = corpus(30, seed=9)
    monkeypatch.setattr(module, "BLOCK_PAIRS", 20)
    pairs = TransformedSet(ClassProfiles.of(X, Y))
    _, width = pairs.normalisation()
    monkeypatch.setattr(module, "KEPT_BYTES", 5000)
    stream = pairs.stream(width)
    first = [make() for make in stream()]
    second = [make() for make in stream()]
    same = [a is b for a, b in zip(first, second, strict=True)]
    assert any(same)
    assert not all(same)
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(first, second, strict=True))


def test_what_is_kept_while_scales_are_sought_is_the_same(monkeypatch):
    X, Y = corpus(30, seed=9)
    monkeypatch.setattr(module, "BLOCK_PAIRS", 20)
    pairs = TransformedSet(ClassProfiles.of(X, Y), n_jobs=2)
    lowest, width = pairs.normalisation()
    monkeypatch.setattr(module, "KEPT_BYTES", 5000)
    stream = pairs.stream(None, Rivals("uniform", 2, 1))
    found = pairs.normalisation(stream)
    assert np.array_equal(found, (lowest, width))
    rows = np.vstack([make().rows for make in stream()])
    assert np.array_equal(rows, whole(pairs, width, Rivals("uniform", 2, 1))[0])


def test_lone_documents_of_a_class_are_left_out_and_counted():
    X = sp.csr_array(np.array([[1.0, 0, 1], [1, 0, 0], [0, 1, 1], [0, 0, 0]]))
    Y = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    pairs = TransformedSet(ClassProfiles.of(X, Y))
    assert pairs.n_left_out == 2
    assert pairs.n_pairs == whole(pairs, np.ones(10))[1].sum() == 4
    literal = TransformedSet(ClassProfiles.of(X, Y), leave_one_out=False)
    kept = TransformedSet(ClassProfiles.of(X, Y), keep_lone=True)
    assert literal.n_left_out == kept.n_left_out == 0
    assert literal.n_pairs == kept.n_pairs == 8
    nothing = TransformedSet(ClassProfiles.of(X, np.ones((4, 1))))
    assert nothing.n_pairs == 0


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_hits_are_documents_with_a_true_class_on_top(leave_one_out):
    X, Y = corpus(40, n_classes=5, seed=11, several=True)
    pairs = TransformedSet(ClassProfiles.of(X, Y), leave_one_out=leave_one_out, n_jobs=2)
    rng = np.random.default_rng(0)
    weights, fold_of = rng.normal(size=(3, 2, 10)), rng.integers(-1, 2, 40)
    expected = np.zeros((3, 2), dtype=int)
    empty = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel() == 0)
    for document in np.flatnonzero(fold_of >= 0):
        _, own, usable = pairs.own(document, document + 1)
        features = all_features(pairs, document)
        for c in range(3):
            scores = features @ weights[c, fold_of[document]]
            others = np.delete(scores, np.append(own, empty))
            best = scores[own[usable]].max(initial=-np.inf)
            expected[c, fold_of[document]] += best > others.max(initial=-np.inf)
    assert np.array_equal(pairs.hits(weights, fold_of), expected)
    assert not pairs.hits(weights, fold_of, []).any()
