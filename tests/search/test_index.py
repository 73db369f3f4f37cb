"""Predictions against plain loops, whichever way the kernels take."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, ParameterError
from longtail.labels import TailRanking
from longtail.search import linear_scores_above, linear_topk
from longtail.search.index import LinearIndex

shares = st.sampled_from([0.0, 0.02, 0.1, 0.5, 1.0])


@st.composite
def problems(draw):
    """A few rows and weights; small whole numbers make many scores equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(0, 12)), draw(st.integers(0, 8))
    n_labels = draw(st.one_of(st.just(1), st.integers(1, 90)))
    whole = draw(st.booleans())

    def numbers(shape, share):
        values = rng.integers(-2, 3, size=shape) if whole else rng.normal(size=shape)
        return sp.csr_array(values * (rng.random(shape) < share))

    X, W = numbers((n, d), draw(shares)), numbers((d, n_labels), draw(shares))
    biases = numbers((1, n_labels), draw(shares))
    if draw(st.booleans()):
        biases = sp.csr_array(-abs(biases.toarray()) - 1.0)
    kinds = st.sampled_from([np.float32, np.float64])
    weights = sp.csr_array(sp.vstack([W, biases])).astype(draw(kinds))
    ranking = None
    if draw(st.booleans()):
        offsets = rng.integers(0, 3, n_labels) if whole else rng.random(n_labels)
        ranking = TailRanking(draw(st.sampled_from([0.5, 2.0])), 0.25, offsets)
    return X.astype(draw(kinds)), weights, draw(st.sampled_from([0.0, 1.0, 2.5])), ranking


def looped_scores(X, weights, bias):
    """All scores, summed up in the order of the features after the bias."""
    dense = weights.toarray().astype(np.float64)
    scores = np.tile(bias * dense[-1], (X.shape[0], 1))
    for i in range(X.shape[0]):
        for p in range(X.indptr[i], X.indptr[i + 1]):
            scores[i] += np.float64(X.data[p]) * dense[X.indices[p]]
    return scores


def same(one, other):
    return (
        one.shape == other.shape
        and np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.data, other.data)
    )


@settings(max_examples=300, deadline=None)
@given(problem=problems(), k=st.integers(1, 100), n_jobs=st.sampled_from([None, 2]))
def test_topk_equals_loops(problem, k, n_jobs):
    X, weights, bias, ranking = problem
    n, n_labels = X.shape[0], weights.shape[1]
    values = looped_scores(X, weights, bias)
    if ranking is not None:
        values = np.array([ranking.values(row, np.arange(n_labels)) for row in values])
        values = values.reshape(n, n_labels)
    top = linear_topk(X, weights, k, bias=bias, ranking=ranking, n_jobs=n_jobs)
    assert top.shape == (n, n_labels)
    assert (np.diff(top.indptr) == min(k, n_labels)).all()
    for i in range(n):
        best = sorted(range(n_labels), key=lambda label: (-values[i, label], label))[:k]
        row = slice(*top.indptr[i : i + 2])
        assert top.indices[row].tolist() == sorted(best)
        assert top.data[row].tolist() == values[i, sorted(best)].tolist()


@settings(max_examples=300, deadline=None)
@given(
    problem=problems(),
    threshold=st.sampled_from([-np.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, np.inf]),
)
def test_threshold_equals_loops(problem, threshold):
    X, weights, bias, _ = problem
    scores = looped_scores(X, weights, bias)
    found = linear_scores_above(X, weights, threshold, bias=bias)
    assert found.shape == scores.shape
    for i in range(X.shape[0]):
        labels = np.flatnonzero(scores[i] >= threshold)
        row = slice(*found.indptr[i : i + 2])
        assert found.indices[row].tolist() == labels.tolist()
        assert found.data[row].tolist() == scores[i, labels].tolist()


@settings(max_examples=100, deadline=None)
@given(problem=problems(), n_jobs=st.sampled_from([None, 2]))
def test_all_scores_equal_loops(problem, n_jobs):
    X, weights, bias, _ = problem
    found = LinearIndex(weights, bias=bias).all_scores(X, n_jobs=n_jobs)
    assert np.array_equal(found, looped_scores(X, weights, bias))


@settings(max_examples=60, deadline=None)
@given(problem=problems(), k=st.integers(1, 12))
def test_labels_that_never_win_change_nothing(problem, k):
    """With many labels a row is done label by label met; the bits must be those of all labels."""
    X, weights, _, ranking = problem
    n_labels = weights.shape[1]
    k = min(k, n_labels)
    hopeless = sp.csr_array((weights.shape[0], 5000), dtype=weights.dtype).tolil()
    hopeless[-1] = -1e4
    wide = sp.csr_array(sp.hstack([weights, hopeless.tocsr()]))
    wide_ranking = None
    if ranking is not None:
        offsets = np.concatenate([ranking.offsets, np.zeros(5000)])
        wide_ranking = TailRanking(ranking.scale, ranking.shift, offsets)
    few = linear_topk(X, wide, k, ranking=wide_ranking)
    assert same(few[:, :n_labels], linear_topk(X, weights, k, ranking=ranking))
    above = linear_scores_above(X, wide, -3.0)
    assert same(above[:, :n_labels], linear_scores_above(X, weights, -3.0))


@pytest.fixture(scope="module")
def large():
    """2,000 rows of which some meet few weights and some many, and a ranking."""
    rng = np.random.default_rng(0)
    few = sp.random_array((1500, 60), density=0.05, rng=rng, format="csr")
    many = sp.random_array((500, 60), density=0.6, rng=rng, format="csr")
    X = sp.csr_array(sp.vstack([few, many]))[rng.permutation(2000)]
    W = sp.random_array((61, 700), density=0.05, rng=rng, format="csr", dtype=np.float32)
    W.data -= np.float32(0.4)
    return X, W, TailRanking(2.0, 0.1, rng.random(700))


@pytest.mark.parametrize("n_jobs", [2, 5])
@pytest.mark.parametrize("k", [1, 7, 40])
def test_threads_do_not_change_topk(large, k, n_jobs):
    X, W, ranking = large
    for chosen in (None, ranking):
        alone = linear_topk(X, W, k, ranking=chosen)
        assert same(alone, linear_topk(X, W, k, ranking=chosen, n_jobs=n_jobs))


@pytest.mark.parametrize("threshold", [0.5, 0.0, -0.1, -9.0])
def test_threads_do_not_change_thresholds(large, threshold):
    X, W, _ = large
    alone = linear_scores_above(X, W, threshold)
    assert same(alone, linear_scores_above(X, W, threshold, n_jobs=3))


def test_an_index_answers_many_threads_and_stays_clean(large):
    X, W, ranking = large
    index = LinearIndex(W)
    rows = [X[[i]] for i in range(200)]

    def answers(row):
        return index.topk(row, 5), index.topk(row, 5, ranking=ranking), index.scores_above(row, 0.1)

    with ThreadPoolExecutor(4) as pool:
        found = [
            sp.csr_array(sp.vstack(part)) for part in zip(*pool.map(answers, rows), strict=True)
        ]
    some = X[:200]
    assert same(found[0], linear_topk(some, W, 5))
    assert same(found[1], linear_topk(some, W, 5, ranking=ranking))
    assert same(found[2], linear_scores_above(some, W, 0.1))


def test_rankings_do_not_mix(large):
    X, W, ranking = large
    index = LinearIndex(W)
    for factor in (0.0, 1.0, -1.0, 0.1, -0.1, 1.0):
        offsets = factor * np.arange(700.0)
        passing = TailRanking(1.0, 0.0, offsets)
        assert same(index.topk(X, 3, ranking=passing), linear_topk(X, W, 3, ranking=passing))
        assert same(index.topk(X, 3, ranking=ranking), linear_topk(X, W, 3, ranking=ranking))
        assert same(index.topk(X, 3), linear_topk(X, W, 3))


def test_a_ranking_of_all_scores_is_the_ranking_of_the_best(large):
    X, W, ranking = large
    every = ranking.of(linear_topk(X, W, 700))
    top = linear_topk(X, W, 700, ranking=ranking)
    assert same(every, top)


@pytest.mark.parametrize("indptr", [np.int32, np.int64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("data", [np.float32, np.float64])
def test_weights_in_a_read_only_file(tmp_path, large, indptr, indices, data):
    X, W, ranking = large
    mapped = sp.csr_array(W.shape, dtype=data)
    for name, kind in (("indptr", indptr), ("indices", indices), ("data", data)):
        path = tmp_path / name
        getattr(W, name).astype(kind).tofile(path)
        setattr(mapped, name, np.memmap(path, dtype=kind, mode="r"))
    frozen = X[:300].copy()
    for part in (frozen.indptr, frozen.indices, frozen.data):
        part.flags.writeable = False
    assert same(linear_topk(frozen, mapped, 5), linear_topk(X[:300], W, 5))
    assert same(
        linear_topk(frozen, mapped, 5, ranking=ranking),
        linear_topk(X[:300], W, 5, ranking=ranking),
    )
    assert same(linear_scores_above(frozen, mapped, 0.0), linear_scores_above(X[:300], W, 0.0))


def test_the_weights_are_not_copied():
    rng = np.random.default_rng(0)
    W = sp.random_array((2001, 1000), density=0.5, rng=rng, format="csr", dtype=np.float32)
    X = sp.random_array((10, 2000), density=0.01, rng=rng, format="csr")
    linear_topk(X, W, 5), linear_scores_above(X, W, 0.0)
    for work in (lambda: linear_topk(X, W, 5), lambda: linear_scores_above(X, W, 0.0)):
        tracemalloc.start()
        work()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.2 * W.data.nbytes


def test_a_pickled_index(large):
    X, W, ranking = large
    index = LinearIndex(W, bias=2.0)
    first = index.topk(X, 4, ranking=ranking)
    again = pickle.loads(pickle.dumps(index))  # noqa: S301
    assert same(again.topk(X, 4, ranking=ranking), first)
    assert len(pickle.dumps(index)) < 1.5 * len(pickle.dumps(W))


@pytest.mark.parametrize("n_labels", [5, 400])
@pytest.mark.parametrize("ranking", [False, True])
def test_overflow_still_gives_k_labels(n_labels, ranking):
    rng = np.random.default_rng(0)
    W = np.where(rng.random((3, n_labels)) < 0.05, 1e300, 0.0)
    W[:, :4] = [[1e300, -1e300, 1e300, 1.0], [-1e300, -1e300, 1e300, 2.0], [0, 0, 0, -1e300]]
    X = sp.csr_array([[1e300, 1e300], [1e300, 0.0], [0.0, 0.0], [1.0, -1e300]])
    how = TailRanking(1e10, 0.0, np.zeros(n_labels)) if ranking else None
    for k in (1, 3, 4, 5):
        top = linear_topk(X, sp.csr_array(W), k, ranking=how)
        for row in np.split(top.indices, top.indptr[1:-1]):
            assert len(set(row.tolist())) == k
            assert (row >= 0).all()
            assert (row < n_labels).all()


@pytest.mark.parametrize("n_labels", [6, 400])
def test_values_that_all_overflow_still_give_k_labels(n_labels):
    weights = sp.lil_array((2, n_labels))
    weights[1] = -1e300
    weights[0, [2, 4]] = 1.0, 2e300
    X = sp.csr_array([[1.0], [0.0]])
    lowest = TailRanking(1e10, 0.0, np.zeros(n_labels))
    top = linear_topk(X, weights.tocsr(), 3, ranking=lowest)
    assert top.indices.reshape(2, 3).tolist() == [[0, 1, 4], [0, 1, 2]]
    assert top.data.reshape(2, 3)[0].tolist() == [-np.inf, -np.inf, 0.0]


def test_whole_numbers_other_formats_and_odd_strides():
    X = sp.csr_array(np.array([[1, 2], [0, 3]]))
    W = sp.csr_array(np.array([[1, 0, 2], [0, -1, 1], [1, 1, 0]]))
    expected = np.array([[2, -1, 4], [1, -2, 3]], dtype=float)
    assert linear_topk(X, W, 3).toarray().tolist() == expected.tolist()
    assert linear_topk(X.tocsc(), W, 3).toarray().tolist() == expected.tolist()
    assert linear_scores_above(X, W, 1).toarray().tolist() == np.maximum(expected, 0).tolist()
    X.data = np.repeat(X.data, 2)[::2]
    assert linear_topk(X, W, 3).toarray().tolist() == expected.tolist()


def test_nothing_to_predict():
    W = sp.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert linear_topk(sp.csr_array((0, 1)), W, 1).shape == (0, 2)
    assert linear_scores_above(sp.csr_array((0, 1)), W, 0.0).shape == (0, 2)
    no_labels = sp.csr_array((2, 0))
    assert linear_topk(sp.csr_array((3, 1)), no_labels, 1).shape == (3, 0)
    assert linear_scores_above(sp.csr_array((3, 1)), no_labels, 0.0).shape == (3, 0)


def test_refusals():
    X, W = sp.csr_array((2, 3)), sp.csr_array((4, 5))
    with pytest.raises(InputError, match="X has 2 features, but the weights are for 3"):
        linear_topk(sp.csr_array((1, 2)), W, 1)
    with pytest.raises(InputError, match="2 features"):
        linear_scores_above(sp.csr_array((1, 2)), W, 0.0)
    with pytest.raises(ParameterError, match="4 labels, but there are 5"):
        linear_topk(X, W, 1, ranking=TailRanking(1.0, 0.0, np.zeros(4)))
    with pytest.raises(ParameterError, match="k must be"):
        linear_topk(X, W, 0)
    with pytest.raises(ParameterError, match="NaN"):
        linear_scores_above(X, W, np.nan)
    with pytest.raises(InputError, match="CSR"):
        linear_topk(X, W.tocsc(), 1)
    with pytest.raises(InputError, match="real numbers"):
        linear_topk(X, W.astype(complex), 1)
    with pytest.raises(InputError, match="bias"):
        linear_topk(sp.csr_array((1, 0)), sp.csr_array((0, 5)), 1)
