"""The solvers against independent ones: the optimum itself, the proven gap, every kind of input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from longtail.errors import ConvergenceWarning, InputError, ParameterError
from longtail.solvers import fit_linear
from longtail.solvers.linear import dual
from longtail.solvers.linear import fit as train

LOSSES = ("squared_hinge", "logistic")


def objective(loss, X, t, weights, strength, bias, w):
    z = X @ w[:-1] + bias * w[-1]

    def cost(margin):
        if loss == "logistic":
            return np.logaddexp(0.0, -margin)
        return np.maximum(0.0, 1.0 - margin) ** 2

    return 0.5 * strength * (w @ w) + np.sum(weights * (t * cost(z) + (1 - t) * cost(-z)))


def optimum(loss, X, t, weights, strength, bias):
    """By quasi-Newton with numerical care and many iterations: slow, independent of the engine."""

    def slope(loss, z):
        if loss == "logistic":
            return -1.0 / (1.0 + np.exp(z))
        return -2.0 * np.maximum(0.0, 1.0 - z)

    A = np.hstack([X, np.full((len(X), 1), bias)])

    def gradient(w):
        z = A @ w
        return strength * w + A.T @ (weights * (t * slope(loss, z) - (1 - t) * slope(loss, -z)))

    found = minimize(
        lambda w: objective(loss, X, t, weights, strength, bias, w),
        np.zeros(A.shape[1]),
        jac=gradient,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.fun


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, d, b = draw(st.integers(1, 40)), draw(st.integers(1, 12)), draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.2, 0.9])))
    T = (rng.random((n, b)) < 0.4).astype(float)
    if draw(st.booleans()):
        T *= rng.random((n, b))
    weights = draw(st.sampled_from(["none", "shared", "own", "sparse"]))
    W = None
    if weights == "shared":
        W = rng.random(n) * (rng.random(n) < 0.8)
    elif weights != "none":
        W = rng.random((n, b)) * (rng.random((n, b)) < 0.8)
    strength = draw(st.sampled_from([0.1, 1.0, 30.0]))
    bias = draw(st.sampled_from([0.0, 1.0, 2.5]))
    return X, T, (sp.csr_array(W) if weights == "sparse" else W), strength, bias


@settings(max_examples=60, deadline=None)
@given(problem=problems(), loss=st.sampled_from(LOSSES))
def test_objective_is_optimal_and_the_gap_is_proven(problem, loss):
    X, T, weights, strength, bias = problem
    fit = fit_linear(
        X, T, loss=loss, strength=strength, bias=bias, sample_weight=weights, tol=1e-6,
        dtype=np.float64,
    )  # fmt: skip
    dense = None if weights is None else (weights.toarray() if sp.issparse(weights) else weights)
    W = fit.weights.toarray()
    for b in range(T.shape[1]):
        if not T[:, b].any():
            assert fit.iterations[b] == 0
            assert not W[:-1, b].any()
            continue
        v = np.ones(len(X)) if dense is None else (dense if dense.ndim == 1 else dense[:, b])
        ours = objective(loss, X, T[:, b], v, strength, bias, W[:, b])
        best = optimum(loss, X, T[:, b], v, strength, bias)
        assert fit.objective[b] == pytest.approx(ours, rel=1e-9, abs=1e-12)
        assert fit.converged[b]
        assert fit.gap[b] <= 1e-6
        assert ours - best <= 1e-6 * ours + 1e-9
        assert ours >= best - 1e-6 * best - 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_result_does_not_depend_on_threads_blocks_or_neighbours(loss):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 80), density=0.1, rng=rng, format="csr")
    T = sp.csr_array((rng.random((300, 50)) < 0.05).astype(float))
    reference = fit_linear(X, T, loss=loss, n_jobs=1)
    for settings_ in ({"n_jobs": 2}, {"n_jobs": 3, "block_size": 7}, {"block_size": 1}):
        other = fit_linear(X, T, loss=loss, **settings_)
        assert np.array_equal(other.weights.indptr, reference.weights.indptr)
        assert np.array_equal(other.weights.indices, reference.weights.indices)
        assert np.array_equal(other.weights.data, reference.weights.data)
        assert np.array_equal(other.objective, reference.objective, equal_nan=True)
    alone = fit_linear(X, T[:, [17]], loss=loss)
    assert np.array_equal(
        alone.weights.toarray().ravel(), reference.weights[:, [17]].toarray().ravel()
    )


@pytest.mark.parametrize(
    ("penalty", "loss", "solver"),
    [
        (penalty, loss, solver)
        for (penalty, loss), known in train.SOLVERS.items()
        for solver in known
    ],
)
def test_every_problem_has_its_own_strength(penalty, loss, solver):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 6)).astype(np.float32)
    T = (X[:, :3] + rng.normal(size=(40, 3)) > 0).astype(float)
    strengths = [0.1, 1.0, 7.0]
    settings = {"penalty": penalty, "loss": loss, "solver": solver}
    found = fit_linear(X, T, strength=strengths, **settings)
    groups = [([*range(30)], [2, 0]), ([*range(40)], [1])]
    some = fit_linear(X, T, strength=strengths, groups=groups, **settings)
    for number, strength in enumerate(strengths):
        one = fit_linear(X, T[:, [number]], strength=strength, **settings)
        assert (found.weights[:, [number]] != one.weights).nnz == 0
        assert found.objective[number] == one.objective[0]
    for rows, problems in groups:
        for number in problems:
            one = fit_linear(X[rows], T[rows][:, [number]], strength=strengths[number], **settings)
            assert (some.weights[:, [number]] != one.weights).nnz == 0


@pytest.mark.parametrize("strength", [[1.0], [1.0, 0.0], [1.0, np.inf], [[1.0, 2.0]]])
def test_strengths_that_are_not_one_per_problem_are_refused(strength):
    with pytest.raises(ParameterError, match="2 of them: one per problem"):
        fit_linear(np.eye(3), np.eye(3)[:, :2], strength=strength)


def test_many_features_are_renumbered_without_changing_anything(monkeypatch):
    rng = np.random.default_rng(1)
    X = sp.random_array((400, 60), density=0.1, rng=rng, format="csr")
    T = (rng.random((400, 3)) < 0.1).astype(float)
    reference = fit_linear(X, T, dtype=np.float64)
    monkeypatch.setattr("longtail.solvers.linear.dual.FEW_FEATURES", 0)
    other = fit_linear(X, T, dtype=np.float64)
    assert np.allclose(other.objective, reference.objective, rtol=2e-4)
    assert np.allclose(other.weights.toarray(), reference.weights.toarray(), atol=0.02)


def test_working_set_grows_until_all_points_are_satisfied():
    """More violators than the first working set holds: the gap must still be over all points."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 5))
    t = ((X @ rng.normal(size=5) + rng.normal(size=3000)) > 0).astype(float)[:, None]
    fit = fit_linear(X, t, tol=1e-7, dtype=np.float64)
    best = optimum("squared_hinge", X, t[:, 0], np.ones(3000), 1.0, 1.0)
    assert fit.objective[0] == pytest.approx(best, rel=1e-6)


def test_what_the_dual_leaves_is_finished_by_newton_steps(monkeypatch):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(900, 8))
    t = (rng.random((900, 2)) < 0.5).astype(float)
    handed_over = []

    def newton(task, problems, start, lower):
        handed_over.append((start, lower))
        return dual.solve_newton.__wrapped__(task, problems, start, lower)

    newton.__wrapped__ = dual.solve_newton
    monkeypatch.setattr(dual, "MAX_ROUNDS", 1)
    monkeypatch.setattr(dual, "solve_newton", newton)
    fit = fit_linear(X, t, tol=1e-7, dtype=np.float64)
    assert len(handed_over) == 2
    for column, (start, lower) in enumerate(handed_over):
        best = optimum("squared_hinge", X, t[:, column], np.ones(900), 1.0, 1.0)
        assert start.any()
        assert lower[0] <= best * (1 + 1e-9)
        assert fit.objective[column] == pytest.approx(best, rel=1e-6)


def test_badly_scaled_data_is_still_solved():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 8)) * np.logspace(-3, 3, 8)
    t = (rng.random((500, 1)) < 0.5).astype(float)
    fit = fit_linear(X, t, strength=1e-3, tol=1e-5, dtype=np.float64)
    best = optimum("squared_hinge", X, t[:, 0], np.ones(500), 1e-3, 1.0)
    assert fit.objective[0] <= best * (1 + 2e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_keeps_the_optimum_and_saves_work(loss):
    rng = np.random.default_rng(4)
    X = sp.random_array((500, 100), density=0.1, rng=rng, format="csr")
    T = (rng.random((500, 8)) < 0.1).astype(float)
    cold = fit_linear(X, T, loss=loss, tol=1e-6, dtype=np.float64)
    warm = fit_linear(X, T, loss=loss, tol=1e-6, dtype=np.float64, warm_start=cold.weights)
    assert np.allclose(warm.objective, cold.objective, rtol=3e-6)
    assert warm.iterations.sum() < 0.5 * cold.iterations.sum()


def test_prune_drops_small_weights_but_never_the_bias():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 10))
    t = (rng.random((50, 2)) < 0.5).astype(float)
    full = fit_linear(X, t).weights.toarray()
    cut = fit_linear(X, t, prune=0.1).weights.toarray()
    assert np.array_equal(cut[:-1], np.where(np.abs(full[:-1]) >= 0.1, full[:-1], 0.0))
    assert np.array_equal(cut[-1], full[-1])


def test_iteration_limit_is_said_once():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 20))
    t = (rng.random((200, 3)) < 0.5).astype(float)
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems ended, after 1 iterations"):
        fit = fit_linear(X, t, loss="logistic", strength=1e-6, max_iter=1, tol=1e-12)
    assert not fit.converged.any()
    assert fit.table().height == 3


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"strength": 0.0}, ParameterError),
        ({"strength": -1.0}, ParameterError),
        ({"strength": np.inf}, ParameterError),
        ({"strength": np.nan}, ParameterError),
        ({"tol": 0.0}, ParameterError),
        ({"loss": "hinge"}, ParameterError),
        ({"penalty": "l7"}, ParameterError),
        ({"bias": -1.0}, ParameterError),
        ({"prune": -0.1}, ParameterError),
        ({"block_size": 0}, ParameterError),
        ({"n_jobs": 0}, ParameterError),
        ({"max_iter": 0}, ParameterError),
        ({"sample_weight": np.array([1.0, -1.0])}, InputError),
        ({"sample_weight": np.array([1.0, np.nan])}, InputError),
        ({"sample_weight": np.ones(3)}, InputError),
        ({"warm_start": sp.csr_array((2, 1))}, InputError),
    ],
)
def test_bad_parameters_are_refused(change, error):
    with pytest.raises(error):
        fit_linear(np.eye(2), [[1], [0]], **change)


@pytest.mark.parametrize(
    ("X", "targets"),
    [
        (np.array([[np.nan], [1.0]]), [[1], [0]]),
        (np.array([[np.inf], [1.0]]), [[1], [0]]),
        (np.eye(2), [[2], [0]]),
        (np.eye(2), [[-1], [0]]),
        (np.eye(2), [[1], [0], [1]]),
    ],
)
def test_bad_input_is_refused(X, targets):
    with pytest.raises(InputError):
        fit_linear(X, targets)


@pytest.mark.parametrize("loss", LOSSES)
def test_odd_but_legal_input(loss):
    """All positive, none positive, empty rows and columns, duplicated rows with opposite labels."""
    X = sp.csr_array(np.array([[0, 0, 0], [1, 0, 2], [1, 0, 2], [0, 0, 0]], dtype=np.float32))
    T = np.array([[1, 0, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0]])
    fit = fit_linear(X, T, loss=loss)
    assert fit.converged.all()
    assert not fit.weights.toarray()[1].any()
    assert fit.weights.toarray()[-1, 1] < 0
    nothing = fit_linear(X, np.zeros((4, 0)), loss=loss)
    assert nothing.weights.shape == (4, 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [1.0, 3.0])
def test_without_positives_the_bias_is_the_best_one_alone(loss, bias):
    X = np.ones((40, 2))
    fit = fit_linear(X, np.zeros((40, 1)), loss=loss, strength=2.0, bias=bias, dtype=np.float64)

    def alone(weight):
        w = np.array([0.0, 0.0, weight])
        return objective(loss, X, np.zeros(40), np.ones(40), 2.0, bias, w)

    found = minimize_scalar(alone, options={"xtol": 1e-12})
    assert fit.weights.toarray().ravel() == pytest.approx([0.0, 0.0, found.x], abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_stay_within_their_memory(loss, monkeypatch):
    sizes = []
    name, (solver, bytes_a_problem) = next(iter(train.SOLVERS["l2", loss].items()))

    def counting(task, problems):
        sizes.append(len(problems))
        return solver(task, problems)

    monkeypatch.setitem(train.SOLVERS, ("l2", loss), {name: (counting, bytes_a_problem)})
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(50, 4)), (rng.random((50, 40)) < 0.5).astype(float)
    fit = fit_linear(X, T, loss=loss)
    assert max(sizes) == train.BLOCK
    assert (fit.seconds > 0).all()
    sizes.clear()
    monkeypatch.setattr(train, "BLOCK_BYTES", 3 * 8 * 8 * (50 + 5))
    fit_linear(X, T, loss=loss)
    assert max(sizes) <= 3 * 8
    assert sum(sizes) == 40
