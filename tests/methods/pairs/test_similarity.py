"""The ten features equal the definitions, and the fast ranking equals a ranking of all classes."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail._sparse import ranked
from longtail.errors import InputError, ParameterError
from longtail.methods.pairs import _score_kernels, similarity
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.similarity import (
    ABSENT,
    SIMILARITY_NAMES,
    ClassScorer,
    similarities,
)

from ._literal import Collection

ATOL = 1e-7  # the distance of a document to itself is √(2 - 2·cos), cos rounded


@st.composite
def corpora(draw):
    """Small corpora with a word of every document, unknown words, empty documents and classes."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, n_words = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    n_classes = draw(st.integers(1, 6))
    density = draw(st.sampled_from([0.1, 0.3, 0.7]))
    X = rng.integers(1, 4, (m, n_words)) * (rng.random((m, n_words)) < density)
    if draw(st.booleans()):
        X[:, 0] = 1
    if draw(st.booleans()):
        X[:, -1] = 0
    if m > 2 and draw(st.booleans()):
        X[1] = X[0]
    if draw(st.booleans()):
        Y = (rng.random((m, n_classes)) < 0.4).astype(int)
    else:
        Y = np.eye(n_classes, dtype=int)[rng.integers(0, n_classes, m)]
    new = rng.integers(0, 3, (5, n_words)) * (rng.random((5, n_words)) < 0.5)
    new[0] = 0
    return X, Y, new


def class_scores(profiles, X, weights, k):
    """The k best classes of each document, by a scorer for this one call."""
    return ClassScorer(profiles, weights).topk(X, k)


def profiles_of(X, Y):
    return ClassProfiles.of(sp.csr_array(X), sp.csr_array(Y))


def literal_of(X, Y):
    return Collection(X, [np.flatnonzero(row) for row in Y], Y.shape[1])


def everything(pairs, i, n_classes):
    """The features of a document with all classes, those it does not touch included."""
    out = np.tile(pairs.absent, (n_classes, 1))
    span = slice(pairs.indptr[i], pairs.indptr[i + 1])
    out[pairs.classes[span]] = pairs.values[span]
    assert (np.diff(pairs.classes[span]) > 0).all()
    return out


def test_the_names_of_the_features():
    assert len(SIMILARITY_NAMES) == len(set(SIMILARITY_NAMES)) == len(ABSENT) == 10


@pytest.fixture(params=["kept", "reckoned each time"])
def postings(request, monkeypatch):
    if request.param == "reckoned each time":
        monkeypatch.setattr(similarity, "TABLE_BYTES", 0)


@pytest.mark.usefixtures("postings")
def test_features_equal_the_definitions():
    @settings(max_examples=60, deadline=None)
    @given(corpora())
    def check(corpus):
        X, Y, new = corpus
        literal, pairs = literal_of(X, Y), similarities(profiles_of(X, Y), sp.csr_array(new))
        for i, x in enumerate(new):
            wanted = [literal.features(x, label) for label in range(Y.shape[1])]
            assert np.allclose(everything(pairs, i, Y.shape[1]), wanted, atol=ATOL)
            shared = np.flatnonzero((((x > 0) * X) @ np.ones(X.shape[1])) @ Y)
            assert pairs.classes[pairs.indptr[i] : pairs.indptr[i + 1]].tolist() == shared.tolist()

    check()


@pytest.mark.usefixtures("postings")
def test_features_without_the_document_itself_equal_the_definitions():
    @settings(max_examples=60, deadline=None)
    @given(corpora(), st.integers(0, 11))
    def check(corpus, first):
        X, Y, _ = corpus
        first = first % len(X)
        literal = literal_of(X, Y)
        pairs = similarities(
            profiles_of(X, Y), sp.csr_array(X[first:]), own=sp.csr_array(Y[first:]), first=first
        )
        for i, number in enumerate(range(first, len(X))):
            wanted = [
                literal.features(X[number], label, without=number) for label in range(Y.shape[1])
            ]
            assert np.allclose(everything(pairs, i, Y.shape[1]), wanted, atol=ATOL)
            listed = pairs.classes[pairs.indptr[i] : pairs.indptr[i + 1]]
            assert set(np.flatnonzero(Y[number])) <= set(listed)

    check()


def test_a_document_that_is_alone_in_its_class_leaves_nothing_behind():
    X, Y = np.array([[3, 1], [0, 1]]), np.eye(2, dtype=int)
    pairs = similarities(profiles_of(X, Y), sp.csr_array(X), own=sp.csr_array(Y))
    assert pairs.indptr.tolist() == [0, 2, 4]
    assert np.array_equal(pairs.values[0], ABSENT)
    assert np.array_equal(pairs.values[3], ABSENT)


def test_documents_and_classes_without_words():
    X, Y = np.array([[1, 0], [0, 0]]), np.eye(3, dtype=int)[:2]
    pairs = similarities(profiles_of(X, Y), sp.csr_array([[0, 0], [0, 5]]))
    assert pairs.indptr.tolist() == [0, 0, 0]
    pairs = similarities(profiles_of(X, Y), sp.csr_array(X), own=sp.csr_array(Y))
    assert pairs.classes.tolist() == [0, 1]
    assert np.array_equal(pairs.values, [ABSENT, ABSENT])
    pairs = similarities(profiles_of(X, Y), sp.csr_array((0, 2)))
    assert pairs.indptr.tolist() == [0]
    assert pairs.values.shape == (0, 10)


@settings(max_examples=60, deadline=None)
@given(corpora(), st.integers(0, 10**6))
def test_adding_classes_changes_nothing_between_old_words_and_old_classes(corpus, seed):
    X, Y, new = corpus
    rng = np.random.default_rng(seed)
    old = profiles_of(X, Y)
    more = old.with_classes(
        sp.csr_array(rng.integers(0, 2, (4, X.shape[1]))), sp.csr_array(np.ones((4, 1)))
    )
    new = new * (X.sum(axis=0) > 0)
    before, after = (similarities(profiles, sp.csr_array(new)) for profiles in (old, more))
    for i in range(len(new)):
        a, b = everything(before, i, Y.shape[1]), everything(after, i, Y.shape[1] + 1)
        assert np.array_equal(a, b[:-1])


@pytest.mark.parametrize("first", [-1, 2, 3])
def test_leave_one_out_needs_documents_of_the_profiles(first):
    X, Y = np.eye(3, dtype=int), np.ones((3, 1), dtype=int)
    with pytest.raises(InputError, match="not all among the 3"):
        similarities(profiles_of(X, Y), sp.csr_array(X[:2]), own=sp.csr_array(Y[:2]), first=first)


def test_matrices_that_do_not_fit_are_refused():
    X, Y = np.eye(3, dtype=int), np.ones((3, 1), dtype=int)
    profiles = profiles_of(X, Y)
    with pytest.raises(InputError, match="own has the shape"):
        similarities(profiles, sp.csr_array(X), own=sp.csr_array(Y[:2]))
    with pytest.raises(InputError, match="words"):
        similarities(profiles, sp.csr_array(X[:, :2]))
    with pytest.raises(InputError, match="words"):
        class_scores(profiles, sp.csr_array(X[:, :2]), np.ones(10), 1)
    for counts in (-X, 0.5 * X):
        with pytest.raises(InputError, match="whole numbers"):
            similarities(profiles, sp.csr_array(counts))
        with pytest.raises(InputError, match="whole numbers"):
            class_scores(profiles, sp.csr_array(counts), np.ones(10), 1)


def test_features_do_not_depend_on_the_unit_that_is_counted_in():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 4, size=(30, 12)), np.eye(5, dtype=int)[rng.integers(0, 5, size=30)]
    words = ClassProfiles.of(sp.csr_array(X), sp.csr_array(Y))
    parts = ClassProfiles.of(sp.csr_array(1024 * X), sp.csr_array(Y), unit=1 / 1024)
    for own in (None, sp.csr_array(Y)):
        found = similarities(words, sp.csr_array(X), own=own)
        same = similarities(parts, sp.csr_array(1024 * X), own=own)
        assert np.array_equal(found.classes, same.classes)
        assert np.allclose(found.values, same.values, rtol=1e-12)
    weights = rng.normal(size=10)
    best = class_scores(words, sp.csr_array(X), weights, 3).toarray()
    assert np.allclose(class_scores(parts, sp.csr_array(1024 * X), weights, 3).toarray(), best)


def test_tables_go_with_their_profiles():
    profiles = profiles_of(np.eye(3, dtype=int), np.ones((3, 1), dtype=int))
    tables = weakref.ref(similarity._tables_of(profiles))
    similarities(profiles, sp.csr_array((1, 3)))
    assert similarity._tables_of(profiles) is tables()
    del profiles
    gc.collect()
    assert tables() is None


# ---- ranking ---------------------------------------------------------------------------------


def check_ranking(found, scores, known, k):
    """Every class listed has its score, and no class left out or listed later has a better one."""
    scores = np.where(known, scores, -np.inf)
    labels, values = ranked(found, k)
    labels, values = labels[0][labels[0] >= 0], values[0][labels[0] >= 0]
    assert len(labels) == min(k, known.sum())
    assert np.allclose(values, scores[labels], atol=1e-6)
    assert known[labels].all()
    best = np.sort(scores)[::-1][: len(labels)]
    assert np.allclose(values, best, atol=1e-6)


WEIGHTS = st.lists(st.sampled_from([0.0, 1.0, -1.0, 0.3, -2.5]), min_size=10, max_size=10)


@pytest.mark.parametrize("frequent", [0.9, 3, 100])
def test_the_best_classes_are_the_best_of_all(frequent, monkeypatch):
    monkeypatch.setattr(similarity, "FREQUENT", frequent)

    @settings(max_examples=70, deadline=None)
    @given(corpora(), WEIGHTS, st.integers(1, 8))
    def check(corpus, weights, k):
        X, Y, new = corpus
        profiles, weights = profiles_of(X, Y), np.array(weights)
        literal = literal_of(X, Y)
        found = class_scores(profiles, sp.csr_array(new), weights, k)
        known = Y.any(axis=0)
        for i, x in enumerate(new):
            features = np.array([literal.features(x, label) for label in range(Y.shape[1])])
            check_ranking(found[[i]], features @ weights, known, k)

    check()


def larger(seed=0, m=600, n_words=300, n_classes=80):
    """A corpus with words of all frequencies, so that some documents take each way."""
    rng = np.random.default_rng(seed)
    chance = np.minimum(3.0 / (1 + np.arange(n_words)), 0.9)
    X = (rng.random((m, n_words)) < chance) * rng.integers(1, 4, (m, n_words))
    Y = np.eye(n_classes, dtype=int)[rng.zipf(1.5, m) % n_classes]
    Y |= rng.random(Y.shape) < 0.005
    return X[: m // 2], Y[: m // 2], X[m // 2 :]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 5, 200])
def test_bounds_leave_no_class_out(seed, k, monkeypatch):
    """The scores are the same to the last bit with bounds and without."""
    X, Y, new = larger(seed)
    rng = np.random.default_rng(seed)
    profiles, new = profiles_of(X, Y), sp.csr_array(new)
    for weights in (rng.standard_normal(10), np.r_[rng.random(8), -5.0, -2.0], np.eye(10)[9]):
        found = {}
        for frequent in (1e-9, 4, 50, 10**9):
            monkeypatch.setattr(similarity, "FREQUENT", frequent)
            found[frequent] = class_scores(profiles, new, weights, k)
        for frequent in (4, 50, 10**9):
            assert np.array_equal(found[frequent].indices, found[1e-9].indices)
            assert np.array_equal(found[frequent].data, found[1e-9].data)


def test_documents_of_the_larger_corpus_take_both_ways(monkeypatch):
    """Else the test above would say nothing."""
    X, Y, new = larger()
    monkeypatch.setattr(similarity, "FREQUENT", 50)
    scorer = ClassScorer(profiles_of(X, Y), np.r_[np.full(8, 0.3), -2.0, -1.0])
    frequent, idf = scorer._model[-2], scorer._model[3]
    tfidf = new * idf
    shares = np.linalg.norm(tfidf * frequent, axis=1) / np.linalg.norm(tfidf, axis=1)
    assert np.isfinite(shares).all()
    assert ((shares > 0) & (shares <= _score_kernels.LOOSE)).sum() > 20
    assert (shares > _score_kernels.LOOSE).sum() > 20


def test_bounds_do_pass_classes_over(monkeypatch):
    """Bounds that are too tight, since frequent words were forgotten, lose some of the best."""
    X, Y, new = larger()
    monkeypatch.setattr(similarity, "FREQUENT", 50)
    profiles, weights = profiles_of(X, Y), np.r_[np.full(8, 0.01), -2.0, -1.0]
    right = class_scores(profiles, sp.csr_array(new), weights, 5)
    monkeypatch.setattr(similarity, "frequent_shares", lambda *arrays: arrays[-1].fill(0.0))
    wrong = class_scores(profiles, sp.csr_array(new), weights, 5)
    assert not np.array_equal(right.indices, wrong.indices)


def test_ranking_agrees_with_the_features_on_a_larger_corpus():
    X, Y, new = larger(5)
    profiles = profiles_of(X, Y)
    weights = np.random.default_rng(5).standard_normal(10)
    pairs = similarities(profiles, sp.csr_array(new))
    found = class_scores(profiles, sp.csr_array(new), weights, 5)
    for i in range(len(new)):
        scores = everything(pairs, i, Y.shape[1]) @ weights
        check_ranking(found[[i]], scores, Y.any(axis=0), 5)


def test_classes_without_a_shared_word_stand_where_their_score_places_them():
    """Shared words count against a class here, so the others come first, the smallest first."""
    X, Y = np.eye(5, dtype=int), np.eye(6, dtype=int)[[5, 1, 2, 3, 4]]
    fewer_words = np.array([0.0] * 7 + [-1.0, 0.0, 0.0])
    found = class_scores(profiles_of(X, Y), sp.csr_array([[0, 1, 1, 0, 0]]), fewer_words, 4)
    labels, values = ranked(found, 4)
    assert labels.tolist() == [[3, 4, 5, 1]]  # class 0 has no documents
    assert values.tolist() == [[0.0, 0.0, 0.0, -1.0]]


def test_ties_go_to_the_smaller_column_whether_a_word_is_shared_or_not():
    X, Y = np.eye(4, dtype=int), np.eye(4, dtype=int)
    found = class_scores(profiles_of(X, Y), sp.csr_array([[0, 1, 0, 1]]), np.zeros(10), 2)
    assert found.indices.tolist() == [0, 1]


def test_a_document_without_known_words_meets_no_class():
    X, Y = np.eye(4, dtype=int)[:3], np.eye(5, dtype=int)[[1, 3, 4]]
    weights = np.arange(10.0)
    found = class_scores(profiles_of(X, Y), sp.csr_array([[0, 0, 0, 7], [0, 0, 0, 0]]), weights, 2)
    assert found.indices.tolist() == [1, 3, 1, 3]
    assert np.allclose(found.data, 17 * np.sqrt(2))


def test_classes_without_documents_are_never_listed():
    X, Y = np.array([[1, 1], [0, 0]]), np.eye(5, dtype=int)[[1, 3]]
    profiles = profiles_of(X, Y)
    found = class_scores(profiles, sp.csr_array([[1, 0]]), np.ones(10), 5)
    assert found.shape == (1, 5)
    assert found.indices.tolist() == [1, 3]
    assert class_scores(profiles, sp.csr_array((0, 2)), np.ones(10), 5).shape == (0, 5)
    nobody = profiles_of(X, np.zeros((2, 3), dtype=int))
    assert class_scores(nobody, sp.csr_array([[1, 0]]), np.ones(10), 2).nnz == 0


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_do_not_change_the_result(n_jobs, monkeypatch):
    monkeypatch.setattr(similarity, "BLOCK", 16)
    X, Y, new = larger(7)
    scorer = ClassScorer(profiles_of(X, Y), np.random.default_rng(7).standard_normal(10))
    alone = scorer.topk(sp.csr_array(new), 3)
    together = scorer.topk(sp.csr_array(new), 3, n_jobs=n_jobs)
    assert np.array_equal(alone.indices, together.indices)
    assert np.array_equal(alone.data, together.data)
    row_by_row = sp.vstack([scorer.topk(sp.csr_array(new[[i]]), 3) for i in range(30)])
    assert np.array_equal(row_by_row.toarray(), alone[:30].toarray())


@pytest.mark.parametrize("weights", [np.ones(9), np.ones((10, 1)), np.full(10, np.nan)])
def test_weights_are_ten_numbers(weights):
    profiles = profiles_of(np.eye(2, dtype=int), np.eye(2, dtype=int))
    with pytest.raises(ParameterError, match="ten finite numbers"):
        ClassScorer(profiles, weights)


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_k_is_a_count(k):
    profiles = profiles_of(np.eye(2, dtype=int), np.eye(2, dtype=int))
    with pytest.raises(ParameterError, match="k must be"):
        class_scores(profiles, sp.csr_array((1, 2)), np.ones(10), k)
