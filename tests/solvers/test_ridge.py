"""Ridge regression against the closed form and scikit-learn, by every solver."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from longtail.errors import CheckpointError, ConvergenceWarning, InputError, ParameterError
from longtail.runtime.run import Run
from longtail.solvers import fit_ridge, ridge_values
from longtail.solvers.ridge import fit as ridge

SOLVERS = ridge.SOLVERS


def closed_form(X, Z, strength, bias=1.0):
    A = np.hstack([X, np.full((len(X), 1), bias)])
    return np.linalg.solve(A.T @ A + strength * np.eye(A.shape[1]), A.T @ Z)


def objectives(X, Z, strength, bias, W):
    A = np.hstack([X, np.full((len(X), 1), bias)])
    return 0.5 * strength * (W**2).sum(axis=0) + 0.5 * ((A @ W - Z) ** 2).sum(axis=0)


def problem(n=40, n_features=25, n_problems=7, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < density)
    return X, rng.standard_normal((n, n_problems)) + rng.standard_normal(n_problems)


@pytest.mark.parametrize("solver", [*SOLVERS, None])
@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
def test_is_the_closed_form(solver, strength, bias):
    X, Z = problem()
    fit = fit_ridge(
        sp.csr_array(X), Z, strength=strength, bias=bias, tol=1e-14, solver=solver, dtype=float
    )
    wanted = closed_form(X, Z, strength, bias)
    assert np.allclose(fit.weights, wanted, atol=1e-6 * np.abs(wanted).max())
    assert np.allclose(fit.objective, objectives(X, Z, strength, bias, wanted))
    assert fit.converged.all()
    assert (fit.iterations > 0).all() == (solver == "conjugate_gradient")


@pytest.mark.parametrize("solver", SOLVERS)
def test_is_that_of_scikit_learn(solver):
    X, Z = problem(n=30, n_features=50)
    wanted = Ridge(alpha=0.7, fit_intercept=False).fit(np.hstack([X, np.ones((30, 1))]), Z)
    fit = fit_ridge(X, Z, strength=0.7, tol=1e-12, solver=solver)
    assert fit.weights.dtype == np.float32
    assert np.allclose(fit.weights, wanted.coef_.T, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 12), st.floats(-3, 2), st.integers(0, 10**6),
    st.sampled_from(SOLVERS), st.floats(-8, -1),
)  # fmt: skip
def test_the_gap_is_proven(n, n_features, log_strength, seed, solver, log_tol):
    X, Z = problem(n, n_features, 3, seed, density=0.6)
    strength, tol = 10.0**log_strength, 10.0**log_tol
    fit = fit_ridge(X, Z, strength=strength, tol=tol, solver=solver, dtype=float)
    best = objectives(X, Z, strength, 1.0, closed_form(X, Z, strength))
    here = objectives(X, Z, strength, 1.0, fit.weights)
    assert fit.converged.all()
    assert (fit.gap <= tol).all()
    assert np.allclose(fit.objective, here, rtol=1e-6, atol=1e-12)
    assert ((here - best) <= fit.gap * best + 1e-10 * (Z**2).sum()).all()


def test_a_column_does_not_depend_on_its_neighbours_nor_on_threads(monkeypatch):
    X, Z = problem(60, 45, 23, density=0.2)
    Z[:, 3] *= 1e6
    Z[:, 5] = 0
    whole = fit_ridge(X, Z, strength=0.1, solver="conjugate_gradient")
    assert not whole.weights[:, 5].any()
    assert whole.converged.all()
    for size in (1, 4):
        monkeypatch.setattr(ridge, "BLOCK", size)
        parts = fit_ridge(X, Z, strength=0.1, solver="conjugate_gradient", n_jobs=2)
        assert np.array_equal(whole.weights, parts.weights)
        assert np.array_equal(whole.iterations, parts.iterations)


def test_a_small_side_is_factored_and_a_large_one_is_not(monkeypatch):
    X, Z = problem(50, 20)

    def chosen(X, Z):
        return ridge._make_task(X, Z, 1.0, 1.0, 1e-4, 9, None, np.float32).solver

    assert chosen(X, Z) == "primal"
    monkeypatch.setattr(ridge, "SMALL", 20)
    assert chosen(X, Z) == "conjugate_gradient"
    assert chosen(X.T.copy(), Z[:20]) == "dual"


def test_a_factor_that_fails_is_replaced_by_conjugate_gradients():
    X = np.array([[1e8, 1e8], [1e8, 1e8]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_ridge(X, [[1.0], [1.0]], strength=1e-12, bias=0, solver="primal", dtype=float)
    assert np.allclose(X @ fit.weights[:-1], 1.0, atol=1e-3)


def test_steps_that_run_out_are_said():
    X, Z = problem(200, 150, 4)
    with pytest.warns(ConvergenceWarning, match="4 of 4 regressions") as caught:
        fit = fit_ridge(X, Z, strength=1e-6, max_iter=2, tol=1e-9, solver="conjugate_gradient")
    assert (fit.iterations == 2).all()
    assert not fit.converged.any()
    assert "\n" not in str(caught[0].message)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_kinds_of_numbers(kind):
    X, Z = problem()
    X, Z = (3 * X).astype(kind), (3 * Z).astype(kind)
    for form in (X, sp.csc_matrix(X), sp.coo_array(X)):
        fit = fit_ridge(form, Z, strength=1.0, tol=1e-12)
        assert np.allclose(fit.weights, closed_form(X, Z, 1.0), atol=1e-4)


def test_odd_shapes():
    X, Z = problem()
    assert fit_ridge(X, Z[:, :0], strength=1.0).weights.shape == (26, 0)
    assert np.allclose(fit_ridge(X * 0, Z, strength=1e-9).weights[-1], Z.mean(axis=0))
    assert fit_ridge(X[:, :0], Z, strength=1.0).weights.shape == (1, 7)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, None, "1", True])
def test_a_strength_is_positive_and_finite(value):
    with pytest.raises(ParameterError, match="strength must be"):
        fit_ridge(*problem(), strength=value)


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"tol": 0}, "tol"),
        ({"bias": -1.0}, "bias"),
        ({"bias": np.nan}, "bias"),
        ({"max_iter": 0}, "max_iter"),
        ({"solver": "magic"}, "solver must be one of primal"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_odd_settings_are_refused(settings, cause):
    with pytest.raises(ParameterError, match=cause):
        fit_ridge(*problem(), strength=1.0, **settings)


def test_bad_input_is_refused():
    X, Z = problem()
    for bad in (np.nan, np.inf):
        odd = Z.copy()
        odd[3, 2] = bad
        with pytest.raises(InputError, match="targets contain NaN"):
            fit_ridge(X, odd, strength=1.0)
        odd = X.copy()
        odd[3, 2] = bad
        with pytest.raises(InputError, match="X contains NaN"):
            fit_ridge(odd, Z, strength=1.0)
    with pytest.raises(InputError, match="must agree"):
        fit_ridge(X, Z[1:], strength=1.0)
    with pytest.raises(InputError, match="two dimensions"):
        fit_ridge(X, Z[:, 0], strength=1.0)


@pytest.mark.filterwarnings("ignore")
def test_overflow_is_said():
    X, Z = problem()
    with pytest.raises(InputError, match="overflowed"):
        fit_ridge(X * 1e10, Z * 1e300, strength=1.0, solver="conjugate_gradient")


class Lazy:
    """Targets that are made block by block."""

    def __init__(self, Z):
        self.Z = Z
        self.shape = Z.shape

    def columns(self, first, last):
        return self.Z[:, first:last]

    def parts(self):
        return {"Z": self.Z}


def test_targets_may_be_made_as_they_are_needed():
    X, Z = problem(n_problems=70)
    lazy = fit_ridge(X, Lazy(Z), strength=1.0)
    assert np.array_equal(lazy.weights, fit_ridge(X, Z, strength=1.0).weights)
    Z[0, 40] = np.nan
    with pytest.raises(InputError, match="targets contain NaN"):
        fit_ridge(X, Lazy(Z), strength=1.0)


@pytest.mark.parametrize("solver", SOLVERS)
def test_goes_on_where_it_stopped(tmp_path, solver):
    X, Z = problem(n_problems=70)

    class StopError(Exception):
        pass

    def stop(what, done, total):
        if done:
            raise StopError

    def fit(progress, strength=1.0):
        run = Run(progress, tmp_path / "c")
        return fit_ridge(X, Z, strength=strength, solver=solver, run=run)

    with pytest.raises(StopError):
        fit(stop)
    seen = []
    resumed = fit(lambda what, done, total: seen.append(done))
    assert seen[0] > 0
    assert seen[-1] == 70
    plain = fit_ridge(X, Z, strength=1.0, solver=solver)
    for name in ("weights", "objective", "gap", "iterations", "converged"):
        assert np.array_equal(getattr(resumed, name), getattr(plain, name))
    with pytest.raises(CheckpointError):
        fit(None, strength=2.0)


def test_values_are_those_of_the_weights():
    X, _ = problem()
    W = np.random.default_rng(1).standard_normal((26, 5))
    wanted = X @ W[:-1] + 0.5 * W[-1]
    assert np.allclose(ridge_values(sp.csr_array(X), W, bias=0.5), wanted)
    frozen = W.astype(np.float32)
    frozen.flags.writeable = False
    assert np.allclose(ridge_values(sp.csr_array(X), frozen, bias=0.5), wanted, atol=1e-4)
