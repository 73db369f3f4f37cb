"""Chains against brute force over all label sets, against scikit-learn, and at their edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain as ReferenceChain

import longtail
from longtail.data import make_longtail
from longtail.errors import ConvergenceWarning, InputError, ModelError, ParameterError
from longtail.methods import _marginal
from longtail.methods.joint import (
    ClassifierChain,
    ProbabilisticClassifierChain,
    _chain,
    _conditional_classifier,
)
from longtail.methods.joint._chain_kernels import search
from longtail.solvers.linear import fit as train
from tests.methods.joint.brute_force import greedy, joint, parts, problem

EXACT = {"prune": 0.0, "tol": 1e-10}


@pytest.fixture(params=["direct", "newton"])
def solver(request, monkeypatch):
    """Both ways of the engine to solve the regressions."""
    monkeypatch.setattr(train, "few_and_dense", lambda *_: request.param == "direct")
    return request.param


# ---- the search ------------------------------------------------------------------------------


def searched(odds, between, order, beam, allow_empty=True, n_sets=1):
    """The kernel on one point, from dense weights."""
    L = len(odds)
    columns = sp.csc_array(between)
    scores, sets = np.empty((1, L)), np.zeros((1, n_sets, L), dtype=np.uint8)
    log_p = np.full((1, n_sets), -np.inf)
    search(
        odds[None, :], np.asarray(order, dtype=np.int64), columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32), columns.data.astype(np.float32), beam, allow_empty,
        scores, sets, log_p,
    )  # fmt: skip
    return scores[0], sets[0], log_p[0]


def random_chain(seed, n_labels, scale):
    """Log-odds, weights between labels and an order, the weights exact in single precision."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_labels)
    rank = np.argsort(order)
    between = np.where(
        rank[:, None] < rank[None, :], rng.standard_normal((n_labels, n_labels)) * scale, 0.0
    )
    between[rng.random(between.shape) < 0.2] = 0.0
    return rng.standard_normal(n_labels) * scale, between.astype(np.float32).astype(float), order


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 7), st.sampled_from([0.5, 2.0, 8.0]), st.booleans())
def test_a_full_beam_finds_the_best_sets_and_exact_marginals(seed, n_labels, scale, allow_empty):
    odds, between, order = random_chain(seed, n_labels, scale)
    sets, log_p = joint(odds, between)
    assert np.exp(log_p).sum() == pytest.approx(1.0)
    marginals = np.exp(log_p) @ sets
    full = 2**n_labels
    scores, found, found_log_p = searched(odds, between, order, full, allow_empty, n_sets=full)
    allowed = np.sort(log_p if allow_empty else log_p[sets.any(axis=1)])[::-1]
    assert np.allclose(found_log_p[: len(allowed)], allowed, atol=1e-9)
    assert (found_log_p[len(allowed) :] == -np.inf).all()
    index = {tuple(labels): p for labels, p in zip(sets.tolist(), log_p, strict=True)}
    for labels, p in zip(found[: len(allowed)].tolist(), found_log_p, strict=False):
        assert p == pytest.approx(index[tuple(labels)], abs=1e-9)
    assert np.allclose(expit(scores), marginals, atol=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([0.5, 2.0, 8.0]))
def test_a_beam_of_one_is_greedy(seed, n_labels, scale):
    odds, between, order = random_chain(seed, n_labels, scale)
    labels, z = greedy(odds, between, order)
    scores, sets, log_p = searched(odds, between, order, 1, allow_empty=False)
    assert np.array_equal(sets[0], labels)
    assert np.allclose(scores, z)
    assert log_p[0] == pytest.approx(-np.logaddexp(0, -np.where(labels, z, -z)).sum())


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 20))
def test_whatever_the_beam_its_sets_have_their_exact_probability(seed, n_labels, beam):
    odds, between, order = random_chain(seed, n_labels, 3.0)
    sets, log_p = joint(odds, between)
    index = {tuple(labels): p for labels, p in zip(sets.tolist(), log_p, strict=True)}
    _, found, found_log_p = searched(odds, between, order, beam, n_sets=beam)
    n_found = min(beam, 2**n_labels)
    assert np.isfinite(found_log_p[:n_found]).all()
    assert (np.diff(found_log_p[:n_found]) <= 0).all()
    kept = [tuple(labels) for labels in found[:n_found].tolist()]
    assert len(set(kept)) == n_found
    assert [index[labels] for labels in kept] == pytest.approx(found_log_p[:n_found].tolist())


def test_at_even_odds_a_label_is_predicted():
    scores, sets, _ = searched(np.zeros(3), np.zeros((3, 3)), [2, 0, 1], 1)
    assert sets[0].tolist() == [1, 1, 1]
    assert scores.tolist() == [0, 0, 0]


def test_huge_odds_do_not_overflow():
    odds = np.array([1e6, -1e6, 800.0])
    scores, sets, log_p = searched(odds, np.zeros((3, 3)), [0, 1, 2], 8, n_sets=2)
    assert sets[0].tolist() == [1, 0, 1]
    assert log_p[0] == 0.0
    assert np.isfinite(scores).all()


# ---- the classifiers ---------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_it_is_scikit_learns_chain_with_a_constant_feature(order, C, solver):
    X, Y = problem(n=150)
    ours = ClassifierChain(C=C, order=order, **EXACT).fit(X, Y)
    theirs = ReferenceChain(
        LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=1000), order=order
    ).fit(np.column_stack([X, np.ones(150)]), Y)
    fresh = np.random.default_rng(1).standard_normal((300, 5))
    wanted = theirs.predict_proba(np.column_stack([fresh, np.ones(300)]))
    assert np.allclose(ours.predict_proba(fresh), wanted, atol=1e-4)
    sure = (np.abs(wanted - 0.5) > 1e-3).all(axis=1)
    assert sure.mean() > 0.9
    assert np.array_equal(ours.predict(fresh)[sure], (wanted >= 0.5)[sure])
    for place, label in enumerate(order):
        weights = theirs.estimators_[place].coef_.ravel()
        own = ours.weights_[:, [label]].toarray().ravel()
        assert np.allclose(own[:-1], weights[:5], atol=1e-3)
        assert own[-1] == pytest.approx(weights[5], abs=1e-3)
        between = ours.label_weights_[:, [label]].toarray().ravel()
        assert np.allclose(between[order[:place]], weights[6:], atol=1e-3)
        assert not between[order[place:]].any()


def test_greedy_predictions_and_scores_follow_the_chain():
    X, Y = problem()
    model = ClassifierChain(C=5.0, random_state=3).fit(X, Y)
    odds, between = parts(model, X)
    for row in range(len(X)):
        labels, z = greedy(odds[row], between, model.order_)
        assert np.array_equal(model.predict(X[[row]])[0], labels)
        assert np.allclose(model.predict_topk(X[[row]], 4).toarray()[0], z)


@pytest.mark.parametrize("allow_empty", [True, False])
def test_a_full_beam_predicts_the_most_probable_set(allow_empty):
    X, Y = problem(n_labels=5, n=120)
    if not allow_empty:
        keep = Y.any(axis=1)
        X, Y = X[keep], Y[keep]
    model = ProbabilisticClassifierChain(C=2.0, beam=32).fit(X, Y)
    assert model.empty_sets_ == allow_empty
    odds, between = parts(model, X)
    predicted, marginals = model.predict(X), model.predict_proba(X)
    for row in range(len(X)):
        sets, log_p = joint(odds[row], between)
        assert np.allclose(marginals[row], np.exp(log_p) @ sets, atol=1e-6)
        if not allow_empty:
            log_p = np.where(sets.any(axis=1), log_p, -np.inf)
        assert np.array_equal(predicted[row], sets[log_p.argmax()])
        names, probability = model.predict_sets(X[[row]], 1)[0][0]
        assert names == tuple(np.flatnonzero(predicted[row]))
        assert np.log(probability) == pytest.approx(log_p.max(), abs=1e-6)


def test_likely_sets_are_those_of_the_beam_with_their_exact_probabilities(monkeypatch):
    X, Y = problem(n_labels=5, n=60)
    model = ProbabilisticClassifierChain(beam=4).fit(X, Y)
    listed = model.predict_sets(X, 9)
    assert [len(sets) for sets in listed] == [4] * 60
    for place in range(4):
        sets = np.zeros(Y.shape, dtype=int)
        for row, found in enumerate(listed):
            sets[row, list(found[place][0])] = 1
        chances = [found[place][1] for found in listed]
        assert np.allclose(np.exp(model.joint_log_proba(X, sets)), chances)
        if place == 0:
            assert np.array_equal(sets, model.predict(X))
    monkeypatch.setattr(_marginal, "SET_CELLS", 5 * 9 * 7)
    assert model.predict_sets(X, 9) == listed
    assert not hasattr(ClassifierChain(), "predict_sets")


def test_a_beam_of_one_equals_the_greedy_chain():
    X, Y = problem(n_labels=6)
    one = ProbabilisticClassifierChain(beam=1, random_state=2).fit(X, Y)
    chain = ClassifierChain(random_state=2).fit(X, Y)
    assert np.array_equal(one.predict(X), chain.predict(X))
    assert np.array_equal(one.predict_proba(X), chain.predict_proba(X))


def test_joint_probabilities_of_given_sets():
    X, Y = problem()
    model = ClassifierChain(random_state=1).fit(X, Y)
    odds, between = parts(model, X)
    got = model.joint_log_proba(X, Y)
    for row in range(len(X)):
        sets, log_p = joint(odds[row], between)
        assert got[row] == pytest.approx(log_p[(sets == Y[row]).all(axis=1)][0], abs=1e-6)
    names = ["a", "b", "c", "d"]
    named = [tuple(names[j] for j in np.flatnonzero(row)) for row in Y]
    by_name = ClassifierChain(random_state=1).fit(X, named)
    assert np.allclose(by_name.joint_log_proba(X, named), got)
    with pytest.raises(InputError, match="label 'moon', which is not among the known"):
        by_name.joint_log_proba(X[:1], [("moon",)])
    with pytest.raises(InputError, match="shape"):
        model.joint_log_proba(X, Y[:5])


def test_wider_beams_never_find_less_probable_sets():
    X, Y = problem(n_labels=8, n=150, seed=4)
    model = ProbabilisticClassifierChain(C=5.0).fit(X, Y)
    found = []
    for beam in (1, 3, 15, 256):
        model.beam = beam
        found.append(model.joint_log_proba(X, model.predict(X)))
    assert (found[3] >= np.max(found[:3], axis=0) - 1e-9).all()
    assert found[2].mean() >= found[0].mean()


def test_a_chain_knows_what_binary_relevance_cannot():
    """Two labels that exclude each other, with nothing in X to tell them apart."""
    rng = np.random.default_rng(0)
    X = np.ones((400, 1))
    first = rng.random(400) < 0.5
    Y = np.column_stack([first, ~first]).astype(int)
    for model in (ClassifierChain(C=100), ProbabilisticClassifierChain(C=100)):
        assert (model.fit(X, Y).predict(X).sum(axis=1) == 1).all()


@pytest.mark.parametrize("kind", [ClassifierChain, ProbabilisticClassifierChain])
def test_orders(kind):
    X, Y = problem(n_labels=6)
    assert kind(order="given").fit(X, Y).order_.tolist() == list(range(6))
    assert kind(order=(5, 0, 1, 2, 3, 4)).fit(X, Y).order_.tolist() == [5, 0, 1, 2, 3, 4]
    first, again, other = (kind(random_state=s).fit(X, Y).order_.tolist() for s in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == list(range(6))


@pytest.mark.parametrize(
    "order", ["best", [0, 0, 1, 2], [0, 1, 2], [[0, 1, 2, 3]], [0, 1, 2, 4], 3, [0.5, 1, 2, 3]]
)
def test_odd_orders_are_refused(order):
    X, Y = problem()
    with pytest.raises(ParameterError, match="order") as caught:
        ClassifierChain(order=order).fit(X, Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"C": 0}, "C must"),
        ({"tol": -1}, "tol"),
        ({"prune": -0.1}, "prune"),
        ({"max_iter": 0}, "max_iter"),
        ({"beam": 0}, "beam"),
        ({"beam": 2.5}, "beam"),
        ({"random_state": -1}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_odd_settings_get_one_sentence(settings, cause):
    X, Y = problem()
    with pytest.raises(ParameterError, match=cause) as caught:
        ProbabilisticClassifierChain(**settings).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_empty_sets_only_where_training_has_them():
    X, Y = problem(density=0.05)
    without = Y.copy()
    without[~Y.any(axis=1), 0] = 1
    far = np.random.default_rng(5).standard_normal((300, 5))
    with_empty = ProbabilisticClassifierChain().fit(X, Y).predict(far)
    never_empty = ProbabilisticClassifierChain().fit(X, without).predict(far)
    assert not with_empty.any(axis=1).all()
    assert never_empty.any(axis=1).all()


@pytest.mark.parametrize("kind", [ClassifierChain, ProbabilisticClassifierChain])
def test_labels_never_on_always_on_and_alone(kind, solver):
    X, Y = problem()
    odd = np.column_stack([np.zeros(80, int), np.ones(80, int), Y])
    model = kind(order="given").fit(X, odd)
    assert not model.predict(X)[:, 0].any()
    assert model.predict(X)[:, 1].all()
    assert not model.label_weights_[[0]].nnz
    assert np.isfinite(model.predict_topk(X, 6).data).all()
    one = kind().fit(X, Y[:, :1])
    assert one.label_weights_.nnz == 0
    assert one.predict(X).shape == (80, 1)
    assert not kind().fit(X, Y * 0).predict(X).any()


@pytest.mark.parametrize("kind", [ClassifierChain, ProbabilisticClassifierChain])
def test_one_class_a_row(kind):
    X, _ = problem(n=200)
    y = np.array(["sea", "sun", "snow", "sky"])[(X[:, :4] * 3).argmax(axis=1)]
    model = kind(C=10).fit(X, y)
    assert model.score(X, y) > 0.8
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


def test_features_that_never_occur_get_no_weight():
    data = make_longtail(150, 120, 12, random_state=0)
    X = sp.csr_array(sp.hstack([sp.csr_array((150, 7)), data.X, sp.csr_array((150, 3))]))
    wide = ClassifierChain(**EXACT).fit(X, data.Y)
    plain = ClassifierChain(**EXACT).fit(data.X, data.Y)
    assert np.array_equal(wide.predict_topk(X, 5).indices, plain.predict_topk(data.X, 5).indices)
    assert not wide.weights_[:7].nnz
    assert wide.weights_.shape == (131, 12)


def test_an_x_without_entries():
    Y = np.array([[1, 0], [1, 1], [1, 0], [0, 0]])
    model = ClassifierChain(C=10).fit(sp.csr_array((4, 3)), Y)
    assert model.predict(sp.csr_array((2, 3))).tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("kind", [ClassifierChain, ProbabilisticClassifierChain])
def test_blocks_and_threads_do_not_change_predictions(kind, monkeypatch):
    X, Y = problem(n=200, n_labels=6)
    model = kind(C=2.0).fit(X, Y)
    sets, top, proba = model.predict(X), model.predict_topk(X, 3), model.predict_proba(X)
    monkeypatch.setattr(_conditional_classifier, "BLOCK_BYTES", 8 * 6 * 7)
    monkeypatch.setattr(_chain, "SEARCH_CELLS", 2 * 6 * 15)
    for n_jobs in (1, 2):
        model.n_jobs = n_jobs
        assert np.array_equal(model.predict(X), sets)
        assert np.array_equal(model.predict_topk(X, 3).data, top.data)
        assert np.array_equal(model.predict_topk(X, 3).indices, top.indices)
        assert np.array_equal(model.predict_proba(X), proba)
        if kind is ProbabilisticClassifierChain:
            assert len(model.predict_sets(X, 2)) == 200


def test_threads_do_not_change_training(solver):
    X, Y = problem(n_labels=6)
    one, two = (ClassifierChain(n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert np.array_equal(one.weights_.toarray(), two.weights_.toarray())
    assert np.array_equal(one.label_weights_.toarray(), two.label_weights_.toarray())


def test_checkpoints_serve_their_own_work_only(tmp_path):
    X, Y = problem(n_labels=6)
    whole = ClassifierChain().fit(X, Y, checkpoint=tmp_path / "c")
    for file in sorted((tmp_path / "c").glob("block-*"))[::2]:
        file.unlink()
    seen = []
    again = ClassifierChain().fit(
        X, Y, checkpoint=tmp_path / "c", progress=lambda what, done, total: seen.append(done)
    )
    assert seen == [3, 4, 5, 6]
    assert np.array_equal(whole.weights_.toarray(), again.weights_.toarray())
    with pytest.raises(longtail.errors.CheckpointError):
        ClassifierChain(random_state=1).fit(X, Y, checkpoint=tmp_path / "c")


def test_labels_that_did_not_converge_are_named(solver):
    X, Y = problem()
    with pytest.warns(ConvergenceWarning, match="of 4 labels ended") as caught:
        ClassifierChain(max_iter=1, tol=1e-9, C=100).fit(X, Y, label_names=list("abcd"))
    assert len(caught) == 1


def test_explanations_add_up_to_the_score():
    X, Y = problem(n_labels=5)
    model = ClassifierChain(C=2.0, order="given").fit(X, Y, label_names=list("abcde"))
    scores, sets = model.predict_topk(X, 5).toarray(), model.predict(X)
    row = int(np.flatnonzero(sets[:, :4].sum(axis=1) >= 2)[0])
    why = model.explain(X[row], "e", n=5)
    assert why.score == pytest.approx(scores[row, 4], abs=1e-5)
    others = why.table("labels")["contribution"].sum()
    assert why.bias == pytest.approx(why.summary["constant"] + others)
    total = why.bias + why.parts["contribution"].sum()
    assert total == pytest.approx(why.score)
    assert set(why.table("labels")["label"]) <= {"abcde"[j] for j in np.flatnonzero(sets[row, :4])}
    assert why.table("labels").columns == ["label", "contribution"]
    assert "labels:" in str(why)


@pytest.mark.parametrize("kind", [ClassifierChain, ProbabilisticClassifierChain])
def test_saved_and_loaded_it_is_the_same(kind, tmp_path):
    X, Y = problem()
    model = kind(order=[3, 1, 0, 2]).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert loaded.order_.tolist() == [3, 1, 0, 2]
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(loaded.joint_log_proba(X, Y), model.joint_log_proba(X, Y))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("orders_", np.array([[0, 1, 2, 2]])),
        ("orders_", np.array([0, 1, 2, 3])),
        ("orders_", np.array([[0, 1, 2]])),
        ("weights_", sp.csr_array((6, 3))),
        ("label_weights_", sp.csr_array((4, 4))),
        ("label_weights_", sp.csc_array((4, 5))),
        ("label_weights_", sp.csc_array(np.full((4, 4), np.nan))),
        ("empty_sets_", 1),
    ],
)
def test_altered_models_are_refused(name, value, tmp_path):
    X, Y = problem()
    model = ClassifierChain().fit(X, Y)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


def test_weights_between_labels_count_against_the_limit():
    """Of 20,000 labels that all speak of each other, a chain keeps 200 million weights."""
    Y = sp.random_array((2000, 20_000), density=0.02, format="csr", random_state=0)
    Y.data[:] = 1
    with pytest.raises(InputError, match=r"8\.\d GB for 20,000 regressions .*such as br or proxml"):
        ClassifierChain(prune=0.0).fit(np.eye(2000), Y)
