"""The power-set with boosted trees: what no linear score tells, and all that the contract asks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import load as load_model
from longtail.data import read_dataset
from longtail.errors import InputError, MissingExtraError, ModelError
from longtail.methods.joint import LabelPowerset
from longtail.solvers.boosted.trees import Forest
from tests.solvers.boosted import without_lightgbm

pytest.importorskip("lightgbm")


def problem(n=400, seed=0):
    """Whether the labels agree is told by the signs of two features together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    same = X[:, 0] * X[:, 1] > 0
    first = X[:, 2] > 0
    return X, np.column_stack([first, first == same, np.zeros(n)]).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, Y = problem()
    return X, Y, LabelPowerset(learner="boosting", n_trees=60).fit(X, Y)


def scores(model, X):
    """Start values and sums of the trees, of every set."""
    said = Forest.from_arrays(model.trees_).predict(sp.csr_array(X))
    return model.trees_["base"] + said


def test_it_learns_what_no_linear_score_tells(fitted):
    X, Y, model = fitted
    test, truth = problem(seed=1)
    assert model.score(test, truth) > 0.85
    assert LabelPowerset().fit(X, Y).score(test, truth) < 0.7


def test_probabilities_are_the_softmax_of_the_trees(fitted):
    X, _, model = fitted
    z = scores(model, X)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    sets = model.sets_.toarray()
    assert np.array_equal(model.predict(X), sets[z.argmax(axis=1)])
    assert model.predict_proba(X) == pytest.approx(p @ sets, abs=1e-9)
    best = [point[0] for point in model.predict_sets(X[:9], n_sets=1)]
    assert [chance for _, chance in best] == pytest.approx(p[:9].max(axis=1))


def test_the_objective_is_that_of_the_training_sets(fitted):
    X, Y, model = fitted
    z = scores(model, X)
    logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    own = (Y[:, None] == model.sets_.toarray()).all(axis=2)
    assert model.objective_ == pytest.approx(-logs[own].sum())
    assert model.n_iter_ == 60
    assert np.bincount(model.trees_["output"]).max() <= 60


def test_settings_reach_the_trees(fitted):
    X, Y, _ = fitted
    stumps = LabelPowerset(learner="boosting", n_trees=3, leaves=2).fit(X, Y)
    assert (np.diff(stumps.trees_["starts"]) == 1).all()
    gentle = LabelPowerset(learner="boosting", n_trees=1, leaves=2, shrinkage=0.01).fit(X, Y)
    firm = LabelPowerset(learner="boosting", n_trees=1, leaves=2, shrinkage=0.02).fit(X, Y)
    assert firm.trees_["value"] == pytest.approx(2 * gentle.trees_["value"])
    wide = np.random.default_rng(0).normal(size=(400, 80))
    seeds = [
        LabelPowerset(learner="boosting", n_trees=3, random_state=seed).fit(wide, Y).trees_
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(seeds[0]["feature"], seeds[1]["feature"])
    assert not np.array_equal(seeds[0]["feature"], seeds[2]["feature"])


def test_explanations_say_which_sets_compete(fitted):
    X, _, model = fitted
    predicted = model.predict(X[:10])
    for i in range(10):
        for label in (0, 1):
            why = model.explain(X[i], label)
            assert (why.score > 0) == predicted[i, label]
            ours, theirs = why.table("sets")["probability"]
            assert why.score == why.bias == pytest.approx(np.log(ours / theirs))
            assert len(why.parts) == 0


def test_saved_and_read_without_lightgbm(fitted, tmp_path, monkeypatch):
    X, Y, model = fitted
    model.save(tmp_path / "model")
    without_lightgbm(monkeypatch)
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    with pytest.raises(MissingExtraError, match=r"longtail\[boost\]"):
        LabelPowerset(learner="boosting").fit(X, Y)


def test_another_learner_leaves_nothing_behind(fitted):
    X, Y, _ = fitted
    model = LabelPowerset(learner="boosting", n_trees=2).fit(X, Y)
    model.set_params(learner="logistic")
    before = model.predict(X)  # what was trained counts
    model.fit(X, Y)
    assert not hasattr(model, "trees_")
    assert not np.array_equal(model.predict(X), before)
    assert not hasattr(model.set_params(learner="boosting", n_trees=2).fit(X, Y), "weights_")
    assert np.array_equal(model.predict(X), before)


def test_huge_features_are_no_matter(fitted):
    _, Y, _ = fitted
    X = fitted[0] * [1.0, 1e14, 1.0, 1e-290]
    model = LabelPowerset(learner="boosting", n_trees=30).fit(X, Y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.score(X, Y) > 0.8


def test_one_set_only(fitted):
    X = fitted[0]
    Y = np.tile([1, 0, 1], (len(X), 1))
    model = LabelPowerset(learner="boosting").fit(X, Y)
    assert np.array_equal(model.predict(X), Y)
    assert model.predict_sets(X[:1]) == [[((0, 2), 1.0)]]


def test_memory_is_estimated_before_any_work(fitted):
    X, Y, _ = fitted
    with pytest.raises(InputError, match=r"MB for 400 trees .* such as br") as caught:
        LabelPowerset(learner="boosting", memory_limit=1e-6).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_far_too_many_sets_are_refused():
    """Points enough, each with a set of its own: two arrays of 8 GB."""
    n = 2**15
    Y = (np.arange(n)[:, None] >> np.arange(15)) & 1
    with pytest.raises(InputError, match=r"1[678] GB for 3,276,800 trees"):
        LabelPowerset(learner="boosting").fit(np.ones((n, 1)), Y)


@pytest.mark.parametrize(
    "change",
    [
        {"trees_": None}, {"learner_": "logistic"}, {"base": np.zeros(3)},
        {"left": np.zeros(1, np.int32)}, {"size": np.array([4, 9])},
    ],
)  # fmt: skip
def test_altered_models_are_refused(fitted, tmp_path, change):
    X, Y, _ = fitted
    model = LabelPowerset(learner="boosting", n_trees=2).fit(X, Y)
    for name, value in change.items():
        if name in model.trees_:
            model.trees_ = model.trees_ | {name: value}
        else:
            setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        load_model(tmp_path / "model")


@pytest.mark.exhaustive
@pytest.mark.published
def test_scene(data_folder):
    """Li et al. 2016, Table 2, and the supplement's: subset accuracy, Jaccard, Hamming loss."""
    published = np.array([70.5, 74.9, 8.6])
    train, test = (read_dataset(data_folder / "scene", part=part) for part in ("train", "test"))
    truth = sp.csr_array(test.Y).toarray() > 0
    found = []
    for seed in range(3):
        model = LabelPowerset(learner="boosting", random_state=seed).fit(train.X, train.Y)
        sets = sp.csr_array(model.predict(test.X)).toarray() > 0
        shared = (sets & truth).sum(axis=1) / (sets | truth).sum(axis=1)
        found.append([(sets == truth).all(axis=1).mean(), shared.mean(), (sets != truth).mean()])
    mean = 100 * np.mean(found, axis=0)
    print("Scene, boosted:", mean.round(1), "published:", published)
    assert mean == pytest.approx(published, abs=2.0)
