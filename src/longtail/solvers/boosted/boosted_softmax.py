"""`fit_boosted_softmax`: probabilities of classes by boosted trees, from nothing to the last tree.

The counterpart of `fit_softmax` for targets that no linear function fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax

from longtail.parameters import check_count
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.solvers.boosted.boosting import (
    FEW_CLASSES,
    ROW_CELLS,
    base_of,
    boost_softmax,
    cross_entropy,
    log_shares,
)
from longtail.solvers.boosted.growing import Growth
from longtail.solvers.boosted.trees import Forest
from longtail.solvers.points import check_same_rows

MANY_BLOCKS = 8  # of classes, for as many threads; each lays out histograms of all columns anew
BLOCK_CELLS = 2**20  # points times classes that a thread grows trees for at a time


@dataclass(frozen=True)
class BoostedSoftmax:
    """Log-probabilities of classes by boosted trees."""

    base: NDArray[np.float64]  # (K,): scores before the first tree
    forest: Forest  # one output per class

    def logs(self, X: sp.csr_array, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """The logarithm of the probability of each class, (n, K). O(nnz + n·trees·depth)."""
        start = np.tile(self.base, (X.shape[0], 1))
        return np.asarray(
            log_softmax(self.forest.predict(X, before=(0, start), n_jobs=n_jobs), axis=1)
        )

    def to_arrays(self) -> dict[str, Any]:
        """What the store keeps."""
        return {"base": self.base} | self.forest.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> BoostedSoftmax:
        """What `to_arrays` gave; anything else is refused. O(nodes)."""
        base = base_of(arrays, 1)
        return cls(base, Forest.from_arrays(arrays, len(base)))


@dataclass(frozen=True)
class BoostedFit:
    """What `fit_boosted_softmax` found."""

    model: BoostedSoftmax
    objective: float  # the cross entropy, over all points


def fit_boosted_softmax(
    X: sp.csr_array,
    targets: sp.csr_array,
    *,
    growth: Growth,
    n_trees: int,
    n_jobs: int | None = None,
    run: Run | None = None,
) -> BoostedFit:
    """Boost towards the targets from the classes' shares, up to `n_trees` trees per class.

    Parameters
    ----------
    X : csr_array of shape (N, D)
        Without NaN and infinity.
    targets : csr_array of shape (N, K)
        Each row a distribution over the classes.
    growth : Growth
        How trees are grown.
    n_trees : int
        Steps, each of one tree per class; a class gets no tree in a step in which it finds no
        split.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.
    run : Run, optional
        Progress callback, and where the trees are kept after every step.

    Returns
    -------
    BoostedFit

    Notes
    -----
    A step costs O(N·D·K) for dense and O(nnz·K) for sparse X, times the share of features. For
    memory see `boosting_bytes`.

    Examples
    --------
    >>> X = sp.csr_array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)[:39]
    >>> targets = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 10)[:39]
    >>> fit = fit_boosted_softmax(X, targets, growth=Growth(min_points=1), n_trees=40)
    >>> np.exp(fit.model.logs(X[:2])).round().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_count(n_trees=n_trees)
    thread_count(n_jobs)
    run = run or Run()
    n, n_classes = targets.shape
    check_same_rows(X, targets)
    base = log_shares(targets)
    bare = Forest.empty(n_classes, X.shape[1])
    states = LatestState(run, lambda: fingerprint(X=X, targets=targets, settings=(growth, n_trees)))
    forest, done = states.read(lambda arrays: _resumed(arrays, bare, n_trees)) or (bare, 0)
    scores = forest.predict(X, before=(0, np.tile(base, (n, 1))), n_jobs=n_jobs)
    width = _classes_at_a_time(n, n_classes)
    run.report("training", done, n_trees)
    for step in range(done, n_trees):
        forest = forest.grown(
            boost_softmax(
                X, targets, scores, growth, n_steps=1, place=step, width=width, n_jobs=n_jobs
            )
        )
        states.write(partial(_state, forest, step + 1))
        run.report("training", step + 1, n_trees)
    objective = cross_entropy(targets, scores, n_jobs=n_jobs)
    return BoostedFit(BoostedSoftmax(base, forest), float(objective[0]))


def boosting_bytes(
    n_points: int, n_classes: int, n_columns: int, *, growth: Growth, n_trees: int, threads: int
) -> float:
    """About the bytes that `fit_boosted_softmax` needs at most.

    Two arrays of points × classes; on every thread what grows the trees of some classes, with a
    histogram of the columns for each leaf; and the trees.

    Examples
    --------
    >>> need = boosting_bytes(31_000, 4_100, 120, growth=Growth(), n_trees=100, threads=2)
    >>> f"{need / 1e9:.1f} GB"
    '2.3 GB'
    """
    width = _classes_at_a_time(n_points, n_classes)
    growing = 72.0 * n_points * width + 16.0 * growth.leaves * n_columns * growth.max_bins
    normalising = 24.0 * max(ROW_CELLS, n_classes)
    tree = 20 * (growth.leaves - 1) + 8 * growth.leaves + 12
    return (
        16.0 * n_points * n_classes
        + threads * max(growing, normalising)
        + 2.0 * tree * n_trees * n_classes
    )


def _classes_at_a_time(n_points: int, n_classes: int) -> int:
    fair = -(-n_classes // MANY_BLOCKS)
    return max(FEW_CLASSES, min(BLOCK_CELLS // max(n_points, 1), fair))


def _state(forest: Forest, steps: int) -> dict[str, NDArray[Any]]:
    return {"steps": np.array([steps])} | forest.to_arrays()


def _resumed(
    found: dict[str, NDArray[Any]], bare: Forest, n_trees: int
) -> tuple[Forest, int] | None:
    """The trees that an interrupted run left, and after how many steps; None if it left none."""
    steps = found.pop("steps", np.zeros(0))
    forest = Forest.from_arrays(found)
    if (
        (forest.n_outputs, forest.n_features) != (bare.n_outputs, bare.n_features)
        or steps.shape != (1,)
        or not 0 <= steps[0] <= n_trees
    ):
        return None
    return forest, int(steps[0])
