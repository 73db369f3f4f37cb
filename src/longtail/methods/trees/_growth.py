"""The tree while it grows: its arrays, their checkpoint, and the finished tree in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.methods.trees._log_tree_kernels import (
    LEFT,
    NODES,
    PARENT,
    RECORD,
    RECORDS,
    REGRESSOR,
    REGRESSORS,
    RIGHT,
    move_entries,
)
from longtail.runtime.checkpoint import is_like


class GrowingTree(NamedTuple):
    """A tree that grows; see the kernels for the columns."""

    weights: NDArray[np.float32]
    links: NDArray[np.int64]
    stats: NDArray[np.int64]
    sums: NDArray[np.float64]
    keys: NDArray[np.int64]
    margins: NDArray[np.float64]
    counts: NDArray[np.int64]
    tally: NDArray[np.int64]

    def state_after(self, passes: int) -> dict[str, NDArray[Any]]:
        """The whole tree after so many passes, for a checkpoint."""
        return {"passes": np.array([passes]), **self._asdict()}


def seedling(n_nodes: int, n_features: int, bits: int) -> GrowingTree:
    """A root that is a leaf, and room for the rest."""
    n = 2 * n_nodes + 1
    size = 1 << max(10, (4 * n).bit_length())
    tally = np.zeros(5, dtype=np.int64)
    tally[[NODES, RECORDS]] = 1
    return GrowingTree(
        np.zeros(2**bits if bits else n_nodes * (n_features + 1), dtype=np.float32),
        np.full((n, 4), -1, dtype=np.int64),
        np.zeros((n, 5), dtype=np.int64),
        np.zeros(n),
        *_entries(size),
        tally,
    )


def _entries(size: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """An empty table for the class counts of nodes; its size is a power of two."""
    return np.full(size, -1, dtype=np.int64), np.zeros(size), np.zeros((size, 2), dtype=np.int64)


def roomier(tree: GrowingTree, n_classes: int) -> GrowingTree:
    """The same with a table of twice the size."""
    to = _entries(2 * len(tree.keys))
    move_entries(n_classes, tree.stats, tree.tally, tree.keys, tree.margins, tree.counts, to)
    return tree._replace(keys=to[0], margins=to[1], counts=to[2])


def in_order(links: NDArray[np.int64]) -> NDArray[np.int32]:
    """The links of the nodes below the root, numbered so that parents come before children."""
    order, level = [0], [0]
    while level and len(order) <= len(links):  # a damaged tree may have circles
        level = [int(child) for node in level for child in links[node, [LEFT, RIGHT]] if child >= 0]
        order.extend(level)
    order = order[: len(links)]
    number = np.full(len(links) + 1, -1, dtype=np.int32)  # the last entry is that of "none"
    number[order] = np.arange(len(order), dtype=np.int32)
    kept = links[order].astype(np.int32)
    kept[:, :REGRESSOR] = number[links[order, :REGRESSOR]]
    return kept


def is_tree(links: NDArray[Any]) -> bool:
    """Whether links are those of a binary tree whose parents come before their children."""
    if links.ndim != 2 or links.shape[1] != 4 or len(links) < 1 or len(links) % 2 == 0:
        return False
    inner = np.flatnonzero(links[:, LEFT] >= 0)
    leaves = links[links[:, LEFT] < 0]
    children = links[inner][:, [LEFT, RIGHT]]
    return bool(
        links[0, PARENT] == -1
        and (leaves[:, [LEFT, RIGHT, REGRESSOR]] == -1).all()
        and np.array_equal(np.sort(children.ravel()), np.arange(1, len(links)))
        and (children > inner[:, None]).all()
        and (links[children, PARENT] == inner[:, None]).all()
        and np.array_equal(np.sort(links[inner, REGRESSOR]), np.arange(len(inner)))
    )


def is_nested(counts: sp.csr_array, links: NDArray[Any]) -> bool:
    """Whether each node has counted exactly what its children have, in whole numbers."""
    if counts.data.dtype.kind != "i" or not counts.has_canonical_format or counts.data.min() < 1:
        return False
    inner = np.flatnonzero(links[:, LEFT] >= 0)
    below = counts[links[inner, LEFT]] + counts[links[inner, RIGHT]]
    return abs(counts[inner] - below).sum() == 0


def resumed(
    arrays: dict[str, NDArray[Any]], n_nodes: int, n_features: int, bits: int, n_classes: int
) -> tuple[int, GrowingTree] | None:
    """The passes and the tree of a checkpoint; None if it is damaged."""
    fresh = seedling(n_nodes, n_features, bits)
    size = len(arrays.get("keys", ()))
    keys, margins, counts = _entries(size)
    expected = fresh._replace(keys=keys, margins=margins, counts=counts)
    if not is_like(arrays, expected.state_after(0)):
        return None
    tree = GrowingTree(*(np.array(arrays[name]) for name in GrowingTree._fields))
    if (
        size & (size - 1)
        or size < len(fresh.keys)
        or not 1 <= tree.tally[NODES] <= len(tree.links)
        or not 0 <= tree.tally[REGRESSORS] <= n_nodes
        or not (tree.links >= -1).all()
        or not (tree.links[:, :REGRESSOR] < tree.tally[NODES]).all()
        or not is_tree(in_order(tree.links[: tree.tally[NODES]]))
        or not ((tree.stats[:, RECORD] >= 0) & (tree.stats[:, RECORD] < tree.tally[RECORDS])).all()
        or (tree.keys >= 0).sum() > 0.6 * size
        or not (tree.keys < tree.tally[RECORDS] * n_classes).all()
    ):
        return None
    return int(arrays["passes"][0]), tree
