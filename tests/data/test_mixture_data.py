"""make_mixture: the labels follow the stated distribution, and its upper bound is that of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from scipy.stats import chisquare

from longtail.data import MIXTURE_COLUMNS, make_mixture
from longtail.data.mixture_data import (
    _drawn,
    most_probable_of_all,
    set_probabilities,
)
from longtail.errors import InputError, ParameterError


def chance_of(labels, weights, odds):
    """Probability of one set under one point's mixture, factor by factor."""
    total = 0.0
    for weight, scores in zip(weights, odds, strict=True):
        factors = [
            expit(z) if label else expit(-z) for label, z in zip(labels, scores, strict=True)
        ]
        total += weight * np.prod(factors)
    return total


def naively(data, X):
    """The most probable set of each point from the weights alone, in plain loops."""
    best = []
    for x in X:
        point = np.append(x, 1.0)
        weights = softmax(point @ data.gate)
        odds = [point @ expert for expert in data.experts]
        sets = list(itertools.product([False, True], repeat=data.experts.shape[2]))
        best.append(max(sets, key=lambda labels: chance_of(labels, weights, odds)))
    return np.array(best)


def test_probabilities_of_all_sets():
    rng = np.random.default_rng(0)
    weights, odds = rng.dirichlet(np.ones(3), size=4), rng.normal(scale=2, size=(4, 3, 5))
    found = set_probabilities(np.log(weights), odds)
    assert found.shape == (4, 32)
    assert found.sum(axis=1) == pytest.approx(np.ones(4))
    every_set = (np.arange(32)[:, None] >> np.arange(5)) & 1 == 1
    for i, (s, labels) in itertools.product(range(4), enumerate(every_set)):
        assert found[i, s] == pytest.approx(chance_of(labels, weights[i], odds[i]))
    assert np.array_equal(
        most_probable_of_all(np.log(weights), odds), every_set[found.argmax(axis=1)]
    )


def test_drawn_sets_are_as_frequent_as_stated():
    rng = np.random.RandomState(0)
    weights, odds = np.log([[0.5, 0.3, 0.2]]), rng.normal(scale=1.5, size=(1, 3, 3))
    n = 20_000
    drawn = _drawn(np.repeat(weights, n, axis=0), np.repeat(odds, n, axis=0), rng)
    counts = np.bincount(drawn @ (1 << np.arange(3)), minlength=8)
    assert chisquare(counts, n * set_probabilities(weights, odds)[0]).pvalue > 0.001
    one = np.repeat(odds, n, axis=0)[:, :1]  # of one component only, other frequencies
    alone = _drawn(np.zeros((n, 1)), one, rng)
    counts = np.bincount(alone @ (1 << np.arange(3)), minlength=8)
    assert chisquare(counts, n * set_probabilities(weights, odds)[0]).pvalue < 0.001


def test_sampled_data_agree_with_the_mixture_that_is_returned():
    """Summed over all points, each set occurs as often as it should."""
    data = make_mixture(20_000, 4, 3, draw="sample", intercept_scale=1.0, random_state=3)
    for part in (data.train, data.test):
        chances = set_probabilities(data.log_weights(part.X), data.log_odds(part.X))
        codes = part.Y.toarray().astype(int) @ (1 << np.arange(3))
        counts = np.bincount(codes, minlength=8)
        spread = np.sqrt((chances * (1 - chances)).sum(axis=0))
        assert (np.abs(counts - chances.sum(axis=0)) < 4.5 * spread).all()


@pytest.mark.parametrize("noise", [0.0, 0.7])
@pytest.mark.parametrize("draw", ["argmax", "sample"])
def test_the_upper_bound_is_that_of_plain_loops(draw, noise):
    data = make_mixture(90, 4, 4, draw=draw, noise=noise, random_state=5, intercept_scale=2.0)
    best = naively(data, data.test.X.toarray())
    truth = data.test.Y.toarray() > 0
    assert np.array_equal(data.best_sets, best)
    assert data.upper_bound == np.mean((truth == best).all(axis=1))
    assert (data.upper_bound == 1.0) == (draw == "argmax" and noise == 0)


def test_argmax_labels_are_the_mode_in_training_too():
    data = make_mixture(60, 3, 4, random_state=1)
    assert np.array_equal(data.train.Y.toarray() > 0, naively(data, data.train.X.toarray()))


def test_a_seed_fixes_points_and_mixture_for_all_columns():
    first, *others = (
        make_mixture(60, random_state=2, **column) for column in MIXTURE_COLUMNS.values()
    )
    for other in others:
        assert np.array_equal(first.gate, other.gate)
        assert np.array_equal(first.experts, other.experts)
        assert np.array_equal(first.train.X.toarray(), other.train.X.toarray())
        assert np.array_equal(first.best_sets, other.best_sets)
        assert (first.train.Y != other.train.Y).nnz
    again = make_mixture(60, random_state=2, **MIXTURE_COLUMNS["sample + noise"])
    assert not (again.train.Y != others[-1].train.Y).nnz
    assert not np.array_equal(first.gate, make_mixture(60, random_state=3).gate)


def test_shapes_and_parts():
    data = make_mixture(100, 3, 2, n_components=4, test_size=30, random_state=0)
    assert isinstance(data.train.X, sp.csr_array)
    assert (data.train.X.shape, data.test.X.shape) == ((70, 3), (30, 3))
    assert (data.train.Y.shape, data.test.Y.shape) == ((70, 2), (30, 2))
    assert (data.gate.shape, data.experts.shape) == ((4, 4), (4, 4, 2))
    assert len(make_mixture(100, test_size=0.1, random_state=0).test) == 10
    assert np.exp(data.log_weights(data.test.X)).sum(axis=1) == pytest.approx(np.ones(30))


def test_blocks_change_nothing(monkeypatch):
    whole = make_mixture(50, random_state=0)
    monkeypatch.setattr("longtail.data.mixture_data._BLOCK", 500)
    parts = make_mixture(50, random_state=0)
    assert np.array_equal(whole.train.Y.toarray(), parts.train.Y.toarray())
    assert np.array_equal(whole.best_sets, parts.best_sets)


def test_default_bounds_come_near_those_of_the_paper():
    bounds = [
        [
            make_mixture(900, test_size=600, random_state=seed, **column).upper_bound
            for column in MIXTURE_COLUMNS.values()
        ]
        for seed in range(20)
    ]
    assert 100 * np.mean(bounds, axis=0) == pytest.approx([100, 76.4, 65.2, 48.1], abs=3)


@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        ({"n_labels": 21}, "at most 20"),
        ({"n_labels": 0}, "n_labels"),
        ({"n_components": 1.5}, "n_components"),
        ({"draw": "best"}, "draw"),
        ({"noise": -1.0}, "noise"),
        ({"gate_scale": 0}, "gate_scale"),
        ({"test_size": 1.0}, "test_size"),
        ({"test_size": 15_000}, "test_size"),
    ],
)
def test_odd_parameters_are_refused(parameters, cause):
    with pytest.raises(ParameterError, match=cause):
        make_mixture(**parameters)


def test_one_point_cannot_be_parted():
    with pytest.raises(InputError, match="2 rows"):
        make_mixture(1)
