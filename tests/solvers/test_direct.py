"""Newton with factorised Hessians: the same optimum as conjugate gradients, weights and all."""

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.solvers import fit_linear


def problems(seed=0, n=300, d=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    T = (rng.random((n, 4)) < 1 / (1 + np.exp(-X[:, :4]))).astype(float)
    T[:, 3] = rng.random(n)
    return X, T, rng


@pytest.mark.parametrize("strength", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [None, "points", "problems"])
def test_the_same_optimum(strength, weighted):
    X, T, rng = problems()
    weights = {
        None: None,
        "points": rng.random(300) * (rng.random(300) < 0.5),
        "problems": rng.random((300, 4)),
    }[weighted]
    options = {
        "loss": "logistic", "strength": strength, "sample_weight": weights, "tol": 1e-9,
        "max_iter": 500, "dtype": np.float64,
    }  # fmt: skip
    direct = fit_linear(X, T, solver="direct", **options)
    newton = fit_linear(X, T, solver="newton", **options)
    assert direct.converged.all()
    assert np.allclose(direct.objective, newton.objective, rtol=1e-7)
    assert (direct.objective <= newton.objective * (1 + 1e-8)).all()


def test_gradient_is_zero_and_the_gap_proven():
    X, T, _ = problems(1)
    fit = fit_linear(X, T, loss="logistic", strength=0.3, tol=1e-10, dtype=np.float64)
    A = np.hstack([X, np.ones((300, 1))])
    W = fit.weights.toarray()
    gradient = A.T @ (1 / (1 + np.exp(-A @ W)) - T) + 0.3 * W
    assert np.abs(gradient).max() < 1e-3
    assert (fit.gap <= 1e-10).all()


def test_it_is_chosen_where_features_are_few_and_dense():
    X, T, _ = problems(2)
    by_default = fit_linear(X, T, loss="logistic", dtype=np.float64)
    direct = fit_linear(X, T, loss="logistic", solver="direct", dtype=np.float64)
    assert np.array_equal(by_default.weights.toarray(), direct.weights.toarray())
    thin = sp.csr_array(X * (np.random.default_rng(0).random(X.shape) < 0.1))
    by_default = fit_linear(thin, T, loss="logistic", dtype=np.float64)
    newton = fit_linear(thin, T, loss="logistic", solver="newton", dtype=np.float64)
    assert np.array_equal(by_default.weights.toarray(), newton.weights.toarray())


def test_warm_start_and_neighbours_do_not_matter():
    X, T, _ = problems(3)
    fit = fit_linear(X, T, loss="logistic", dtype=np.float64)
    again = fit_linear(X, T, loss="logistic", warm_start=fit.weights, dtype=np.float64)
    assert (again.iterations == 0).all()
    for n_jobs, size in ((2, None), (1, 1), (2, 3)):
        other = fit_linear(X, T, loss="logistic", n_jobs=n_jobs, block_size=size, dtype=np.float64)
        assert np.array_equal(other.weights.toarray(), fit.weights.toarray())


def test_features_that_repeat_each_other():
    X, T, _ = problems(4)
    X = np.hstack([X, X, X[:, :1] * 1e3])
    fit = fit_linear(X, T, loss="logistic", strength=1e-6, tol=1e-6, max_iter=200)
    assert np.isfinite(fit.weights.toarray()).all()
    assert np.isfinite(fit.objective).all()
