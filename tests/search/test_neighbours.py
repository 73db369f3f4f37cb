"""Exact search: every way of it gives what brute force gives, ties included."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import ParameterError
from longtail.methods.neighbors._lazy import FoldNeighbours, sizes_to_try
from longtail.runtime.run import Run
from longtail.search import neighbours as _search
from longtail.search.neighbours import NeighbourIndex, find_others, is_better_dense

WAYS = ("sparse", "faiss", "numpy")


def make(way, points, metric="euclidean"):
    if way == "sparse":
        return NeighbourIndex(sp.csr_array(points), metric=metric)
    if way == "faiss":
        pytest.importorskip("faiss")
    return NeighbourIndex(points, metric=metric, use_faiss=way == "faiss")


def brute(points, queries, k, skip=None):
    """Squared distances in integers where these are integers, so ties are ties."""
    squares = ((queries[:, None] - points[None]) ** 2).sum(axis=2).astype(float)
    if skip is not None:
        squares[np.arange(len(queries)), skip] = np.inf
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    nearest = np.take_along_axis(squares, order, 1)
    return np.where(np.isfinite(nearest), order, -1), np.sqrt(nearest)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 60), k=st.integers(1, 30))
def test_ties_go_to_the_smaller_number(way, seed, m, k):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 2, (m, 4)).astype(float)
    queries = rng.integers(0, 2, (5, 4)).astype(float)
    found = make(way, points).search(queries, k)
    indices, distances = brute(points, queries, k)
    assert np.array_equal(found.indices, indices)
    assert np.array_equal(found.distances, distances)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_real_numbers(way, dtype):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 12)).astype(dtype)
    queries = rng.standard_normal((20, 12)).astype(dtype)
    found = make(way, points).search(queries, 7)
    indices, distances = brute(points.astype(float), queries.astype(float), 7)
    assert np.array_equal(found.indices, indices)
    assert np.allclose(found.distances, distances)


@pytest.mark.parametrize("way", WAYS)
def test_far_from_zero_where_float32_cannot_tell(way):
    """Points a millionth apart beside their length: the rough distances are all noise."""
    rng = np.random.default_rng(1)
    points = 1000 + 1e-4 * rng.integers(0, 50, (300, 3))
    queries = 1000 + 1e-4 * rng.integers(0, 50, (10, 3))
    found = make(way, points).search(queries, 4)
    exact = np.sort(np.sqrt(((queries[:, None] - points) ** 2).sum(axis=2)), axis=1)[:, :4]
    if way != "sparse":
        assert np.allclose(found.distances, exact, rtol=1e-6)
    assert (found.indices >= 0).all()


@pytest.mark.parametrize("way", WAYS)
def test_leaving_oneself_out(way):
    points = np.array([[0.0], [0.0], [5.0], [0.0]])
    index = make(way, points)
    found = index.search(points, 9, skip=np.arange(4))
    assert found.indices.tolist() == [[1, 3, 2, -1], [0, 3, 2, -1], [0, 1, 3, -1], [0, 1, 2, -1]]
    assert np.isinf(found.distances[:, -1]).all()


@pytest.mark.parametrize("way", WAYS)
def test_cosine(way):
    points = np.array([[1.0, 0.0], [0.0, 0.0], [3.0, 3.0], [-1.0, 0.0]])
    queries = np.array([[2.0, 0.0], [0.0, 0.0]])
    found = make(way, points, "cosine").search(queries, 4)
    assert found.indices[0].tolist() == [0, 2, 1, 3]
    assert np.allclose(found.distances, [[0, 1 - np.sqrt(0.5), 1, 2], [1, 1, 1, 1]])
    assert sorted(found.indices[1].tolist()) == [0, 1, 2, 3]


def test_equal_rows_are_at_no_distance():
    rows = sp.csr_array(sp.random(50, 40, density=0.2, random_state=0))
    found = NeighbourIndex(rows).search(rows, 1)
    assert (found.distances[np.diff(rows.indptr) > 0] == 0).all()


def test_dense_and_sparse_queries_may_be_mixed():
    rng = np.random.default_rng(0)
    points, queries = rng.random((30, 5)), rng.random((4, 5))
    sparse, dense = NeighbourIndex(sp.csr_array(points)), NeighbourIndex(points)
    expected = brute(points, queries, 3)[0]
    for index in (sparse, dense):
        for form in (queries, sp.csr_array(queries)):
            assert np.array_equal(index.search(form, 3).indices, expected)


def test_without_faiss_dense_rows_are_searched_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    points = np.random.default_rng(0).random((40, 6))
    index = NeighbourIndex(points)
    assert index._faiss is None
    assert np.array_equal(index.search(points, 3).indices, brute(points, points, 3)[0])


def test_blocks_of_products_do_not_matter(monkeypatch):
    points = np.random.default_rng(0).integers(0, 3, (90, 4)).astype(float)
    whole = NeighbourIndex(points, use_faiss=False).search(points, 5)
    monkeypatch.setattr(_search, "PRODUCT_CELLS", 200)
    parts = NeighbourIndex(points, use_faiss=False).search(points, 5)
    assert np.array_equal(whole.indices, parts.indices)
    assert np.array_equal(whole.distances, parts.distances)


def test_others_do_not_depend_on_threads_or_blocks(monkeypatch):
    rows = sp.csr_array(sp.random(300, 60, density=0.1, random_state=0))
    index = NeighbourIndex(rows)
    one = find_others(index, rows, 6, n_jobs=1, run=Run())
    monkeypatch.setattr(_search, "BLOCK_ROWS", 37)
    two = find_others(index, rows, 6, n_jobs=2, run=Run())
    assert np.array_equal(one.indices, two.indices)
    assert np.array_equal(one.distances, two.distances)
    indices, _ = brute(rows.toarray(), rows.toarray(), 6, skip=np.arange(300))
    assert np.allclose(
        one.distances, np.sqrt(((rows.toarray()[:, None] - rows.toarray()[indices]) ** 2).sum(2))
    )


def test_others_go_on_after_a_stop(monkeypatch, tmp_path):
    monkeypatch.setattr(_search, "BLOCK_ROWS", 16)
    rows = sp.csr_array(sp.random(64, 20, density=0.2, random_state=0))
    index = NeighbourIndex(rows)
    expected = find_others(index, rows, 3, n_jobs=1, run=Run())

    def stop(what, done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_others(index, rows, 3, n_jobs=1, run=Run(stop, tmp_path / "c"))
    seen = []
    again = find_others(
        index,
        rows,
        3,
        n_jobs=1,
        run=Run(lambda what, done, total: seen.append(done), tmp_path / "c"),
    )
    assert seen[0] == 16
    assert np.array_equal(again.indices, expected.indices)


@pytest.mark.parametrize("scattered", [True, False])
def test_folds_are_left_out_exactly(scattered):
    """Scattered folds leave the lists long enough; a fold that is a cluster does not."""
    rng = np.random.default_rng(0)
    fold_of = np.sort(rng.integers(0, 4, 200))
    points = np.round(rng.random((200, 2)) + (0 if scattered else 10 * fold_of[:, None]), 2)
    lists = FoldNeighbours(NeighbourIndex(points), points, fold_of, 3, n_jobs=1, run=Run())
    for fold in range(4):
        for rows in (np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)):
            found = lists.without(fold, rows, 3)
            squares = ((points[rows][:, None] - points) ** 2).sum(axis=2)
            squares[:, fold_of == fold] = np.inf
            squares[np.arange(len(rows)), rows] = np.inf
            assert np.allclose(found.distances**2, np.sort(squares, axis=1)[:, :3])
            assert (fold_of[found.indices] != fold).all()
            assert (found.indices != rows[:, None]).all()


def test_small_data_have_fewer_sizes():
    assert sizes_to_try(None, 1) == [1]
    assert sizes_to_try(None, 26) == [1, 5, 10, 20]
    assert sizes_to_try(None, 24) == [1, 5, 10]
    assert sizes_to_try(99, 3) == [99]


def test_what_is_searched_as_dense():
    assert is_better_dense(sp.csr_array(np.ones((3, 3))))
    assert not is_better_dense(sp.csr_array(np.eye(5)))
    assert not is_better_dense(sp.csr_array((10**6, 10**6)))


def test_unknown_metrics_are_refused():
    with pytest.raises(ParameterError, match="metric must be 'euclidean' or 'cosine'"):
        NeighbourIndex(np.eye(2), metric="manhattan")
