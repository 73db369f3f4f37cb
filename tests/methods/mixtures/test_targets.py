"""Sets that are the best for a measure against all 2^L sets, and what else the joint says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import chisquare

from longtail import metrics
from longtail.errors import InputError, ParameterError
from longtail.methods.mixtures._target_kernels import draw
from longtail.methods.mixtures.decoding import (
    label_correlations,
    log_probability,
    marginals,
    most_probable_sets,
    point_seeds,
)
from longtail.methods.mixtures.targets import above_threshold, best_threshold, optimal_sets
from longtail.runtime.seeds import row_seeds


def all_sets(n_labels):
    return np.array(list(itertools.product([False, True], repeat=n_labels)))


def draw_sets(weights, odds, *, n_samples, random_state=0, seeds=None):
    """Sets drawn from each point's mixture, (n, n_samples, L), as those who sample have them."""
    out = np.empty((odds.shape[0], n_samples, odds.shape[2]), dtype=np.bool_)
    draw(weights, odds, point_seeds(len(weights), random_state, seeds), out)
    return out


def measure_of(name, true, predicted):
    """The measure of every pair of rows, larger being better: (true, predicted)."""
    both = (true.astype(int) @ predicted.T.astype(int)).astype(float)
    sizes = true.sum(axis=1)[:, None] + predicted.sum(axis=1)[None, :]
    if name == "hamming":
        return -(sizes - 2 * both)
    if name == "subset":
        return (sizes == 2 * both).astype(float)
    whole, part = (sizes, 2 * both) if name == "f1" else (sizes - both, both)
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)


def expectations(name, weights, odds):
    """All sets, and the expectation of the measure when each of them is predicted."""
    sets = all_sets(odds.shape[1])
    chances = np.exp(log_probability(weights, odds, sets))
    return sets, chances @ measure_of(name, sets, sets)


def random_mixture(rng, n_components, n_labels, n=1):
    weights = np.log(rng.dirichlet(np.full(n_components, rng.choice([0.2, 1.0])), size=n) + 1e-300)
    mean, scale = rng.choice([-2.0, 0.0, 2.0]), rng.choice([0.3, 1.5, 5.0])
    odds = rng.normal(mean, scale, size=(n, n_components, n_labels))
    if rng.random() < 0.3:
        odds = np.round(odds)
    return weights, odds


def gap(name, rng, allow_empty=True, **parameters):
    """Best conceivable expectation, and that of the set that was found."""
    n_labels = int(rng.integers(1, 9))
    weights, odds = random_mixture(rng, int(rng.integers(1, 6)), n_labels)
    sets, values = expectations(name, weights[0], odds[0])
    found = optimal_sets(weights, odds, target=name, allow_empty=allow_empty, **parameters)[0]
    assert allow_empty or found.any()
    place = int(found @ (1 << np.arange(n_labels)[::-1]))
    assert np.array_equal(sets[place], found)
    return values[0 if allow_empty else 1 :].max(), values[place]


@pytest.mark.parametrize("allow_empty", [True, False])
@pytest.mark.parametrize("target", ["subset", "hamming", "f1"])
def test_no_set_is_better(target, allow_empty):
    rng = np.random.default_rng(0)
    for _ in range(250):
        best, own = gap(target, rng, allow_empty)
        assert own == pytest.approx(best, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("allow_empty", [True, False])
def test_hardly_a_set_is_better_for_jaccard(allow_empty):
    rng = np.random.default_rng(1)
    pairs = np.array([gap("jaccard", rng, allow_empty) for _ in range(400)])
    ratios = pairs[:, 1] / pairs[:, 0]
    assert (ratios > 1 - 1e-9).mean() > 0.98
    assert ratios.min() > 0.97


@pytest.mark.parametrize("target", ["f1", "jaccard"])
@pytest.mark.parametrize("allow_empty", [True, False])
def test_samples_come_near(target, allow_empty):
    rng = np.random.default_rng(2)
    pairs = np.array(
        [gap(target, rng, allow_empty, decoding="sample", n_samples=3000) for _ in range(100)]
    )
    assert (pairs[:, 1] <= pairs[:, 0] + 1e-12).all()
    assert (pairs[:, 1] / pairs[:, 0]).mean() > 0.99


def test_measures_want_different_sets():
    """One of three labels, none of them likely: the example of the documentation."""
    weights, odds = np.log([[0.4, 0.35, 0.25]]), 9.0 * (2 * np.eye(3)[None] - 1)
    wanted = {"subset": [1, 0, 0], "hamming": [0, 0, 0], "f1": [1, 1, 1], "jaccard": [1, 0, 0]}
    for target, labels in wanted.items():
        assert optimal_sets(weights, odds, target=target)[0].astype(int).tolist() == labels


def test_many_labels_in_large_sets():
    """Sizes that float arithmetic leaves no probability for do no harm."""
    rng = np.random.default_rng(3)
    odds = rng.normal(0, 0.2, size=(2, 2, 2500))
    odds[1] = rng.normal(3, 3, size=(2, 2500))
    found = optimal_sets(np.log([[0.5, 0.5]] * 2), odds, target="f1")
    # Of so many labels the size is nearly certain, so that the labels with a probability above
    # half of the best F1 are wanted.
    chances = marginals(np.log([[0.5, 0.5]] * 2), odds)
    for row, chance in zip(found, chances, strict=True):
        order = np.argsort(-chance)
        value = np.cumsum(chance[order]) * 2 / (np.arange(1, 2501) + chance.sum())
        assert row[order[: int(0.9 * value.argmax())]].all()
        assert abs(row.sum() - value.argmax() - 1) <= 30


def test_certain_labels_and_dead_components():
    odds = np.array([[[np.inf, -np.inf, 1.0], [-np.inf, np.inf, -1.0]]])
    for target in ("hamming", "f1", "jaccard"):
        for way in ("joint", "sample"):
            found = optimal_sets([[0.0, -np.inf]], odds, target=target, decoding=way)
            assert found[0].tolist() == [True, False, True]
    assert marginals([[0.0, -np.inf]], odds)[0] == pytest.approx([1, 0, expit(1.0)])


@pytest.mark.parametrize("target", ["subset", "hamming", "f1", "jaccard"])
def test_threads_and_float32_change_nothing(target):
    rng = np.random.default_rng(4)
    weights = np.log(rng.dirichlet(np.ones(4), size=600))
    odds = rng.normal(-1, 2, size=(600, 4, 8)).astype(np.float32)
    one = optimal_sets(weights, odds, target=target, n_jobs=1)
    assert np.array_equal(one, optimal_sets(weights, odds, target=target, n_jobs=2))
    assert np.array_equal(one, optimal_sets(weights, odds.astype(np.float64), target=target))
    if target == "subset":
        assert np.array_equal(one, most_probable_sets(weights, odds).sets[:, 0])


def test_marginals_and_correlations_are_those_of_the_enumeration():
    rng = np.random.default_rng(5)
    for _ in range(30):
        n_labels = int(rng.integers(1, 8))
        weights, odds = random_mixture(rng, int(rng.integers(1, 5)), n_labels)
        weights = weights + 3.0  # need not add up to one
        sets = all_sets(n_labels).astype(float)
        chances = np.exp(log_probability(weights[0] - 3.0, odds[0], sets.astype(bool)))
        mean = chances @ sets
        assert marginals(weights, odds)[0] == pytest.approx(mean, rel=1e-9)
        covariance = (sets - mean).T @ (chances[:, None] * (sets - mean))
        spread = np.sqrt(np.diag(covariance))
        found = label_correlations(weights[0], odds[0])
        assert found == pytest.approx(covariance / np.outer(spread, spread), abs=1e-6)


def test_correlations_with_a_certain_label():
    found = label_correlations(np.log([0.5, 0.5]), np.array([[np.inf, 1.0], [np.inf, -1.0]]))
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    one = label_correlations([0.0], np.array([[0.5, -0.5]]))
    assert one == pytest.approx(np.eye(2))


def test_drawn_sets_follow_the_mixture():
    rng = np.random.default_rng(6)
    weights, odds = np.log([[0.5, 0.3, 0.2]]), rng.normal(scale=1.5, size=(1, 3, 3))
    drawn = draw_sets(weights, odds, n_samples=20_000, random_state=1)[0]
    counts = np.bincount(drawn @ (4, 2, 1), minlength=8)
    chances = np.exp(log_probability(weights[0], odds[0], all_sets(3)))
    assert chisquare(counts, 20_000 * chances).pvalue > 0.001


def test_drawn_sets_depend_on_a_points_seed_and_mixture_only():
    rng = np.random.default_rng(7)
    weights, odds = random_mixture(rng, 3, 10, n=20)
    seeds = row_seeds(sp.csr_array(rng.normal(size=(20, 2))), 3)
    whole = draw_sets(weights, odds, n_samples=5, seeds=seeds)
    order = rng.permutation(20)[:12]
    part = draw_sets(weights[order], odds[order], n_samples=5, seeds=seeds[order])
    assert np.array_equal(whole[order], part)
    same = draw_sets(weights[:1].repeat(2, 0), np.zeros((2, 3, 10)), n_samples=50)
    assert not np.array_equal(same[0], same[1])
    assert not np.array_equal(whole, draw_sets(weights, odds, n_samples=5, random_state=4))
    for target in ("subset", "f1", "jaccard"):
        settings = {"target": target, "decoding": "sample", "n_samples": 20}
        sets = optimal_sets(weights, odds, seeds=seeds, **settings)
        some = optimal_sets(weights[order], odds[order], seeds=seeds[order], **settings)
        assert np.array_equal(sets[order], some)


@pytest.mark.parametrize("seeds", [np.zeros(2, np.uint64), np.zeros(1), [[1]]])
def test_odd_seeds_are_refused(seeds):
    with pytest.raises(InputError, match="seeds must be 1 numbers"):
        optimal_sets([[0.0]], [[[0.0]]], decoding="sample", seeds=seeds)


MEASURES = {
    "f1": lambda Y, Z: metrics.f1(Y, Z, average="example"),
    "jaccard": metrics.jaccard,
    "hamming": lambda Y, Z: -metrics.hamming_loss(Y, Z),
    "subset": metrics.subset_accuracy,
}


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(MEASURES)), st.booleans(), st.booleans())
def test_no_threshold_is_better(seed, measure, allow_empty, rounded):
    rng = np.random.default_rng(seed)
    n, n_labels = rng.integers(1, 8, size=2)
    chances = rng.random((n, n_labels)) ** 2
    if rounded:  # ties
        chances = np.round(chances, 1)
    Y = (rng.random((n, n_labels)) < chances).astype(int)
    threshold, value = best_threshold(chances, Y, measure, allow_empty=allow_empty)
    assert 0 <= threshold <= 1

    def at(level):
        return MEASURES[measure](Y, above_threshold(chances, level, allow_empty=allow_empty) * 1)

    assert at(threshold) == pytest.approx(-value if measure == "hamming" else value, abs=1e-9)
    levels = [0.0, 1.0, *np.unique(chances)]
    assert at(threshold) >= max(map(at, levels)) - 1e-9


def test_thresholds_of_sparse_probabilities():
    rng = np.random.default_rng(8)
    chances = np.where(rng.random((30, 9)) < 0.6, rng.random((30, 9)), 0.0)
    Y = (rng.random((30, 9)) < chances).astype(int)
    stored = sp.csr_array(Y.astype(float))
    stored.data[:3] = 0.0  # a stored zero is no label
    dense = stored.toarray()
    assert best_threshold(sp.csr_array(chances), stored, "f1") == best_threshold(
        chances, dense, "f1"
    )


def test_thresholds_are_used():
    rng = np.random.default_rng(9)
    weights, odds = random_mixture(rng, 3, 6, n=40)
    chances = marginals(weights, odds)
    for target, threshold in (("f1", 0.3), ("jaccard", 0.7)):
        found = optimal_sets(
            weights, odds, target=target, decoding="threshold", threshold=threshold
        )
        assert np.array_equal(found, chances > threshold)
    high = optimal_sets(
        weights, odds, target="f1", decoding="threshold", threshold=1.0, allow_empty=False
    )
    assert np.array_equal(high.argmax(axis=1), chances.argmax(axis=1))
    assert (high.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {"target": "accuracy"},
        {"target": "f1", "decoding": "magic"},
        {"target": "f1", "decoding": "threshold", "threshold": 1.5},
        {"target": "f1", "decoding": "sample", "n_samples": 0},
        {"target": "f1", "decoding": "sample", "random_state": -1},
    ],
)
def test_odd_parameters_are_refused(parameters):
    with pytest.raises(ParameterError):
        optimal_sets(np.zeros((1, 1)), np.zeros((1, 1, 2)), **parameters)


def test_odd_input_is_refused():
    with pytest.raises(InputError, match="do not fit"):
        best_threshold(np.zeros((2, 3)), np.zeros((2, 2)), "f1")
    with pytest.raises(InputError, match="numbers"):
        best_threshold(np.full((2, 3), np.nan), np.zeros((2, 3)), "f1")
    with pytest.raises(InputError, match="one point"):
        label_correlations(np.zeros((1, 2)), np.zeros((1, 2, 3)))
    with pytest.raises(InputError, match="shape"):
        optimal_sets(np.zeros((1, 2)), np.zeros((1, 3, 3)), target="f1")
