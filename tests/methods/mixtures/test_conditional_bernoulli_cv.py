"""The choice of K and C: the path, the scores, and that the final model is the plain one."""

import numpy as np
import pytest

from longtail.errors import ParameterError
from longtail.methods.mixtures import ConditionalBernoulliMixture, ConditionalBernoulliMixtureCV
from longtail.methods.mixtures import conditional_bernoulli_cv as module


@pytest.fixture(scope="module")
def data():
    """One of three pairs of labels, by chance where a feature is negative."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    pairs = np.repeat(np.eye(3, dtype=int), 2, axis=1)
    return X, pairs[np.where(X[:, 0] > 1, 2, rng.integers(0, 3, 240))]


def test_the_best_mean_score_is_chosen_and_the_model_is_the_plain_one(data):
    X, Y = data
    model = ConditionalBernoulliMixtureCV(
        numbers_of_components=(4, 1), Cs=(10.0, 0.001), n_starts=2, max_rounds=4
    ).fit(X, Y)
    found = model.cv_results_
    assert found["n_components"].tolist() == [1, 1, 4, 4]
    assert found["C"].tolist() == [0.001, 10.0, 0.001, 10.0]
    folds = np.stack([found[f"fold{i}_score"] for i in range(3)])
    assert np.allclose(found["mean_score"], folds.mean(axis=0))
    best = int(np.argmax(found["mean_score"]))
    assert (model.chosen_n_components_, model.C_) == (found["n_components"][best], found["C"][best])
    assert model.chosen_n_components_ == 4  # one component cannot keep the labels of a set together
    assert found["mean_score"][best] > found["mean_score"][:2].max() + 0.1
    plain = ConditionalBernoulliMixture(
        n_components=model.chosen_n_components_, C=model.C_, n_starts=2, max_rounds=4
    ).fit(X, Y)
    assert np.array_equal(plain.predict_proba(X), model.predict_proba(X))
    assert model.choice_table()["chosen"].to_list() == [i == best for i in range(4)]


def test_weights_are_carried_over_and_responsibilities_are_not(data, monkeypatch):
    X, Y = data
    starts = []
    inner = module.maximise

    def recorded(gate, experts, rows, labels, shares, **kwargs):
        starts.append((gate.C, shares.copy(), hasattr(gate, "weights")))
        return inner(gate, experts, rows, labels, shares, **kwargs)

    monkeypatch.setattr(module, "maximise", recorded)
    ConditionalBernoulliMixtureCV(
        numbers_of_components=(2, 5), Cs=(1.0, 10.0), folds=2, n_starts=1, max_rounds=2
    ).fit(X, Y)
    assert [(C, shares.shape[1]) for C, shares, _ in starts[:4]] == [
        (1.0, 2), (10.0, 2), (1.0, 5), (10.0, 5),
    ]  # fmt: skip
    assert [warm for _, _, warm in starts[:4]] == [False, True, False, True]
    assert np.array_equal(starts[2][1], starts[3][1])
    for _, shares, _ in starts:
        assert np.allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize("target", ["subset", "hamming", "f1", "jaccard"])
def test_every_target_can_decide(target, data):
    X, Y = data
    model = ConditionalBernoulliMixtureCV(
        numbers_of_components=(2,), Cs=(1.0,), folds=2, target=target, n_starts=1, max_rounds=2
    ).fit(X[:80], Y[:80])
    assert 0 < model.cv_results_["mean_score"][0] <= 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"numbers_of_components": ()},
        {"numbers_of_components": (0,)},
        {"Cs": "1"},
        {"Cs": (-1.0,)},
        {"folds": 1},
    ],
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError):
        ConditionalBernoulliMixtureCV(**wrong).fit(np.eye(4), np.eye(4, dtype=int))
