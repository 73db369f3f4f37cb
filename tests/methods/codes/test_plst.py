"""PLST: the directions are the best there are, and all of them give binary relevance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import longtail
from longtail import ranked
from longtail.errors import ModelError, ParameterError
from longtail.methods.codes import PLST, _regression, plst
from longtail.methods.codes.plst import principal_directions
from longtail.solvers import fit_ridge, ridge_values


def problem(n=80, n_labels=15, n_features=30, seed=0, density=0.2):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < density * rng.random(n_labels) * 2).astype(int)
    X = np.hstack([Y @ rng.standard_normal((n_labels, n_features // 2)),
                   rng.standard_normal((n, n_features - n_features // 2))])  # fmt: skip
    return sp.csr_array(X * (rng.random(X.shape) < 0.5)), Y


def centred(Y):
    return Y - Y.mean(axis=0)


# ---- directions ------------------------------------------------------------------------------


@pytest.fixture(params=["dense", "lanczos"])
def way(request, monkeypatch):
    if request.param == "lanczos":
        monkeypatch.setattr(plst, "DENSE", 0)
        monkeypatch.setattr(plst, "DENSE_LARGEST", 0)
    return request.param


@pytest.mark.parametrize(("n", "n_labels"), [(40, 12), (12, 40), (20, 20)])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_directions_are_those_of_the_singular_value_decomposition(way, n, n_labels, size):
    _, Y = problem(n, n_labels, seed=n, density=0.4)
    directions, values = principal_directions(sp.csr_array(Y.astype(float)), size)
    _, wanted, turned = np.linalg.svd(centred(Y))
    assert np.allclose(values, wanted[:size], atol=1e-8)
    assert np.allclose(directions.T @ directions, np.eye(size), atol=1e-8)
    assert np.allclose(np.abs(np.sum(directions * turned[:size].T, axis=0)), 1.0, atol=1e-6)
    largest = np.abs(directions).argmax(axis=0)
    assert (directions[largest, np.arange(size)] > 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 10), st.integers(2, 10), st.integers(0, 10**6), st.data())
def test_no_other_directions_lose_less(n, n_labels, seed, data):
    """Eckart and Young: the loss is the sum of the squares of the singular values left out."""
    _, Y = problem(n, n_labels, seed=seed, density=0.5)
    size = data.draw(st.integers(1, min(n, n_labels)))
    V, _ = principal_directions(sp.csr_array(Y.astype(float)), size)
    C = centred(Y)
    lost = ((C - C @ V @ V.T) ** 2).sum()
    singular = np.linalg.svd(C, compute_uv=False)
    assert lost == pytest.approx((singular[size:] ** 2).sum(), abs=1e-8)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        other, _ = np.linalg.qr(rng.standard_normal((n_labels, size)))
        assert ((C - C @ other @ other.T) ** 2).sum() >= lost - 1e-9


def test_directions_that_do_not_vary_are_left_out():
    Y = np.zeros((20, 6))
    Y[:10, 0] = Y[:10, 1] = 1
    Y[:, 2] = 1
    Y[5:15, 4] = 1
    directions, values = principal_directions(sp.csr_array(Y), 6)
    assert directions.shape == (6, 2)
    assert (values > 1e-3).all()
    for constant in (np.ones((9, 4)), np.ones((4, 9)), np.zeros((4, 9))):
        directions, values = principal_directions(sp.csr_array(constant), 4)
        assert directions.shape[1] == 1
        assert np.allclose(np.linalg.norm(directions, axis=0), 1.0)
        assert values.tolist() == pytest.approx([0.0], abs=1e-6)


def test_odd_numbers_of_directions_are_refused():
    Y = sp.csr_array(np.eye(5))
    for size in (0, 6):
        with pytest.raises(ParameterError, match="1 to 5 directions"):
            principal_directions(Y, size)


def test_directions_that_need_too_much_memory_are_refused(monkeypatch):
    monkeypatch.setattr(plst, "DENSE", 3)
    monkeypatch.setattr(plst, "DENSE_LARGEST", 3)
    monkeypatch.setattr(plst, "LANCZOS", 100)
    _, Y = problem()
    with pytest.raises(ParameterError, match="take a code_size of at most 0"):
        principal_directions(sp.csr_array(Y.astype(float)), 4)


def test_the_lanczos_start_is_seeded(way):
    _, Y = problem(60, 40)
    Y = sp.csr_array(Y.astype(float))
    first, _ = principal_directions(Y, 5, random_state=3)
    again, _ = principal_directions(Y, 5, random_state=3)
    assert np.array_equal(first, again)


# ---- the classifier --------------------------------------------------------------------------


def test_with_all_directions_it_is_a_regression_a_label():
    X, Y = problem()
    model = PLST(code_size=15, strength=0.5, tol=1e-12).fit(X, Y)
    means = Y.mean(axis=0)
    ridge = fit_ridge(X, Y - means, strength=0.5, tol=1e-12, dtype=float)
    wanted = ridge_values(X, ridge.weights) + means
    top = model.predict_topk(X, 15)
    rows = np.repeat(np.arange(80), np.diff(top.indptr))
    assert np.allclose(top.data, wanted[rows, top.indices], atol=1e-4)
    sure = np.abs(wanted - 0.5) > 1e-3
    assert np.array_equal(model.predict(X)[sure], (wanted >= 0.5)[sure])


@pytest.mark.parametrize("size", [1, 5, 0.5])
def test_with_some_it_is_that_regression_projected(size):
    """Ridge regression is linear in its targets, so the weights are projected like the labels."""
    X, Y = problem()
    model = PLST(code_size=size, strength=2.0, tol=1e-12).fit(X, Y)
    B = 8 if size == 0.5 else size
    assert model.code_.shape == (15, B)
    assert model.weights_.shape == (31, B)
    V = np.linalg.svd(centred(Y))[2][:B].T
    ridge = fit_ridge(X, centred(Y), strength=2.0, tol=1e-12, dtype=float).weights
    wanted = ridge_values(X, ridge @ V @ V.T) + Y.mean(axis=0)
    best, values = ranked(model.predict_topk(X, 15), 15)
    for row in range(80):
        known = best[row] >= 0
        assert np.allclose(values[row][known], wanted[row, best[row][known]], atol=1e-4)
    assert (np.diff(values, axis=1)[:, : (Y.any(axis=0)).sum() - 1] <= 0).all()


def test_explanations_add_up_to_the_score():
    X, Y = problem()
    model = PLST(code_size=6).fit(X, Y)
    scores = model.predict_topk(X, 15).toarray()
    for row, label in ((0, 2), (7, 11)):
        why = model.explain(X[[row]], label, n=30)
        assert why.score == pytest.approx(scores[row, label], abs=1e-6)
        assert why.bias + why.parts["contribution"].sum() == pytest.approx(why.score)


def test_blocks_and_threads_do_not_change_predictions(monkeypatch):
    X, Y = problem()
    model = PLST(code_size=6).fit(X, Y)
    whole, top = model.predict(X), model.predict_topk(X, 5)
    monkeypatch.setattr(_regression, "BLOCK_ROWS", 7)
    for n_jobs in (1, 2):
        model.n_jobs = n_jobs
        assert np.array_equal(model.predict(X), whole)
        assert np.allclose(model.predict_topk(X, 5).data, top.data)


def test_there_are_no_more_directions_than_points():
    X, Y = problem(n=5, n_labels=15, density=0.5)
    model = PLST(code_size=12).fit(X, Y)
    assert model.code_.shape[1] <= 5
    assert model.singular_values_.shape == (model.code_.shape[1],)


@pytest.mark.parametrize("column", [0, 1])
def test_constant_columns(column):
    X, Y = problem()
    Y[:, 3] = column
    model = PLST(code_size=10, strength=0.1).fit(X, Y)
    assert (model.predict(X)[:, 3] == column).all()
    if not column:
        assert not (model.predict_topk(X, 15).indices == 3).any()


def test_labels_that_never_change_or_never_occur():
    X, Y = problem()
    assert not PLST().fit(X, Y * 0).predict(X).any()
    assert PLST().fit(X, Y * 0).predict_topk(X, 3).nnz == 0
    assert PLST().fit(X, Y * 0 + 1).predict(X).all()


def test_saved_and_loaded_it_is_the_same(tmp_path):
    X, Y = problem()
    model = PLST(code_size=6).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    here, there = model.predict_topk(X, 5), loaded.predict_topk(X, 5)
    assert np.array_equal(here.data, there.data)
    assert np.array_equal(here.indices, there.indices)
    assert np.array_equal(model.predict(X), loaded.predict(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("code_", np.ones((15, 6))),
        ("code_", np.ones((14, 6), dtype=np.float32)),
        ("means_", np.zeros(3)),
        ("means_", "none"),
        ("weights_", np.zeros((31, 5), dtype=np.float32)),
    ],
)
def test_altered_models_are_refused(name, value, tmp_path):
    X, Y = problem()
    model = PLST(code_size=6).fit(X, Y)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"code_size": 16}, "code_size is 16, but there are 15 labels"),
        ({"code_size": 0}, "code_size"),
        ({"code_size": True}, "code_size"),
        ({"strength": -1.0}, "strength"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0.5}, "max_iter"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_odd_settings_get_one_sentence(settings, cause):
    X, Y = problem()
    with pytest.raises(ParameterError, match=cause) as caught:
        PLST(**settings).fit(X, Y)
    assert "\n" not in str(caught.value)
