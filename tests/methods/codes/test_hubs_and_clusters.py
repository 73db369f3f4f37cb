"""The curve says what each setting gives; the choice is the best of those that fit."""

from __future__ import annotations

from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import ParameterError
from longtail.labels import cluster_labels, unrecoverable_loss
from longtail.labels.clusters import Clusterer
from longtail.methods.codes.hubs_and_clusters import (
    SIZES,
    ChosenClusters,
    _Search,
    choose_clusters,
    code_size_curve,
    lower_envelope,
    preferred,
)
from longtail.runtime.run import Run


def labels_in_groups(seed=0, n=600, L=120, groups=12):
    """One to three labels of one group, one point in ten with any label besides."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, L), dtype=int)
    for row in Y:
        inside = rng.integers(groups) + groups * rng.integers(L // groups, size=rng.integers(1, 4))
        row[inside] = 1
        if rng.random() < 0.1:
            row[rng.integers(L)] = 1
    Y[rng.random(n) < 0.2, 7] = 1  # a hub
    return Y


@pytest.fixture(scope="module", name="Y")
def label_matrix():
    return labels_in_groups()


def test_each_row_is_a_setting(Y):
    curve = code_size_curve(Y, numbers_of_hubs=[3, 0, 999], max_cluster_sizes=[10, 4])
    assert [*curve.select("n_hubs", "max_cluster_size").iter_rows()] == [
        (0, 4), (0, 10), (3, 4), (3, 10), (120, 4), (120, 10),
    ]  # fmt: skip
    for row in curve.iter_rows(named=True):
        found = cluster_labels(Y, n_hubs=row["n_hubs"], max_cluster_size=row["max_cluster_size"])
        assert (row["clusters"], row["largest"]) == (found.number, found.largest)
        assert row["uhl"] == unrecoverable_loss(Y, found)
        assert comb(row["batch"], 2) >= row["clusters"]
        assert row["batch"] == 2 or comb(row["batch"] - 1, 2) < row["clusters"]
        assert row["bits"] == row["largest"] * row["batch"]
        assert row["code_size"] == row["bits"] + row["n_hubs"]
    assert curve.filter(pl.col("n_hubs") == 120)["code_size"].to_list() == [120, 120]


def test_default_settings_go_from_no_hub_to_all(Y):
    curve = code_size_curve(Y)
    hubs = curve["n_hubs"].unique().to_list()
    assert 8 <= len(hubs) <= 12
    assert {0, 120} <= set(hubs)
    assert set(curve["max_cluster_size"]) == set(SIZES)
    assert len(curve) == len(hubs) * len(SIZES)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), min_size=1, max_size=20),
)
def test_envelope_by_brute_force(points):
    curve = pl.DataFrame(points, schema=["code_size", "uhl"], orient="row").cast({"uhl": float})
    envelope = dict(lower_envelope(curve).iter_rows())
    for wanted in range(1, 10):
        fitting = [uhl for size, uhl in points if size <= wanted]
        best = [uhl for size, uhl in envelope.items() if size <= wanted]
        assert min(fitting, default=None) == min(best, default=None)
    losses = list(envelope.values())
    assert losses == sorted(set(losses), reverse=True)
    assert list(envelope) == sorted(envelope)


@pytest.mark.parametrize(
    ("code_size", "n_hashes"), [(16, 2), (40, 2), (90, 2), (119, 2), (500, 2), (40, 3), (120, 1)]
)
def test_the_choice_fits_and_is_the_best_that_was_tried(Y, code_size, n_hashes):
    choice = choose_clusters(Y, code_size, n_hashes=n_hashes)
    assert isinstance(choice, ChosenClusters)
    again = cluster_labels(Y, n_hubs=choice.n_hubs, max_cluster_size=choice.max_cluster_size)
    assert choice.clusters.of_label.tolist() == again.of_label.tolist()
    assert choice.clusters.hubs.tolist() == again.hubs.tolist()
    assert choice.uhl == unrecoverable_loss(Y, again)
    assert choice.code_size <= code_size
    fitting = choice.curve.filter(pl.col("code_size") <= code_size)
    assert choice.uhl == fitting["uhl"].min()


@pytest.mark.parametrize("code_size", [30, 70])
def test_nothing_that_fits_was_left_out(Y, code_size):
    every = code_size_curve(Y, numbers_of_hubs=range(0, 60, 10), max_cluster_sizes=range(1, 25))
    best = every.filter(pl.col("code_size") <= code_size)["uhl"].min()
    grid = {"numbers_of_hubs": range(0, 60, 10), "max_cluster_sizes": range(1, 25)}
    chosen = choose_clusters(Y, code_size, **grid)
    assert chosen.uhl == best
    assert len(chosen.curve) < len(every)


def test_a_larger_code_loses_less(Y):
    losses = [choose_clusters(Y, size).uhl for size in (20, 60, 120)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1] == 0


def test_the_room_is_used(Y):
    for code_size in (40, 60, 80):
        curve = choose_clusters(Y, code_size, numbers_of_hubs=[0]).curve
        fitting = curve.filter(pl.col("code_size") <= code_size)
        assert fitting["code_size"].max() >= 0.8 * code_size


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 60), st.integers(1, 20), st.integers(1, 3), st.integers(0, 5), st.integers(0, 99)
)
def test_skipped_settings_could_not_have_fitted(L, max_size, n_hashes, mean, seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((30, L)) < mean / L).astype(int)
    Y[0, 0] = 1
    search = _Search(Clusterer(Y), n_hashes)
    assert search._fewest_bits(search.n_labels, max_size) <= search.measured(0, max_size)["bits"]


def test_too_small_a_code_names_the_smallest(Y):
    with pytest.raises(
        ParameterError, match="code_size of 10 is too small for 120 labels"
    ) as raised:
        choose_clusters(Y, 10)
    least = int(str(raised.value).rstrip(".").split()[-1])
    assert least == 16  # C(16, 2) = 120
    assert choose_clusters(Y, least).code_size == least
    with pytest.raises(ParameterError, match="too small"):
        choose_clusters(Y, least - 1)

    with pytest.raises(ParameterError, match="too small") as raised:
        choose_clusters(Y, 30, numbers_of_hubs=iter([5]), max_cluster_sizes=iter([10]))
    least = int(str(raised.value).rstrip(".").split()[-1])
    assert choose_clusters(Y, least, numbers_of_hubs=[5], max_cluster_sizes=[10]).code_size == least


def test_rule_among_equal_losses():
    names = ("n_hubs", "largest", "code_size", "uhl")
    settings = [
        dict(zip(names, values, strict=True))
        for values in (
            (9, 50, 9, 0.2), (0, 30, 80, 0.1), (4, 11, 70, 0.1 + 1e-14), (3, 10, 60, 0.1),
            (1, 3, 20, 0.1), (1, 10, 60, 0.1),
        )
    ]  # fmt: skip
    assert preferred(settings) is settings[5]  # enough labels per cluster, fewest bits, fewest hubs
    assert preferred([each for each in settings if each["largest"] != 10]) is settings[2]
    assert preferred([each for each in settings if each["largest"] < 10]) is settings[4]


class TestOddLabels:
    def test_all_labels_together(self):
        Y = np.ones((5, 30), dtype=int)
        assert choose_clusters(Y, 30).uhl == 0
        assert choose_clusters(Y, 15).uhl > 0

    def test_one_label(self):
        choice = choose_clusters([[1], [1]], 1)
        assert (choice.code_size, choice.uhl) == (1, 0.0)

    def test_no_label(self):
        choice = choose_clusters(np.zeros((3, 4), dtype=int), 2)
        assert (choice.code_size, choice.clusters.number) == (0, 0)

    def test_labels_that_no_point_has_need_no_bits(self):
        Y = np.zeros((10, 1000), dtype=int)
        Y[:, :10] = np.eye(10, dtype=int)
        assert choose_clusters(Y, 10).code_size <= 10


def test_progress_is_told(Y):
    told = []
    choice = choose_clusters(Y, 60, run=Run(progress=lambda *news: told.append(news)))
    first = [news for news in told if news[0] == "code sizes"]
    assert first == [("code sizes", done, len(first)) for done in range(1, len(first) + 1)]
    assert told[len(first)][0] == "finer code sizes"
    assert len(told) >= choice.curve["n_hubs"].n_unique()


def test_numbers_of_hubs_near_the_best_are_tried(Y):
    coarse = _Search(Clusterer(Y), 2)
    grid = coarse.hub_grid(60)
    choice = choose_clusters(Y, 60)
    assert set(choice.curve["n_hubs"]) > set(grid) & set(choice.curve["n_hubs"])
    assert choice.uhl <= min(
        setting["uhl"]
        for setting in coarse.curve(grid, None, limit=60)
        if setting["code_size"] <= 60
    )
    assert choice.curve.select("n_hubs", "max_cluster_size").is_unique().all()


@pytest.mark.parametrize("bad", [0, -3, 2.5, True])
def test_bad_parameters(Y, bad):
    with pytest.raises(ParameterError, match="code_size"):
        choose_clusters(Y, bad)
    with pytest.raises(ParameterError, match="n_hashes"):
        choose_clusters(Y, 60, n_hashes=bad)


def test_grids_may_be_any_iterable():
    Y = [("a", "b"), ("c", "d"), ("a", "b"), ("d", "e")]
    plain = code_size_curve(Y, numbers_of_hubs=[0, 1], max_cluster_sizes=[2, 3])
    for kind in (iter, np.array):
        found = code_size_curve(Y, numbers_of_hubs=kind([0, 1]), max_cluster_sizes=kind([2, 3]))
        assert found.equals(plain)


@pytest.mark.parametrize(
    "grid",
    [
        {"numbers_of_hubs": []},
        {"numbers_of_hubs": [1.5]},
        {"max_cluster_sizes": []},
        {"max_cluster_sizes": [0]},
    ],
)
def test_odd_grids_are_refused(grid):
    Y = [("a", "b"), ("c", "d")]
    with pytest.raises(ParameterError, match="must list"):
        code_size_curve(Y, **grid)
    with pytest.raises(ParameterError, match="must list"):
        choose_clusters(Y, 8, **grid)
