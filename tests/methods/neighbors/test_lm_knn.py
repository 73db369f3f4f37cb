"""LM-kNN: regressions, metric and votes put together, against each step by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail.data import make_longtail
from longtail.errors import InputError, ModelError, ParameterError
from longtail.methods.neighbors import LMKNN
from longtail.methods.neighbors.lm_knn import label_directions, useful_constraints
from longtail.methods.neighbors.metric import MarginProblem, learn_metric, losses_of


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 5)) < 0.4).astype(int)
    X = np.hstack([Y + 0.6 * rng.standard_normal((60, 5)), rng.standard_normal((60, 3))])
    return X, Y, rng.standard_normal((15, 8))


def nearest(points, queries, k, skip=False):
    squares = ((queries[:, None] - points[None]) ** 2).sum(axis=2)
    if skip:
        np.fill_diagonal(squares, np.inf)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("among", ["points", "labels"])
def test_all_steps_by_hand(small, among):
    X, Y, queries = small
    model = LMKNN(n_neighbors=3, n_constraints=4, strength=0.5, among=among).fit(X, Y)
    ones = np.column_stack([X, np.ones(60)])
    W = np.linalg.solve(ones.T @ ones + 0.5 * np.eye(9), ones.T @ Y)
    outputs = ones @ W
    around = nearest(X, X, 4, skip=True)
    around, losses = useful_constraints(sp.csr_array(Y), around, 0)
    learned = learn_metric(MarginProblem(outputs, Y * 1.0, around, losses, 10.0), tol=1e-3)
    assert np.allclose(model.metric_, learned.Q, rtol=1e-3, atol=1e-3)
    voters = (Y if among == "labels" else outputs) @ learned.factor
    asked = np.column_stack([queries, np.ones(15)]) @ W @ learned.factor
    shares = Y[nearest(voters, asked, 3)].mean(axis=1)
    agree = (model.predict(queries) == (shares >= 0.5)).all(axis=1)
    assert agree.mean() > 0.9


def test_the_objective_never_rises_and_the_metric_is_one(small):
    model = LMKNN(n_neighbors=3).fit(*small[:2])
    assert (np.diff(model.objective_) <= 0).all()
    assert model.objective_[-1] < model.objective_[0]
    assert np.linalg.eigvalsh(model.metric_).min() > -1e-9
    assert model.n_iter_ == len(model.objective_) - 1


def test_fewer_dimensions_are_a_restriction(small):
    X, Y, _ = small
    whole = LMKNN(n_neighbors=3).fit(X, Y)
    part = LMKNN(n_neighbors=3, n_dimensions=2).fit(X, Y)
    assert whole.directions_.shape == (5, 5)
    assert part.directions_.shape == (5, 2)
    assert part.metric_.shape == (2, 2)
    assert np.allclose(part.directions_.T @ part.directions_, np.eye(2))
    assert part.predict(X).shape == Y.shape


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
@pytest.mark.parametrize("dense_side", [1000, 0])
def test_directions_are_singular_vectors(shape, dense_side, monkeypatch):
    monkeypatch.setattr("longtail.methods.neighbors.lm_knn.DENSE", dense_side)
    Y = (np.random.default_rng(0).random(shape) < 0.3).astype(float)
    found = label_directions(sp.csr_array(Y), 4, 0)
    _, _, turned = np.linalg.svd(Y)
    assert np.allclose(np.abs(np.sum(found * turned[:4].T, axis=0)), 1)


def test_directions_of_nothing():
    assert label_directions(sp.csr_array((4, 9)), 3, 0).shape == (9, 1)


def test_void_constraints_are_replaced():
    Y = sp.csr_array([[1, 0]] * 20 + [[0, 1]] * 20)
    neighbours = (np.arange(40)[:, None] + [1, 2]) % 20 + 20 * (np.arange(40)[:, None] >= 20)
    assert not losses_of(Y, neighbours).any()
    chosen, losses = useful_constraints(Y, neighbours, 0)
    assert (losses[chosen >= 0] == 2).all()
    assert (losses[chosen < 0] == 0).all()
    assert 20 < (chosen >= 0).sum() < 60


def test_choosing(small):
    X, Y, _ = small
    one = LMKNN(max_iter=10).fit(X, Y)
    two = LMKNN(max_iter=10, validation_folds=2, threshold=None).fit(X, Y)
    for model in (one, two):
        assert model.tried_neighbors_.tolist() == [1, 5, 10, 20]
        assert model.n_neighbors_ == model.tried_neighbors_[model.tried_f1_.argmax()]


def test_odd_data():
    assert LMKNN().fit([[1.0, 0.0]], [["a"]]).predict([[0.0, 0.0]]) == [("a",)]
    X = sp.csr_array((8, 4))
    model = LMKNN(n_neighbors=3).fit(X, np.array([[1], [0], [1], [0], [0], [0], [0], [0]]))
    assert model.predict(X).shape == (8, 1)
    few = LMKNN(n_neighbors=30).fit([[0.0], [1.0], [2.0]], [["a"], ["a"], ["b"]])
    assert few.predict([[0.0]]) == [("a",)]


def test_threads_and_files_do_not_matter(tmp_path):
    data = make_longtail(200, 100, 40, random_state=0)
    one, two = (LMKNN(n_jobs=n, max_iter=5).fit(data.X, data.Y) for n in (1, 2))
    first, second = one.predict_topk(data.X, 5), two.predict_topk(data.X, 5)
    assert np.array_equal(first.indices, second.indices)
    assert np.array_equal(first.data, second.data)
    one.save(tmp_path / "model")
    third = longtail.load(tmp_path / "model").predict_topk(data.X, 5)
    assert np.array_equal(first.data, third.data)


def test_explanation_names_the_voters(small):
    X, Y, queries = small
    model = LMKNN(n_neighbors=4, max_iter=5).fit(X, Y)
    why = model.explain(queries[0], 1)
    votes = why.table("votes")
    assert len(votes) == 4
    assert (np.diff(votes["distance"]) >= 0).all()
    assert why.summary["share"] == Y[votes["neighbour"].to_numpy(), 1].mean()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weights_", np.zeros((8, 5), dtype=np.float32)),
        ("weights_", np.zeros((9, 5))),
        ("embedded_", np.zeros((59, 5), dtype=np.float32)),
        ("embedded_", None),
        ("labels_", sp.csr_array((60, 4))),
        ("n_neighbors_", -2),
        ("C", -1.0),
    ],
)
def test_altered_models_are_refused(small, tmp_path, name, value):
    model = LMKNN(n_neighbors=3, max_iter=3).fit(*small[:2])
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


def test_what_cannot_fit_is_refused_with_an_estimate():
    X, Y = sp.csr_array((100, 5)), sp.csr_array(([1], ([0], [0])), shape=(100, 50_000))
    with pytest.raises(InputError, match=r"[\d.]+ GB for .* GB; give a smaller n_dimensions"):
        LMKNN(n_dimensions=50_000).fit(X, Y)


@pytest.mark.parametrize(
    "settings",
    [
        {"C": 0},
        {"eta": 1.0},
        {"n_constraints": 0},
        {"n_dimensions": 0},
        {"strength": -1},
        {"among": "both"},
        {"validation_folds": 6},
        {"tol": 0},
        {"max_iter": 0},
    ],
)
def test_odd_parameters_are_refused(settings):
    with pytest.raises(ParameterError) as caught:
        LMKNN(**settings).fit([[1.0], [0.0]], ["a", "b"])
    assert "\n" not in str(caught.value)
