"""KNN against brute force: votes, choosing, ties, odd data, altered models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail import ranked
from longtail.data import make_longtail
from longtail.errors import ModelError, ParameterError
from longtail.methods.neighbors import KNN, MLKNN
from longtail.metrics import f1
from longtail.search import NUMBERS_OF_NEIGHBORS, random_folds


@pytest.fixture(scope="module")
def data():
    return make_longtail(400, 60, 30, random_state=0)


def nearest(points, queries, k, allowed=None):
    squares = ((queries[:, None] - points[None]) ** 2).sum(axis=2)
    if allowed is not None:
        squares = np.where(allowed, squares, np.inf)
    return np.argsort(squares.round(10), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("k", [1, 4, 5])
def test_labels_of_at_least_half_the_neighbours(k):
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 3, (80, 5)), (rng.random((80, 7)) < 0.4).astype(int)
    queries = rng.integers(0, 3, (30, 5))
    shares = Y[nearest(X, queries, k)].mean(axis=1)
    model = KNN(n_neighbors=k).fit(X, Y)
    assert np.array_equal(model.predict(queries), (shares >= 0.5).astype(int))
    assert np.allclose(model.predict_proba(queries), shares, atol=1e-6)
    top = model.predict_topk(queries, 7)
    assert np.allclose(top.toarray(), shares, atol=1e-6)
    assert (np.diff(top.indptr) == (shares > 0).sum(axis=1)).all()
    strict = KNN(n_neighbors=k, threshold=1.0).fit(X, Y).predict(queries)
    assert np.array_equal(strict, (shares == 1).astype(int))


def test_choice_is_that_of_cross_validation(data):
    X, Y = data.X.toarray(), data.Y
    model = KNN(random_state=3).fit(data.X, Y)
    fold_of = random_folds(400, 5, 3)
    lists = nearest(X, X, 20, fold_of[:, None] != fold_of)
    scores = []
    for k in NUMBERS_OF_NEIGHBORS:
        shares = np.asarray(Y.toarray()[lists[:, :k]].mean(axis=1))
        scores.append(f1(Y, sp.csr_array((shares >= 0.5).astype(int)), average="example"))
    assert np.allclose(model.tried_f1_, scores, atol=0.01)
    assert model.n_neighbors_ == NUMBERS_OF_NEIGHBORS[int(np.argmax(model.tried_f1_))]
    assert model.threshold_ == 0.5


def test_a_chosen_threshold_is_no_worse(data):
    fixed, free = (KNN(threshold=t).fit(data.X, data.Y) for t in (0.5, None))
    assert free.tried_f1_.max() >= fixed.tried_f1_.max()
    assert (free.tried_f1_ >= fixed.tried_f1_).all()


def test_the_nearest_voter_breaks_ties():
    X = np.array([[0.0], [3.0], [5.0]])
    model = KNN(n_neighbors=3).fit(X, np.eye(3, dtype=int))
    best, _ = ranked(model.predict_topk([[4.9], [0.2]], 3), 3)
    assert best.tolist() == [[2, 1, 0], [0, 1, 2]]


def test_more_neighbours_than_points():
    model = KNN(n_neighbors=10).fit([[0.0], [1.0]], [["a"], ["a", "b"]])
    assert model.predict([[9.0]]) == [("a", "b")]
    assert model.explain([9.0], "b").summary["neighbours"] == 2


def test_one_point():
    assert KNN().fit([[1.0, 0.0]], [["a"]]).predict([[0.0, 0.0]]) == [("a",)]


def test_rows_without_features_or_labels():
    X = sp.csr_array(
        np.array([[0.0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]])
    )
    Y = sp.csr_array([[1, 0], [0, 1], [0, 0], [1, 0]])
    model = KNN(n_neighbors=1).fit(X, Y)
    assert model.predict(X).toarray().tolist() == [[1, 0], [0, 1], [0, 0], [1, 0]]
    assert model.predict_topk(X[[2]], 2).nnz == 0


def test_dense_and_sparse_storage_agree(data):
    rng = np.random.default_rng(0)
    X, queries = rng.integers(0, 3, (60, 4)), rng.integers(0, 3, (20, 4))
    Y = (rng.random((60, 5)) < 0.4).astype(int)
    dense = KNN(n_neighbors=3).fit(X, Y)
    padded = [np.hstack([part, np.zeros((len(part), 40))]) for part in (X, queries)]
    sparse = KNN(n_neighbors=3).fit(padded[0], Y)
    assert isinstance(dense.points_, np.ndarray)
    assert sp.issparse(sparse.points_)
    assert np.array_equal(dense.predict_proba(queries), sparse.predict_proba(padded[1]))


@pytest.mark.parametrize("settings", [{}, {"metric": "cosine", "threshold": None}])
def test_threads_and_blocks_do_not_matter(data, settings, monkeypatch):
    one = KNN(**settings).fit(data.X, data.Y)
    monkeypatch.setattr("longtail.methods._voting.BLOCK_ROWS", 50)
    monkeypatch.setattr("longtail.search.neighbours.BLOCK_ROWS", 50)
    two = KNN(**settings, n_jobs=2).fit(data.X, data.Y)
    assert (one.n_neighbors_, one.threshold_) == (two.n_neighbors_, two.threshold_)
    first, second = one.predict_topk(data.X, 5), two.predict_topk(data.X, 5)
    assert np.array_equal(first.indices, second.indices)
    assert np.array_equal(first.data, second.data)


def test_save_and_load(data, tmp_path):
    model = KNN().fit(data.X, data.Y)
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_topk(data.X, 5).data, model.predict_topk(data.X, 5).data)
    why = loaded.explain(data.X[[0]], loaded.classes_[0])
    assert why.summary["neighbours"] == model.n_neighbors_


def test_refitted_models_search_their_new_points():
    model = KNN(n_neighbors=1)
    assert model.fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0]]).tolist() == ["b"]
    assert model.fit([[1.0], [0.0]], ["c", "d"]).predict([[1.0]]).tolist() == ["c"]


def test_explanation_names_the_voters():
    X = np.array([[0.0], [1.0], [4.0]])
    model = KNN(n_neighbors=2).fit(X, [["sea", "sun"], ["sea"], ["snow"]])
    why = model.explain([0.4], "sun")
    votes = why.table("votes")
    assert votes["neighbour"].to_list() == [0, 1]
    assert np.allclose(votes["distance"], [0.4, 0.6])
    assert votes["vote"].to_list() == [1.0, 0.0]
    assert votes["labels"].to_list() == [["sea", "sun"], ["sea"]]
    assert why.summary == {"neighbours": 2, "share": 0.5}
    assert "neighbours 2, share 0.5\n" in str(why)
    assert model.explain([0.4], "sea", n=1).table("votes")["neighbour"].to_list() == [0]
    assert model.explain([0.4], "snow").score == 0.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("points_", np.ones((3, 2))),
        ("points_", np.ones((400, 60), dtype=np.int64)),
        ("points_", "bogus"),
        ("labels_", sp.csr_array((400, 2), dtype=np.int8)),
        ("labels_", np.ones((400, 30))),
        ("n_neighbors_", 0),
        ("n_neighbors_", "many"),
        ("threshold_", 0.0),
        ("threshold_", np.nan),
        ("metric", "bogus"),
        ("threshold", -1.0),
    ],
)
def test_altered_models_are_refused(data, tmp_path, name, value):
    model = KNN(n_neighbors=2).fit(data.X, data.Y)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


def test_an_altered_number_of_neighbours_takes_no_memory(data, tmp_path):
    model = KNN(n_neighbors=2).fit(data.X, data.Y)
    model.n_neighbors_ = 10**15
    model.save(tmp_path / "model")
    assert longtail.load(tmp_path / "model").predict_topk(data.X[[0]], 3).nnz == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"n_neighbors": 0},
        {"n_neighbors": 2.5},
        {"threshold": 0},
        {"threshold": 1.1},
        {"threshold": "half"},
        {"metric": "hamming"},
        {"random_state": -1},
        {"n_jobs": 0},
    ],
)
def test_odd_parameters_are_refused(settings):
    with pytest.raises(ParameterError) as caught:
        KNN(**settings).fit([[1.0], [0.0]], ["a", "b"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", [KNN, MLKNN])
def test_a_metric_set_after_training_is_the_one_used(method, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * rng.lognormal(size=(80, 1))
    Y = (rng.random((80, 7)) < 0.4).astype(int)
    model = method(n_neighbors=3).fit(X, Y)
    before = model.predict_topk(X[:20], 3).toarray()
    model.set_params(metric="cosine")
    live = model.predict_topk(X[:20], 3).toarray()
    assert not np.array_equal(live, before)
    model.save(tmp_path / "model")
    assert np.array_equal(longtail.load(tmp_path / "model").predict_topk(X[:20], 3).toarray(), live)
    assert np.array_equal(
        model.set_params(metric="euclidean").predict_topk(X[:20], 3).toarray(), before
    )
