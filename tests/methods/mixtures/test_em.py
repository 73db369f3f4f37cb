"""EM: the bound never rises with exact M steps; each part against slow, literal formulas."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from longtail.methods.mixtures.bernoulli import fit_bernoulli_mixture
from longtail.methods.mixtures.em import Points, maximise
from longtail.methods.mixtures.logistic import LogisticExperts, LogisticGate
from longtail.runtime.run import Run


def random_data(seed, n=60, d=4, n_labels=5, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if sparse:
        X *= rng.random(X.shape) < 0.3
    group = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    chance = expit(rng.normal(scale=2, size=(3, n_labels))[group])
    return sp.csr_array(X), sp.csr_array((rng.random((n, n_labels)) < chance).astype(float))


def exact(n_components, n_labels, C):
    gate = LogisticGate(n_components, C=C, tol=1e-8, max_iter=500)
    experts = LogisticExperts(n_components, n_labels, C=C, tol=1e-9, max_iter=500, negligible=0.0)
    return gate, experts


def plain_joint(gate, experts, X, Y):
    """log π_k(x) + Σ_l log Ber(y_l; b_kl(x)), term by term."""
    chance = expit(experts.log_odds(X))
    y = Y.toarray()[:, None, :]
    terms = np.log(np.where(y > 0, chance, 1 - chance)).sum(axis=2)
    return gate.log_weights(X) + terms


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000), n_components=st.integers(1, 5),
    C=st.sampled_from([0.1, 1.0, 30.0]), sparse=st.booleans(),
)  # fmt: skip
def test_the_bound_never_rises(seed, n_components, C, sparse):
    X, Y = random_data(seed, sparse=sparse)
    gate, experts = exact(n_components, Y.shape[1], C)
    start = np.random.default_rng(seed).dirichlet(np.ones(n_components), size=X.shape[0])
    _, _, shares, history = maximise(gate, experts, X, Y, start, max_rounds=8, tol=-1.0)
    assert len(history.bound) == 8
    assert (np.diff(history.bound) <= 1e-5 * np.abs(history.bound[:-1])).all()
    assert np.allclose(shares.sum(axis=1), 1)


def test_likelihood_and_bound_are_what_the_formulas_say():
    X, Y = random_data(3)
    gate, experts = exact(3, Y.shape[1], 2.0)
    start = fit_bernoulli_mixture(Y, 3).responsibilities(Y)
    gate, experts, shares, history = maximise(gate, experts, X, Y, start, max_rounds=3, tol=-1.0)
    logs = plain_joint(gate, experts, X, Y)
    assert np.allclose(Points(X, Y, 3).joint_logs(gate, experts), logs, atol=1e-8)
    assert history.loss[-1] == pytest.approx(-logsumexp(logs, axis=1).mean(), abs=1e-9)
    assert np.allclose(shares, np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))
    weights = experts.weights.toarray()[:, experts.column] * experts.sign
    penalty = ((gate.weights**2).sum() + (weights**2).sum()) / (2 * 2.0)
    assert history.bound[-1] == pytest.approx(-logsumexp(logs, axis=1).sum() + penalty, rel=1e-9)


def test_experts_solve_their_weighted_problems():
    """Each gradient of (10) with its penalty is zero, for labels that are constant too."""
    X, Y = random_data(5)
    Y = sp.csr_array(sp.hstack([Y, sp.csr_array(np.ones((60, 1))), sp.csr_array((60, 2))]))
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=60)
    _, experts = exact(3, 8, 1.5)
    experts.update(X, Y, shares, Run())
    A = np.hstack([X.toarray(), np.ones((60, 1))])
    chance = expit(experts.log_odds(X))
    for k in range(3):
        for label in range(8):
            w = experts.weights[:, [experts.column[k, label]]].toarray().ravel()
            w = w * experts.sign[k, label]
            errors = shares[:, k] * (chance[:, k, label] - Y[:, [label]].toarray().ravel())
            assert np.abs(A.T @ errors + w / 1.5).max() < 1e-3
            assert np.allclose(A @ w, experts.log_odds(X)[:, k, label])
    assert experts.column[0, 6] == experts.column[0, 7]  # one problem for both
    assert experts.weights.shape[1] == 3 * 6


def test_negligible_points_do_not_count():
    X, Y = random_data(6)
    shares = np.full((60, 2), [1.0, 0.0])
    shares[:30] = [1e-5, 1 - 1e-5]
    few, alone = LogisticExperts(2, 5), LogisticExperts(1, 5)
    few.update(X, Y, shares, Run())
    alone.update(X[30:], sp.csr_array(Y[30:]), np.ones((30, 1)), Run())
    assert np.allclose(few.log_odds(X)[:, 0], alone.log_odds(X)[:, 0])


def test_a_component_without_points_is_no_trouble():
    X, Y = random_data(7)
    shares = np.zeros((60, 3))
    shares[:, :2] = 0.5
    gate, experts = LogisticGate(3), LogisticExperts(3, 5)
    _, _, shares, history = maximise(gate, experts, X, Y, shares, max_rounds=5, tol=0.0)
    assert np.isfinite(history.bound).all()
    assert np.isfinite(shares).all()


def test_the_best_round_on_held_out_points_is_kept():
    X, Y = random_data(8, n=40, d=30)
    Xt, Yt = random_data(9, n=40, d=30)  # has nothing to do with the first: every round is worse
    start = fit_bernoulli_mixture(Y, 4).responsibilities(Y)
    gate, experts = LogisticGate(4, C=1e4), LogisticExperts(4, 5, C=1e4)
    gate, experts, _, history = maximise(
        gate, experts, X, Y, start, max_rounds=15, tol=-1.0, held_out=(Xt, Yt), patience=2
    )
    best = int(np.argmin(history.held_out))
    assert len(history.held_out) == min(15, best + 3)
    found = -logsumexp(Points(Xt, Yt, 4).joint_logs(gate, experts), axis=1).mean()
    assert found == pytest.approx(min(history.held_out))


def test_components_can_be_taken_out():
    X, Y = random_data(10)
    gate, experts = LogisticGate(4), LogisticExperts(4, 5)
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=60)
    gate.update(X, shares)
    experts.update(X, Y, shares, Run())
    odds, logs = experts.log_odds(X), gate.log_weights(X)
    kept = np.array([0, 3])
    gate.keep(kept)
    experts.keep(kept)
    assert np.allclose(experts.log_odds(X), odds[:, kept])
    rest = logs[:, kept] - logsumexp(logs[:, kept], axis=1, keepdims=True)
    assert np.allclose(gate.log_weights(X), rest, atol=1e-6)


class TestBernoulliMixture:
    def test_log_likelihood_is_that_of_the_formula(self):
        _, Y = random_data(1)
        mixture = fit_bernoulli_mixture(Y, 3, n_starts=3)
        y = Y.toarray()[:, None, :]
        means = expit(mixture.log_odds)
        terms = np.log(np.where(y > 0, means, 1 - means)).sum(axis=2) + mixture.log_weights
        assert mixture.log_likelihood == pytest.approx(logsumexp(terms, axis=1).sum(), rel=1e-4)
        shares = mixture.responsibilities(Y)
        assert np.allclose(shares, np.exp(terms - logsumexp(terms, axis=1, keepdims=True)))

    def test_more_rounds_and_more_starts_are_not_worse(self):
        _, Y = random_data(2)
        found = [
            fit_bernoulli_mixture(Y, 4, n_starts=1, max_rounds=rounds, tol=0.0).log_likelihood
            for rounds in (1, 3, 10, 15, 40)
        ]
        assert found == sorted(found)
        assert found[0] < found[-1]
        one, many = (fit_bernoulli_mixture(Y, 4, n_starts=n, max_rounds=15) for n in (1, 8))
        assert one.log_likelihood <= many.log_likelihood

    def test_finds_the_groups(self):
        Y = np.repeat(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), 20, axis=0)
        shares = fit_bernoulli_mixture(Y, 2).responsibilities(Y)
        assert set(shares.argmax(axis=1)[:20]) != set(shares.argmax(axis=1)[20:])
        assert shares.max(axis=1).min() > 0.99

    def test_more_components_than_sets(self):
        Y = np.array([[1, 0], [0, 1]] * 5)
        shares = fit_bernoulli_mixture(Y, 6).responsibilities(Y)
        assert shares.shape == (10, 6)
        assert np.allclose(shares.sum(axis=1), 1)
