"""Small regression trees as plain arrays: prediction without the library that grew them.

A forest holds the trees of several outputs over the same features; what an output says of a point
is the sum over its trees. The layout is described in `_tree_kernels`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError, ModelError
from longtail.runtime.executor import run_here_or_on_threads
from longtail.solvers.boosted._tree_kernels import add_trees, are_trees
from longtail.store.estimator import LARGEST

ROWS_BYTES = 2**20  # rows spread out at a time, by a thread
MOST_ROWS = 64
CHUNK = 1024  # rows that a thread works on at a time

DTYPES = {
    "starts": np.int64,
    "output": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
}


@dataclass(frozen=True)
class Tree:
    """One tree, at least one node: the arrays of its nodes and the values of its leaves."""

    output: int
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]


@dataclass(frozen=True)
class Forest:
    """Trees of several outputs over the same features. Nothing in it changes once it is made.

    Examples
    --------
    One tree of one node: x₁ <= 0.5 says -1, else 2.

    >>> tree = Tree(
    ...     output=0, feature=np.array([1]), threshold=np.array([0.5]), left=np.array([-1]),
    ...     right=np.array([-2]), value=np.array([-1.0, 2.0]),
    ... )
    >>> forest = Forest.empty(n_outputs=1, n_features=2).grown([tree])
    >>> forest.predict(sp.csr_array([[0.0, 0.5], [0.0, 0.6]])).tolist()
    [[-1.0], [2.0]]
    """

    n_outputs: int
    n_features: int
    starts: NDArray[np.int64]  # where the nodes of each tree start, and where the last one ends
    output: NDArray[np.int32]  # that each tree belongs to
    feature: NDArray[np.int32]  # of each node, as are the next three
    threshold: NDArray[np.float64]  # a point goes left if its value is at most this
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]  # of the leaves, (nodes + trees,)

    @classmethod
    def empty(cls, n_outputs: int, n_features: int) -> Forest:
        """A forest without trees."""
        arrays: dict[str, Any] = {name: np.empty(0, dtype) for name, dtype in DTYPES.items()}
        return cls(n_outputs, n_features, **(arrays | {"starts": np.zeros(1, np.int64)}))

    def __len__(self) -> int:
        return len(self.output)

    def grown(self, trees: Iterable[Tree]) -> Forest:
        """This forest with more trees after those it has. O(nodes of both)."""
        new = list(trees)
        if not new:
            return self
        sizes = np.array([len(tree.feature) for tree in new])
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), *(getattr(tree, name) for tree in new)])
            for name in ("feature", "threshold", "left", "right", "value")
        }
        arrays["output"] = np.concatenate([self.output, [tree.output for tree in new]])
        arrays["starts"] = np.concatenate([self.starts, self.starts[-1] + np.cumsum(sizes)])
        return Forest(
            self.n_outputs,
            self.n_features,
            **{name: arrays[name].astype(dtype) for name, dtype in DTYPES.items()},
        )

    def only(self, outputs: NDArray[np.int64]) -> Forest:
        """The trees of some outputs, which become 0, 1, ... in the order given. O(nodes)."""
        place = np.full(self.n_outputs, -1, dtype=np.int32)
        place[outputs] = np.arange(len(outputs))
        kept = place[self.output] >= 0
        sizes = np.diff(self.starts)
        nodes, leaves = np.repeat(kept, sizes), np.repeat(kept, sizes + 1)
        return Forest(
            len(outputs),
            self.n_features,
            starts=np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64),
            output=place[self.output[kept]],
            feature=self.feature[nodes],
            threshold=self.threshold[nodes],
            left=self.left[nodes],
            right=self.right[nodes],
            value=self.value[leaves],
        )

    def trees_of_outputs(self) -> NDArray[np.int64]:
        """How many trees each output has."""
        return np.bincount(self.output, minlength=self.n_outputs)

    def predict(
        self,
        X: sp.csr_array,
        *,
        outputs: NDArray[np.int64] | None = None,
        before: tuple[int, NDArray[np.float64]] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """The sum of the trees of each output, (n, outputs).

        Parameters
        ----------
        X : csr_array of shape (n, n_features)
            Without NaN.
        outputs : int array, optional
            Only these, in this order.
        before : pair, optional
            A number of trees, and what that many said before; only those after them are asked.
        n_jobs : int, optional
            Threads; trees are added up in their order whatever it is.

        Notes
        -----
        O(nnz + n·trees·depth). X is spread out a few rows at a time.
        """
        place = np.arange(self.n_outputs, dtype=np.int64)
        if outputs is not None:
            place[:] = -1
            place[outputs] = np.arange(len(outputs))
        first_tree, said = before or (0, np.zeros((X.shape[0], int(place.max(initial=-1)) + 1)))
        out = said.copy()
        if first_tree >= len(self):
            return out
        if X.shape[1] != self.n_features:
            raise InputError(
                f"X has {X.shape[1]} features, but the trees were grown on {self.n_features}."
            )
        node = self.starts[first_tree]
        leaf = node + first_tree
        starts = self.starts[first_tree:] - node
        output, value = place[self.output[first_tree:]], self.value[leaf:]
        feature, threshold = self.feature[node:], self.threshold[node:]
        left, right = self.left[node:], self.right[node:]
        width = max(1, min(MOST_ROWS, ROWS_BYTES // (8 * max(self.n_features, 1))))

        def work(first: int) -> None:
            part = slice(first, first + CHUNK)
            rows = np.zeros((width, self.n_features))
            add_trees(
                X.indptr[first : first + CHUNK + 1], X.indices, X.data, starts, output, feature,
                threshold, left, right, value, rows, out[part],
            )  # fmt: skip

        run_here_or_on_threads(work, range(0, X.shape[0], CHUNK), n_jobs=n_jobs)
        return out

    def starts_with(self, other: Forest) -> bool:
        """Whether the other's trees are the first of this one's. O(nodes of the other)."""
        return self is other or all(
            np.array_equal(getattr(self, name)[: len(getattr(other, name))], getattr(other, name))
            for name in DTYPES
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All of it as numpy arrays, for the store."""
        size = np.array([self.n_outputs, self.n_features], dtype=np.int64)
        return {"size": size} | {name: getattr(self, name) for name in DTYPES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_outputs: int | None = None) -> Forest:
        """The forest that `to_arrays` gave; what is no forest, or none of `n_outputs`, is refused.

        O(nodes).
        """
        given = {}
        for name, dtype in ({"size": np.int64} | DTYPES).items():
            array = arrays.get(name)
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != dtype:
                raise ModelError(f"The array {name!r} of the trees is missing or of another type.")
            given[name] = np.ascontiguousarray(array)
        size = given.pop("size")
        if len(size) != 2 or (size < 0).any() or (size > np.iinfo(np.int32).max).any():
            raise ModelError("The trees do not say how many outputs and features they have.")
        if n_outputs is not None and size[0] != n_outputs:
            raise ModelError("The trees of the model do not fit its classes; it was altered.")
        forest = cls(int(size[0]), int(size[1]), **given)
        if not forest._is_whole():
            raise ModelError("The trees of the model are no trees; it was altered.")
        return forest

    def _is_whole(self) -> bool:
        n_nodes, n_trees = len(self.feature), len(self.output)
        if (
            len(self.starts) != n_trees + 1
            or self.starts[0] != 0
            or self.starts[-1] != n_nodes
            or (self.starts[1:] <= self.starts[:-1]).any()
            or any(len(part) != n_nodes for part in (self.threshold, self.left, self.right))
            or len(self.value) != n_nodes + n_trees
            or not ((self.output >= 0) & (self.output < self.n_outputs)).all()
            or not ((self.feature >= 0) & (self.feature < self.n_features)).all()
            or not np.isfinite(self.threshold).all()
            or not (np.abs(self.value) <= LARGEST).all()
        ):
            return False
        seen = np.zeros(n_nodes, np.bool_), np.zeros(n_nodes + n_trees, np.bool_)
        return bool(are_trees(self.starts, self.left, self.right, *seen))


def joined(forests: list[Forest]) -> Forest:
    """One forest of all outputs of several over the same features, one after another."""
    first_output = np.cumsum([0, *(forest.n_outputs for forest in forests)])
    first_node = np.cumsum([0, *(len(forest.feature) for forest in forests)])
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(forest, name) for forest in forests])
        for name in ("feature", "threshold", "left", "right", "value")
    }
    arrays["output"] = np.concatenate(
        [f.output + first for f, first in zip(forests, first_output, strict=False)]
    ).astype(np.int32)
    arrays["starts"] = np.concatenate(
        [[0], *(f.starts[1:] + first for f, first in zip(forests, first_node, strict=False))]
    ).astype(np.int64)
    return Forest(int(first_output[-1]), forests[0].n_features, **arrays)


def parted(forest: Forest, n_parts: int) -> list[Forest]:
    """What `joined` joined, of `n_parts` forests of equally many outputs."""
    n_outputs = forest.n_outputs // n_parts
    part = forest.output // n_outputs
    if (part[1:] < part[:-1]).any():
        raise ModelError("The trees of the model are not in order; it was altered.")
    bounds = np.searchsorted(part, np.arange(n_parts + 1))
    parts = []
    for k, (a, b) in enumerate(pairwise(bounds.tolist())):
        nodes = slice(forest.starts[a], forest.starts[b])
        parts.append(
            Forest(
                n_outputs,
                forest.n_features,
                starts=forest.starts[a : b + 1] - forest.starts[a],
                output=(forest.output[a:b] - k * n_outputs).astype(np.int32),
                feature=forest.feature[nodes],
                threshold=forest.threshold[nodes],
                left=forest.left[nodes],
                right=forest.right[nodes],
                value=forest.value[nodes.start + a : nodes.stop + b],
            )
        )
    return parts


class Memory:
    """What growing forests said of matrices that are still there: only new trees are asked.

    Parameters
    ----------
    most_bytes : int
        What it may keep; once that is full, it remembers no more until a matrix is gone.

    Examples
    --------
    >>> memory = Memory()
    >>> X = sp.csr_array(np.eye(2))
    >>> memory.predict(X, Forest.empty(n_outputs=1, n_features=2)).tolist()
    [[0.0], [0.0]]
    """

    def __init__(self, most_bytes: int = 2**28) -> None:
        self.most_bytes = most_bytes
        self._lock = Lock()
        self._said: dict[tuple[int, int], tuple[weakref.ref[Any], Forest, NDArray[np.float64]]] = {}

    def __reduce__(self) -> tuple[type[Memory], tuple[int]]:
        return Memory, (self.most_bytes,)

    def pays(self, X: sp.csr_array, n_outputs: int, n_forests: int, which: int = 0) -> bool:
        """Whether it remembers forest `which` on X, or could remember all of the forests on it."""
        with self._lock:
            known = self._said.get((id(X), which))
            if known is not None and known[0]() is X:
                return True
            return self._kept() + 8 * X.shape[0] * n_outputs * n_forests <= self.most_bytes

    def predict(
        self, X: sp.csr_array, forest: Forest, which: int = 0, *, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """`forest.predict(X)`, to the last bit; not to be written to.

        `which` tells forests apart. O(nnz + n·new trees·depth).
        """
        key = (id(X), which)
        before = None
        with self._lock:
            known = self._said.get(key)
        if known is not None and known[0]() is X and forest.starts_with(known[1]):
            before = len(known[1]), known[2]
        out = forest.predict(X, before=before, n_jobs=n_jobs)
        said = self._said
        with self._lock:
            said.pop(key, None)
            if self._kept() + out.nbytes <= self.most_bytes:
                said[key] = weakref.ref(X, lambda _: said.pop(key, None)), forest, out
        return out

    def _kept(self) -> int:
        return sum(array.nbytes for _, _, array in list(self._said.values()))
