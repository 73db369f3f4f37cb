"""Gate and experts of a mixture as gradient-boosted trees, a few more in every M step.

Section 3.2 of Conditional Bernoulli Mixtures for Multi-Label Classification (Li, Wang, Pavlu &
Aslam, ICML 2016). `solvers.boosted` adds the trees; this module says what they fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax

from longtail.parameters import check_count, check_positive
from longtail.runtime.executor import run_threads, thread_count
from longtail.runtime.run import Run
from longtail.solvers.boosted.boosting import base_of, boost_binary, boost_softmax, log_shares
from longtail.solvers.boosted.growing import Growth, bins_of
from longtail.solvers.boosted.trees import Forest, Memory, Tree, joined, parted

NEGLIGIBLE = 1e-4  # weight of a point below which a component leaves it out
LEAST_WEIGHT = 1e-2  # weight of all points below which a component is left as it is
CONSTANT = 0.1  # weight of the points that differ below which a label is constant in a component
CLIP = 15.0  # bound on the log-odds of a label without trees
CELLS = 2**20  # points × labels per piece of work of a thread


class BoostedGate:
    """Weights of the components by boosted trees, towards soft targets.

    An update adds `n_trees` trees to each component, grown as `growth` says, see `Growth`. `base`
    (K,) has the scores before the first tree, `forest` the trees, one output per component. Updates
    replace both and change neither, so a shallow copy of the gate stays unchanged.

    Notes
    -----
    An update starts from the current trees. Each of its steps takes the derivative of the objective
    (9) by the scores, p_k - γ_k at every point, and the diagonal of the second, K / (K - 1)·p_k·(1
    - p_k), and fits one tree per component to the Newton step. The steps of all components together
    are halved until they do not raise the objective, so that no update makes it worse. The first
    update starts from the mean weights. A step costs O(N·D·K) for dense and O(nnz·K) for sparse X,
    times the share of features.

    Examples
    --------
    >>> X = sp.csr_array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)[:39]
    >>> targets = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 10)[:39]
    >>> gate = BoostedGate(2, n_trees=40, min_points=1)
    >>> gate.update(X, targets)
    >>> np.exp(gate.log_weights(X[:2])).round().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(
        self,
        n_components: int,
        *,
        n_trees: int = 10,
        n_jobs: int | None = None,
        **growth: Any,
    ) -> None:
        check_count(n_components=n_components, n_trees=n_trees)
        thread_count(n_jobs)
        self.n_components = n_components
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.growth = Growth(**growth)
        self.base = np.zeros(n_components)
        self.forest = Forest.empty(n_components, 0)
        self._memory = Memory()

    def update(self, X: sp.csr_array, responsibilities: NDArray[np.float64]) -> None:
        """Add `n_trees` trees to every component, towards the responsibilities (n, K)."""
        K = self.n_components
        forest = self.forest if len(self.forest) else Forest.empty(K, X.shape[1])
        if not len(forest):
            self.base = log_shares(responsibilities)
        if K == 1 or bins_of(X, self.growth).dataset is None:
            return
        scores = self.base + self._memory.predict(X, forest, n_jobs=self.n_jobs)
        self.forest = forest.grown(
            boost_softmax(
                X, responsibilities, scores, self.growth, n_steps=self.n_trees, place=len(forest),
                n_jobs=self.n_jobs,
            )
        )  # fmt: skip

    def log_weights(self, X: sp.csr_array) -> NDArray[np.float64]:
        """Logarithms of the weights of the components, (n, K). O(n·trees·depth).

        For a matrix seen before and still in memory, only new trees are evaluated.
        """
        scores = self.base + self._memory.predict(X, self.forest, n_jobs=self.n_jobs)
        return np.asarray(log_softmax(scores, axis=1))

    def penalty(self) -> float:
        """Size and number limit the trees, not a penalty: 0."""
        return 0.0

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""
        self.base = self.base[components]
        self.forest = self.forest.only(components)
        self.n_components = len(self.base)

    def to_arrays(self) -> dict[str, Any]:
        """The arrays of the store."""
        return {"base": self.base} | self.forest.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], **settings: Any) -> Self:
        """The gate that `to_arrays` gave; `settings` matter only for further updates."""
        base = base_of(arrays, 1)
        gate = cls(len(base), **settings)
        gate.base, gate.forest = base, Forest.from_arrays(arrays, len(base))
        return gate


@dataclass(frozen=True)
class _Task:
    """Some labels of one component, on the rows that count there."""

    component: int
    labels: NDArray[np.int64]
    rows: NDArray[np.int32]


class BoostedExperts:
    """Log-odds of every label in every component by boosted trees, on weighted points.

    As `BoostedGate`, with `n_trees` trees per update for each label of each component: `base`
    (K, L) has the log-odds before the first tree, `forests` the trees of each component, one output
    per label.

    Notes
    -----
    An update starts from the current trees. With the weights γ, each of its steps fits a tree to
    the Newton step of the objective (10): derivatives γ·(p - y) and γ·p·(1 - p), so that a leaf
    says Σγ(y - p) / (Σγp(1 - p) + l2), times the shrinkage. This is the paper's weighted fit, of
    Newton steps in place of gradients: the weight of a point does not change its target, only how
    much it counts. A step is halved until it does not raise the objective of its label, so that no
    update makes it worse.

    A label without trees has constant log-odds, by the share (γ₊ + a·f) / (γ + a), where γ is the
    weight of all points and γ₊ of those with the label, f the label's frequency overall, and a the
    `smoothing`. A label that is constant in a component gets no trees, nor does one whose loss is
    almost zero. Points with a weight below 0.0001 are left out, and a component with almost no
    weight stays unchanged.

    Each step costs O(N_k·D·L_k) for dense X and a component of N_k points with L_k labels that
    vary, O(nnz·L_k) for sparse X, times the share of features.

    Examples
    --------
    >>> X = sp.csr_array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10)[:39]
    >>> Y = sp.csr_array([[1.0], [0.0], [0.0], [1.0]] * 10)[:39]
    >>> experts = BoostedExperts(1, 1, n_trees=40, min_points=1)
    >>> experts.update(X, Y, np.ones((39, 1)), Run())
    >>> (experts.log_odds(X[:4]) > 0).ravel().tolist()
    [True, False, False, True]
    """

    def __init__(
        self,
        n_components: int,
        n_labels: int,
        *,
        n_trees: int = 10,
        smoothing: float = 0.1,
        n_jobs: int | None = None,
        **growth: Any,
    ) -> None:
        check_count(n_components=n_components, n_labels=n_labels, n_trees=n_trees)
        check_positive(smoothing=smoothing)
        thread_count(n_jobs)
        self.n_components = n_components
        self.n_labels = n_labels
        self.n_trees = n_trees
        self.smoothing = smoothing
        self.n_jobs = n_jobs
        self.growth = Growth(**growth)
        self.base = np.zeros((n_components, n_labels))
        self.forests: list[Forest] = []
        self._memory = Memory()

    def update(
        self, X: sp.csr_array, Y: sp.csr_array, responsibilities: NDArray[np.float64], run: Run
    ) -> None:
        """Add `n_trees` trees to every label of every component that can use them."""
        bins = bins_of(X, self.growth)
        bare = Forest.empty(self.n_labels, X.shape[1])
        forests = [forest if len(forest) else bare for forest in self.forests]
        forests = forests or [bare] * self.n_components
        base, tasks = self._constants(Y, responsibilities, forests)
        if bins.dataset is None:
            tasks = []
        said = {}
        for k in {task.component for task in tasks}:
            if self._memory.pays(X, self.n_labels, self.n_components, k):
                said[k] = self._memory.predict(X, forests[k], k, n_jobs=self.n_jobs)
        grown: list[list[Tree]] = [[] for _ in forests]

        def work(task: _Task) -> list[Tree]:
            k, rows, labels = task.component, task.rows, task.labels
            if k in said:
                scores = said[k][np.ix_(rows, labels)]
            else:
                scores = forests[k].predict(X[rows], outputs=labels)
            y = Y[rows][:, labels].toarray().astype(np.float64)
            weights = responsibilities[rows, k][:, None]
            place = (len(forests[k]), k, int(labels[0]))
            return boost_binary(
                bins, rows, labels, base[k, labels] + scores, y, weights, self.growth,
                n_steps=self.n_trees, place=place,
            )  # fmt: skip

        def done(task: _Task, trees: list[Tree]) -> None:
            grown[task.component] += trees

        run_threads(work, tasks, n_jobs=self.n_jobs, done=done)
        self.base = base
        self.forests = [
            forest.grown(sorted(trees, key=lambda tree: tree.output))
            for forest, trees in zip(forests, grown, strict=True)
        ]

    def _constants(
        self, Y: sp.csr_array, responsibilities: NDArray[np.float64], forests: list[Forest]
    ) -> tuple[NDArray[np.float64], list[_Task]]:
        """Log-odds of labels without trees, and what needs trees, large tasks first."""
        overall = (np.asarray(Y.sum(axis=0), dtype=np.float64).ravel() + 0.5) / (Y.shape[0] + 1)
        base, tasks = self.base.copy(), []
        if not self.forests:
            base[:] = _log_odds(overall)
        for k, forest in enumerate(forests):
            rows = np.flatnonzero(responsibilities[:, k] >= NEGLIGIBLE).astype(np.int32)
            weights = responsibilities[rows, k]
            total = weights.sum()
            if total < LEAST_WEIGHT:
                continue
            on = Y[rows].T @ weights
            share = _log_odds((on + self.smoothing * overall) / (total + self.smoothing))
            bare = forest.trees_of_outputs() == 0
            new = bare & (_loss(share, on, total) <= _loss(base[k], on, total))
            new |= not self.forests
            base[k, new] = share[new]
            labels = np.flatnonzero(~bare | (np.minimum(on, total - on) > CONSTANT))
            width = max(1, CELLS // len(rows))
            tasks += [
                _Task(k, labels[first : first + width], rows)
                for first in range(0, len(labels), width)
            ]
        return base, sorted(tasks, key=lambda task: -len(task.rows) * len(task.labels))

    def log_odds(self, X: sp.csr_array) -> NDArray[np.float64]:
        """Log-odds of every label in every component, (n, K, L). O(n·(K·L + trees·depth)).

        For a matrix seen before and still in memory, only new trees are evaluated.
        """
        out = np.empty((X.shape[0], self.n_components, self.n_labels))
        out[:] = self.base
        for k, forest in enumerate(self.forests):
            if len(forest):
                out[:, k] += self._memory.predict(X, forest, k, n_jobs=self.n_jobs)
        return out

    def penalty(self) -> float:
        """Size and number limit the trees, not a penalty: 0."""
        return 0.0

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""
        self.base = self.base[components]
        self.n_components = len(self.base)
        if self.forests:
            self.forests = [self.forests[k] for k in components]

    def to_arrays(self) -> dict[str, Any]:
        """The arrays of the store."""
        forests = self.forests or [Forest.empty(self.n_labels, 0)] * self.n_components
        return {"base": self.base} | joined(forests).to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], **settings: Any) -> Self:
        """The experts that `to_arrays` gave; `settings` matter only for further updates."""
        base = base_of(arrays, 2)
        forest = Forest.from_arrays(arrays, base.size)
        experts = cls(*base.shape, **settings)
        experts.base, experts.forests = base, parted(forest, len(base))
        return experts


def _log_odds(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(np.log(share) - np.log1p(-share), -CLIP, CLIP)


def _loss(
    log_odds: NDArray[np.float64], on: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Σ γ·(log(1 + exp(z)) - y·z) of labels with constant log-odds z."""
    return np.asarray(total * np.logaddexp(0.0, log_odds) - on * log_odds)
