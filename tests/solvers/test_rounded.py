"""Rounded probabilities against their definition, and fits by them against exact ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from longtail.runtime.run import Run
from longtail.solvers.softmax import fit as module
from longtail.solvers.softmax import loss as softmax_loss
from longtail.solvers.softmax import quasi_newton, rounded
from longtail.solvers.softmax.fit import fit_softmax
from longtail.solvers.softmax.loss import SoftmaxLoss
from longtail.solvers.softmax.rounded import Rounder, floors
from longtail.solvers.softmax.score_maps import DenseRows, SparseRows, preconditioner


def problem(n=600, d=6, k=60, density=1.0, seed=0):
    """Many classes, most of them rare, that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    shares = -2 * np.log(1 + np.arange(k))
    scores = X @ rng.normal(size=(d, k)) + shares + rng.gumbel(size=(n, k))
    return sp.csr_array(X), np.eye(k)[scores.argmax(axis=1)]


def as_array(kept, k):
    out = np.zeros((len(kept.rows), k))
    for c in range(k):
        part = slice(kept.starts[c], kept.starts[c + 1])
        out[kept.points[part], c] = kept.values[part]
    return out


@pytest.fixture
def rounding(monkeypatch):
    """Rounded products and rounds of L-BFGS for small problems too."""
    monkeypatch.setattr(softmax_loss, "SINGLE", 0)
    monkeypatch.setattr(softmax_loss, "BLOCK_BYTES", 6000)
    monkeypatch.setattr(rounded, "KEPT_SHARE", np.inf)
    monkeypatch.setattr(rounded, "PER_POINT", 20)
    monkeypatch.setattr(quasi_newton, "ROUND", 5)


class TestRounding:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 12), st.floats(0.1, 8.0))
    def test_every_class_keeps_its_mass(self, seed, k, spread):
        rng = np.random.default_rng(seed)
        p = softmax(spread * rng.normal(size=(50, k)), axis=1)
        below = rng.random(k) * 0.3 + 1e-3
        rounder = Rounder(below)
        rounder.add(p[:20], slice(0, 20))
        rounder.add(p[20:], slice(60, 90))
        kept = rounder.rounded()
        assert kept.rows.tolist() == [*range(20), *range(60, 90)]
        assert len(kept.values) <= (p.sum(axis=0) / below + 1).sum()
        found = as_array(kept, k)
        assert np.allclose(found.sum(axis=1), kept.totals)
        assert (np.abs(found.sum(axis=0) - p.sum(axis=0)) <= below + 1e-12).all()
        assert np.array_equal(found[p >= below], p[p >= below])
        small = found[p < below]
        assert (np.isclose(small, np.broadcast_to(below, p.shape)[p < below]) | (small == 0)).all()

    def test_a_rare_class_is_kept_where_its_mass_is(self):
        p = np.full((1000, 2), 1e-6)
        p[500:600, 1] = 0.01
        p[:, 0] = 1 - p[:, 1]
        rounder = Rounder(np.full(2, 0.05))
        rounder.add(p, slice(0, 1000))
        where = np.flatnonzero(as_array(rounder.rounded(), 2)[:, 1])
        assert len(where) == 20
        assert where.min() >= 500
        assert where.max() < 600

    def test_floors_are_for_very_many_classes_only(self):
        assert floors(np.full(50, 600.0), 30_000, 1000) is None
        found = floors(np.array([1.0, 0.0] + [6.0] * 4998), 30_000, 1000)
        assert found[:2].tolist() == [0.001, 0.005]
        assert floors(np.array([1.0] + [6.0] * 4999), 30_000, 0)[0] == 0.005


class TestProducts:
    @pytest.mark.parametrize("kind", [DenseRows, SparseRows])
    @pytest.mark.parametrize("below", [0.0, 0.04])
    def test_the_hessian_of_what_is_kept(self, kind, below, monkeypatch):
        """With floors of zero all is kept, and the product is the exact one."""
        monkeypatch.setattr(softmax_loss, "BLOCK_BYTES", 2000)
        X, T = problem(n=90, d=4, k=7, density=0.6)
        rng = np.random.default_rng(3)
        weights, point, direction = rng.random(90), *rng.normal(size=(2, 5, 7))
        settings = {
            "strength": 0.3, "dtype": np.float64, "n_parameters": 35,
            "precondition": preconditioner(X, weights, 0.7, 0.3),
        }  # fmt: skip
        scores = kind(X, 0.7, 7, np.float64)
        loss = SoftmaxLoss(scores, sp.csr_array(T), weights, floors=np.full(7, below), **settings)
        loss.evaluate(point)
        rows = np.hstack([X.toarray(), np.full((90, 1), 0.7)])
        p = np.zeros((90, 7))
        for kept in loss._rounded:
            p[kept.rows] = as_array(kept, 7)
        assert (p == 0).any() == (below > 0)
        wanted = 0.3 * direction
        for x, row, weight in zip(rows, p, weights, strict=True):
            inner = np.diag(row) - np.outer(row, row) / row.sum()
            wanted = wanted + weight * np.outer(x, inner @ (x @ direction))
        assert np.allclose(loss.curved(direction), wanted)
        if below == 0:
            exact = SoftmaxLoss(scores, sp.csr_array(T), weights, **settings)
            exact.evaluate(point)
            assert np.allclose(loss.curved(direction), exact.curved(direction))


class TestFits:
    @pytest.mark.parametrize("density", [1.0, 0.2])
    @pytest.mark.parametrize("strength", [1.0, 1e-2])
    def test_the_optimum_is_the_exact_one(self, density, strength, rounding, monkeypatch):
        X, T = problem(density=density)
        found = fit_softmax(X, T, strength=strength, tol=1e-5, dtype=np.float64)
        monkeypatch.undo()
        exact = fit_softmax(X, T, strength=strength, tol=1e-9, dtype=np.float64)
        assert found.converged
        assert found.objective == pytest.approx(exact.objective, rel=1e-6)
        assert np.linalg.norm(found.weights - exact.weights) < 1e-2 * np.linalg.norm(exact.weights)

    def test_threads_do_not_change_the_result(self, rounding):
        X, T = problem()
        one, two = (fit_softmax(X, T, n_jobs=jobs, dtype=np.float64) for jobs in (1, 2))
        assert np.array_equal(one.weights, two.weights)

    @pytest.mark.parametrize("calls", [2, 3, 5])
    def test_a_stopped_run_goes_on_to_the_same_weights(
        self, calls, rounding, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(module, "CLOSE", 0.02)
        X, T = problem()
        heard = []

        def stop(*_):
            heard.append(None)
            if len(heard) == calls:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit_softmax(X, T, strength=0.01, run=Run(stop, tmp_path / "c"))
        resumed = fit_softmax(X, T, strength=0.01, run=Run(None, tmp_path / "c"))
        plain = fit_softmax(X, T, strength=0.01)
        assert np.array_equal(resumed.weights, plain.weights)
        assert resumed.iterations == plain.iterations
