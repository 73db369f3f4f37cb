"""The pairwise random field against the literal formula over all its label sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, logsumexp, softmax

from longtail import load as load_model
from longtail.data import read_dataset
from longtail.errors import ConvergenceWarning, InputError, ModelError, ParameterError
from longtail.labels import distinct_sets
from longtail.methods.joint import LabelPowerset, PairwiseCRF
from longtail.methods.joint import _pair_scores as pair_scores
from longtail.methods.joint._pair_scores import PairFeatures, PairScores
from longtail.solvers import fit_linear
from longtail.solvers.softmax import loss as softmax_loss
from longtail.solvers.softmax import rounded
from longtail.solvers.softmax.loss import SoftmaxLoss
from longtail.solvers.softmax.score_maps import preconditioner, score_map


def problem(n=60, d=3, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.4).astype(int)
    return X, Y


def literal_score(y, x, W, pairs, theta):
    """Σ_l y_l⟨w_l, x̃⟩ + Σ_{l<m} θ_lm(y_l, y_m)."""
    score = sum(y[j] * (W[:, j] @ np.append(x, 1.0)) for j in range(len(y)))
    for (a, b), four in zip(pairs, theta, strict=True):
        score += four[2 * int(y[a]) + int(y[b])]
    return score


def literal_objective(parameters, X, Y, sets, pairs, strength):
    """The penalised likelihood over the support, every indicator of every set written out."""
    cut = (X.shape[1] + 1) * Y.shape[1]
    W, theta = parameters[:cut].reshape(-1, Y.shape[1]), parameters[cut:].reshape(-1, 4)
    of_pairs = [
        sum(four[2 * int(y[a]) + int(y[b])] for (a, b), four in zip(pairs, theta, strict=True))
        for y in sets
    ]
    scores = np.column_stack([X, np.ones(len(X))]) @ W @ sets.T + np.array(of_pairs)
    own = [next(s for s in range(len(sets)) if (sets[s] == y).all()) for y in Y]
    logs = scores - logsumexp(scores, axis=1, keepdims=True)
    return strength / 2 * parameters @ parameters - logs[np.arange(len(X)), own].sum()


def loss_of(X, Y, strength=0.5, kind=np.float64):
    rows = sp.csr_array(X)
    sets, which = distinct_sets(sp.csr_array(Y))
    scores = PairScores(
        score_map(rows, 1.0, Y.shape[1], kind), PairFeatures(sets), X.shape[1] + 1, kind
    )
    n, ones = len(X), np.ones(len(X))
    targets = sp.csr_array((ones, which, np.arange(n + 1)), shape=(n, sets.shape[0]))
    loss = SoftmaxLoss(
        scores, targets, ones, strength=strength, dtype=kind, n_parameters=scores.n_parameters,
        precondition=scores.precondition(preconditioner(rows, ones, 1.0, strength), strength),
    )  # fmt: skip
    return loss, scores, sets.toarray()


class TestPairs:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 6))
    def test_products_are_those_of_the_indicators(self, seed, n_labels):
        rng = np.random.default_rng(seed)
        Y = rng.random((8, n_labels)) < 0.5
        sets, _ = distinct_sets(sp.csr_array(Y.astype(float)))
        features, dense = PairFeatures(sets), sets.toarray().astype(int)
        together = [
            (a, b) for a, b in combinations(range(n_labels), 2) if (dense[:, a] & dense[:, b]).any()
        ]
        assert features.pairs.tolist() == [list(pair) for pair in together]
        indicators = np.zeros((len(dense), len(together), 4))
        for s, y in enumerate(dense):
            for p, (a, b) in enumerate(together):
                indicators[s, p, 2 * y[a] + y[b]] = 1
        theta, by_set = rng.normal(size=(len(together), 4)), rng.normal(size=len(dense))
        assert np.allclose(features.times(theta), np.einsum("spv,pv->s", indicators, theta))
        wanted = np.einsum("spv,s->pv", indicators, by_set)
        assert np.allclose(features.turned_times(by_set), wanted)


class TestObjective:
    def test_value_and_derivatives_are_those_of_the_formula(self, monkeypatch):
        X, Y = problem(n=12, d=2, n_labels=3)
        rng = np.random.default_rng(1)
        for dense in (True, False):
            monkeypatch.setattr(pair_scores, "DENSE_BYTES", 2**26 if dense else 0)
            loss, scores, sets = loss_of(X, Y)
            point, direction = rng.normal(size=(2, scores.n_parameters))

            def formula(w, sets=sets, pairs=scores.features.pairs):
                return literal_objective(w, X, Y, sets, pairs, 0.5)

            value, gradient = loss.evaluate(point)
            assert value == pytest.approx(formula(point))
            assert np.allclose(gradient, approx_fprime(point, formula), atol=1e-4)
            ahead, behind = (loss.evaluate(point + s * direction)[1] for s in (1e-5, -1e-5))
            loss.evaluate(point)
            assert np.allclose(loss.curved(direction), (ahead - behind) / 2e-5, atol=1e-5)

    def test_the_preconditioner_is_symmetric_and_positive(self):
        loss, scores, _ = loss_of(*problem())
        loss.evaluate(np.zeros(scores.n_parameters))
        r = np.random.default_rng(0).normal(size=(2, scores.n_parameters))
        turned = [loss.preconditioned(part) for part in r]
        assert r[0] @ turned[0] > 0
        assert r[0] @ turned[1] == pytest.approx(r[1] @ turned[0])

    def test_the_preconditioner_of_the_pairs_is_the_inverse_of_its_model(self):
        """strength + T'CT written out, for biases and pairs."""
        rng = np.random.default_rng(0)
        sets, _ = distinct_sets(sp.csr_array((rng.random((50, 6)) < 0.4).astype(float)))
        features, (n_sets, n_labels) = PairFeatures(sets), sets.shape
        n_pairs, spread = len(features.pairs), 5 * rng.random(n_sets)
        indicators = np.hstack(
            [
                sets.toarray(),
                np.array([features.times(e.reshape(-1, 4)) for e in np.eye(4 * n_pairs)]).T,
            ]
        )
        mean = spread @ indicators / spread.sum()
        model = (indicators - mean).T @ (spread[:, None] * (indicators - mean))
        model += 0.3 * np.eye(len(model))
        residual = rng.normal(size=len(model))
        biases, theta = pair_scores._Inverse(features, 0.3).times(
            residual[:n_labels], residual[n_labels:].reshape(-1, 4), spread
        )
        found = np.append(biases, theta)
        assert np.allclose(found, np.linalg.solve(model, residual))

    @pytest.mark.parametrize("factored", [0, 4000])
    def test_the_preconditioner_does_not_move_the_optimum(self, factored, monkeypatch):
        monkeypatch.setattr(pair_scores, "FACTORED", factored)
        loss, scores, _ = loss_of(*problem())
        loss.evaluate(np.zeros(scores.n_parameters))
        r = np.random.default_rng(0).normal(size=(2, scores.n_parameters))
        turned = [loss.preconditioned(part) for part in r]
        assert r[0] @ turned[0] > 0
        assert r[0] @ turned[1] == pytest.approx(r[1] @ turned[0])
        model = PairwiseCRF(tol=1e-8).fit(*problem())
        monkeypatch.undo()
        assert model.objective_ == pytest.approx(PairwiseCRF(tol=1e-8).fit(*problem()).objective_)

    def test_rounded_products_do_not_move_the_optimum(self, monkeypatch):
        X, Y = problem(n=300, d=4, n_labels=7)
        exact = PairwiseCRF(C=5.0, tol=1e-9).fit(X, Y)
        monkeypatch.setattr(softmax_loss, "SINGLE", 0)
        monkeypatch.setattr(softmax_loss, "BLOCK_BYTES", 6000)
        monkeypatch.setattr(rounded, "KEPT_SHARE", np.inf)
        monkeypatch.setattr(rounded, "PER_POINT", 10)
        one, two = (PairwiseCRF(C=5.0, tol=1e-5, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
        assert one.objective_ == pytest.approx(exact.objective_, rel=1e-6)
        assert np.allclose(one.predict_proba(X), exact.predict_proba(X), atol=1e-3)
        assert np.array_equal(one.weights_, two.weights_)
        assert np.array_equal(one.pair_weights_, two.pair_weights_)

    def test_the_hessian_of_what_is_kept_is_exact_where_all_is_kept(self, monkeypatch):
        monkeypatch.setattr(softmax_loss, "BLOCK_BYTES", 500)
        loss, scores, sets = loss_of(*problem())
        point, direction = np.random.default_rng(1).normal(size=(2, scores.n_parameters))
        loss.evaluate(point)
        wanted = loss.curved(direction)
        loss._floors = np.zeros(len(sets))
        loss.evaluate(point)
        assert np.allclose(loss.curved(direction), wanted)

    def test_the_optimum_is_that_of_an_independent_solver(self):
        X, Y = problem(n=25, d=2, n_labels=3, seed=2)
        model = PairwiseCRF(C=2.0, tol=1e-9).fit(X, Y)
        start = np.zeros(3 * 3 + 4 * len(model.pairs_))
        arguments = (X, Y, model.sets_.toarray(), model.pairs_, 0.5)
        best = minimize(literal_objective, start, args=arguments, method="BFGS", tol=1e-7)
        assert model.objective_ / 2.0 == pytest.approx(best.fun, rel=1e-7)
        assert np.allclose(model.weights_.ravel(), best.x[:9], atol=1e-3)
        assert np.allclose(model.pair_weights_.ravel(), best.x[9:], atol=1e-3)

    def test_single_precision_comes_close(self, monkeypatch):
        X, Y = problem(n=200)
        exact = PairwiseCRF(tol=1e-8).fit(X, Y)
        monkeypatch.setattr(softmax_loss, "SINGLE", 0)
        single = PairwiseCRF(tol=1e-4).fit(X, Y)
        assert single.objective_ == pytest.approx(exact.objective_, rel=1e-6)


class TestSpecialCases:
    def test_without_pairs_it_is_the_power_set(self):
        """One label a point: no pair occurs, and each set is one label."""
        X, Y = problem()
        Y = np.eye(4, dtype=int)[Y.argmax(axis=1)]
        field, powerset = (kind(C=3.0, tol=1e-9).fit(X, Y) for kind in (PairwiseCRF, LabelPowerset))
        assert len(field.pairs_) == 0
        assert field.objective_ == pytest.approx(powerset.objective_)
        assert np.allclose(field.predict_proba(X), powerset.predict_proba(X), atol=1e-5)

    def test_one_label_is_a_logistic_regression(self):
        X, Y = problem(n_labels=1)
        field = PairwiseCRF(C=3.0, tol=1e-9).fit(X, Y)
        binary = fit_linear(X, Y, loss="logistic", strength=1 / 3.0, tol=1e-12)
        weights = binary.weights.toarray()
        assert np.allclose(field.weights_, weights, atol=1e-4)
        p = expit(X @ weights[:-1] + weights[-1])
        assert np.allclose(field.predict_proba(X), p, atol=1e-5)

    def test_pairs_learn_what_no_feature_tells(self):
        """Two labels of which exactly one holds, and nothing in x says which."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 2))
        Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]])[rng.choice(3, size=200, p=[0.5, 0.4, 0.1])]
        p = PairwiseCRF(C=100.0).fit(X, Y).predict_proba(X).mean(axis=0)
        assert np.allclose(p, Y.mean(axis=0), atol=0.02)

    def test_one_set_only(self):
        X, _ = problem()
        Y = np.tile([1, 0, 1], (len(X), 1))
        model = PairwiseCRF().fit(X, Y)
        assert np.array_equal(model.predict(X), Y)


@pytest.fixture(scope="module")
def fitted():
    X, Y = problem()
    model = PairwiseCRF(C=2.0).fit(X, Y)
    sets = model.sets_.toarray()
    scores = [
        [literal_score(s, x, model.weights_, model.pairs_, model.pair_weights_) for s in sets]
        for x in X
    ]
    return X, model, sets, softmax(np.array(scores), axis=1)


class TestPrediction:
    def test_the_most_probable_set_by_the_formula(self, fitted):
        X, model, sets, p = fitted
        assert np.array_equal(model.predict(X), sets[p.argmax(axis=1)])

    def test_marginals_over_the_support(self, fitted):
        X, model, sets, p = fitted
        assert np.allclose(model.predict_proba(X), p @ sets, atol=1e-6)

    def test_explanations_add_up(self, fitted):
        X, model, sets, p = fitted
        for label in range(4):
            why = model.explain(X[3], label, n=100)
            assert why.score == pytest.approx(why.bias + why.parts["contribution"].sum())
            sides = [np.where(sets[:, label] == side, p[3], -1).max() for side in (1, 0)]
            assert why.score == pytest.approx(np.log(sides[0] / sides[1]), abs=1e-5)

    def test_saved_and_read_again(self, fitted, tmp_path):
        X, model, _, _ = fitted
        model.save(tmp_path / "model")
        assert np.array_equal(
            load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X)
        )

    @pytest.mark.parametrize("name", ["weights_", "pair_weights_", "set_offsets_", "pairs_"])
    def test_altered_models(self, fitted, tmp_path, name):
        X, model, _, _ = fitted
        altered = PairwiseCRF().fit(X, model.predict(X))
        setattr(altered, name, np.full_like(getattr(altered, name), 99)[:-1])
        altered.save(tmp_path / "model")
        with pytest.raises(ModelError):
            load_model(tmp_path / "model")


class TestRefusals:
    def test_memory(self):
        with pytest.raises(InputError, match=r"pairs of them .* such as br"):
            PairwiseCRF(memory_limit=1e-7).fit(*problem())

    @pytest.mark.parametrize("bad", [{"C": -1}, {"tol": 0}, {"max_iter": 1.5}])
    def test_parameters(self, bad):
        with pytest.raises(ParameterError):
            PairwiseCRF(**bad).fit(*problem())

    def test_a_limit_that_is_hit_is_said(self):
        with pytest.warns(ConvergenceWarning, match="random field"):
            PairwiseCRF(C=1e6, max_iter=1).fit(*problem())


@pytest.mark.published
def test_scene(data_folder):
    """68.8 in Li et al. 2016, Table 2, with their C = 1."""
    train, test = (read_dataset(data_folder / "scene", part=part) for part in ("train", "test"))
    model = PairwiseCRF(C=1.0).fit(train.X, train.Y)
    assert 100 * model.score(test.X, test.Y) == pytest.approx(68.8, abs=1.0)
