"""Boosted gate and experts: they learn what linear ones cannot; no update makes things worse."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_expit, logsumexp, rel_entr

from longtail.data import read_dataset
from longtail.methods.mixtures import boosting, most_probable_sets
from longtail.methods.mixtures.bernoulli import fit_bernoulli_mixture
from longtail.methods.mixtures.boosting import BoostedExperts, BoostedGate
from longtail.runtime.run import Run
from tests.solvers.boosted import random_problem

pytest.importorskip("lightgbm")

RUN = Run()


def log_joint(gate, experts, X, Y):
    """log(weight·probability of the label set), (n, K)."""
    odds, y = experts.log_odds(X), Y.toarray()[:, None, :]
    return gate.log_weights(X) + np.where(y > 0, log_expit(odds), log_expit(-odds)).sum(axis=2)


def bound(gate, experts, X, Y, gamma):
    """The paper's (7)."""
    kl = rel_entr(gamma, np.exp(gate.log_weights(X))).sum()
    return kl + loss_of(experts, X, Y, gamma).sum()


def responsibilities(gate, experts, X, Y):
    logs = log_joint(gate, experts, X, Y)
    return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))


def loss_of(experts, X, Y, gamma):
    odds, y = experts.log_odds(X), Y.toarray()[:, None, :]
    return (gamma[:, :, None] * (np.logaddexp(0, odds) - y * odds)).sum(axis=0)


# ---- what trees can learn --------------------------------------------------------------------


def test_the_gate_learns_what_no_linear_gate_can():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.uniform(-1, 1, size=(600, 5)))
    first = (X[:, [0]].toarray() * X[:, [1]].toarray() > 0).astype(float)
    targets = np.hstack([first, 1 - first])
    gate = BoostedGate(2, n_trees=15)
    for _ in range(4):
        gate.update(X[:400], targets[:400])
    right = np.exp(gate.log_weights(X[400:]))[:, 0].round() == first[400:, 0]
    assert right.mean() > 0.9


def test_experts_learn_a_label_that_is_not_linear():
    rng = np.random.default_rng(2)
    X = sp.csr_array(rng.uniform(-1, 1, size=(900, 4)))
    dense = X.toarray()
    Y = sp.csr_array(
        np.column_stack([(dense[:, :2] ** 2).sum(axis=1) < 0.6, dense[:, 2] > 0]).astype(float)
    )
    experts = BoostedExperts(1, 2, n_trees=60)
    experts.update(X[:600], Y[:600], np.ones((600, 1)), RUN)
    right = (experts.log_odds(X[600:])[:, 0] > 0) == (Y[600:].toarray() > 0)
    assert (right.mean(axis=0) > 0.92).all()


def test_experts_tell_components_apart():
    """A label that is x > 0 for one half of the points and x < 0 for the other."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=800)
    second = rng.random(800) < 0.5
    X, Y = sp.csr_array(x[:, None]), sp.csr_array(((x > 0) ^ second)[:, None].astype(float))
    gamma = np.column_stack([~second, second]) * 0.98 + 0.01
    experts = BoostedExperts(2, 1, n_trees=50)
    experts.update(X, Y, gamma, RUN)
    odds = experts.log_odds(sp.csr_array([[-0.5], [0.5]]))[:, :, 0]
    assert (np.sign(odds) == [[-1, 1], [1, -1]]).all()


def test_the_start_is_the_weighted_share():
    Y = sp.csr_array([[1.0, 0.0, 1.0]] * 30 + [[0.0, 0.0, 1.0]] * 70)
    X = sp.csr_array((100, 2))
    gamma = np.full((100, 1), 0.5)
    experts = BoostedExperts(1, 3, smoothing=0.1)
    experts.update(X, Y, gamma, RUN)
    overall = (np.array([30, 0, 100]) + 0.5) / 101
    share = (np.array([15, 0, 50]) + 0.1 * overall) / 50.1
    assert expit(experts.log_odds(X[:1])[0, 0]) == pytest.approx(share)


# ---- no update makes things worse ------------------------------------------------------------


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 1.0]))
def test_the_bound_never_rises(seed, shrinkage):
    """Generalised EM from random responsibilities; steps that would raise the bound are halved."""
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng)
    K = int(rng.integers(2, 6))
    gamma = rng.dirichlet(np.full(K, 0.3), size=X.shape[0])
    how = {"n_trees": 2, "shrinkage": shrinkage, "min_points": int(rng.integers(1, 6))}
    gate, experts = BoostedGate(K, **how), BoostedExperts(K, 4, **how)
    gate.update(X, gamma)
    experts.update(X, Y, gamma, RUN)
    last = bound(gate, experts, X, Y, gamma)
    for _ in range(6):
        gamma = responsibilities(gate, experts, X, Y)
        now = bound(gate, experts, X, Y, gamma)
        assert now <= last + 1e-8
        counted = np.where(gamma < boosting.NEGLIGIBLE, 0.0, gamma)
        before = bound(gate, experts, X, Y, counted)
        gate.update(X, gamma)
        experts.update(X, Y, gamma, RUN)
        assert bound(gate, experts, X, Y, counted) <= before + boosting.NEGLIGIBLE * X.shape[0]
        last = bound(gate, experts, X, Y, gamma)


@pytest.mark.parametrize("shrinkage", [0.1, 1.0, 20.0])
def test_each_update_lowers_the_loss_of_each_label(shrinkage):
    """Even with steps far too long."""
    rng = np.random.default_rng(7)
    X, Y = random_problem(rng)
    gamma = rng.dirichlet([1.0, 1.0, 1.0], size=X.shape[0])
    experts = BoostedExperts(3, 4, n_trees=1, shrinkage=shrinkage)
    experts.update(X, Y, gamma, RUN)
    before = loss_of(experts, X, Y, gamma)
    for _ in range(10):
        experts.update(X, Y, gamma, RUN)
        after = loss_of(experts, X, Y, gamma)
        assert (after <= before + 1e-6).all()
        before = after
    assert experts.penalty() == 0.0


def test_updates_add_trees_and_keep_the_old():
    rng = np.random.default_rng(8)
    X, Y = random_problem(rng)
    gamma = rng.dirichlet([1.0, 1.0], size=X.shape[0])
    gate, experts = BoostedGate(2, n_trees=3), BoostedExperts(2, 4, n_trees=3)
    gate.update(X, gamma)
    experts.update(X, Y, gamma, RUN)
    old = copy.copy(gate), copy.copy(experts)
    odds, weights = experts.log_odds(X), gate.log_weights(X)
    gate.update(X, gamma)
    experts.update(X, Y, gamma, RUN)
    assert len(gate.forest) == 2 * len(old[0].forest) == 12
    assert np.array_equal(gate.forest.value[: len(old[0].forest.value)], old[0].forest.value)
    assert [len(f) for f in experts.forests] == [24, 24]
    assert np.array_equal(old[1].log_odds(X), odds)
    assert np.array_equal(old[0].log_weights(X), weights)
    assert not np.array_equal(experts.log_odds(X), odds)
    apart = pickle.loads(pickle.dumps(gate)), copy.deepcopy(experts)  # noqa: S301
    assert np.array_equal(apart[0].log_weights(X), gate.log_weights(X))
    assert np.array_equal(apart[1].log_odds(X), experts.log_odds(X))


def test_many_small_updates_are_one_large():
    rng = np.random.default_rng(9)
    X, Y = random_problem(rng)
    gamma = rng.dirichlet([1.0, 1.0], size=X.shape[0])
    few, many = BoostedExperts(2, 4, n_trees=2), BoostedExperts(2, 4, n_trees=6)
    few_gate, many_gate = BoostedGate(2, n_trees=2), BoostedGate(2, n_trees=6)
    for _ in range(3):
        few.update(X, Y, gamma, RUN)
        few_gate.update(X, gamma)
    many.update(X, Y, gamma, RUN)
    many_gate.update(X, gamma)
    assert few.log_odds(X) == pytest.approx(many.log_odds(X), abs=1e-9)
    assert few_gate.log_weights(X) == pytest.approx(many_gate.log_weights(X), abs=1e-9)


# ---- what needs no work ----------------------------------------------------------------------


def test_constant_labels_get_no_trees():
    rng = np.random.default_rng(10)
    X, Y = random_problem(rng)
    dense = Y.toarray()
    dense[:, 0], dense[:, 1] = 0.0, 1.0
    experts = BoostedExperts(2, 4, n_trees=2)
    experts.update(X, sp.csr_array(dense), rng.dirichlet([1.0, 1.0], size=120), RUN)
    for forest in experts.forests:
        assert forest.trees_of_outputs().tolist() == [0, 0, 2, 2]
    odds = experts.log_odds(X)
    assert np.isfinite(odds).all()
    assert (odds[:, :, 0] < -5).all()
    assert (odds[:, :, 1] > 5).all()


def test_points_without_weight_play_no_part():
    rng = np.random.default_rng(11)
    X, Y = random_problem(rng)
    gamma = np.column_stack([np.arange(120) < 70, np.arange(120) >= 70]).astype(float)
    experts, alone = BoostedExperts(2, 4), BoostedExperts(1, 4)
    experts.update(X, Y, gamma, RUN)
    alone.update(X[:70], Y[:70], np.ones((70, 1)), RUN)
    assert len(alone.forests[0]) == len(experts.forests[0])
    noisy = gamma.copy()
    noisy[70:, 0] = boosting.NEGLIGIBLE / 2
    other = BoostedExperts(2, 4)
    other.update(X, Y, noisy, RUN)
    assert np.array_equal(other.log_odds(X)[:, 0], experts.log_odds(X)[:, 0])


def test_a_dead_component_keeps_what_it_has():
    rng = np.random.default_rng(12)
    X, Y = random_problem(rng)
    gamma = rng.dirichlet([1.0, 1.0], size=120)
    gate, experts = BoostedGate(2), BoostedExperts(2, 4)
    gate.update(X, gamma)
    experts.update(X, Y, gamma, RUN)
    before = experts.log_odds(X)
    dead = np.column_stack([np.ones(120), np.zeros(120)])
    gate.update(X, dead)
    experts.update(X, Y, dead, RUN)
    assert np.array_equal(experts.log_odds(X)[:, 1], before[:, 1])
    assert not np.array_equal(experts.log_odds(X)[:, 0], before[:, 0])
    assert np.isfinite(gate.log_weights(X)).all()


def test_a_component_dead_from_the_start_has_the_overall_shares():
    rng = np.random.default_rng(13)
    X, Y = random_problem(rng)
    dead = np.column_stack([np.ones(120), np.zeros(120)])
    gate, experts = BoostedGate(2), BoostedExperts(2, 4)
    gate.update(X, dead)
    experts.update(X, Y, dead, RUN)
    shares = (np.asarray(Y.sum(axis=0)).ravel() + 0.5) / 121
    assert expit(experts.log_odds(X[:1])[0, 1]) == pytest.approx(shares)
    assert np.isfinite(gate.log_weights(X)).all()
    assert (np.exp(gate.log_weights(X))[:, 1] < 1e-6).all()


def test_one_component_has_all_the_weight():
    X, _ = random_problem(np.random.default_rng(14))
    gate = BoostedGate(1)
    assert (gate.log_weights(X) == 0).all()
    gate.update(X, np.ones((120, 1)))
    assert (gate.log_weights(X) == 0).all()


def test_before_the_first_update_nothing_is_known():
    X = sp.csr_array((2, 3))
    assert np.exp(BoostedGate(4).log_weights(X)) == pytest.approx(0.25)
    assert (BoostedExperts(2, 3).log_odds(X) == 0).all()


@pytest.mark.parametrize(
    "X", [sp.csr_array((30, 3)), sp.csr_array((30, 0)), sp.csr_array(np.ones((30, 2)))]
)
def test_features_that_say_nothing_leave_the_shares(X):
    gamma = np.tile([[0.25, 0.75]], (30, 1))
    Y = sp.csr_array(np.tile([[1.0, 0.0], [0.0, 0.0]], (15, 1)))
    gate, experts = BoostedGate(2), BoostedExperts(2, 2)
    for _ in range(2):
        gate.update(X, gamma)
        experts.update(X, Y, gamma, RUN)
    assert np.exp(gate.log_weights(X)) == pytest.approx(gamma)
    assert expit(experts.log_odds(X))[:, :, 0] == pytest.approx(0.5, abs=1e-6)


def test_very_few_points():
    X, Y = sp.csr_array([[1.0, 2.0], [3.0, 4.0]]), sp.csr_array([[1.0], [0.0]])
    gate, experts = BoostedGate(2), BoostedExperts(2, 1)
    gate.update(X, np.eye(2))
    experts.update(X, Y, np.eye(2), RUN)
    assert np.isfinite(gate.log_weights(X)).all()
    assert (experts.log_odds(X)[0, :, 0] > 0).tolist() == [True, False]


# ---- the same, every time --------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_threads_do_not_matter(sparse, monkeypatch):
    monkeypatch.setattr(boosting, "CELLS", 150)
    rng = np.random.default_rng(15)
    X, Y = random_problem(rng, n=200, n_features=60)
    if sparse:
        X = sp.csr_array(X.multiply(rng.random(X.shape) < 0.2))
    gamma = rng.dirichlet(np.full(11, 0.3), size=200)
    results = []
    for n_jobs in (1, 2, 3):
        how = {"n_trees": 3, "n_jobs": n_jobs}
        gate, experts = BoostedGate(11, **how), BoostedExperts(11, 4, **how)
        for _ in range(2):
            gate.update(X, gamma)
            experts.update(X, Y, gamma, RUN)
        results.append((gate.log_weights(X), experts.log_odds(X)))
    for weights, odds in results[1:]:
        assert np.array_equal(weights, results[0][0])
        assert np.array_equal(odds, results[0][1])


def test_the_seed_decides_which_features_are_drawn():
    rng = np.random.default_rng(25)
    X, Y = random_problem(rng, n_features=80)
    gamma = rng.dirichlet([1.0, 1.0], size=120)
    odds = []
    for seed, share in ((0, 0.3), (0, 0.3), (1, 0.3), (0, 1.0), (1, 1.0)):
        experts = BoostedExperts(2, 4, random_state=seed, feature_share=share)
        experts.update(X, Y, gamma, RUN)
        odds.append(experts.log_odds(X))
    assert np.array_equal(odds[0], odds[1])
    assert not np.array_equal(odds[0], odds[2])
    assert np.array_equal(odds[3], odds[4])


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32])
def test_labels_may_be_of_any_type(kind):
    X, Y = random_problem(np.random.default_rng(24))
    gamma = np.random.default_rng(0).dirichlet([1.0, 1.0], size=120)
    odds = []
    for labels in (Y, sp.csr_array(Y, dtype=kind)):
        experts = BoostedExperts(2, 4)
        experts.update(X, labels, gamma, RUN)
        odds.append(experts.log_odds(X))
    assert np.array_equal(*odds)


# ---- the paper's figure ----------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.published
def test_scene_reaches_the_published_subset_accuracy(data_folder):
    """Table 2, CBM with gradient boosting on Scene: 70.5 with K = 25."""
    if not (data_folder / "scene").is_dir():
        pytest.skip(f"no Scene data set in {data_folder}")
    train, test = (read_dataset(data_folder / "scene", part=part) for part in ("train", "test"))
    X, Y = sp.csr_array(train.X), sp.csr_array(train.Y)
    gamma = fit_bernoulli_mixture(Y, 25).responsibilities(Y)
    gate, experts = BoostedGate(25), BoostedExperts(25, Y.shape[1])
    for _ in range(10):
        gate.update(X, gamma)
        experts.update(X, Y, gamma, RUN)
        gamma = responsibilities(gate, experts, X, Y)
    points = sp.csr_array(test.X)
    found = most_probable_sets(
        gate.log_weights(points), experts.log_odds(points), allow_empty=False
    )
    right = (found.sets[:, 0] == (sp.csr_array(test.Y).toarray() > 0)).all(axis=1)
    assert right.mean() > 0.70
