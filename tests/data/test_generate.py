"""make_longtail: sizes, the curves of real sets, groups, and that the labels can be learned."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from longtail.data.generate import make_longtail, power_law_counts, word_frequencies
from longtail.errors import ParameterError
from longtail.features.scaling import RowScaler


def counts_of(data):
    return np.bincount(data.Y.indices, minlength=data.Y.shape[1])


def assert_canonical(matrix, dtype=np.float32):
    assert isinstance(matrix, sp.csr_array)
    assert matrix.dtype == dtype
    rebuilt = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    rebuilt.check_format(full_check=True)
    assert rebuilt.has_canonical_format


@pytest.fixture(scope="module")
def benchmark_set():
    return make_longtail(45_000, 25_000, 20_000, random_state=0)


def test_the_benchmark_set_comes_out_as_asked(benchmark_set):
    assert benchmark_set.X.shape == (45_000, 25_000)
    assert benchmark_set.Y.shape == (45_000, 20_000)
    assert_canonical(benchmark_set.X)
    assert_canonical(benchmark_set.Y)
    assert benchmark_set.Y.nnz / 45_000 == 5
    assert benchmark_set.X.nnz / 45_000 == pytest.approx(34, rel=0.05)
    assert counts_of(benchmark_set).min() >= 1
    assert np.diff(benchmark_set.Y.indptr).min() >= 1
    assert len(np.unique(benchmark_set.X.indices)) > 0.9 * 25_000


@pytest.mark.parametrize("power", [0.5, 0.9, 1.2])
def test_frequencies_fall_like_a_power_of_the_rank(power):
    data = make_longtail(20_000, 1000, 5000, power=power, random_state=1)
    counts = np.sort(counts_of(data))[::-1]
    below_limit = (counts < 10_000) & (counts >= 10)
    rank = np.arange(1, 5001)
    slope = np.polyfit(np.log(rank[below_limit]), np.log(counts[below_limit]), 1)[0]
    assert slope == pytest.approx(-power, abs=0.1)


def test_most_labels_are_rare(benchmark_set):
    assert np.mean(counts_of(benchmark_set) < 5) > 0.5


def test_few_labels_are_in_many_documents(benchmark_set):
    """As on debian-depends: the first in 39 % of the rows, 14 in more than 1,000."""
    counts = np.sort(counts_of(benchmark_set))[::-1]
    assert 0.3 < counts[0] / 45_000 < 0.45
    assert 10 <= np.sum(counts >= 1000) <= 25
    assert np.median(counts) == 3


def test_words_follow_zipfs_law(benchmark_set):
    """The shares of the rows that the words of debian-depends are in, within a factor of two."""
    shares = np.sort(np.bincount(benchmark_set.X.indices, minlength=25_000))[::-1] / 45_000
    real = {1: 0.296, 4: 0.234, 16: 0.133, 64: 0.066, 256: 0.023, 1024: 5.6e-3, 4096: 9.0e-4}
    for rank, share in real.items():
        assert 0.5 < shares[rank - 1] / share < 2, rank
    assert np.mean(shares * 45_000 < 10) > 0.4


def spread_of(numbers):
    return numbers.std() / numbers.mean()


def test_documents_differ_in_length_and_in_labels(benchmark_set):
    lengths, labels = np.diff(benchmark_set.X.indptr), np.diff(benchmark_set.Y.indptr)
    assert spread_of(lengths) == pytest.approx(np.sqrt(np.exp(0.6**2) - 1), rel=0.1)
    assert 0.55 < spread_of(labels) < 0.75
    assert abs(np.corrcoef(lengths, labels)[0, 1]) < 0.05


def test_documents_may_be_alike():
    data = make_longtail(5000, 3000, 1000, spread=0, random_state=0)
    assert spread_of(np.diff(data.X.indptr)) == pytest.approx(34**-0.5, rel=0.1)  # Poisson's
    assert spread_of(np.diff(data.Y.indptr)) < 5**-0.5


@pytest.mark.parametrize(("words", "mean"), [(200, 2.0), (5000, 34.0), (300_000, 200.0)])
def test_the_first_word_is_in_three_of_ten_documents(words, mean):
    sums = word_frequencies(words, mean)
    assert 1 - np.exp(-mean * sums[0] / sums[-1]) == pytest.approx(0.3, abs=0.002)


def test_few_words_for_long_documents_are_nearly_equally_frequent():
    each = np.diff(word_frequencies(50, 40.0), prepend=0.0)
    assert each[0] < 2.5 * each[-1]


def test_ids_say_nothing_about_frequency(benchmark_set):
    for matrix in (benchmark_set.X, benchmark_set.Y):
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        assert abs(np.corrcoef(counts, np.arange(len(counts)))[0, 1]) < 0.05


def test_labels_occur_in_groups(benchmark_set):
    Y = benchmark_set.Y
    shuffled = sp.csr_array(
        (Y.data, np.random.RandomState(0).permutation(Y.indices), Y.indptr), shape=Y.shape
    )
    not_frequent = np.flatnonzero(counts_of(benchmark_set) <= 200)

    def pairs_seen_twice(labels):
        labels = labels[:, not_frequent]
        together = sp.triu(labels.T @ labels, k=1)
        return (together.data >= 2).sum()

    assert pairs_seen_twice(Y) > 5 * pairs_seen_twice(shuffled)


def test_more_groups_mean_fewer_pairs():
    few, many = (
        make_longtail(5000, 500, 500, n_groups=groups, random_state=0) for groups in (1, 50)
    )
    assert (many.Y.T @ many.Y).nnz < (few.Y.T @ few.Y).nnz


def precision_at_1(data):
    X = RowScaler(damping="sqrt").fit_transform(data.X)
    Y = data.Y.toarray()
    half = len(Y) // 2
    scores = Ridge(alpha=1.0).fit(X[:half], Y[:half]).predict(X[half:])
    return Y[half:][np.arange(len(Y) - half), scores.argmax(axis=1)].mean(), Y[:half].mean(0).max()


def test_labels_can_be_learned():
    data = make_longtail(2000, 1000, 100, labels_per_sample=3, random_state=0)
    found, by_chance = precision_at_1(data)
    assert found > 0.9
    assert 1 - found < (1 - by_chance) / 10


def test_pure_noise_cannot_be_learned():
    data = make_longtail(2000, 1000, 100, labels_per_sample=3, noise=1.0, random_state=0)
    found, by_chance = precision_at_1(data)
    assert found < by_chance + 0.1


def test_rare_labels_can_be_learned():
    data = make_longtail(4000, 3000, 400, labels_per_sample=3, random_state=0)
    X, Y = RowScaler(damping="sqrt").fit_transform(data.X), data.Y.toarray()
    rare = (Y[:2000].sum(0) >= 4) & (Y[:2000].sum(0) <= 12)
    assert rare.sum() > 50
    scores = Ridge(alpha=1.0).fit(X[:2000], Y[:2000][:, rare]).predict(X[2000:])
    rows = np.flatnonzero(Y[2000:][:, rare].any(axis=1))
    hits = Y[2000:][:, rare][rows, scores[rows].argmax(axis=1)]
    assert hits.mean() > 0.5  # by chance: about one in a hundred


def test_seed_decides():
    first, second, other = (make_longtail(300, 100, 50, random_state=seed) for seed in (7, 7, 8))
    for a, b in ((first.X, second.X), (first.Y, second.Y)):
        assert (a != b).nnz == 0
    assert (first.X != other.X).nnz > 0
    assert (first.Y != other.Y).nnz > 0
    state = np.random.RandomState(7)
    assert (make_longtail(300, 100, 50, random_state=state).Y != first.Y).nnz == 0
    assert (make_longtail(300, 100, 50, random_state=state).Y != first.Y).nnz > 0


def test_a_million_labels():
    data = make_longtail(20_000, 50_000, 1_000_000, random_state=0)
    assert data.Y.nnz == 100_000
    assert 0 < np.mean(counts_of(data) > 0) < 0.2
    assert np.diff(data.Y.indptr).min() >= 1


@settings(deadline=None)
@given(
    n=st.integers(1, 40),
    words=st.integers(1, 40),
    labels=st.integers(1, 40),
    share=st.floats(0, 1),
    features=st.floats(0, 1),
    power=st.floats(0, 3),
    spread=st.floats(0, 2),
    groups=st.integers(1, 40),
    own=st.integers(1, 4),
    noise=st.floats(0, 1),
    seed=st.integers(0, 100),
)
def test_any_size_works(n, words, labels, share, features, power, spread, groups, own, noise, seed):
    mean = share * labels / 2
    data = make_longtail(
        n,
        words,
        labels,
        labels_per_sample=mean,
        features_per_sample=features * words,
        power=power,
        spread=spread,
        n_groups=min(groups, n),
        features_per_label=own,
        noise=noise,
        random_state=seed,
    )
    assert data.X.shape == (n, words)
    assert data.Y.shape == (n, labels)
    assert_canonical(data.X)
    assert_canonical(data.Y)
    assert (data.Y.data == 1).all()
    assert (data.X.data >= 1).all()
    assert data.Y.nnz == round(n * mean)
    assert counts_of(data).max() <= (n + 1) // 2
    if data.Y.nnz >= n:
        assert np.diff(data.Y.indptr).min() >= 1


@settings(deadline=None)
@given(
    total=st.integers(0, 300),
    labels=st.integers(1, 30),
    power=st.floats(0, 4),
    shift=st.floats(0, 1, exclude_max=True),
)
def test_label_counts_sum_up_and_stay_within_the_limit(total, labels, power, shift):
    limit = -(-total // labels) + 3
    counts = power_law_counts(total, labels, power, limit, shift)
    assert counts.sum() == total
    assert counts.min() >= 0
    assert counts.max() <= limit


@pytest.mark.parametrize("limit", [1, 7])
def test_label_counts_at_the_limit(limit):
    assert power_law_counts(limit * 5, 5, 1.0, limit, 0.3).tolist() == [limit] * 5


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"n_features": -1}, "n_features"),
        ({"n_labels": 2.5}, "n_labels"),
        ({"n_labels": True}, "n_labels"),
        ({"n_labels": 2**31}, "n_labels"),
        ({"labels_per_sample": 11}, "labels_per_sample"),
        ({"labels_per_sample": float("nan")}, "labels_per_sample"),
        ({"labels_per_sample": "5"}, "labels_per_sample"),
        ({"features_per_sample": 51}, "features_per_sample"),
        ({"power": -1}, "power"),
        ({"spread": 3}, "spread"),
        ({"noise": 1.5}, "noise"),
        ({"n_samples": 2**30}, "n_samples times labels_per_sample"),
        ({"n_samples": 2**29, "labels_per_sample": 1}, "n_samples times labels_per_sample"),
        ({"n_groups": 0}, "n_groups"),
        ({"n_groups": 101}, "n_groups"),
        ({"features_per_label": 0}, "features_per_label"),
    ],
)
def test_bad_parameters_get_one_sentence(change, name):
    with pytest.raises(ParameterError, match=f"^{name} must"):
        make_longtail(**{"n_samples": 100, "n_features": 50, "n_labels": 20, **change})
