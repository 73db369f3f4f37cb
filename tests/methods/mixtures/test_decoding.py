"""The decoder against all 2^L sets, and what it does at its limits."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from longtail.errors import InputError, ParameterError
from longtail.methods.mixtures import most_probable_sets, sample_sets
from longtail.methods.mixtures.decoding import log_probability


def all_sets(n_labels):
    return np.array(list(itertools.product([False, True], repeat=n_labels)))


def plainly(log_weights, log_odds):
    """Log-probability of every set, term by term."""
    sets = all_sets(log_odds.shape[1])
    on, off = np.log(expit(log_odds)), np.log(expit(-log_odds))
    terms = np.where(sets[:, None, :], on[None], off[None]).sum(axis=2)
    return sets, logsumexp(log_weights + terms, axis=1)


def random_mixture(rng, n_components, n_labels, n=1):
    weights = np.log(rng.dirichlet(np.full(n_components, rng.choice([0.2, 1.0])), size=n) + 1e-300)
    odds = rng.normal(scale=rng.choice([0.3, 1.5, 5.0]), size=(n, n_components, n_labels))
    if rng.random() < 0.4:  # ties, within components and between them
        odds = np.round(odds)
        weights = np.log(np.full((n, n_components), 1 / n_components))
    if rng.random() < 0.2:
        odds[:, : max(1, n_components // 2)] = odds[:, :1]
    return weights, odds


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("allow_empty", [True, False])
def test_the_set_is_the_best_of_all(seed, allow_empty):
    """2,400 mixtures in all, up to 14 labels and 8 components."""
    rng = np.random.default_rng([seed, allow_empty])
    for _ in range(120):
        n_components, n_labels = int(rng.integers(1, 9)), int(rng.integers(1, 10))
        if rng.random() < 0.05:
            n_labels = int(rng.integers(10, 15))
        weights, odds = random_mixture(rng, n_components, n_labels)
        found = most_probable_sets(weights, odds, allow_empty=allow_empty)
        sets, values = plainly(weights[0], odds[0])
        if not allow_empty:
            values = values[1:]
        assert found.exact[0]
        assert found.log_probabilities[0, 0] == pytest.approx(values.max(), rel=1e-10, abs=1e-10)
        place = int(found.sets[0, 0] @ (1 << np.arange(n_labels)[::-1]))
        assert np.array_equal(sets[place], found.sets[0, 0])
        own = plainly(weights[0], odds[0])[1][place]
        assert own == pytest.approx(values.max(), rel=1e-10, abs=1e-10)
        assert allow_empty or found.sets[0, 0].any()


@pytest.mark.parametrize("seed", range(6))
def test_the_best_few_are_the_best_few(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n_labels, n_sets = int(rng.integers(1, 8)), int(rng.integers(1, 12))
        weights, odds = random_mixture(rng, int(rng.integers(1, 6)), n_labels)
        found = most_probable_sets(weights, odds, n_sets=n_sets)
        values = np.sort(plainly(weights[0], odds[0])[1])[::-1][:n_sets]
        kept = np.isfinite(found.log_probabilities[0])
        assert kept.sum() == len(values)
        assert found.log_probabilities[0, kept] == pytest.approx(values, rel=1e-9, abs=1e-9)
        assert len(np.unique(found.sets[0, kept], axis=0)) == kept.sum()


@pytest.mark.parametrize("allow_empty", [True, False])
@pytest.mark.parametrize("n_sets", [1, 4, 20])
def test_components_of_very_different_weight(n_sets, allow_empty):
    """As a sharp gate gives them: most weights are beyond what a float can add."""
    rng = np.random.default_rng(n_sets)
    for _ in range(60):
        n_components, n_labels = int(rng.integers(2, 9)), int(rng.integers(2, 10))
        logits = rng.normal(scale=rng.choice([3.0, 30.0, 100.0]), size=n_components)
        weights = (logits - logsumexp(logits))[None]
        odds = rng.normal(-4, rng.choice([2.0, 6.0, 15.0]), size=(1, n_components, n_labels))
        odds = np.clip(odds, -40, 40)
        found = most_probable_sets(weights, odds, n_sets=n_sets, allow_empty=allow_empty)
        sets = all_sets(n_labels)[0 if allow_empty else 1 :]
        values = np.sort(log_probability(weights[0], odds[0], sets))[::-1][:n_sets]
        assert found.exact[0]
        assert allow_empty or found.sets[0, : len(values)].any(axis=1).all()
        assert found.log_probabilities[0, : len(values)] == pytest.approx(values, rel=1e-9)


def test_float32_is_as_good_as_the_same_numbers_in_float64():
    rng = np.random.default_rng(6)
    weights, odds = random_mixture(rng, 5, 20, n=50)
    odds = odds.astype(np.float32)
    single = most_probable_sets(weights, odds, n_sets=2)
    double = most_probable_sets(weights, odds.astype(np.float64), n_sets=2)
    assert np.array_equal(single.sets, double.sets)
    assert np.array_equal(single.log_probabilities, double.log_probabilities)


def test_one_component_is_one_label_at_a_time():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=(300, 1, 40))
    found = most_probable_sets(np.zeros((300, 1)), odds)
    assert np.array_equal(found.sets[:, 0], odds[:, 0] > 0)
    assert (found.visits == 1).all()


def test_threads_and_blocks_change_nothing():
    rng = np.random.default_rng(1)
    weights, odds = random_mixture(rng, 6, 12, n=700)
    one, two = (most_probable_sets(weights, odds, n_sets=3, n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.sets, two.sets)
    assert np.array_equal(one.log_probabilities, two.log_probabilities)
    assert np.array_equal(one.visits, two.visits)


def test_few_sets_are_looked_at():
    """The paper: rarely deeper than rank 10 in a component's list."""
    rng = np.random.default_rng(2)
    weights = np.log(rng.dirichlet(np.full(30, 0.3), size=200))
    odds = rng.normal(-8, 4, size=(200, 30, 100))
    found = most_probable_sets(weights, odds)
    assert found.exact.all()
    assert found.visits.mean() < 10 * 30 / 2


def test_certain_labels_and_dead_components():
    odds = np.array([[[np.inf, -np.inf, 1.0], [-np.inf, np.inf, -1.0]]])
    found = most_probable_sets([[0.0, -np.inf]], odds)
    assert found.sets[0, 0].tolist() == [True, False, True]
    assert np.exp(found.log_probabilities[0, 0]) == pytest.approx(expit(1.0))


def test_probabilities_too_small_for_a_float_are_compared_all_the_same():
    odds = np.full((1, 2, 3000), 0.01)
    odds[0, 1] = -0.01
    found = most_probable_sets(np.log([[0.6, 0.4]]), odds)
    assert found.sets[0, 0].all()
    assert np.isfinite(found.log_probabilities[0, 0])
    assert found.log_probabilities[0, 0] < -2000


def test_a_search_that_is_cut_short_says_so():
    rng = np.random.default_rng(3)
    weights, odds = np.zeros((1, 8)), rng.normal(scale=0.05, size=(1, 8, 30))
    cut = most_probable_sets(weights, odds, max_visits=10)
    assert not cut.exact[0]
    assert cut.visits[0] == 10
    assert np.isfinite(cut.log_probabilities[0, 0])


def test_samples_come_near_and_never_above():
    rng = np.random.default_rng(4)
    weights, odds = random_mixture(rng, 4, 8, n=50)
    best, drawn = most_probable_sets(weights, odds), sample_sets(weights, odds, n_samples=2000)
    difference = best.log_probabilities[:, 0] - drawn.log_probabilities[:, 0]
    assert (difference >= -1e-9).all()
    assert (difference < 1e-9).mean() > 0.5
    again = sample_sets(weights, odds, n_samples=2000)
    assert np.array_equal(again.sets, drawn.sets)
    none = np.full((1, 1, 3), -30.0)
    none[0, 0, 1] = -20.0
    assert sample_sets([[0.0]], none, allow_empty=False).sets[0, 0].tolist() == [False, True, False]


def test_log_probability_is_that_of_the_sum():
    rng = np.random.default_rng(5)
    weights, odds = random_mixture(rng, 3, 6)
    sets, values = plainly(weights[0], odds[0])
    assert log_probability(weights[0], odds[0], sets) == pytest.approx(values)
    assert np.exp(values).sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("weights", "odds", "cause"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3, 4)), "shape"),
        (np.zeros(2), np.zeros((1, 2, 4)), "shape"),
        (np.zeros((1, 2)), np.zeros((1, 2, 0)), "one label"),
        (np.zeros((1, 1)), np.full((1, 1, 2), np.nan), "numbers"),
        (np.full((1, 2), -np.inf), np.zeros((1, 2, 2)), "no component"),
    ],
)
def test_odd_mixtures_are_refused(weights, odds, cause):
    with pytest.raises(InputError, match=cause):
        most_probable_sets(weights, odds)


@pytest.mark.parametrize("parameters", [{"n_sets": 0}, {"max_visits": 0}, {"n_sets": True}])
def test_odd_parameters_are_refused(parameters):
    with pytest.raises(ParameterError):
        most_probable_sets(np.zeros((1, 1)), np.zeros((1, 1, 2)), **parameters)
