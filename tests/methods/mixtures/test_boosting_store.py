"""Boosted gate and experts as arrays, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.errors import InputError, LongtailError, MissingExtraError, ModelError, ParameterError
from longtail.methods.mixtures.boosting import BoostedExperts, BoostedGate
from longtail.runtime.run import Run
from tests.solvers.boosted import random_problem, without_lightgbm

pytest.importorskip("lightgbm")

RUN = Run()


def fitted():
    rng = np.random.default_rng(20)
    X, Y = random_problem(rng)
    gamma = rng.dirichlet([1.0, 1.0, 1.0], size=120)
    gate, experts = BoostedGate(3), BoostedExperts(3, 4)
    gate.update(X, gamma)
    experts.update(X, Y, gamma, RUN)
    return X, Y, gamma, gate, experts


def test_components_can_be_dropped():
    X, Y, gamma, gate, experts = fitted()
    weights, odds = np.exp(gate.log_weights(X)), experts.log_odds(X)
    kept = np.array([2, 0])
    gate.keep(kept)
    experts.keep(kept)
    expected = weights[:, kept] / weights[:, kept].sum(axis=1, keepdims=True)
    assert np.exp(gate.log_weights(X)) == pytest.approx(expected)
    assert np.array_equal(experts.log_odds(X), odds[:, kept])
    gamma = gamma[:, kept] / gamma[:, kept].sum(axis=1, keepdims=True)
    gate.update(X, gamma)
    experts.update(X, Y, gamma, RUN)
    assert gate.log_weights(X).shape == (120, 2)
    again = BoostedExperts.from_arrays(experts.to_arrays())
    assert np.array_equal(again.log_odds(X), experts.log_odds(X))


def test_arrays_bring_everything_back(monkeypatch):
    X, _, _, gate, experts = fitted()
    arrays = gate.to_arrays(), experts.to_arrays()
    for array in (*arrays[0].values(), *arrays[1].values()):
        assert isinstance(array, np.ndarray)
        assert array.dtype != object
    without_lightgbm(monkeypatch)
    assert np.array_equal(BoostedGate.from_arrays(arrays[0]).log_weights(X), gate.log_weights(X))
    assert np.array_equal(BoostedExperts.from_arrays(arrays[1]).log_odds(X), experts.log_odds(X))


def test_training_goes_on_after_the_store():
    X, Y, gamma, gate, experts = fitted()
    gate_again = BoostedGate.from_arrays(gate.to_arrays(), n_jobs=2)
    experts_again = BoostedExperts.from_arrays(experts.to_arrays(), n_jobs=2)
    for a_gate, some_experts in ((gate, experts), (gate_again, experts_again)):
        a_gate.update(X, gamma)
        some_experts.update(X, Y, gamma, RUN)
    assert np.array_equal(gate_again.log_weights(X), gate.log_weights(X))
    assert np.array_equal(experts_again.log_odds(X), experts.log_odds(X))


def test_untrained_ones_come_back_too():
    X = sp.csr_array((2, 3))
    experts = BoostedExperts.from_arrays(BoostedExperts(2, 3).to_arrays())
    assert (experts.log_odds(X) == 0).all()
    gate = BoostedGate.from_arrays(BoostedGate(2).to_arrays())
    assert np.exp(gate.log_weights(X)) == pytest.approx(0.5)
    X, Y = random_problem(np.random.default_rng(22), n_labels=3)
    gamma = np.random.default_rng(23).dirichlet([1.0, 1.0], size=120)
    for model, arguments in ((gate, (X, gamma)), (experts, (X, Y, gamma, RUN))):
        model.update(*arguments)
    assert np.isfinite(experts.log_odds(X)).all()
    assert len(gate.forest) == 20


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("base"),
        lambda arrays: arrays.update(base=arrays["base"][:-1]),
        lambda arrays: arrays.update(base=arrays["base"] * np.nan),
        lambda arrays: arrays.update(base=arrays["base"].astype(np.float32)),
        lambda arrays: arrays.update(base=arrays["base"][None]),
        lambda arrays: arrays.update(base=arrays["base"][:0]),
        lambda arrays: arrays.update(size=arrays["size"] + 1),
        lambda arrays: arrays.update(output=arrays["output"][::-1] + 1),
        lambda arrays: arrays.pop("left"),
    ],
)
def test_altered_arrays_are_refused(change):
    _, _, _, gate, experts = fitted()
    for model in (gate, experts):
        arrays = model.to_arrays()
        change(arrays)
        with pytest.raises(ModelError):
            type(model).from_arrays(arrays)


def test_other_features_are_refused():
    _, _, _, gate, experts = fitted()
    with pytest.raises(InputError, match="features"):
        gate.log_weights(sp.csr_array((2, 9)))
    with pytest.raises(InputError, match="features"):
        experts.log_odds(sp.csr_array((2, 9)))


@pytest.mark.parametrize(
    "settings_",
    [
        {"n_trees": 0}, {"leaves": 1}, {"leaves": 2.5}, {"shrinkage": 0}, {"shrinkage": "x"},
        {"min_points": 0}, {"min_curvature": -1}, {"l2": np.nan}, {"max_bins": 1},
        {"feature_share": 0.0}, {"feature_share": 1.5}, {"random_state": -1}, {"n_jobs": 0},
    ],
)  # fmt: skip
def test_senseless_settings_are_refused(settings_):
    for make in (lambda: BoostedGate(2, **settings_), lambda: BoostedExperts(2, 2, **settings_)):
        with pytest.raises(ParameterError):
            make()


@pytest.mark.parametrize("size", [(0, 2), (2, 0), (True, 2), (2, 1.5)])
def test_senseless_sizes_are_refused(size):
    with pytest.raises(ParameterError):
        BoostedExperts(*size)


def test_without_lightgbm_one_sentence_says_what_to_install(monkeypatch):
    without_lightgbm(monkeypatch)
    X, Y = random_problem(np.random.default_rng(21))
    with pytest.raises(MissingExtraError, match=r'pip install "longtail\[boost\]"') as caught:
        BoostedExperts(2, 4).update(X, Y, np.full((120, 2), 0.5), RUN)
    assert isinstance(caught.value, LongtailError)
    with pytest.raises(MissingExtraError):
        BoostedGate(2).update(X, np.full((120, 2), 0.5))
