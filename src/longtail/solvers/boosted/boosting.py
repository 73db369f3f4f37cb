"""Boosted trees for two objectives: a softmax over classes, and weighted binary problems.

Both add trees to what is there. A step fits one tree per output to the Newton step of the
objective, by its first and the diagonal of its second derivatives, and is halved until it does not
raise the objective. LightGBM grows the trees (`growing`); what they say is our own (`trees`), so
that a model that was stored needs no LightGBM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from longtail.errors import ModelError
from longtail.runtime.executor import run_threads
from longtail.solvers.boosted.growing import Bins, Grower, Growth, bins_of, harmless
from longtail.solvers.boosted.trees import Tree

SOLVED = 1e-2  # loss of a binary problem, over all points, below which it needs no more trees
NO_SHARE = 1e-8  # least share of a class before the first tree
FEW_CLASSES = 8  # that a thread grows the trees of at a time, at least
ROW_CELLS = 2**21  # points times classes that a thread turns into probabilities at a time

Targets: TypeAlias = Any  # an array of float64 or a csr_array, of shape (N, K)


def boost_softmax(
    X: sp.csr_array,
    targets: Targets,
    scores: NDArray[np.float64],
    growth: Growth,
    *,
    n_steps: int,
    place: int,
    width: int = FEW_CLASSES,
    n_jobs: int | None = None,
) -> list[Tree]:
    """Trees that lower the cross entropy of a softmax, from given scores on, which are updated.

    Parameters
    ----------
    X : csr_array of shape (N, D)
    targets : array or csr_array of shape (N, K)
        Each row a distribution over the classes.
    scores : array of shape (N, K)
        What base and trees say so far; in the end, with the new trees.
    growth : Growth
    n_steps : int
        Trees per class. The memory of what the trees of a call say, 32 bytes per point and class,
        is given back class by class in the last step, so that calls of one step need none of it.
    place : int
        Number that tells this call from others, for the drawing of features.
    width : int
        Classes that a thread grows trees for at a time.
    n_jobs : int, optional
        Threads; the trees do not depend on it.

    Returns
    -------
    list of Tree
        With a class as output.

    Notes
    -----
    A step takes the derivative of the cross entropy by the scores, p_k - t_k at every point, and
    the diagonal of the second, K / (K - 1)·p_k·(1 - p_k), and fits one tree per class. The steps of
    all classes together are halved until they do not raise the cross entropy. It costs O(N·D·K) for
    dense and O(nnz·K) for sparse X, times the share of features, and another (N, K) array.
    """
    n_classes = scores.shape[1]
    bins = bins_of(X, growth)
    if n_classes == 1 or bins.dataset is None:
        return []
    growers = _SoftmaxGrowers(bins, targets, growth, place, width)
    step = np.empty_like(scores)
    for number in range(1, n_steps + 1):
        growers.grow(scores, step, last=number == n_steps, n_jobs=n_jobs)
        scale = harmless(
            lambda factor: cross_entropy(targets, scores, step, factor, n_jobs=n_jobs),
            cross_entropy(targets, scores, n_jobs=n_jobs),
        )
        for rows in _row_blocks(scores):
            scores[rows] += scale * step[rows]
        growers.scale(scale)
    return growers.trees()


class _SoftmaxGrowers:
    """A grower for every few classes of a softmax."""

    def __init__(
        self, bins: Bins, targets: Targets, growth: Growth, place: int, width: int
    ) -> None:
        self.bins, self.growth, self.place = bins, growth, place
        self.targets = sp.csc_array(targets) if sp.issparse(targets) else targets
        self.n_classes = targets.shape[1]
        self.blocks = [
            np.arange(first, min(first + width, self.n_classes))
            for first in range(0, self.n_classes, width)
        ]
        self.growers: dict[int, Grower] = {}

    def grow(
        self,
        scores: NDArray[np.float64],
        step: NDArray[np.float64],
        *,
        last: bool,
        n_jobs: int | None,
    ) -> None:
        """One tree per class; what they say goes into `step`."""
        top, rest = _normalisers(scores, n_jobs)
        factor = self.n_classes / (self.n_classes - 1)

        def work(i: int) -> None:
            block = self.blocks[i]
            if i not in self.growers:
                self.growers[i] = Grower(
                    self.bins, None, len(block), self.growth, self.place, int(block[0])
                )
            p, t = np.exp((scores[:, block] - top) - rest), self.targets[:, block]
            first = p - (t.toarray() if sp.issparse(t) else t)
            step[:, block] = self.growers[i].grow(first, factor * p * (1.0 - p))
            if last:
                self.growers[i].release()

        run_threads(work, range(len(self.blocks)), n_jobs=n_jobs)

    def scale(self, factor: NDArray[np.float64]) -> None:
        """Multiply the trees of the last step."""
        for grower in self.growers.values():
            grower.scale(np.repeat(factor, grower.n_outputs))

    def trees(self) -> list[Tree]:
        return [
            tree for i, block in enumerate(self.blocks) for tree in self.growers[i].trees(block)
        ]


def boost_binary(
    bins: Bins,
    rows: NDArray[np.int32],
    outputs: NDArray[np.int64],
    scores: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: NDArray[np.float64],
    growth: Growth,
    *,
    n_steps: int,
    place: tuple[int, ...],
) -> list[Tree]:
    """Trees that lower the logistic losses of some weighted binary problems on the same rows.

    Parameters
    ----------
    bins : Bins
        The features, with at least one column.
    rows : int array of shape (R,)
        The rows that take part.
    outputs : int array of shape (B,)
        Outputs that the new trees are given, one per problem.
    scores, y : arrays of shape (R, B)
        Log-odds so far, and targets between 0 and 1.
    weights : array of shape (R, 1)
        Weights of the rows.
    growth : Growth
    n_steps : int
        Trees per problem. A problem whose loss is almost zero at the start gets none.
    place : tuple of int
        Numbers that tell these problems from others, for the drawing of features.

    Notes
    -----
    With weights γ the derivatives are γ·(p - y) and γ·p·(1 - p), so that a leaf says Σγ(y - p) /
    (Σγp(1 - p) + l2), times the shrinkage. Each problem's step is halved until it does not raise
    its loss. O(R·D·B) per step for dense X, O(entries·B) for sparse, times the share of features.
    """

    def objective(z: NDArray[np.float64]) -> NDArray[np.float64]:
        return (weights * (np.logaddexp(0.0, z) - y * z)).sum(axis=0)

    left = np.flatnonzero(objective(scores) > SOLVED)
    if not len(left):
        return []
    scores, y = scores[:, left], y[:, left]
    grower = Grower(bins, rows, len(left), growth, *place)
    for _ in range(n_steps):
        p = expit(scores)
        step = grower.grow(weights * (p - y), weights * p * (1.0 - p))
        scale = harmless(partial(_after, objective, scores, step), objective(scores))
        scores = scores + scale * step
        grower.scale(scale)
    return grower.trees(outputs[left])


def _after(
    objective: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    scores: NDArray[np.float64],
    step: NDArray[np.float64],
    factors: NDArray[np.float64],
) -> NDArray[np.float64]:
    return objective(scores + factors * step)


def log_shares(targets: Targets) -> NDArray[np.float64]:
    """Scores that give every class its mean target."""
    if sp.issparse(targets):
        shares = np.asarray(targets.sum(axis=0)).ravel() / targets.shape[0]
    else:
        shares = targets.mean(axis=0)
    return np.log(np.maximum(shares, NO_SHARE))


def base_of(arrays: Mapping[str, Any], ndim: int) -> NDArray[np.float64]:
    """The scores before the first tree, from what the store gave."""
    base = arrays.get("base")
    if (
        not isinstance(base, np.ndarray)
        or base.ndim != ndim
        or base.dtype != np.float64
        or 0 in base.shape
        or not np.isfinite(base).all()
    ):
        raise ModelError("The start values of the trees are missing or no numbers.")
    return base


def _row_blocks(scores: NDArray[np.float64]) -> list[slice]:
    size = max(1, ROW_CELLS // max(scores.shape[1], 1))
    return [slice(first, first + size) for first in range(0, scores.shape[0], size)]


def _normalisers(
    scores: NDArray[np.float64], n_jobs: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two (n, 1) arrays which, taken from the scores in turn, leave the log-probabilities."""
    top = scores.max(axis=1, keepdims=True)
    rest = np.empty_like(top)

    def work(rows: slice) -> None:
        rest[rows] = np.log(np.exp(scores[rows] - top[rows]).sum(axis=1, keepdims=True))

    _on_rows(work, scores, n_jobs)
    return top, rest


def cross_entropy(
    targets: Targets,
    scores: NDArray[np.float64],
    step: NDArray[np.float64] | None = None,
    scale: NDArray[np.float64] | float = 1.0,
    *,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """-Σ t·log p over all points at scores + scale·step, in an array of one. O(N·K).

    Examples
    --------
    >>> cross_entropy(np.array([[1.0, 0.0]]), np.zeros((1, 2))).round(3).tolist()
    [0.693]
    """
    parts: dict[int, float] = {}

    def work(rows: slice) -> None:
        logs = log_softmax(
            scores[rows] if step is None else scores[rows] + scale * step[rows], axis=1
        )
        part = targets[rows]
        if sp.issparse(part):
            entries = part.tocoo()
            parts[rows.start] = float(entries.data @ logs[entries.row, entries.col])
        else:
            parts[rows.start] = float(np.sum(part * logs))

    _on_rows(work, scores, n_jobs)
    return np.array([-sum(parts[start] for start in sorted(parts))])


def _on_rows(work: Any, scores: NDArray[np.float64], n_jobs: int | None) -> None:
    blocks = _row_blocks(scores)
    if len(blocks) == 1:
        work(blocks[0])
    else:
        run_threads(work, blocks, n_jobs=n_jobs)
