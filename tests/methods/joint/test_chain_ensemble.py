"""Ensembles of chains: their votes counted by hand, chain by chain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import longtail
from longtail.errors import ModelError, ParameterError
from longtail.methods.joint import ChainEnsemble, ClassifierChain, _conditional_classifier
from tests.methods.joint.brute_force import greedy, joint, parts, problem


def votes_of(model, X):
    """Sets, conditional log-odds and probabilities of the sets, (chains, n, ...)."""
    sets, scores, probabilities = [], [], []
    for chain, order in enumerate(model.orders_):
        odds, between = parts(model, X, chain)
        ours = [greedy(row, between, order) for row in odds]
        sets.append([labels for labels, _ in ours])
        scores.append([z for _, z in ours])
        probabilities.append([expit(np.where(labels, z, -z)).prod() for labels, z in ours])
    return np.array(sets), np.array(scores), np.array(probabilities)


@pytest.fixture(scope="module")
def fitted():
    X, Y = problem(n=150, n_labels=5, seed=3)
    return X, Y, ChainEnsemble(n_chains=7, share=0.5, C=3.0).fit(X, Y)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8])
def test_labels_are_voted_for(fitted, threshold):
    X, _, model = fitted
    model.set_params(voting="label", threshold=threshold)
    sets, scores, _ = votes_of(model, X)
    assert np.array_equal(model.predict(X), sets.mean(axis=0) >= threshold)
    assert np.allclose(model.predict_proba(X), expit(scores).mean(axis=0), atol=1e-6)


def test_sets_are_voted_for(fitted):
    X, _, model = fitted
    model.set_params(voting="subset")
    sets, _, probabilities = votes_of(model, X)
    predicted = model.predict(X)
    decided_by_ties = 0
    for row in range(len(X)):
        ballot: dict[tuple, list[float]] = {}
        for labels, p in zip(sets[:, row].tolist(), probabilities[:, row], strict=True):
            ballot.setdefault(tuple(labels), []).append(p)
        most = max(len(p) for p in ballot.values())
        tied = {labels: sum(p) for labels, p in ballot.items() if len(p) == most}
        decided_by_ties += len(tied) > 1
        assert tuple(predicted[row]) == max(tied, key=tied.__getitem__)
    assert decided_by_ties > 3


def test_one_chain_on_all_rows_is_the_chain():
    X, Y = problem(n_labels=5)
    for voting in ("label", "subset"):
        one = ChainEnsemble(n_chains=1, voting=voting).fit(X, Y)
        chain = ClassifierChain(order=one.orders_[0]).fit(X, Y)
        keep = one.predict(X).any(axis=1)
        assert np.array_equal(one.predict(X)[keep], chain.predict(X)[keep])
        assert np.allclose(one.predict_proba(X), chain.predict_proba(X))


def test_every_chain_is_that_of_its_order():
    X, Y = problem(n_labels=4)
    model = ChainEnsemble(n_chains=3, prune=0.0, tol=1e-10).fit(X, Y)
    assert len({tuple(order) for order in model.orders_.tolist()}) > 1
    for chain, order in enumerate(model.orders_):
        alone = ClassifierChain(order=order, prune=0.0, tol=1e-10).fit(X, Y)
        ours = model.weights_.toarray()[:, chain * 4 : chain * 4 + 4]
        assert np.allclose(ours, alone.weights_.toarray(), atol=1e-4)
        between = model.label_weights_.toarray()[:, chain * 4 : chain * 4 + 4]
        assert np.allclose(between, alone.label_weights_.toarray(), atol=1e-4)


def test_rows_are_drawn_as_asked():
    X, Y = problem()
    same = ChainEnsemble(n_chains=2, random_state=4).fit(X, Y)
    part = ChainEnsemble(n_chains=2, random_state=4, share=0.67).fit(X, Y)
    drawn = ChainEnsemble(n_chains=2, random_state=4, bootstrap=True).fit(X, Y)
    kinds = [model.weights_.toarray() for model in (same, part, drawn)]
    assert not np.allclose(kinds[0], kinds[1])
    assert not np.allclose(kinds[1], kinds[2])
    again = ChainEnsemble(n_chains=2, random_state=4, bootstrap=True).fit(X, Y)
    assert np.array_equal(again.weights_.toarray(), kinds[2])


def test_sets_without_labels_only_where_training_has_them():
    X, Y = problem(density=0.02, n=200)
    far = np.random.default_rng(5).standard_normal((300, 5))
    some = ChainEnsemble(n_chains=5, voting="subset").fit(X, Y)
    assert not some.predict(far).any(axis=1).all()
    with_one = Y.copy()
    with_one[~Y.any(axis=1), 0] = 1
    forced = ChainEnsemble(n_chains=5, voting="subset").fit(X, with_one)
    sets, _, _ = votes_of(forced, far)
    has_one = sets.any(axis=(0, 2))
    assert forced.predict(far)[has_one].any(axis=1).all()


def test_chains_may_search(fitted):
    X, Y, _ = fitted
    model = ChainEnsemble(n_chains=3, beam=32, voting="subset").fit(X, Y)
    odds = [parts(model, X, chain) for chain in range(3)]
    predicted = model.predict(X)
    agreed = 0
    for row in range(len(X)):
        best = []
        for ours, between in odds:
            sets, log_p = joint(ours[row], between)
            best.append(tuple(sets[log_p.argmax()]))
        if len(set(best)) == 1:
            agreed += 1
            assert tuple(predicted[row]) == best[0]
    assert agreed > 50


def test_blocks_and_threads_do_not_matter(fitted, monkeypatch):
    X, Y, model = fitted
    model.set_params(voting="subset")
    sets, top = model.predict(X), model.predict_topk(X, 3)
    monkeypatch.setattr(_conditional_classifier, "BLOCK_BYTES", 8 * 35 * 11)
    for n_jobs in (1, 2):
        model.n_jobs = n_jobs
        assert np.array_equal(model.predict(X), sets)
        assert np.array_equal(model.predict_topk(X, 3).data, top.data)
    two = ChainEnsemble(n_chains=7, share=0.5, C=3.0, n_jobs=2).fit(X, Y)
    assert np.array_equal(two.weights_.toarray(), model.weights_.toarray())


def test_progress_counts_all_chains():
    X, Y = problem()
    seen = []
    ChainEnsemble(n_chains=3).fit(
        X, Y, progress=lambda what, done, total: seen.append((done, total))
    )
    assert {total for _, total in seen} == {12}
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 12


def test_explanations_are_the_mean_over_the_chains(fitted):
    X, _, model = fitted
    _, scores, _ = votes_of(model, X[:5])
    for row in range(5):
        why = model.explain(X[row], 2, n=5)
        assert why.score == pytest.approx(scores[:, row, 2].mean(), abs=1e-5)
        others = why.table("labels")["contribution"].sum()
        assert why.bias == pytest.approx(why.summary["constant"] + others)
        total = why.bias + why.parts["contribution"].sum()
        assert total == pytest.approx(why.score)


def test_saved_and_loaded_it_is_the_same(fitted, tmp_path):
    X, _, model = fitted
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_an_altered_number_of_chains_is_refused(tmp_path):
    X, Y = problem()
    model = ChainEnsemble(n_chains=3).fit(X, Y)
    model.orders_ = model.orders_[:2]
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"n_chains": 0}, "n_chains"),
        ({"voting": "loud"}, "voting"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": 1}, "threshold"),
        ({"share": 0}, "share"),
        ({"share": 1.5}, "share"),
        ({"bootstrap": "yes"}, "bootstrap"),
        ({"beam": 0}, "beam"),
    ],
)
def test_odd_settings_get_one_sentence(settings, cause):
    X, Y = problem()
    with pytest.raises(ParameterError, match=cause) as caught:
        ChainEnsemble(**settings).fit(X, Y)
    assert "\n" not in str(caught.value)
