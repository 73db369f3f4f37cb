"""Label clusters: planted blocks are found, every clustering is a partition within its bounds."""

from __future__ import annotations

import random

import igraph
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, ParameterError
from longtail.labels import LabelClusters, cluster_labels, clusters, unrecoverable_loss
from longtail.labels._kernels import improve_clusters
from longtail.labels.clusters import Clusterer


@st.composite
def label_matrices(draw):
    n, L = draw(st.integers(1, 14)), draw(st.integers(1, 12))
    row = st.lists(st.integers(0, 1), min_size=L, max_size=L)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)))


def planted(n_blocks, size, *, points=40, crossing=0.0, seed=0):
    """Points with two to four labels of one block; the labels of a block are not neighbours."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(n_blocks * size).reshape(n_blocks, size)
    rows = []
    for block in names:
        rows += [tuple(block[[at, at - 1]]) for at in range(size)]
        rows += [tuple(rng.choice(block, rng.integers(2, 5), replace=False)) for _ in range(points)]
    for at in np.flatnonzero(rng.random(len(rows)) < crossing):
        rows[at] = (*rows[at], int(rng.integers(names.size)))
    Y = np.zeros((len(rows), names.size), dtype=int)
    for at, row in enumerate(rows):
        Y[at, list(row)] = 1
    return Y, names


def lost_by_hand(Y, found):
    lost = 0
    for row in np.asarray(Y):
        inside = [label for label in np.flatnonzero(row) if label not in found.hubs]
        owners = [found.of_label[label] for label in inside if found.of_label[label] >= 0]
        lost += len(inside) - max((owners.count(owner) for owner in owners), default=0)
    return lost / np.asarray(Y).size


class TestPlantedBlocks:
    @pytest.mark.parametrize("seed", range(5))
    def test_exclusive_blocks_are_found_exactly(self, seed):
        Y, names = planted(12, 8, seed=seed)
        found = cluster_labels(Y, max_cluster_size=8)
        assert found.number == 12
        assert found.sizes.tolist() == [8] * 12
        for block in names:
            assert len(set(found.of_label[block])) == 1
        assert unrecoverable_loss(Y, found) == 0

    def test_whole_blocks_are_merged(self):
        Y, names = planted(12, 8)
        found = cluster_labels(Y, max_cluster_size=16)
        assert found.sizes.tolist() == [16] * 6
        for block in names:
            assert len(set(found.of_label[block])) == 1

    def test_few_crossing_points_lose_little(self):
        Y, _ = planted(12, 8, points=100, crossing=0.05)
        shuffled = LabelClusters(np.array([], dtype=int), np.arange(Y.shape[1]) % 12)
        loss = unrecoverable_loss(Y, cluster_labels(Y, max_cluster_size=8))
        assert 0 < loss <= 0.05 / Y.shape[1]
        assert loss < unrecoverable_loss(Y, shuffled) / 10

    def test_a_hub_that_joins_all_blocks_is_removed(self):
        Y, names = planted(12, 8)
        everywhere = np.ones((len(Y), 1), dtype=int)
        found = cluster_labels(np.hstack([Y, everywhere]), n_hubs=1, max_cluster_size=8)
        assert found.hubs.tolist() == [names.size]
        assert found.of_label[-1] == -1
        assert unrecoverable_loss(np.hstack([Y, everywhere]), found) == 0


@settings(deadline=None, max_examples=150)
@given(label_matrices(), st.integers(0, 13), st.integers(1, 6), st.integers(0, 3))
def test_every_clustering_is_a_partition_within_bounds(Y, n_hubs, max_size, random_state):
    options = {"n_hubs": n_hubs, "max_cluster_size": max_size, "random_state": random_state}
    found = cluster_labels(Y, **options)
    seen = set(np.flatnonzero(Y.sum(axis=0)))
    hubs = found.hubs.tolist()
    assert len(hubs) == len(set(hubs)) == min(n_hubs, len(seen))
    assert set(hubs) <= seen
    assert set(np.flatnonzero(found.of_label >= 0)) == seen - set(hubs)
    assert set(found.of_label[found.of_label >= 0]) == set(range(found.number))
    assert found.largest == max(found.sizes, default=0) <= max_size
    assert found.sizes.sum() == len(seen) - len(hubs)
    assert found.number <= -(-2 * (len(seen) - len(hubs)) // max_size)  # smaller ones are merged
    degrees = (Y.T @ Y).sum(axis=0) - Y.sum(axis=0)
    rest = [degrees[label] for label in seen - set(hubs)]
    assert degrees[hubs].tolist() == sorted(degrees[hubs], reverse=True)
    assert not hubs or not rest or min(degrees[hubs]) >= max(rest)

    again = cluster_labels(sp.csc_matrix(Y), **options)
    assert again.of_label.tolist() == found.of_label.tolist()
    assert again.hubs.tolist() == hubs
    assert unrecoverable_loss(Y, found) == lost_by_hand(Y, found)


@settings(deadline=None)
@given(label_matrices(), st.data())
def test_loss_of_any_clustering_by_brute_force(Y, data):
    L = Y.shape[1]
    of_label = np.array(data.draw(st.lists(st.integers(-1, 4), min_size=L, max_size=L)))
    hubs = data.draw(st.lists(st.sampled_from(range(L)), unique=True))
    of_label[hubs] = -1
    found = LabelClusters(np.array(hubs, dtype=int), of_label)
    assert unrecoverable_loss(Y, found) == lost_by_hand(Y, found)


def test_nothing_is_lost_with_one_cluster_or_with_hubs_only():
    Y = np.random.default_rng(0).integers(0, 2, (30, 9))
    assert unrecoverable_loss(Y, cluster_labels(Y, max_cluster_size=9)) == 0
    everything = cluster_labels(Y, n_hubs=9)
    assert sorted(everything.hubs) == list(range(9))
    assert (everything.number, everything.largest, everything.sizes.tolist()) == (0, 0, [])
    assert unrecoverable_loss(Y, everything) == 0


def test_labels_not_seen_before_are_lost():
    found = cluster_labels([[1, 1, 0], [1, 0, 0]], max_cluster_size=2)
    assert found.of_label.tolist() == [0, 0, -1]
    assert unrecoverable_loss([[1, 1, 1], [0, 0, 1]], found) == 2 / 6


def test_after_the_labels_with_neighbours_the_most_frequent_are_hubs():
    Y = [("a", "b"), ("c",), ("c",), ("c",), ("d",), ("e",), ("e",)]
    assert cluster_labels(Y, n_hubs=1).hubs.tolist() == [0]
    assert cluster_labels(Y, n_hubs=3).hubs.tolist() == [0, 1, 2]
    assert cluster_labels(Y, n_hubs=99).hubs.tolist() == [0, 1, 2, 4, 3]


class TestStubbornGraphs:
    @pytest.mark.parametrize("max_size", [1, 2, 7, 30, 59])
    def test_a_clique_above_the_largest_size(self, max_size):
        found = cluster_labels(np.ones((3, 60), dtype=int), max_cluster_size=max_size)
        assert found.largest <= max_size
        assert found.number == -(-60 // max_size)

    def test_a_clique_is_cut_where_few_points_are_shared(self):
        """All pairs of 12 labels share a point, those of one half share five more."""
        halves = [tuple(range(6)), tuple(range(6, 12))]
        rows = [(a, b) for a in range(12) for b in range(a)] + 5 * halves
        found = cluster_labels(rows, max_cluster_size=6)
        assert found.of_label.tolist() == [0] * 6 + [1] * 6

    @pytest.mark.parametrize("max_size", [1, 3, 8])
    def test_one_community_is_cut_whatever_louvain_says(self, max_size, monkeypatch):
        Y, names = planted(4, 8)
        monkeypatch.setattr(
            clusters, "_communities", lambda graph, labels, seed: [clusters._Community(labels)]
        )
        found = cluster_labels(Y, max_cluster_size=max_size)
        assert found.largest <= max_size
        if max_size == 8:
            assert unrecoverable_loss(Y, found) == 0
            assert len({tuple(found.of_label[block]) for block in names}) == 4

    @pytest.mark.parametrize(("n", "max_size"), [(100, 50), (101, 50), (7, 3), (10, 1), (5, 50)])
    def test_no_two_labels_share_a_point(self, n, max_size):
        found = cluster_labels(np.eye(n, dtype=int), max_cluster_size=max_size)
        assert found.number == -(-n // max_size)
        assert found.sizes.max() - found.sizes.min() <= 1
        assert unrecoverable_loss(np.eye(n, dtype=int), found) == 0

    def test_one_label_and_none(self):
        one = cluster_labels([[1], [1]])
        assert (one.number, one.largest, one.of_label.tolist()) == (1, 1, [0])
        none = cluster_labels(np.zeros((2, 3), dtype=int), n_hubs=2)
        assert (none.number, none.hubs.tolist(), none.of_label.tolist()) == (0, [], [-1] * 3)
        assert unrecoverable_loss(np.zeros((2, 3)), none) == 0


def test_related_small_clusters_are_merged_before_others():
    """Two chains of three cliques each: the links between cliques are the weakest, but count."""
    rows = []
    for chain in range(2):
        for clique in range(3):
            first = 4 * (3 * chain + clique)
            rows += 50 * [tuple(range(first, first + 4))]
            if clique:
                rows += 2 * [(first - 1, first)]
    found = cluster_labels(rows, max_cluster_size=12)
    assert found.of_label.tolist() == [0] * 12 + [1] * 12


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(4, 30))
def test_labels_change_clusters_only_for_the_better(seed, room, n):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 4, (n, n)) * (rng.random((n, n)) < 0.4), 1).astype(float)
    A += A.T
    graph = sp.csr_array(A)
    number = -(-n // room) + int(rng.integers(0, 2))
    cluster = rng.permutation(np.arange(n) % number)
    sizes = np.bincount(cluster, minlength=number)
    members = np.full((number, room), -1)
    for c in range(number):
        members[c, : sizes[c]] = np.flatnonzero(cluster == c)

    def within():
        return (A * np.equal.outer(cluster, cluster)).sum()

    arrays = graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
    before = within()
    for _ in range(20):
        cluster_before, last = cluster.copy(), within()
        improve_clusters(*arrays, cluster, sizes, members, 1)
        assert within() > last or (cluster == cluster_before).all()
    assert within() >= before
    assert sizes.max() <= room
    assert sizes.tolist() == np.bincount(cluster, minlength=number).tolist()
    for c in range(number):
        assert sorted(members[c, : sizes[c]]) == np.flatnonzero(cluster == c).tolist()
    weight = np.array([[A[i, cluster == c].sum() for c in range(number)] for i in range(n)])
    for i in range(n):  # no move and no swap is left
        for c in set(range(number)) - {cluster[i]}:
            gain = weight[i, c] - weight[i, cluster[i]]
            assert gain <= 0 or sizes[c] == room
            for j in np.flatnonzero(cluster == c):
                back = weight[j, cluster[i]] - weight[j, c] - 2 * A[i, j]
                assert sizes[c] < room or gain <= 0 or gain + back <= 0


def test_the_generators_of_others_are_left_alone():
    Y, _ = planted(6, 6, crossing=0.3)
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first = cluster_labels(Y, max_cluster_size=4)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    random.seed(2)
    igraph.Graph.Erdos_Renyi(20, 0.3)
    assert cluster_labels(Y, max_cluster_size=4).of_label.tolist() == first.of_label.tolist()
    random.seed(3)
    one = igraph.Graph.Erdos_Renyi(20, 0.3).get_edgelist()
    random.seed(3)
    assert igraph.Graph.Erdos_Renyi(20, 0.3).get_edgelist() == one  # Python's generator again


def test_settings_in_any_order_give_what_each_gives_alone():
    Y, _ = planted(8, 9, crossing=0.2)
    clusterer = Clusterer(Y, random_state=5)
    for n_hubs, max_size in [(0, 9), (0, 4), (3, 4), (0, 20), (3, 9), (0, 4)]:
        shared = clusterer.clusters(n_hubs, max_size)
        alone = cluster_labels(Y, n_hubs=n_hubs, max_cluster_size=max_size, random_state=5)
        assert shared.of_label.tolist() == alone.of_label.tolist()
        assert shared.hubs.tolist() == alone.hubs.tolist()


class TestPointsWithManyLabels:
    def test_degrees_are_kept_by_the_sample(self, monkeypatch):
        rows = [tuple(range(100)), (0, 1), (100, 101)]
        exact = Clusterer(rows)._graph.matrix.sum(axis=0)
        monkeypatch.setattr(clusters, "MOST_PAIRS", 50)
        sampled = Clusterer(rows)._graph.matrix
        assert sampled.sum(axis=0) == pytest.approx(exact)
        assert sampled.nnz < 100 * 2 * clusters.RINGS + 5
        assert (sampled != sampled.T).nnz == 0

    def test_blocks_are_still_found(self, monkeypatch):
        rows = [tuple(range(at, at + 40)) for at in range(0, 400, 40)] * 5
        monkeypatch.setattr(clusters, "MOST_PAIRS", 1600)
        found = cluster_labels(rows, max_cluster_size=40)
        assert found.number == 10
        assert unrecoverable_loss(rows, found) == 0

    def test_no_clique_in_memory(self):
        """20,000 labels on one point are 400 million pairs."""
        import tracemalloc

        Y = sp.csr_array(np.ones((2, 20_000)))
        cluster_labels(np.eye(2, dtype=int))
        tracemalloc.start()
        graph = Clusterer(Y)._graph.matrix
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert graph.nnz <= 2 * 20_000 * 2 * clusters.RINGS
        assert peak < 150e6


def test_bad_input():
    with pytest.raises(ParameterError, match="n_hubs"):
        cluster_labels(np.eye(3), n_hubs=-1)
    with pytest.raises(ParameterError, match="max_cluster_size"):
        cluster_labels(np.eye(3), max_cluster_size=0)
    with pytest.raises(InputError, match="Y has 4 labels and the clusters 3"):
        unrecoverable_loss(np.eye(4), cluster_labels(np.eye(3)))
