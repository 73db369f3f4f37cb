"""The classifier: special cases of the paper, targets, odd data, explanations, its figures."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

import longtail
from longtail.data import read_dataset
from longtail.errors import (
    ConvergenceWarning,
    InputError,
    LongtailWarning,
    ModelError,
    ParameterError,
)
from longtail.methods.linear import BinaryRelevance
from longtail.methods.mixtures import ConditionalBernoulliMixture, marginals
from longtail.methods.mixtures import conditional_bernoulli as module
from longtail.methods.mixtures.em import maximise
from longtail.metrics import hamming_loss, subset_accuracy


@pytest.fixture(scope="module")
def data():
    """Three labels of which every point has one, by chance, and one that the features tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = np.zeros((400, 4), dtype=int)
    Y[np.arange(400), rng.integers(0, 3, 400)] = 1
    Y[:, 3] = X[:, 0] > 0
    return X, Y


@pytest.fixture(scope="module")
def model(data):
    return ConditionalBernoulliMixture(n_components=4, n_starts=4).fit(*data)


def test_labels_that_exclude_each_other(model, data):
    """Binary relevance cannot know it; the joint distribution does."""
    X, Y = data
    assert (model.predict(X)[:, :3].sum(axis=1) == 1).mean() > 0.98
    alone = BinaryRelevance().fit(X, Y).predict(X)
    assert (alone[:, :3].sum(axis=1) == 1).mean() < 0.5
    why = model.explain(X[0])
    pairs = {(a, b): value for a, b, value in why.table("correlations").iter_rows()}
    assert -0.7 < pairs[0, 1] < -0.3  # a half, if all three are as likely


def test_one_component_is_binary_relevance(data):
    X, Y = data
    one = ConditionalBernoulliMixture(n_components=1, C=2.0, max_rounds=2).fit(X, Y)
    relevance = BinaryRelevance(C=2.0, prune=0.0).fit(X, Y)
    assert np.allclose(one.predict_proba(X), relevance.predict_proba(X), atol=2e-3)
    some = relevance.predict(X).any(axis=1)  # training has no empty set, so none is predicted
    sure = some & (np.abs(relevance.predict_proba(X) - 0.5) > 0.005).all(axis=1)
    assert sure.sum() > 50
    assert np.array_equal(one.predict(X)[sure], relevance.predict(X)[sure])


def test_one_component_a_set_is_the_power_set():
    """With constant experts the model chooses among the training sets."""
    X = np.repeat(np.eye(3), 20, axis=0)
    Y = np.repeat(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]]), 20, axis=0)
    model = ConditionalBernoulliMixture(n_components=3, C=100.0).fit(X, Y)
    assert np.array_equal(model.predict(X), Y)
    assert model.n_components_ == 3


def test_targets_order_as_they_should(model, data):
    X, Y = data
    scores = {}
    for target in ("subset", "hamming", "f1", "jaccard"):
        predicted = model.set_params(target=target).predict(X)
        scores[target] = (subset_accuracy(Y, predicted), hamming_loss(Y, predicted))
    model.set_params(target="subset")
    assert scores["subset"][0] >= max(score for score, _ in scores.values()) - 0.02
    assert scores["hamming"][1] <= min(loss for _, loss in scores.values()) + 0.02


def test_marginals_are_those_of_the_mixture(model, data):
    X, _ = data
    rows = model._checked(X[:20], reset=False)
    weights, odds = model._point_mixtures(rows)
    expected = np.einsum("nk,nkl->nl", np.exp(weights), expit(odds))
    assert np.allclose(marginals(weights, odds), expected)
    assert np.allclose(model.predict_proba(X[:20]), expected, atol=1e-9)


def test_likely_sets_fall_in_probability_and_add_up(model, data):
    X, _ = data
    found = model.predict_sets(X[:5], 16)
    for sets in found:
        chances = [chance for _, chance in sets]
        assert chances == sorted(chances, reverse=True)
        assert len({members for members, _ in sets}) == len(sets) == 15  # without the empty one
        assert sum(chances) == pytest.approx(1.0, abs=0.05)
    first = model.predict(X[:5])
    assert [tuple(np.flatnonzero(row)) for row in first] == [sets[0][0] for sets in found]


def test_sampling_mostly_finds_the_same_sets(model, data):
    X, _ = data
    exact = model.predict(X[:50])
    sampled = model.set_params(decoding="sample").predict(X[:50])
    model.set_params(decoding="joint")
    assert (exact == sampled).all(axis=1).mean() > 0.9


@pytest.mark.parametrize("target", ["subset", "f1", "jaccard"])
def test_what_is_drawn_for_a_row_does_not_depend_on_its_place(target, model, data, monkeypatch):
    X, _ = data
    X = X[:60]
    order = np.random.default_rng(0).permutation(60)
    model.set_params(decoding="sample", target=target)
    try:
        one_block = model.predict(X)
        assert np.array_equal(model.predict(X[order]), one_block[order])
        monkeypatch.setattr(model, "_block_rows", lambda: 7)
        assert np.array_equal(model.predict(X), one_block)
        assert np.array_equal(model.predict(X[[33]])[0], one_block[33])
        other = model.set_params(random_state=1).predict(X)
    finally:
        model.set_params(decoding="joint", target="subset", random_state=0)
    assert (other == one_block).all(axis=1).mean() > 0.5


def test_threshold_is_chosen(data):
    X, Y = data
    model = ConditionalBernoulliMixture(
        n_components=2, target="f1", decoding="threshold", validation=0.25, max_rounds=4
    ).fit(X, Y)
    assert 0 < model.threshold_ < 1
    assert len(model.held_out_loss_) == model.n_iter_
    assert model.predict(X).shape == Y.shape


def test_a_threshold_must_have_been_chosen(data):
    X, Y = data
    model = ConditionalBernoulliMixture(n_components=2, max_rounds=2).fit(X, Y)
    model.set_params(target="f1", decoding="threshold")
    with pytest.raises(ParameterError, match="fit with"):
        model.predict(X[:2])


def test_a_search_that_is_given_up_says_so():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 40)) < 0.5).astype(int)
    model = ConditionalBernoulliMixture(n_components=10, C=1e-3, max_rounds=2, tol=0.0)
    model.fit(rng.normal(size=(60, 2)), Y)
    with pytest.warns(ConvergenceWarning, match="may have been missed"):
        model.predict(np.zeros((1, 2)))


class TestOddData:
    def test_no_labels_at_all(self):
        X, Y = np.eye(4), np.zeros((4, 3), dtype=int)
        with pytest.warns(LongtailWarning, match="the same label set"):
            model = ConditionalBernoulliMixture(n_components=2).fit(X, Y)
        assert not model.predict(X).any()
        assert model.predict_topk(X, 2).nnz == 0
        assert model.explain(X[0]).table("sets")["set"][0].to_list() == []

    def test_more_components_than_label_sets_or_points(self):
        X, Y = np.eye(4), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
        model = ConditionalBernoulliMixture(n_components=50, C=100.0).fit(X, Y)
        assert 1 <= model.n_components_ <= 4
        assert model.n_components_ + model.dropped_ == 4  # as many as there are points
        assert np.array_equal(model.predict(X), Y)

    def test_more_components_than_label_sets_are_no_error_and_no_warning(self):
        """Components of the same labels may differ in where they apply, so they are kept."""
        place = np.repeat(np.arange(5), 40)
        X = np.stack([place, np.ones(200)], axis=1)
        Y = np.stack([place % 2 == 0, place % 2 == 1], axis=1).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error", LongtailWarning)
            model = ConditionalBernoulliMixture(n_components=6, C=1e4).fit(X, Y)
        assert 2 < model.n_components_ == 6 - model.dropped_

    @pytest.mark.parametrize("labels", [[1, 0, 1], [1, 1, 1]])
    def test_a_single_label_set(self, labels):
        X, Y = np.random.default_rng(0).normal(size=(20, 3)), np.tile(labels, (20, 1))
        with pytest.warns(LongtailWarning, match="the same label set") as told:
            model = ConditionalBernoulliMixture(n_components=5).fit(X, Y)
        assert told[0].filename == __file__
        assert np.array_equal(model.predict(X), Y)
        assert model.n_components_ + model.dropped_ == 5

    @pytest.mark.parametrize("left", [1, 2, 3])
    def test_dropped_components_are_told(self, left, monkeypatch):
        """Responsibilities of components that get no point at the start stay at nothing."""

        def emptied(gate, experts, X, Y, shares, **settings):
            shares = np.zeros_like(shares)
            shares[:, :left] = 1 / left
            return maximise(gate, experts, X, Y, shares, **settings)

        monkeypatch.setattr(module, "maximise", emptied)
        X, Y = np.random.default_rng(0).normal(size=(200, 3)), np.tile([[1, 0], [0, 1]], (100, 1))
        model = ConditionalBernoulliMixture(n_components=4, C=1e3, max_rounds=4)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", LongtailWarning)
            model.fit(X, Y)
        assert (model.n_components_, model.dropped_) == (left, 4 - left)
        assert len(told) == (left == 1)
        if told:
            assert str(told[0].message).startswith("3 of 4 components were dropped")
            assert told[0].filename == __file__

    def test_labels_always_on_and_always_off(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(60, 3))
        Y = np.stack([np.ones(60), np.zeros(60), X[:, 0] > 0], axis=1).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error", LongtailWarning)
            model = ConditionalBernoulliMixture(n_components=3).fit(X, Y)
        predicted = model.predict(X)
        assert predicted[:, 0].all()
        assert not predicted[:, 1].any()
        assert (predicted[:, 2] == Y[:, 2]).mean() > 0.9

    def test_empty_sets_only_if_training_has_them(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(100, 2))
        Y = np.stack([X[:, 0] > 1.2, X[:, 1] > 1.2], axis=1).astype(int)
        with_empty = ConditionalBernoulliMixture(n_components=2).fit(X, Y)
        assert with_empty.empty_sets_
        assert not with_empty.predict(X).any(axis=1).all()
        some = Y.any(axis=1)
        without = ConditionalBernoulliMixture(n_components=2).fit(X[some], Y[some])
        assert without.predict(X).any(axis=1).all()

    def test_too_many_experts_are_refused(self):
        X, Y = sp.csr_array(np.ones((30, 99))), sp.csr_array(np.ones((30, 40_000)))
        with pytest.raises(InputError, match=r"5\.\d GB for 30 components .* such as proxml, or"):
            ConditionalBernoulliMixture(n_components=30).fit(X, Y)

    def test_so_are_boosted_ones(self):
        X, Y = sp.csr_array(np.ones((100_000, 1))), sp.csr_array(np.eye(2)[np.arange(100_000) % 2])
        with pytest.raises(
            InputError, match=r"5\.\d GB for 950 components .* memory_limit of 4 GB"
        ):
            ConditionalBernoulliMixture(n_components=950, experts="boosting").fit(X, Y)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"n_components": 0}, {"experts": "trees"}, {"gate": "none"}, {"C": -1.0},
            {"target": "f2"}, {"decoding": "guess"}, {"validation": 1.0}, {"tol": -1.0},
            {"target": "subset", "decoding": "threshold"}, {"allow_empty": "no"},
            {"n_trees": 0}, {"shrinkage": 0.0},
        ],
    )  # fmt: skip
    def test_wrong_parameters(self, wrong):
        with pytest.raises(ParameterError):
            ConditionalBernoulliMixture(**wrong).fit(np.eye(3), np.eye(3, dtype=int))


def test_explanation(model, data):
    X, _ = data
    why = model.explain(X[3], 3)
    assert why.label == 3
    weights, odds = model._point_mixtures(model._checked(X[[3]], reset=False))
    score = float(np.exp(weights[0]) @ odds[0, :, 3])
    assert why.score == pytest.approx(score)
    assert why.bias + why.parts["contribution"].sum() == pytest.approx(score)
    components, labels = why.table("components"), why.table("labels")
    assert (np.diff(components["weight"]) <= 0).all()
    assert components.columns == ["component", "weight", "label", "probability"]
    assert len(why.table("correlations")) == len(labels) * (len(labels) - 1) // 2
    chances = model.predict_proba(X[[3]])[0, labels["label"].to_numpy()]
    assert labels["probability"].to_numpy() == pytest.approx(chances)
    sets, probabilities = zip(*model.predict_sets(X[[3]], 3)[0], strict=True)
    assert [tuple(members) for members in why.table("sets")["set"]] == list(sets)
    assert why.table("sets")["probability"].to_list() == pytest.approx(list(probabilities))
    assert model.explain(X[3]).label in model.classes_


@pytest.mark.parametrize("kind", ["logistic", "boosting"])
def test_stored_and_altered(kind, data, tmp_path):
    if kind == "boosting":
        pytest.importorskip("lightgbm")
    X, Y = data
    model = ConditionalBernoulliMixture(n_components=3, experts=kind, max_rounds=3).fit(X, Y)
    model.save(tmp_path / "model")
    again = longtail.load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    changes = {
        "n_components_": 2, "threshold_": "x", "empty_sets_": None, "kinds_": ["logistic"],
        "gate_": {}, "experts_": {},
    }  # fmt: skip
    for name, value in changes.items():
        state = model.to_state()
        state["learned"][name] = value
        with pytest.raises(ModelError):
            ConditionalBernoulliMixture.from_state(state)
    state = model.to_state()
    state["parameters"]["n_components"] = -3
    with pytest.raises(ModelError):
        ConditionalBernoulliMixture.from_state(state)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("gate_", "weights", np.nan), ("experts_", "weights", np.inf), ("experts_", "sign", 7)],
)
def test_altered_weights_are_refused(part, name, value, model):
    state = model.to_state()
    arrays = {key: array.copy() for key, array in state["learned"][part].items()}
    if sp.issparse(arrays[name]):
        arrays[name].data[:] = value
    else:
        arrays[name][:] = value
    state["learned"][part] = arrays
    with pytest.raises(ModelError):
        ConditionalBernoulliMixture.from_state(state)


@pytest.mark.parametrize(("gate", "experts"), [("boosting", "logistic"), ("logistic", "boosting")])
def test_kinds_can_be_mixed(gate, experts, data):
    pytest.importorskip("lightgbm")
    X, Y = data
    model = ConditionalBernoulliMixture(
        n_components=3, gate=gate, experts=experts, max_rounds=8
    ).fit(X, Y)
    assert subset_accuracy(Y, model.predict(X)) > 0.3


@pytest.mark.exhaustive
@pytest.mark.published
def test_scene(data_folder):
    """Table 2 has 69.7, the supplement a Jaccard index of 73.6 and a Hamming loss of 8.9."""
    train, test = (read_dataset(data_folder / "scene", part=part) for part in ("train", "test"))
    model = ConditionalBernoulliMixture(n_components=20).fit(train.X, train.Y)
    predicted = model.predict(test.X)
    assert 100 * subset_accuracy(test.Y, predicted) >= 69.0
    assert 100 * hamming_loss(test.Y, predicted) <= 9.2
