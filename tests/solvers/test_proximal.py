"""Algorithm 1 of the paper and its accelerated form: the optimum, every step, the proven gap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from longtail.errors import ConvergenceWarning
from longtail.runtime.run import Stopped
from longtail.solvers import fit_linear
from longtail.solvers.linear._loss_kernels import point_loss, point_slope
from longtail.solvers.linear._proximal_kernels import total_surplus
from longtail.solvers.linear.proximal import (
    L1Problem,
    accelerated_steps,
    proximal_bytes,
    proximal_steps,
    solve_accelerated,
    solve_proximal,
)
from longtail.solvers.linear.task import LinearTask, make_task

LOSSES = ("squared_hinge", "logistic")
SOLVERS = {"proximal_gradient": solve_proximal, "accelerated": solve_accelerated}


def make(X, T, **changes) -> LinearTask:
    given = {
        "loss": "squared_hinge", "penalty": "l1", "strength": 0.5, "bias": 1.0,
        "sample_weight": None, "penalize_bias": True, "warm_start": None, "tol": 1e-6,
        "max_iter": 10_000, "max_seconds": None,
    }  # fmt: skip
    return make_task(X, T, **{**given, **changes})


class Dense:
    """The objective by its definition, on dense arrays."""

    def __init__(self, task: LinearTask, b: int = 0) -> None:
        X = sp.csr_array((task.data, task.indices, task.indptr), (task.n_points, task.n_features))
        self.A = np.hstack([X.toarray(), np.full((task.n_points, 1), task.bias)])
        self.t = task.targets.toarray()[:, b]
        weights = task.weights(b)
        self.v = np.ones(task.n_points) if weights is None else weights
        self.penalties = np.full(task.n_features + 1, task.strength[0])
        self.penalties[-1] *= task.penalize_bias
        self.logistic = task.loss == "logistic"

    def loss(self, w):
        z = self.A @ w
        if self.logistic:
            cost = np.logaddexp(0, -z), np.logaddexp(0, z)
        else:
            cost = np.maximum(0, 1 - z) ** 2, np.maximum(0, 1 + z) ** 2
        return float(self.v @ (self.t * cost[0] + (1 - self.t) * cost[1]))

    def gradient(self, w):
        z = self.A @ w
        if self.logistic:
            slope = 1 / (1 + np.exp(-z)) - self.t
        else:
            slope = -2 * self.t * np.maximum(0, 1 - z) + 2 * (1 - self.t) * np.maximum(0, 1 + z)
        return self.A.T @ (self.v * slope)

    def objective(self, w):
        return float(self.penalties @ np.abs(w)) + self.loss(w)

    def violation(self, w):
        g = self.gradient(w)
        off = np.maximum(np.abs(g) - self.penalties, 0)
        on = np.abs(g + self.penalties * np.sign(w))
        return np.where(w == 0, off, on).max() / self.penalties.max()

    def optimum(self):
        """Smooth in u, v >= 0 with w = u - v; by quasi-Newton, independent of the engine."""
        d = self.A.shape[1]

        def value(uv):
            return float(self.penalties @ (uv[:d] + uv[d:])) + self.loss(uv[:d] - uv[d:])

        def slope(uv):
            g = self.gradient(uv[:d] - uv[d:])
            return np.concatenate([self.penalties + g, self.penalties - g])

        best = np.inf
        start = np.zeros(2 * d)
        for _ in range(3):
            found = minimize(
                value, start, jac=slope, method="L-BFGS-B", bounds=[(0, None)] * (2 * d),
                options={"maxiter": 50_000, "maxfun": 200_000, "ftol": 1e-16, "gtol": 1e-11},
            )  # fmt: skip
            best, start = min(best, found.fun), found.x
        return best


@st.composite
def tasks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 8))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.3, 0.9])))
    T = (rng.random((n, 1)) < 0.4).astype(float)
    T[0] = 1
    if draw(st.booleans()):
        T *= rng.random((n, 1))
    weights = draw(st.sampled_from([None, "shared", "sparse"]))
    W = None if weights is None else 0.1 + rng.random(n)
    start = sp.csr_array(rng.normal(size=(d + 1, 1))) if draw(st.booleans()) else None
    return make(
        X.astype(draw(st.sampled_from([np.float32, np.float64]))),
        T,
        loss=draw(st.sampled_from(LOSSES)),
        strength=draw(st.sampled_from([0.1, 1.0, 5.0])),
        bias=draw(st.sampled_from([0.0, 1.0, 2.5])),
        penalize_bias=draw(st.booleans()),
        sample_weight=sp.csr_array(W[:, None]) if weights == "sparse" else W,
        warm_start=start,
    )


@settings(max_examples=40, deadline=None)
@given(task=tasks())
def test_accelerated_steps_find_the_optimum_and_prove_it(task):
    dense = Dense(task)
    solution = solve_accelerated(task, np.array([0]))[0]
    w = np.zeros(task.n_features + 1)
    w[solution.features] = solution.values
    best = dense.optimum()
    assert solution.converged
    assert solution.objective == pytest.approx(dense.objective(w), rel=1e-10, abs=1e-12)
    assert solution.violation == pytest.approx(dense.violation(w), abs=1e-9)
    assert solution.violation <= 1e-6
    # a free bias may have its optimum at infinity, where the loss is as large as its slope
    slack = 1e-6 if task.penalize_bias else 1e-6 + 2e-6 * task.strength[0]
    assert solution.objective <= best + 1e-5 * best + slack
    assert best <= solution.objective + 1e-6 * best + 1e-9
    if task.penalize_bias:
        assert solution.objective - best <= solution.gap * solution.objective + 1e-9
    else:
        assert np.isnan(solution.gap)


@settings(max_examples=30, deadline=None)
@given(task=tasks(), stopped_after=st.integers(1, 3))
def test_the_gap_is_a_bound_before_the_end_too(task, stopped_after):
    early = LinearTask(**{**vars(task), "max_iter": stopped_after, "penalize_bias": True})
    best = Dense(early).optimum()
    for solve in SOLVERS.values():
        solution = solve(early, np.array([0]))[0]
        assert solution.objective - best <= solution.gap * solution.objective + 1e-9
        assert solution.iterations <= 10 * stopped_after


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 15), density=0.4, rng=rng, format="csr")
    T = (rng.random((120, 3)) < 0.3).astype(float)
    return X, T


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_both_solvers_agree_with_scipy(small, loss, solver):
    X, T = small
    fit = fit_linear(
        X, T, loss=loss, penalty="l1", solver=solver, tol=1e-5, max_iter=20_000, dtype=np.float64
    )
    assert fit.converged.all()
    W = fit.weights.toarray()
    for b in range(3):
        dense = Dense(make(X, T, loss=loss, strength=1.0), b)
        assert fit.objective[b] == pytest.approx(dense.optimum(), rel=1e-8)
        assert fit.violation[b] == pytest.approx(dense.violation(W[:, b]), abs=1e-9)


def test_both_solvers_agree_with_liblinear(small):
    X, T = small
    peer = LinearSVC(
        penalty="l1", dual=False, C=2.0, tol=1e-10, max_iter=100_000, random_state=0
    ).fit(X, T[:, 0])
    theirs = np.append(peer.coef_, peer.intercept_)
    task = make(X, T)
    for solve in SOLVERS.values():
        solution = solve(task, np.array([0]))[0]
        ours = np.zeros(16)
        ours[solution.features] = solution.values
        assert solution.objective == pytest.approx(Dense(task).objective(theirs), rel=1e-9)
        assert ours == pytest.approx(theirs, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(task=tasks())
def test_every_step_of_algorithm_1_is_the_papers(task):
    """Forward, backward with the right threshold, the step-size condition, and F falls."""
    dense = Dense(task)
    steps = list(itertools.islice(proximal_steps(L1Problem(task, 0)), 40))
    for before, after in itertools.pairwise(steps):
        g, length = dense.gradient(before.w), after.length
        u = before.w - length * g
        shrunk = np.sign(u) * np.maximum(np.abs(u) - dense.penalties * length, 0)
        assert after.w == pytest.approx(shrunk, abs=1e-12 * (1 + length * np.abs(g).max()))
        d = after.w - before.w
        model = dense.loss(before.w) + g @ d + d @ d / (2 * length)
        assert dense.loss(after.w) <= model + 1e-12 * (1 + model)
        assert after.objective <= before.objective * (1 + 1e-14)
        assert after.objective == pytest.approx(dense.objective(after.w), rel=1e-12, abs=1e-12)
        assert after.violation == pytest.approx(dense.violation(after.w), rel=1e-9, abs=1e-9)


def test_the_step_is_the_longest_of_those_tried():
    """Each length is twice the last one, halved while the condition fails at it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    task = make(X, (X[:, :1] + 0.1 * X[:, 1:2] > 0.5).astype(float))
    dense = Dense(task)
    steps = list(itertools.islice(proximal_steps(L1Problem(task, 0)), 15))
    first = 1.0
    for before, after in itertools.pairwise(steps):
        tried = first
        while True:
            g = dense.gradient(before.w)
            u = before.w - tried * g
            d = np.sign(u) * np.maximum(np.abs(u) - 0.5 * tried, 0) - before.w
            surplus = dense.loss(before.w + d) - dense.loss(before.w) - g @ d
            if surplus <= d @ d / (2 * tried) * (1 + 1e-9) + 1e-13:
                break
            tried /= 2
        assert after.length == tried
        first = 2 * tried
    assert len({step.length for step in steps[1:]}) > 1


@pytest.mark.parametrize("penalize_bias", [True, False])
def test_the_backward_step_minimises_what_it_should(penalize_bias):
    task = make(np.eye(2), [[1], [0]], strength=0.7, penalize_bias=penalize_bias)
    u = np.array([1.3, -0.1, 0.9])
    w = L1Problem(task, 0).backward(u, 0.5)
    penalties = np.array([0.7, 0.7, 0.7 if penalize_bias else 0.0])
    grid = np.linspace(-2, 2, 40_001)
    for j in range(3):
        cost = 0.5 * penalties[j] * np.abs(grid) + 0.5 * (grid - u[j]) ** 2
        assert w[j] == pytest.approx(grid[cost.argmin()], abs=1e-4)


def test_the_thresholds_that_the_paper_prints_solve_other_problems():
    """λγ/2 (line 4) is λγ for half the strength; λ (equation 6) is λγ for λ/γ."""
    rng = np.random.default_rng(4)
    X, T = rng.normal(size=(50, 4)), (rng.random((50, 1)) < 0.5).astype(float)
    strength = 3.0
    dense = Dense(make(X, T, strength=strength))
    length = 1 / (2 * np.linalg.norm(dense.A, 2) ** 2)

    def iterate(threshold):
        w = np.zeros(5)
        for _ in range(20_000):
            u = w - length * dense.gradient(w)
            w = np.sign(u) * np.maximum(np.abs(u) - threshold, 0)
        return w

    for threshold, solved in (
        (strength * length, strength),
        (strength * length / 2, strength / 2),
        (0.05 * strength, 0.05 * strength / length),
    ):
        w = iterate(threshold)
        assert Dense(make(X, T, strength=solved)).violation(w) < 1e-9
        assert (dense.violation(w) < 1e-9) == (solved == strength)


@settings(max_examples=20, deadline=None)
@given(task=tasks())
def test_accelerated_objectives_never_rise(task):
    steps = list(itertools.islice(accelerated_steps(L1Problem(task, 0)), 200))
    dense = Dense(task)
    for before, after in itertools.pairwise(steps):
        assert after.objective <= before.objective * (1 + 1e-13)
    assert steps[-1].objective == pytest.approx(dense.objective(steps[-1].w), rel=1e-10, abs=1e-12)


def test_acceleration_saves_steps():
    rng = np.random.default_rng(5)
    X = sp.random_array((400, 60), density=0.2, rng=rng, format="csr")
    task = make(X, (rng.random((400, 1)) < 0.1).astype(float), tol=1e-4)
    slow, fast = (solve(task, np.array([0]))[0] for solve in SOLVERS.values())
    assert slow.converged
    assert fast.converged
    assert slow.objective == pytest.approx(fast.objective, rel=1e-7)
    assert fast.iterations < 0.5 * slow.iterations


finite = st.floats(-30, 30)


@settings(max_examples=300, deadline=None)
@given(loss=st.sampled_from([0, 1]), t=st.floats(0, 1), z=finite, change=st.floats(-40, 40))
def test_surplus_is_the_loss_less_its_tangent(loss, t, z, change):
    there = z + change
    direct = point_loss(loss, t, there) - point_loss(loss, t, z) - point_slope(loss, t, z) * change
    one = np.ones(1)
    found = total_surplus(loss, t * one, one, z * one, there * one)
    assert found == pytest.approx(direct, abs=1e-9 * (1 + change * change))
    assert found >= 0


@pytest.mark.parametrize("loss", [0, 1])
def test_surplus_of_a_tiny_step_is_not_all_rounding(loss):
    """Near the optimum H(w') - H(w) - ⟨∇H, w' - w⟩ would be lost in the digits of H."""
    z, one = np.array([0.3]), np.ones(1)
    change = 1e-9
    p = 1 / (1 + np.exp(-0.3))
    curvature = 2.0 if loss == 0 else p * (1 - p)
    found = total_surplus(loss, one, one, z, z + change)
    assert found == pytest.approx(curvature * change**2 / 2, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limit_is_on_steps_and_is_said(small, solver):
    X, T = small
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems"):
        fit = fit_linear(X, T, penalty="l1", solver=solver, tol=1e-12, max_iter=2)
    assert not fit.converged.any()
    assert (fit.iterations == 20).all()
    assert (fit.violation > 1e-12).all()
    assert (fit.gap > 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limit_on_time_is_heard(small, solver):
    X, T = small
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems"):
        fit = fit_linear(X, T, penalty="l1", solver=solver, tol=1e-12, max_seconds=1e-9)
    assert (fit.iterations < 5).all()


@pytest.mark.parametrize("solve", SOLVERS.values())
def test_told_to_stop(small, solve, monkeypatch):
    monkeypatch.setattr("longtail.runtime.workers._NEVER", np.ones(1, dtype=np.int8))
    with pytest.raises(Stopped):
        solve(make(*small), np.array([0]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_result_does_not_depend_on_threads_blocks_or_neighbours(small, loss, solver):
    X, T = small
    common = {"loss": loss, "penalty": "l1", "solver": solver, "max_iter": 2000}
    one = fit_linear(X, T, n_jobs=1, **common)
    two = fit_linear(X, T, n_jobs=2, block_size=1, **common)
    alone = fit_linear(X, T[:, [1]], **common)
    assert np.array_equal(one.weights.toarray(), two.weights.toarray())
    assert np.array_equal(one.objective, two.objective)
    assert np.array_equal(one.weights[:, [1]].toarray(), alone.weights.toarray())


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_warm_start_keeps_the_optimum_and_saves_steps(small, solver):
    X, T = small
    common = {"penalty": "l1", "solver": solver, "tol": 1e-4, "max_iter": 5000}
    cold = fit_linear(X, T, dtype=np.float64, **common)
    warm = fit_linear(X, T, dtype=np.float64, warm_start=cold.weights, **common)
    assert (warm.iterations == 0).all()
    assert np.array_equal(warm.objective, cold.objective)
    other = fit_linear(X, T, warm_start=fit_linear(X, T).weights, **common)
    assert other.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalize_bias", [True, False])
def test_odd_but_legal_input(loss, penalize_bias):
    """All positive, none positive, empty rows and columns, duplicated rows of opposite labels."""
    X = sp.csr_array(np.array([[0, 0, 0], [1, 0, 2], [1, 0, 2], [0, 0, 0]], dtype=np.float32))
    T = np.array([[1, 0, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0]])
    fit = fit_linear(
        X, T, loss=loss, penalty="l1", strength=0.1, solver="accelerated", max_iter=1000,
        penalize_bias=penalize_bias,
    )  # fmt: skip
    W = fit.weights.toarray()
    assert fit.converged.all()
    assert not W[1].any()
    assert W[-1, 0] > 0
    assert W[-1, 1] < 0


def test_points_without_weight_and_constant_features(small):
    X, T = small
    nothing = fit_linear(
        X, T, penalty="l1", solver="accelerated", sample_weight=np.zeros(120),
        warm_start=np.ones((16, 3)),
    )  # fmt: skip
    assert not nothing.weights.toarray().any()
    constant = np.hstack([X.toarray(), np.full((120, 1), 3.0)])
    fit = fit_linear(constant, T, penalty="l1", solver="accelerated", tol=1e-5, max_iter=5000)
    assert fit.converged.all()
    assert not fit.weights.toarray()[-1].any()  # three times cheaper than the bias


def test_values_beyond_reason_end():
    X = np.array([[1e15, 1.0], [1.0, 1e-200], [-1e15, 3.0]])
    with pytest.warns(ConvergenceWarning):
        fit = fit_linear(
            X, [[1], [0], [1]], penalty="l1", solver="accelerated", max_iter=5, max_seconds=10
        )
    assert not fit.converged[0]


def test_working_memory_is_stated(small):
    task = make(*small)
    assert proximal_bytes(task.n_points, task.n_features) >= 8 * (task.n_points + task.n_features)
