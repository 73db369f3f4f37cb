"""Clusters of labels that hardly ever occur together with labels of other clusters.

Section 3.1 of Robust Bloom Filters: the co-occurrence graph without its hubs falls into communities
(Louvain); those that are too large are split again, and the small ones merged. How far the clusters
are from excluding each other is the unrecoverable Hamming loss: what is lost if no two clusters may
be predicted together.
"""

from __future__ import annotations

import random
import threading
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.labels._kernels import cut_greedily, improve_clusters, join_heaviest
from longtail.labels.encoding import encode_labels
from longtail.labels.graph import cooccurrence_graph, label_degrees
from longtail.labels.tail import label_counts
from longtail.parameters import check_count

MOST_PAIRS = 20_000_000
"""Pairs of labels that the graph may be built from; beyond it, the largest points are sampled."""

RINGS = 8
"""Random rings that stand for the clique of a point that is sampled."""

SWEEPS = 20
"""Sweeps over all labels, at most, in which they change clusters."""

_Csr = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]
"""Row ends, columns and values of a sparse matrix."""

_igraph_generator = threading.Lock()


@dataclass(frozen=True)
class LabelClusters:
    """Hubs, and clusters of the other labels.

    Attributes
    ----------
    hubs : int64 array
        Their columns, highest degree first.
    of_label : int64 array of shape (L,)
        The cluster of each label, from 0 on; -1 for hubs and for labels that no point has.

    Examples
    --------
    >>> clusters = LabelClusters(np.array([2]), np.array([0, 0, -1, 1]))
    >>> clusters.number, clusters.sizes.tolist(), clusters.largest
    (2, [2, 1], 2)
    """

    hubs: NDArray[np.int64]
    of_label: NDArray[np.int64]

    @property
    def number(self) -> int:
        """How many clusters there are."""
        return int(self.of_label.max(initial=-1)) + 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many labels each cluster has."""
        return np.bincount(self.of_label[self.of_label >= 0], minlength=self.number)

    @property
    def largest(self) -> int:
        """The size of the largest cluster; 0 if there is none."""
        return int(self.sizes.max(initial=0))


def cluster_labels(
    Y: Any, *, n_hubs: int = 0, max_cluster_size: int = 50, random_state: int = 0
) -> LabelClusters:
    """Set hubs aside and cluster the other labels so that clusters share few points.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    n_hubs : int
        Labels to set aside: those that share the most points with others. Once all that share
        any are hubs, the most frequent of the others follow, so that `n_hubs` = L makes every
        label a hub that occurs.
    max_cluster_size : int
        Labels that a cluster may have.
    random_state : int
        Seed of Louvain.

    Returns
    -------
    LabelClusters
        Labels that no point has are neither hubs nor in a cluster.

    Notes
    -----
    O(sum over points of |y|^2) time and memory for the graph, at most 20 million pairs: of the
    points with the most labels that would exceed it, a random sample of pairs is taken. Louvain
    is near linear in the pairs. Neither Python's nor NumPy's global generator is touched.

    Hubs are the labels of highest weighted degree: on Bibtex, Delicious and RCV1, at codes of L/4
    to L/2 bits, less is lost than with the number of neighbours, and it costs O(nnz(Y)).

    Examples
    --------
    >>> Y = [("sea", "ship"), ("ship", "sail"), ("bread", "oven"), ("oven",), ("sea", "sail")]
    >>> clusters = cluster_labels(Y, max_cluster_size=3)
    >>> clusters.of_label.tolist()  # bread, oven, sail, sea, ship
    [0, 0, 1, 1, 1]
    """
    return Clusterer(Y, random_state=random_state).clusters(n_hubs, max_cluster_size)


def unrecoverable_loss(Y: Any, clusters: LabelClusters) -> float:
    """Share of the n·L decisions that are wrong if only one cluster per point may be predicted.

    Of a point, all labels are lost but the hubs and those in the cluster that has the most of
    them; so are labels that are in no cluster, since no training point had them.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        n points with the labels of the clusters, in the same columns.
    clusters : LabelClusters
        What `cluster_labels` gives.

    Notes
    -----
    O(nnz(Y) + L).

    Examples
    --------
    Of the second point, one of three labels is lost, out of 2·4 decisions:

    >>> Y = [[1, 1, 0, 0], [1, 0, 1, 1]]
    >>> unrecoverable_loss(Y, LabelClusters(np.array([], dtype=int), np.array([0, 0, 1, 1])))
    0.125
    """
    matrix = encode_labels(Y).matrix
    n, L = matrix.shape
    if len(clusters.of_label) != L:
        raise InputError(
            f"Y has {L} labels and the clusters {len(clusters.of_label)}; give Y the columns that "
            "the clusters were made from."
        )
    if not n * L:
        return 0.0
    kept = matrix[:, clusters.hubs].nnz
    of_label = clusters.of_label.copy()
    of_label[clusters.hubs] = -1
    inside = np.flatnonzero(of_label >= 0)
    shape = (L, clusters.number)
    membership = sp.csr_array((np.ones(len(inside)), (inside, of_label[inside])), shape)
    if clusters.number:
        kept += int((matrix @ membership).max(axis=1).sum())
    return (matrix.nnz - kept) / (n * L)


class Clusterer:
    """Clusterings of the same labels with several numbers of hubs and largest sizes.

    The graph is built once, and Louvain runs once for each number of hubs as long as the settings
    come in that order. The parameters are those of `cluster_labels`.
    """

    def __init__(self, Y: Any, *, random_state: int = 0) -> None:
        self.matrix: sp.csr_array = encode_labels(Y).matrix
        self.random_state = random_state
        self._n_hubs = -1
        self._communities: list[_Community] = []

    @cached_property
    def hub_order(self) -> NDArray[np.int64]:
        """All labels that occur, in the order in which they become hubs."""
        counts = label_counts(self.matrix)
        degrees = label_degrees(self.matrix, weighted=True)
        order = np.lexsort((-counts, -degrees))
        return order[counts[order] > 0]

    @cached_property
    def _graph(self) -> _Graph:
        return _Graph(_label_graph(self.matrix, self.random_state))

    def clusters(self, n_hubs: int, max_cluster_size: int) -> LabelClusters:
        """The clustering of one setting; see `cluster_labels`."""
        check_count(least=0, n_hubs=n_hubs)
        check_count(max_cluster_size=max_cluster_size)
        hubs, others = self.hub_order[:n_hubs], np.sort(self.hub_order[n_hubs:])
        of_label = np.full(self.matrix.shape[1], -1, dtype=np.int64)
        if max_cluster_size == 1:
            of_label[others] = np.arange(len(others))
        elif len(others) <= max_cluster_size:
            of_label[others] = 0
        else:
            if n_hubs != self._n_hubs:
                self._communities = _communities(self._graph, others, self.random_state)
                self._n_hubs = n_hubs
            for number, members in enumerate(
                part
                for community in self._communities
                for part in community.within(max_cluster_size, self._graph, self.random_state)
            ):
                of_label[members] = number
            graph = self._graph.part(others)
            of_label[others] = _merged(graph, of_label[others], max_cluster_size)
        return LabelClusters(hubs.copy(), of_label)


class _Graph:
    """The label graph, ready to be taken apart."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix = matrix
        self._place = np.full(matrix.shape[0], -1, dtype=np.int64)

    def part(self, labels: NDArray[np.int64]) -> _Csr:
        """The edges among some labels, renumbered by their places. O(edges of the labels)."""
        rows = self.matrix[labels]
        self._place[labels] = np.arange(len(labels))
        neighbours = self._place[rows.indices]
        self._place[labels] = -1
        inner = neighbours >= 0
        ends = np.concatenate([[0], np.cumsum(inner)])[rows.indptr]
        return ends, neighbours[inner], rows.data[inner]


@dataclass
class _Community:
    """Labels that belong together, and, once asked for, the communities among them."""

    labels: NDArray[np.int64]
    _parts: list[_Community] | None = field(default=None, repr=False)

    def within(
        self, max_size: int, graph: _Graph, random_state: int
    ) -> Iterator[NDArray[np.int64]]:
        """The largest communities in this one that have at most `max_size` labels."""
        waiting = [self]
        while waiting:
            community = waiting.pop()
            if len(community.labels) <= max_size:
                yield community.labels
                continue
            if community._parts is None:
                community._parts = _communities(graph, community.labels, random_state)
            if len(community._parts) > 1:
                waiting.extend(reversed(community._parts))
            else:
                yield from _pieces(graph, community.labels, max_size)


def _label_graph(matrix: sp.csr_array, random_state: int) -> sp.csr_array:
    """The co-occurrence graph, with a sample of the pairs of points that have too many."""
    sizes = np.diff(matrix.indptr).astype(np.int64)
    by_size = np.argsort(sizes, kind="stable")
    exact = np.cumsum(sizes[by_size] ** 2) <= MOST_PAIRS
    small = sp.csr_array(matrix[np.sort(by_size[exact])])
    graph = cooccurrence_graph(small).astype(np.float64)
    if exact.all():
        return graph
    draw = np.random.default_rng(random_state)
    ends: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    for row in by_size[~exact]:
        labels = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        for _ in range(RINGS):
            ring = draw.permutation(labels)
            ends.append(np.stack([ring, np.roll(ring, 1)]))
        # Both neighbours in every ring, so that the degree stays what it would be; a fraction of
        # a power of two, so that sums are exact.
        weights.append(np.full(len(labels) * RINGS, (len(labels) - 1) / (2 * RINGS)))
    first, second = np.concatenate(ends, axis=1)
    sampled = sp.csr_array((np.concatenate(weights), (first, second)), shape=graph.shape)
    return sp.csr_array(graph + sampled + sampled.T)


def _communities(graph: _Graph, labels: NDArray[np.int64], random_state: int) -> list[_Community]:
    """Louvain on a part of the graph; always with the same seed."""
    import igraph  # it loads matplotlib where that is installed, which takes half a second

    ends, second, weights = graph.part(labels)
    first = np.repeat(np.arange(len(labels)), np.diff(ends))
    once = first < second
    if not once.any():
        return [_Community(label) for label in labels[:, None]]
    edges = np.stack([first[once], second[once]], axis=1)
    with _igraph_generator:
        igraph.set_random_number_generator(random.Random(int(random_state)))
        try:
            found = igraph.Graph(n=len(labels), edges=edges).community_multilevel(
                weights=weights[once].tolist()
            )
        finally:
            igraph.set_random_number_generator(random)  # what igraph starts with
    membership = np.asarray(found.membership)
    order = np.argsort(membership, kind="stable")
    ends = np.cumsum(np.bincount(membership))[:-1]
    return [_Community(members) for members in np.split(labels[order], ends)]


def _pieces(graph: _Graph, labels: NDArray[np.int64], max_size: int) -> list[NDArray[np.int64]]:
    """A community that Louvain does not split, cut where few points are shared."""
    piece = np.empty(len(labels), dtype=np.int64)
    cut_greedily(*graph.part(labels), max_size, piece)
    return [labels[piece == number] for number in range(piece.max() + 1)]


def _merged(graph: _Csr, cluster: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
    """Clusters joined to few of nearly one size, numbered by their first labels.

    Those that share the most points are joined first. Then labels change clusters where that
    leaves fewer shared points between them; the paper has neither, and its merging alone loses
    more.
    """
    sizes = np.bincount(cluster)
    root = np.arange(len(sizes))
    join_heaviest(*_heaviest_first(graph, cluster), max_size, sizes, root)
    roots, joined = np.unique(root, return_inverse=True)
    merged = _packed(sizes[roots], max_size)[joined[cluster]]

    sizes = np.bincount(merged)
    by_cluster = np.full((len(sizes), sizes.max()), -1)
    order = np.argsort(merged, kind="stable")
    place = np.arange(len(merged)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    by_cluster[merged[order], place] = order
    improve_clusters(*graph, merged, sizes, by_cluster, SWEEPS)
    kept, merged = np.unique(merged, return_inverse=True)
    merged = _packed(sizes[kept], int(sizes.max()))[merged]
    _, first_label, number = np.unique(merged, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first_label))[number]


def _heaviest_first(
    graph: _Csr, cluster: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of clusters that share points, those that share the most first."""
    ends, neighbours, weights = graph
    first, second = np.repeat(cluster, np.diff(ends)), cluster[neighbours]
    once = first < second
    number = int(cluster.max()) + 1
    shared = sp.coo_array((weights[once], (first[once], second[once])), shape=(number, number))
    shared.sum_duplicates()
    first, second = (end.astype(np.int64) for end in (shared.row, shared.col))
    order = np.lexsort((second, first, -shared.data))
    return first[order], second[order]


def _packed(sizes: NDArray[np.int64], max_size: int) -> NDArray[np.int64]:
    """Groups of clusters: few of them, none above `max_size`, nearly of one size.

    Best fit of the largest first says how many groups; if the largest first into the smallest
    group does with as many, it is taken, since its largest group is smaller. O(P log P), and a move
    in a list of at most `max_size` numbers for each.
    """
    largest_first = np.argsort(-sizes, kind="stable")
    group = np.empty(len(sizes), dtype=np.int64)
    with_room: dict[int, list[int]] = {}
    rooms: list[int] = []  # that some group has, in ascending order
    number = 0
    for at in largest_first:
        size = int(sizes[at])
        place = bisect_left(rooms, size)
        if place == len(rooms):
            group[at], room = number, max_size
            number += 1
        else:
            room = rooms[place]
            group[at] = with_room[room].pop()
            if not with_room[room]:
                del rooms[place]
        left = with_room.setdefault(room - size, [])
        if not left and room > size:
            insort(rooms, room - size)
        left.append(int(group[at]))

    balanced = np.empty_like(group)
    heap = [(0, place) for place in range(number)]
    heapify(heap)
    for at in largest_first:
        held, place = heappop(heap)
        balanced[at] = place
        heappush(heap, (held + int(sizes[at]), place))
    return balanced if max(held for held, _ in heap) <= max_size else group
