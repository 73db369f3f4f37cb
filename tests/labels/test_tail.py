"""Counts and tail statistics, by hand and against known distributions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import zeta

from longtail.errors import InputError
from longtail.labels import fit_power_law, label_counts, tail_statistics

ROWS = [("a", "b", "c"), ("a",), (), ("a", "b"), ("a",)]


@pytest.mark.parametrize(
    "Y", [np.array([[1, 1, 0], [1, 0, 0]]), sp.csc_matrix([[1, 1, 0], [1, 0, 0]])]
)
def test_counts_of_matrices(Y):
    assert label_counts(Y).tolist() == [2, 1, 0]
    assert label_counts(Y).dtype == np.int64


def test_counts_of_names_and_classes():
    assert label_counts(ROWS).tolist() == [4, 2, 1]
    assert label_counts(ROWS, classes=["c", "z", "a", "b"]).tolist() == [1, 0, 4, 2]
    assert label_counts(np.array([3, 5, 3])).tolist() == [2, 1]


def test_statistics_by_hand():
    statistics = tail_statistics(ROWS, classes=["a", "b", "c", "z"])
    assert (statistics.points, statistics.labels, statistics.labels_used) == (5, 4, 3)
    assert statistics.points_without_labels == 1
    assert statistics.label_sets == 4
    assert statistics.labels_per_point == pytest.approx(7 / 5)
    assert statistics.labels_per_point_max == 3
    assert statistics.points_per_label == pytest.approx(7 / 4)
    assert statistics.points_per_label_median == 2
    assert statistics.points_per_label_max == 4
    assert statistics.share_with_one_point == pytest.approx(1 / 3)
    assert statistics.share_below_5 == statistics.share_below_10 == 1.0
    assert statistics.mass_of_top_tenth == pytest.approx(4 / 7)
    # mean absolute difference over twice the mean: (2 * (3 + 2 + 1) / 9) / (2 * 7 / 3)
    assert statistics.gini == pytest.approx(2 / 7)
    assert np.isnan(statistics.power_law_exponent)


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=30))
def test_gini_is_the_mean_difference(counts):
    n = max(counts)
    Y = np.array([[int(row < count) for count in counts] for row in range(n)])
    difference = np.abs(np.subtract.outer(counts, counts)).mean()
    assert tail_statistics(Y).gini == pytest.approx(difference / (2 * np.mean(counts)), abs=1e-12)


def test_shares():
    counts = [1, 1, 4, 5, 9, 10, 50, 2, 3, 4]
    Y = sp.csr_array(np.array([[row < count for count in counts] for row in range(50)], dtype=int))
    statistics = tail_statistics(Y)
    assert statistics.share_with_one_point == pytest.approx(0.2)
    assert statistics.share_below_5 == pytest.approx(0.6)
    assert statistics.share_below_10 == pytest.approx(0.8)
    assert statistics.mass_of_top_tenth == pytest.approx(50 / sum(counts))


def test_table_and_text():
    statistics = tail_statistics(ROWS)
    table = statistics.table()
    assert isinstance(table, pl.DataFrame)
    assert dict(table.rows())["labels_used"] == 3.0
    assert set(table["statistic"]) == set(statistics.to_dict())
    assert "points without labels" in str(statistics)


@pytest.mark.parametrize("Y", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((3, 2)), [(), ()]])
def test_nothing_to_count(Y):
    statistics = tail_statistics(Y)
    assert statistics.labels_used == 0
    assert np.isnan(statistics.gini)
    str(statistics), statistics.table()


@pytest.mark.parametrize("exponent", [1.8, 2.2, 3.0])
def test_power_law_is_found_again(exponent):
    counts = np.random.default_rng(0).zipf(exponent, 30_000)
    law = fit_power_law(counts)
    assert law.exponent == pytest.approx(exponent, abs=0.05)


def test_power_law_starts_after_the_bend():
    rng = np.random.default_rng(1)
    tail = rng.zipf(2.5, 200_000)
    tail = tail[tail >= 20]
    counts = np.concatenate([rng.integers(1, 20, 3 * len(tail)), tail])
    law = fit_power_law(counts)
    assert 15 <= law.start <= 40
    assert law.exponent == pytest.approx(2.5, abs=0.15)


def test_power_law_is_the_most_likely_exponent():
    counts = np.random.default_rng(2).zipf(2.0, 500)
    law = fit_power_law(counts)
    tail = counts[counts >= law.start]

    def likelihood(exponent):
        return -len(tail) * np.log(zeta(exponent, law.start)) - exponent * np.log(tail).sum()

    for other in (law.exponent - 0.01, law.exponent + 0.01):
        assert likelihood(law.exponent) > likelihood(other)


@pytest.mark.parametrize("counts", [[], [1, 2, 3], [5] * 50, [0] * 50])
def test_power_law_of_too_little(counts):
    law = fit_power_law(np.array(counts, dtype=int))
    assert np.isnan(law.exponent)
    assert law.start == 0


@pytest.mark.parametrize("counts", [[[1]], [0.5], [np.nan], [-1], ["a"]])
def test_bad_counts(counts):
    with pytest.raises(InputError, match=r"counts? (are|is)"):
        fit_power_law(counts)


@pytest.mark.published
def test_sizes_of_eurlex(data_folder):
    """15,539 points, 3,993 labels of which 3,786 occur, 5.31 labels a point."""
    from longtail.data import read_dataset

    statistics = tail_statistics(read_dataset(data_folder / "eurlex-4k" / "train.txt.gz").Y)
    assert (statistics.points, statistics.labels, statistics.labels_used) == (15_539, 3_993, 3_786)
    assert statistics.points_without_labels == 28
    assert statistics.labels_per_point == pytest.approx(5.31, abs=0.005)
