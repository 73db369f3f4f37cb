"""The logarithmic-time online multiclass tree, grown and trained one point at a time.

Choromanska & Langford, Logarithmic Time Online Multiclass Prediction, NIPS 2015: the LOMtree.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import csr_arrays, read_only
from longtail._sparse import from_ranked
from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import ModelError
from longtail.labels.sets import one_class_per_row
from longtail.methods._soundness import is_array, is_csr
from longtail.methods.trees._growth import (
    GrowingTree,
    in_order,
    is_nested,
    is_tree,
    resumed,
    roomier,
    seedling,
)
from longtail.methods.trees._log_tree_kernels import (
    LEFT,
    PARENT,
    REGRESSOR,
    REGRESSORS,
    RIGHT,
    SWAPS,
    best_of_leaves,
    margin,
    smooth,
    train_rows,
    walk,
)
from longtail.parameters import Count, Jobs, MemoryLimit, NotNegative, Seed, UpToOne, at_least
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.estimates import WORKSPACE, Estimate, matrix_bytes, refuse_beyond
from longtail.runtime.executor import in_blocks
from longtail.runtime.kept import kept_for
from longtail.runtime.run import Run

FOR_LESS = "use a method for many classes, such as mrb or dismec, or lower max_nodes or table_bits"
LARGEST_TABLE = 30  # bits
STEP = 2e-8  # seconds per stored value at a node
SPAN = 4096  # rows trained on, or walked down, between two chances to interrupt


class LogTree(ExtremeClassifier):
    """A binary tree that decides in logarithmic time and grows while it is trained.

    Every internal node has a linear regressor; its sign says left or right. A training point walks
    down from the root. At each node the regressor takes one gradient step towards -1 if the mean
    value of the point's class there is below that of all points, else towards +1, which raises the
    objective J = 2 Σ_y p(y) |P(right) - P(right | y)|: balanced sides, pure classes. A leaf that
    meets a second class becomes a node while there are fewer than `max_nodes`; after that, only a
    leaf that gains much becomes a node. It takes the nodes of the smallest leaf, which is removed.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Class names.
    links_ : int32 array of shape (M, 4)
        Parent, left child, right child and regressor of each node, -1 for none; the root first.
    counts_ : csr_array of shape (M, L)
        Training points of each class that pass each node of the finished tree.
    weights_ : float32 array
        The weights of all regressors.
    table_bits_ : int
        Bits of the hash of (regressor, feature); 0 if every pair has its own weight.
    depth_ : int
        Decisions on the longest path.
    n_swaps_ : int
        How often nodes were taken from the smallest leaf.

    Notes
    -----
    Training costs O(depth·nnz(X)) per pass on one thread, prediction O(depth·nnz(x)) per point,
    where the depth is near log2 of the number of classes. Where (D + 1)·`max_nodes` exceeds
    2^table_bits, the weights of different regressors and features share places by chance. This does
    little harm if fewer than half of the places are used (about nnz(X)·depth are); `table_bits`
    plus one doubles the memory and halves the collisions. Besides the table, training takes about
    200 bytes per node and 100 per class that a node has met. If the total exceeds `memory_limit`,
    `fit` raises an error with the estimate.

    For one class per row: rows with several labels are shown once per label, rows without one
    are left out, and one class is predicted. After training, all points are sent down the finished
    tree to count the classes at its leaves; the most frequent one is the prediction. The scores of
    `predict_topk` are logarithms of smoothed shares: (points of the class + its share at the
    parent) / (points + 1), with 1 / L above the root; so classes that a leaf has not seen follow
    in the order of its ancestors' counts. Classes without a training point are never listed.

    `explain` shows the path of a point down the tree (table "path") and which features moved it
    towards the label: at a node, a feature's part is its weight times its value, times (r - l) / (r
    + l), where r and l of the label's training points lie right and left of it. Its score is the
    sum over the nodes of the path; "log share" in its summary is the score of `predict_topk`, -inf
    for a class that was never seen.

    Examples
    --------
    >>> from longtail.methods.trees.log_tree import LogTree
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tree = LogTree().fit(X, ["sea", "snow", "sea", "snow"])
    >>> tree.predict([[1, 0, 1], [0, 1, 0]]).tolist(), tree.depth_
    (['sea', 'snow'], 1)
    >>> why = tree.explain([1, 0, 1], "sea", feature_names=["blue", "cold", "wet"])
    >>> why.table("path")["went"][0]
    'left'
    """

    method: ClassVar[str] = "logtree"
    paper: ClassVar[str] = "Choromanska & Langford 2015"

    def __init__(
        self,
        *,
        max_nodes: Annotated[
            Count | None, "Internal nodes, at most; by default one fewer than there are classes."
        ] = None,
        n_passes: Annotated[
            Count, "How often all points are shown, in a new order each time."
        ] = 10,
        learning_rate: Annotated[
            UpToOne,
            "By which part of its distance to the target a regressor's value moves at a step; at "
            "most 1.",
        ] = 0.5,
        swap_resistance: Annotated[
            NotNegative,
            "A leaf gets the nodes of the smallest leaf if its points outside its commonest class "
            "are more than this many times the points of that leaf, plus one.",
        ] = 4.0,
        table_bits: Annotated[
            int,
            at_least(1, LARGEST_TABLE),
            "The table of weights has at most 2^table_bits entries of 4 bytes, as in Vowpal "
            "Wabbit.",
        ] = 24,
        random_state: Annotated[Seed, "Seed of the orders."] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Annotated[Jobs, "Threads that predict: None is one, -1 all cores."] = None,
    ) -> None:
        self.max_nodes = max_nodes
        self.n_passes = n_passes
        self.learning_rate = learning_rate
        self.swap_resistance = swap_resistance
        self.table_bits = table_bits
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def _nodes(self, n_classes: int, n_rows: int) -> int:
        """Largest number of internal nodes: one per row and pass."""
        wanted = self.max_nodes or max(n_classes - 1, 1)
        return min(int(wanted), max(n_rows, 1) * int(self.n_passes))

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        n, n_classes = max(Y.nnz, 1), len(np.unique(Y.indices))
        nodes = self._nodes(n_classes, n)
        places = nodes * (X.shape[1] + 1)
        table = 4.0 * min(places, 2**self.table_bits)
        repeats, depth = n / X.shape[0], np.log2(nodes + 1) + 1
        copies = matrix_bytes(X) * (3.0 * repeats if repeats != 1 else 1.0) + 8.0 * n
        met = min(float(n) * depth, float(nodes) * n_classes)
        return Estimate(
            int(table + copies + 200.0 * nodes + 100.0 * met + WORKSPACE),
            int(table + 12.0 * met),
            STEP * self.n_passes * X.nnz * repeats * depth,
            f"a table of {int(table) // 4:,} weights and {nodes:,} nodes that count classes",
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, FOR_LESS)
        X, y = one_class_per_row(X, Y, "LogTree")
        rows = csr_arrays(X)
        n_features, n_classes = X.shape[1], Y.shape[1]
        n_nodes = self._nodes(len(np.unique(y)), len(y))
        exact = n_nodes * (n_features + 1) <= 2**self.table_bits
        bits = 0 if exact else int(self.table_bits)
        settings = (
            n_nodes, int(self.n_passes), float(self.learning_rate), float(self.swap_resistance),
            bits, self._seed,
        )  # fmt: skip
        states = LatestState(run, lambda: fingerprint(X=X, y=y, settings=settings))
        found = states.read(lambda arrays: resumed(arrays, n_nodes, n_features, bits, n_classes))
        passes, tree = found or (0, seedling(n_nodes, n_features, bits))
        slots = np.empty(int(np.diff(X.indptr).max(initial=0)) + 1, dtype=np.int64)
        run.report("training", passes, int(self.n_passes))
        while passes < self.n_passes:
            order = np.random.default_rng([self._seed, passes]).permutation(len(y))
            at = 0
            while at < len(order):
                end = min(at + SPAN, len(order))
                at = train_rows(
                    order[:end], at, *rows, y, n_classes, n_features, bits,
                    float(self.learning_rate), n_nodes, float(self.swap_resistance), *tree, slots,
                )  # fmt: skip
                if at < end:
                    tree = roomier(tree, n_classes)
            passes += 1
            states.write(partial(tree.state_after, passes))
            run.report("training", passes, int(self.n_passes))
        self._keep(tree, X, y, bits, n_classes)

    def _keep(
        self, tree: GrowingTree, X: sp.csr_array, y: NDArray[np.int64], bits: int, n_classes: int
    ) -> None:
        """The finished tree, parents before children, and the points that pass each node."""
        links = in_order(tree.links)
        weights = tree.weights
        if bits == 0:
            used = int(tree.tally[REGRESSORS]) * (X.shape[1] + 1)
            weights.resize(used, refcheck=False)  # in place: a copy would double the peak
        self.links_, self.weights_, self.table_bits_ = links, weights, bits
        depths = np.zeros(len(links), dtype=np.int64)
        for node in range(1, len(links)):
            depths[node] = depths[links[node, PARENT]] + 1
        self.depth_ = int(depths.max())
        self.n_swaps_ = int(tree.tally[SWAPS])
        at, labels = self._leaves(X), y
        levels = []
        while len(at):
            levels.append(sp.csr_array(
                (np.ones(len(at), dtype=np.int64), (at, labels)), shape=(len(links), n_classes)
            ))  # fmt: skip
            at = links[at, PARENT].astype(np.int64)
            at, labels = at[at >= 0], labels[at >= 0]
        counts = sp.csr_array(sum(levels[1:], levels[0]))
        counts.sort_indices()
        self.counts_ = counts

    # ---- prediction ----------------------------------------------------------------------------

    def _leaves(self, X: sp.csr_array) -> NDArray[np.int64]:
        """The leaf of each row. O(depth·nnz(X))."""
        weights, links = read_only(self.weights_), read_only(self.links_)

        def work(x: sp.csr_array) -> NDArray[np.int64]:
            return walk(*csr_arrays(x), x.shape[1], self.table_bits_, weights, links)

        return np.concatenate(in_blocks(work, X, size=SPAN, n_jobs=self.n_jobs))

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        leaves, of = np.unique(self._leaves(X), return_inverse=True)
        labels, values = self._best(leaves, k)
        return from_ranked(labels[of], values[of], len(self.classes_))

    def _best(
        self, leaves: NDArray[np.int64], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The best k classes of each leaf and their scores, -1 and NaN where there are fewer."""
        shares, totals = _shares_of(self)
        labels = np.full((len(leaves), k), -1, dtype=np.int64)
        values = np.full((len(leaves), k), np.nan)
        links, structure = read_only(self.links_), csr_arrays(self.counts_, np.int64)[:2]
        best_of_leaves(leaves, links, *structure, shares, totals, labels, values)
        return labels, values

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._topk(X, 1)

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        links, counts = self.links_, self.counts_
        path: list[int] = []
        node = int(self._leaves(x)[0])
        labels, values = self._best(np.array([node]), len(self.classes_))
        found = np.flatnonzero(labels[0] == column)
        while (node := int(links[node, PARENT])) >= 0:
            path.insert(0, node)
        left, right = (
            np.array([counts[links[node, side], column] for node in path], dtype=np.int64)
            for side in (LEFT, RIGHT)
        )
        pull = (right - left) / np.maximum(right + left, 1)
        values_x = x.data.astype(np.float64)
        weights, bias = np.zeros(x.nnz), 0.0
        margins = np.zeros(len(path))
        for step, node in enumerate(path):
            own, constant = self._weights_at(int(links[node, REGRESSOR]), x.indices)
            margins[step] = own @ values_x + constant
            weights += pull[step] * own
            bias += float(pull[step] * constant)
        path_table = pl.DataFrame(
            {
                "node": np.array(path, dtype=np.int64),
                "margin": margins,
                "went": ["left" if value < 0 else "right" for value in margins],
                "points": np.asarray(counts.sum(axis=1), dtype=np.int64)[path],
                "label left": left,
                "label right": right,
            },
            schema_overrides={"went": pl.String},
        )
        log_share = float(values[0, found[0]]) if len(found) else -np.inf
        return Explanation.by_features(
            self._name_of(column), x, weights, names, n, bias=bias,
            summary={"log share": log_share}, details={"path": path_table},
        )  # fmt: skip

    def _weights_at(
        self, regressor: int, features: NDArray[Any]
    ) -> tuple[NDArray[np.float64], float]:
        """A regressor's weights of some features, and its constant."""
        nothing, one = np.empty(0, dtype=np.int32), np.ones(1)
        shared = (regressor, self.n_features_in_, self.table_bits_, read_only(self.weights_))
        constant = margin(nothing, np.empty(0), 0, 0, *shared)
        with_it = [
            margin(np.array([f], dtype=np.int32), one, 0, 1, *shared) for f in features.tolist()
        ]
        return np.array(with_it, dtype=np.float64) - constant, float(constant)

    # ---- what was read -------------------------------------------------------------------------

    def _check_state(self) -> None:
        super()._check_state()
        links, counts = getattr(self, "links_", None), getattr(self, "counts_", None)
        if (
            not is_array(links, (None, None), np.int32)
            or not is_tree(links)
            or not is_csr(counts, (len(links), len(self.classes_)))
            or counts.nnz == 0
            or not is_nested(counts, links)
        ):
            raise ModelError("The tree of the model does not fit its labels; it was altered.")
        weights, bits = getattr(self, "weights_", None), getattr(self, "table_bits_", None)
        n_regressors = int(links[:, REGRESSOR].max(initial=-1)) + 1
        if (
            not isinstance(bits, int)
            or not 0 <= bits <= LARGEST_TABLE
            or not is_array(weights, (None,), np.float32)
            or len(weights) != (2**bits if bits else n_regressors * (self.n_features_in_ + 1))
            or (bits > 0 and n_regressors * (self.n_features_in_ + 1) > 2**62)
        ):
            raise ModelError("The weights of the model do not fit its tree; it was altered.")


def _shares_of(tree: LogTree) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The smoothed shares and the points at the nodes of a tree."""
    counts, links = tree.counts_, tree.links_

    def make() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        totals = np.asarray(counts.sum(axis=1), dtype=np.float64)
        shares = np.empty(counts.nnz)
        arrays = csr_arrays(counts, np.int64)
        smooth(read_only(links), *arrays, totals, counts.shape[1], shares)
        return shares, totals

    return kept_for(tree, "shares", (counts, links), make)
