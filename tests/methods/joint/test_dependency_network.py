"""The dependency network against exact distributions, and where it must fail."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_expit, logit
from sklearn.linear_model import LogisticRegression

import longtail
from longtail.errors import ModelError, ParameterError
from longtail.methods.joint import ClassifierChain, DependencyNetwork, _conditional_classifier
from longtail.methods.joint._gibbs_kernels import gibbs
from longtail.solvers.linear import fit as train
from tests.methods.joint.brute_force import all_sets, problem


def sampled(odds, between, *, n_burn_in=100, n_samples=2000, allow_empty=True, seed=1):
    """The kernel on one point, from dense weights."""
    L = len(odds)
    rows = sp.csr_array(between)
    scores, sets, shares = np.empty((1, L)), np.zeros((1, L), dtype=np.uint8), np.empty(1)
    gibbs(
        odds[None, :], rows.indptr.astype(np.int64), rows.indices.astype(np.int32),
        rows.data.astype(np.float32), np.array([seed], dtype=np.uint64), n_burn_in, n_samples,
        allow_empty, scores, sets, shares,
    )  # fmt: skip
    return scores[0], sets[0], shares[0]


def ising(seed, n_labels):
    """Symmetric weights: the conditionals are those of one joint distribution."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.standard_normal((n_labels, n_labels)), 1)
    between = (half + half.T).astype(np.float32).astype(float)
    return rng.standard_normal(n_labels) - between.sum(axis=0) / 2, between


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_samples_follow_the_joint_distribution_where_there_is_one(seed, n_labels):
    odds, between = ising(seed, n_labels)
    sets = all_sets(n_labels)
    energy = sets @ odds + np.einsum("si,ij,sj->s", sets, between, sets) / 2
    p = np.exp(energy - energy.max())
    p /= p.sum()
    scores, found, share = sampled(odds, between, n_samples=20_000)
    assert np.allclose(expit(scores), p @ sets, atol=0.04)
    index = {tuple(labels): value for labels, value in zip(sets.tolist(), p, strict=True)}
    assert index[tuple(found)] > p.max() - 0.04
    assert share == pytest.approx(index[tuple(found)], abs=0.04)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 80))
def test_without_weights_between_labels_the_marginals_are_exact(seed, n_labels):
    """They average conditional probabilities, not the samples."""
    odds = np.random.default_rng(seed).standard_normal(n_labels) * 3
    scores, _, _ = sampled(odds, np.zeros((n_labels, n_labels)), n_burn_in=0, n_samples=3)
    assert np.allclose(scores, odds)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(60, 140))
def test_sure_labels_come_out_whatever_their_number(seed, n_labels):
    """Sets are kept as bits, 64 a word."""
    wanted = np.random.default_rng(seed).random(n_labels) < 0.3
    _, found, share = sampled(
        np.where(wanted, 50.0, -50.0), np.zeros((n_labels, n_labels)), n_samples=10
    )
    assert np.array_equal(found, wanted)
    assert share == 1.0


def test_of_sets_sampled_once_the_one_with_most_support_is_taken():
    odds = np.zeros(40)
    odds[:20] = 0.3
    between = np.zeros((40, 40))
    _, found, share = sampled(odds, between, n_samples=30, seed=3)
    assert share == pytest.approx(1 / 30)
    support = log_expit(np.where(found, odds, -odds)).sum()
    others = np.random.default_rng(0).random((30, 40)) < expit(odds)
    typical = np.median(log_expit(np.where(others, odds, -odds)).sum(axis=1))
    assert support > typical


def test_sets_without_labels_are_left_out_where_they_are_not_wanted():
    odds = np.array([-3.0, -2.0, -4.0])
    none = np.zeros((3, 3))
    assert not sampled(odds, none)[1].any()
    assert sampled(odds, none, allow_empty=False)[1].tolist() == [0, 1, 0]
    never = np.array([-60.0, -50.0, -70.0])
    assert sampled(never, none, allow_empty=False)[1].tolist() == [0, 1, 0]


# ---- the classifier ----------------------------------------------------------------------------


@pytest.mark.parametrize("direct", [True, False])
def test_each_label_is_regressed_on_all_others(direct, monkeypatch):
    monkeypatch.setattr(train, "few_and_dense", lambda *_: direct)
    X, Y = problem(n=150)
    model = DependencyNetwork(C=2.0, prune=0.0, tol=1e-10).fit(X, Y)
    for label in range(4):
        others = [j for j in range(4) if j != label]
        reference = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=1000)
        reference.fit(np.column_stack([X, np.ones(150), Y[:, others]]), Y[:, label])
        weights = reference.coef_.ravel()
        own = model.weights_[:, [label]].toarray().ravel()
        assert np.allclose(own, weights[:6], atol=1e-3)
        between = model.label_weights_[:, [label]].toarray().ravel()
        assert np.allclose(between[others], weights[6:], atol=1e-3)
        assert between[label] == 0


def test_it_learns_what_depends_on_features_and_labels():
    X, Y = problem(n=400, n_labels=5)
    model = DependencyNetwork(n_samples=300).fit(X[:300], Y[:300])
    assert model.score(X[300:], Y[300:]) > 0.4
    proba = model.predict_proba(X[300:])
    assert ((proba >= 0.5) == Y[300:]).mean() > 0.7
    model.target = "hamming"
    assert np.array_equal(model.predict(X[300:]), proba >= 0.5)


def test_it_fails_where_labels_determine_each_other():
    """Two labels, one of which every point has: each is regressed on the other, X is ignored."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    first = X[:, 0] + 0.3 * rng.standard_normal(500) > 0
    Y = np.column_stack([first, ~first]).astype(int)
    network = DependencyNetwork(C=1e6).fit(X[:300], Y[:300])
    chain = ClassifierChain(C=1e6).fit(X[:300], Y[:300])
    assert chain.score(X[300:], Y[300:]) > 0.85
    assert network.score(X[300:], Y[300:]) < 0.6
    between = np.abs(network.label_weights_.toarray()).max()
    assert between > 3 * np.abs(network.weights_.toarray()[:-1]).max()
    held_back = DependencyNetwork(C=1.0).fit(X[:300], Y[:300])  # the penalty leaves X its part
    assert held_back.score(X[300:], Y[300:]) > 0.85


def test_a_point_gets_the_same_labels_alone_and_among_others(monkeypatch):
    X, Y = problem(n=120, n_labels=6)
    model = DependencyNetwork(n_burn_in=5, n_samples=20).fit(X, Y)
    sets, top = model.predict(X), model.predict_topk(X, 6)
    alone = np.vstack([model.predict(X[[row]]) for row in range(len(X))])
    assert np.array_equal(alone, sets)
    assert np.array_equal(model.predict(X[::-1])[::-1], sets)
    assert np.array_equal(model.predict(sp.csc_matrix(X)), sets)
    stored_zeros = sp.csr_array(X)
    stored_zeros.data[0] = 0.0
    plain = X.copy()
    plain[0, 0] = 0.0
    assert np.array_equal(model.predict(stored_zeros), model.predict(plain))
    monkeypatch.setattr(_conditional_classifier, "BLOCK_BYTES", 8 * 6 * 7)
    for n_jobs in (1, 2):
        model.n_jobs = n_jobs
        assert np.array_equal(model.predict(X), sets)
        assert np.array_equal(model.predict_topk(X, 6).data, top.data)


def test_the_seed_decides_the_samples():
    X, Y = problem(n=120, n_labels=6)
    model = DependencyNetwork(n_burn_in=0, n_samples=5).fit(X, Y)
    first = model.predict_proba(X)
    model.random_state = 1
    assert not np.array_equal(model.predict_proba(X), first)
    model.random_state = 0
    assert np.array_equal(model.predict_proba(X), first)


def test_empty_sets_only_where_training_has_them():
    X, Y = problem(density=0.02)
    far = np.random.default_rng(5).standard_normal((100, 5))
    some = DependencyNetwork(n_samples=50).fit(X, Y).predict(far)
    with_one = Y.copy()
    with_one[~Y.any(axis=1), 0] = 1
    forced = DependencyNetwork(n_samples=50).fit(X, with_one).predict(far)
    assert not some.any(axis=1).all()
    assert forced.any(axis=1).all()


def test_labels_never_on_always_on_and_alone():
    X, Y = problem()
    odd = np.column_stack([np.zeros(80, int), np.ones(80, int), Y])
    model = DependencyNetwork(n_samples=50).fit(X, odd)
    assert not model.predict(X)[:, 0].any()
    assert model.predict(X)[:, 1].all()
    assert np.isfinite(model.predict_topk(X, 6).data).all()
    one = DependencyNetwork(n_samples=50).fit(X, Y[:, :1])
    assert one.predict(X).shape == (80, 1)
    weights = one.weights_.toarray().ravel().astype(float)
    assert np.allclose(logit(one.predict_proba(X)).ravel(), X @ weights[:-1] + weights[-1])
    y = np.where(X[:, 0] > 0, "sea", "snow")
    assert set(DependencyNetwork(n_samples=20).fit(X, y).predict(X)) <= {"sea", "snow"}


def test_explanations_add_up_to_the_log_odds_given_the_predicted_labels():
    X, Y = problem(n_labels=5)
    model = DependencyNetwork(n_samples=50).fit(X, Y)
    sets = model.predict(X)
    weights, between = model.weights_.toarray(), model.label_weights_.toarray()
    for row in range(10):
        why = model.explain(X[row], 3, n=5)
        wanted = X[row] @ weights[:-1, 3] + weights[-1, 3] + sets[row] @ between[:, 3]
        assert why.score == pytest.approx(wanted, abs=1e-5)
        others = why.table("labels")["contribution"].sum()
        assert why.bias == pytest.approx(why.summary["constant"] + others)
        total = why.bias + why.parts["contribution"].sum()
        assert total == pytest.approx(why.score)


def test_saved_and_loaded_it_is_the_same(tmp_path):
    X, Y = problem()
    model = DependencyNetwork(n_samples=50, random_state=9).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("label_weights_", sp.csc_array((4, 4))),
        ("label_weights_", sp.csr_array(np.eye(4))),
        ("label_weights_", sp.csr_array((4, 3))),
        ("weights_", sp.csr_array((5, 4))),
        ("weights_", sp.csr_array((6, 8))),
    ],
)
def test_altered_models_are_refused(name, value, tmp_path):
    X, Y = problem()
    model = DependencyNetwork().fit(X, Y)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"C": -1}, "C must"),
        ({"n_samples": 0}, "n_samples"),
        ({"n_burn_in": -1}, "n_burn_in"),
        ({"n_burn_in": 1.5}, "n_burn_in"),
        ({"n_burn_in": False}, "n_burn_in"),
        ({"target": "f1"}, "target"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_odd_settings_get_one_sentence(settings, cause):
    X, Y = problem()
    with pytest.raises(ParameterError, match=cause) as caught:
        DependencyNetwork(**settings).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_no_burn_in_is_allowed():
    X, Y = problem()
    assert DependencyNetwork(n_burn_in=0, n_samples=5).fit(X, Y).predict(X).shape == Y.shape
