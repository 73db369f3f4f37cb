"""Multinomial regression against formulas, scikit-learn, finite differences and itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression

from longtail.errors import ConvergenceWarning, InputError, ParameterError
from longtail.runtime.run import Run
from longtail.solvers import fit_linear
from longtail.solvers.softmax import fit as module
from longtail.solvers.softmax import loss as softmax_loss
from longtail.solvers.softmax.fit import fit_softmax, softmax_logs
from longtail.solvers.softmax.loss import SoftmaxLoss, working_type
from longtail.solvers.softmax.minimise import minimise
from longtail.solvers.softmax.score_maps import DenseRows, SparseRows, preconditioner, score_map


def problem(n=200, d=15, k=4, density=1.0, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    scores = spread * X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))
    return sp.csr_array(X), np.eye(k)[scores.argmax(axis=1)]


def with_bias(X, bias=1.0):
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    return np.hstack([dense, np.full((len(dense), 1), bias)])


def objective(W, X, T, strength, weights=None, bias=1.0):
    """The formula, word by word."""
    weights = np.ones(len(T)) if weights is None else weights
    logs = log_softmax(with_bias(X, bias) @ W, axis=1)
    return strength / 2 * (W**2).sum() - (weights * (T * logs).sum(axis=1)).sum()


def loss_of(X, T, kind=np.float64, weights=None, strength=0.3, bias=0.7):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return SoftmaxLoss(
        score_map(X, bias, T.shape[1], kind), sp.csr_array(T), weights, strength=strength,
        dtype=kind, n_parameters=(X.shape[1] + 1) * T.shape[1],
        precondition=preconditioner(X, weights, bias, strength),
    )  # fmt: skip


class TestObjective:
    @pytest.mark.parametrize("density", [1.0, 0.1])
    @pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
    def test_not_above_scikit_learn(self, density, C):
        X, T = problem(density=density)
        fit = fit_softmax(X, T, strength=1 / C, tol=1e-6, dtype=np.float64)
        reference = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000)
        reference.fit(with_bias(X), T.argmax(axis=1))
        theirs = objective(reference.coef_.T, X, T, 1 / C)
        assert fit.converged
        assert fit.objective <= theirs * (1 + 1e-5)
        assert fit.objective == pytest.approx(objective(fit.weights, X, T, 1 / C), rel=1e-10)

    @pytest.mark.parametrize("density", [1.0, 0.1])
    def test_default_tolerance_is_near_the_optimum(self, density):
        X, T = problem(density=density)
        best = fit_softmax(X, T, tol=1e-9, dtype=np.float64).objective
        assert fit_softmax(X, T).objective <= best * (1 + 1e-6)

    @pytest.mark.parametrize("density", [1.0, 0.1])
    def test_the_gradient_vanishes(self, density):
        X, T = problem(density=density)
        rng = np.random.default_rng(1)
        T = rng.dirichlet(np.ones(4), size=200)
        weights = rng.random(200)
        fit = fit_softmax(X, T, sample_weight=weights, tol=1e-8, bias=0.5, dtype=np.float64)
        rows = with_bias(X, 0.5)
        off = weights[:, None] * (np.exp(log_softmax(rows @ fit.weights, axis=1)) - T)
        gradient = fit.weights + rows.T @ off
        at_zero = rows.T @ (weights[:, None] * (0.25 - T))
        assert np.linalg.norm(gradient) <= 2e-8 * np.linalg.norm(at_zero)
        assert fit.violation <= 1e-8

    def test_many_classes_few_points(self):
        X, _ = problem(n=50, d=200, density=0.1)
        T = np.eye(40)[np.random.default_rng(0).integers(40, size=50)]
        for strength in (1.0, 1e-6):
            fit = fit_softmax(X, T, strength=strength)
            assert fit.converged
        right = softmax_logs(X, fit.weights).argmax(axis=1) == T.argmax(axis=1)
        filled = np.diff(X.indptr) > 0
        assert right[filled].all()

    def test_two_classes_are_a_logistic_regression(self):
        """w₁ = -w₀ at the optimum, so half the strength on their difference."""
        X, T = problem(k=2)
        fit = fit_softmax(X, T, strength=1.0, tol=1e-8, dtype=np.float64)
        binary = fit_linear(X, T[:, [1]], loss="logistic", strength=0.5, tol=1e-12)
        difference = fit.weights[:, 1] - fit.weights[:, 0]
        assert np.allclose(difference, binary.weights.toarray().ravel(), atol=1e-4)
        assert np.allclose(fit.weights.sum(axis=1), 0, atol=1e-7)
        p = np.exp(softmax_logs(X, fit.weights))[:, 1]
        assert np.allclose(p, expit(with_bias(X) @ difference))

    def test_one_class_needs_no_weights(self):
        X, _ = problem()
        fit = fit_softmax(X, np.ones((200, 1)), warm_start=np.ones((16, 1)))
        assert fit.converged
        assert fit.objective == 0
        assert not fit.weights.any()
        assert not softmax_logs(X, fit.weights).any()

    def test_a_bias_alone_has_the_shares(self):
        T = np.eye(3)[np.repeat([0, 1, 2], [10, 30, 60])]
        fit = fit_softmax(sp.csr_array((100, 4)), T, strength=1e-9, tol=1e-9)
        assert np.allclose(np.exp(softmax_logs(np.zeros((1, 4)), fit.weights)), [[0.1, 0.3, 0.6]])
        none = fit_softmax(sp.csr_array((100, 4)), T, bias=0)
        assert not none.weights.any()

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10**6), st.floats(0.05, 1.0), st.integers(1, 6))
    def test_no_small_move_lowers_it(self, seed, density, k):
        X, _ = problem(n=30, d=5, density=density, seed=seed)
        rng = np.random.default_rng(seed)
        T, weights = rng.dirichlet(np.full(k, 0.3), size=30), rng.random(30)
        fit = fit_softmax(X, T, sample_weight=weights, tol=1e-7, dtype=np.float64)
        for _ in range(5):
            moved = fit.weights + 1e-2 * rng.normal(size=fit.weights.shape)
            assert objective(moved, X, T, 1.0, weights) >= fit.objective


class TestDerivatives:
    @pytest.mark.parametrize("density", [1.0, 0.1])
    @pytest.mark.parametrize("keep", [True, False])
    def test_finite_differences(self, density, keep, monkeypatch):
        if not keep:
            monkeypatch.setattr(softmax_loss, "KEPT_BYTES", 0)
        monkeypatch.setattr(softmax_loss, "BLOCK_BYTES", 400)
        rng = np.random.default_rng(0)
        X, T = problem(n=40, d=6, k=3, density=density)
        T = rng.dirichlet(np.ones(3), size=40)
        loss = loss_of(X, T, weights=rng.random(40))
        point, direction = rng.normal(size=(2, 7, 3))
        step = 1e-5
        ahead, g_ahead = loss.evaluate(point + step * direction)
        behind, g_behind = loss.evaluate(point - step * direction)
        _, gradient = loss.evaluate(point)
        assert np.vdot(gradient, direction) == pytest.approx((ahead - behind) / (2 * step))
        curved = loss.curved(direction)
        assert np.allclose(curved, (g_ahead - g_behind) / (2 * step), atol=1e-6)

    def test_the_spread_is_that_of_the_probabilities(self):
        X, T = problem(n=40, d=6, k=3)
        weights = np.random.default_rng(0).random(40)
        loss = loss_of(X, T, weights=weights)
        point = np.random.default_rng(1).normal(size=(7, 3))
        loss.evaluate(point)
        p = np.exp(log_softmax(with_bias(X, 0.7) @ point, axis=1))
        assert np.allclose(loss.spread, (weights[:, None] * p * (1 - p)).sum(axis=0))

    def test_dense_and_sparse_maps_agree(self):
        X, _ = problem(n=40, d=6, density=0.5)
        W, R = np.random.default_rng(0).normal(size=(7, 3)), np.ones((40, 3))
        maps = [kind(X, 0.7, 3, np.float64) for kind in (DenseRows, SparseRows)]
        rows = slice(5, 30)
        first, second = (m.scores(m.prepared(W), rows) for m in maps)
        assert np.allclose(first, second)
        assert np.allclose(first, with_bias(X, 0.7)[rows] @ W)
        sums = [np.ones((7, 3)), np.ones((7, 3))]
        for m, out in zip(maps, sums, strict=True):
            m.add_back(R[rows], rows, out)
        assert np.allclose(*sums)
        assert np.allclose(sums[0], 1 + with_bias(X, 0.7)[rows].T @ R[rows])

    def test_single_precision_for_very_many_scores_only(self, monkeypatch):
        assert working_type(10**8, 1e-6, 1.0) is np.float64
        assert working_type(10**8, 1e-4, 1e9) is np.float64
        X, T = problem(n=300, k=5)
        exact = fit_softmax(X, T, tol=1e-8, dtype=np.float64)
        monkeypatch.setattr(softmax_loss, "SINGLE", 0)
        single = fit_softmax(X, T, tol=2e-5, dtype=np.float64)
        assert single.converged
        assert single.objective == pytest.approx(exact.objective, rel=1e-6)
        assert not np.array_equal(single.weights, exact.weights)

    def test_the_preconditioners_are_positive(self):
        for d, density in ((6, 1.0), (300, 0.05)):
            X, _ = problem(n=40, d=d, density=density)
            turn = preconditioner(X, np.ones(40), 1.0, 0.1)
            r = np.random.default_rng(0).normal(size=(2, d + 1, 3))
            spread = np.array([1.0, 5.0, 0.0])
            assert np.vdot(r[0], turn(r[0], spread)) > 0
            assert np.vdot(r[0], turn(r[1], spread)) == pytest.approx(
                np.vdot(r[1], turn(r[0], spread))
            )


class TestTargetsAndWeights:
    @pytest.mark.parametrize("density", [1.0, 0.1])
    def test_soft_targets_are_weighted_duplicates(self, density):
        X, _ = problem(n=60, d=8, density=density)
        T = np.random.default_rng(2).dirichlet(np.ones(3), size=60)
        soft = fit_softmax(X, T, tol=1e-9, dtype=np.float64)
        hard = fit_softmax(
            sp.vstack([X] * 3), np.repeat(np.eye(3), 60, axis=0), sample_weight=T.T.ravel(),
            tol=1e-9, dtype=np.float64,
        )  # fmt: skip
        assert np.allclose(soft.weights, hard.weights, atol=1e-6)
        assert soft.objective == pytest.approx(hard.objective)

    def test_whole_weights_are_repetitions(self):
        X, T = problem(n=40, d=5)
        weights = np.random.default_rng(0).integers(0, 4, size=40)
        weighed = fit_softmax(X, T, sample_weight=weights, tol=1e-9, dtype=np.float64)
        rows = np.repeat(np.arange(40), weights)
        repeated = fit_softmax(X[rows], T[rows], tol=1e-9, dtype=np.float64)
        assert np.allclose(weighed.weights, repeated.weights, atol=1e-6)

    def test_points_of_weight_zero_do_not_matter(self):
        X, T = problem(n=60)
        weights = (np.arange(60) % 3 > 0).astype(float)
        other, targets = X.copy(), T.copy()
        other.data[np.repeat(weights == 0, np.diff(X.indptr))] = 1e9
        targets[weights == 0] = 0
        one = fit_softmax(X, T, sample_weight=weights)
        two = fit_softmax(other, targets, sample_weight=weights)
        assert np.array_equal(one.weights, two.weights)

    def test_sparse_and_dense_input_agree(self):
        X, T = problem()
        one = fit_softmax(X, T)
        two = fit_softmax(X.toarray(), sp.csc_matrix(T))
        assert np.array_equal(one.weights, two.weights)

    def test_features_that_no_point_has_get_no_weight(self):
        X, T = problem(d=5)
        wide = sp.csr_array(sp.hstack([sp.csr_array((200, 3)), X, sp.csr_array((200, 2))]))
        start = np.ones((11, 4))
        fit = fit_softmax(wide, T, warm_start=start, tol=1e-8, dtype=np.float64)
        assert not fit.weights[[0, 1, 2, 8, 9]].any()
        narrow = fit_softmax(X, T, tol=1e-8, dtype=np.float64)
        assert np.allclose(fit.weights[[3, 4, 5, 6, 7, 10]], narrow.weights, atol=1e-6)


class TestRuns:
    def test_a_warm_start_saves_steps(self):
        X, T = problem(n=500, d=20, spread=0.5)
        cold = fit_softmax(X, T, strength=0.01, dtype=np.float64)
        again = fit_softmax(X, T, strength=0.01, warm_start=cold.weights)
        assert again.iterations == 0
        T2 = 0.95 * T + 0.05 / 4
        warm = fit_softmax(X, T2, strength=0.01, warm_start=cold.weights, dtype=np.float64)
        anew = fit_softmax(X, T2, strength=0.01, dtype=np.float64)
        assert 0 < warm.iterations < anew.iterations
        assert warm.objective == pytest.approx(anew.objective, rel=1e-5)

    @pytest.mark.parametrize("density", [1.0, 0.1])
    def test_threads_do_not_change_the_result(self, density, monkeypatch):
        monkeypatch.setattr(softmax_loss, "BLOCK_BYTES", 2000)
        X, T = problem(density=density)
        one, three = (fit_softmax(X, T, n_jobs=jobs, dtype=np.float64) for jobs in (1, 3))
        assert np.array_equal(one.weights, three.weights)
        assert one.objective == three.objective

    def test_a_stopped_run_goes_on_to_the_same_weights(self, tmp_path):
        X, T = problem()

        def stop(what, done, total):
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit_softmax(X, T, run=Run(stop, tmp_path / "c"))
        seen = []
        resumed = fit_softmax(X, T, run=Run(lambda w, d, t: seen.append(d), tmp_path / "c"))
        assert seen[0] == 2
        plain = fit_softmax(X, T)
        assert np.array_equal(resumed.weights, plain.weights)
        assert resumed.iterations == plain.iterations

    def test_a_limit_that_is_hit_is_said_in_one_sentence(self):
        X, T = problem(spread=20.0)
        with pytest.warns(ConvergenceWarning, match="after 1 iterations") as caught:
            fit = fit_softmax(X, T, strength=1e-6, max_iter=1)
        assert not fit.converged
        assert fit.iterations == 1
        assert "\n" not in str(caught[0].message)

    def test_precision_that_runs_out_ends_the_search(self):
        X, T = problem()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = fit_softmax(X, T, tol=1e-300, max_iter=200)
        assert fit.violation < 1e-9
        assert fit.iterations < 200

    def test_the_type_of_the_weights(self):
        X, T = problem()
        assert fit_softmax(X, T).weights.dtype == np.float32
        assert fit_softmax(X, T, dtype=np.float64).weights.dtype == np.float64


class TestMinimise:
    def test_a_bent_valley(self):
        """Convex, but far from quadratic: the radius has to shrink and grow."""

        class Steep:
            def evaluate(self, w):
                self.w = w
                return float(np.exp(w).sum() - 3 * w.sum() + (w**4).sum()), (
                    np.exp(w) - 3 + 4 * w**3
                )

            def curved(self, d):
                return (np.exp(self.w) + 12 * self.w**2) * d

            def preconditioned(self, r):
                return r.copy()

        found = minimise(Steep(), np.array([30.0, -40.0]), enough=1e-8, scale=1e5, max_iter=500)
        assert found.converged
        assert np.allclose(np.exp(found.point) + 4 * found.point**3, 3)

    def test_bounds_that_make_no_sense(self):
        with pytest.raises(ParameterError):
            minimise(None, np.zeros(1), enough=-1.0, scale=1.0)


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "cause"),
        [
            ({"X": np.array([[np.nan, 1.0]] * 3)}, "NaN"),
            ({"targets": np.eye(2)}, "they must agree"),
            ({"targets": np.zeros((3, 0))}, "at least one class"),
            ({"targets": [[0.5, 0.4], [1, 0], [0, 1]]}, "row 0 adds up to 0.9"),
            ({"targets": [[1.5, -0.5], [1, 0], [0, 1]]}, "not negative"),
            ({"targets": [[np.nan, 1], [1, 0], [0, 1]]}, "finite"),
            ({"sample_weight": [1, 2]}, "shape"),
            ({"sample_weight": [1, 2, -1]}, "not negative"),
            ({"sample_weight": [1, 2, np.inf]}, "finite"),
            ({"warm_start": np.zeros((2, 2))}, r"must be \(3, 2\)"),
            ({"warm_start": np.full((3, 2), np.nan)}, "start without it"),
            ({"strength": 0}, "strength"),
            ({"strength": np.nan}, "strength"),
            ({"tol": -1}, "tol"),
            ({"bias": -1}, "bias"),
            ({"max_iter": 0}, "max_iter"),
            ({"n_jobs": 0}, "n_jobs"),
        ],
    )
    def test_gets_one_sentence(self, change, cause):
        given = {"X": np.ones((3, 2)), "targets": [[1, 0], [1, 0], [0, 1]], **change}
        X, targets = given.pop("X"), given.pop("targets")
        with pytest.raises((InputError, ParameterError), match=cause) as caught:
            fit_softmax(X, targets, **given)
        assert "\n" not in str(caught.value)

    def test_weights_for_other_features(self):
        with pytest.raises(InputError, match="1 features, X has 3"):
            softmax_logs(np.ones((1, 3)), np.ones((2, 2)))

    def test_logs_of_sparse_rows(self):
        X, _ = problem(density=0.1)
        for W in (np.ones((16, 3)), np.random.default_rng(0).normal(size=(16, 3))):
            wanted = log_softmax(with_bias(X, 2.0) @ W, axis=1)
            assert np.allclose(softmax_logs(X, W, bias=2.0), wanted)
            assert np.allclose(softmax_logs(X, W.astype(np.float32), bias=2.0), wanted, atol=1e-5)

    def test_no_points_no_weights(self):
        fit = fit_softmax(np.ones((2, 2)), [[1, 0], [0, 1]], sample_weight=[0, 0])
        assert not fit.weights.any()
        assert module.SoftmaxFit is type(fit)
