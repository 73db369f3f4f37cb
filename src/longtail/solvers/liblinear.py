"""Problems for liblinear, as scikit-learn builds it: block by block, in processes, kept on disk.

It lets go of the GIL but draws the order of its coordinates from one random generator for the whole
process: in threads, each problem disturbs the others, and no two runs agree. So problems are solved
in processes, each with a seed of its own; the results do not depend on their number. Where several
threads of the caller come here in one process, they take turns.

There are four kinds of blocks: labels by their rows with an l2 penalty, or with an l1 penalty and a
report of how well each was solved; pairs of classes; and all classes at once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.svm import LinearSVC

from longtail.runtime.blocks import Blocks
from longtail.runtime.checkpoint import fingerprint
from longtail.runtime.run import Run
from longtail.runtime.turns import turns
from longtail.solvers.columns import Arrays, holds_columns, pack_columns
from longtail.solvers.linear.class_weights import ClassWeights

BLOCK = 32  # labels that are handed to a process, and checkpointed, together
PAIRS = 512  # the same for pairs of classes
KINDS: dict[str, type] = {
    "features": np.int32, "values": np.float32, "ends": np.int64, "sweeps": np.int64,
}  # fmt: skip
"""Arrays of a block of columns."""
REPORT: dict[str, type] = {
    "objective": float, "violation": float, "iterations": int, "converged": bool, "seconds": float,
}  # fmt: skip
"""What is said of each label with an l1 penalty."""
L1_KINDS = {"features": np.int64, "values": np.float64, "ends": np.int64, **REPORT}

Rows = NDArray[np.integer]
LabelRows = tuple[Rows, float, float, float]
"""The rows of a label, what the points with and without it weigh in its problem, and the strength
of an l1 penalty, 1/C."""


@dataclass(frozen=True)
class LiblinearTask:
    """What all blocks share."""

    X: sp.csr_array  # as liblinear reads it
    settings: dict[str, Any]  # of every `LinearSVC`
    classes: list[Rows] = field(default_factory=list)  # for pairs: the rows of each class
    y: NDArray[np.int64] | None = None  # for all classes at once: the class of each row
    points: NDArray[np.float64] | None = None  # for labels: what each point weighs


def solvable(X: sp.csr_array, counts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which labels with so many rows it takes: some rows and not all, and a feature somewhere."""
    return (counts > 0) & (counts < X.shape[0]) & (X.nnz > 0)


def label_blocks(
    targets: sp.csc_array,
    labels: NDArray[np.integer],
    weights: Any = None,
    size: int = BLOCK,
    strength: Any = 1.0,
) -> list[list[LabelRows]]:
    """Blocks of labels, each given by its rows and its weights.

    Parameters
    ----------
    targets : csc_array of shape (N, L)
    labels : int array
        Those that are wanted.
    weights : ClassWeights or array, optional
        Of the points; an array, which is alike for all labels, goes into the task instead.
    size : int
        Labels per block.
    strength : float or array of shape (L,)
        Of an l1 penalty.

    Examples
    --------
    >>> blocks = label_blocks(sp.csc_array([[1, 0], [1, 1]]), np.array([0, 1]))
    >>> [[(rows.tolist(), *sides) for rows, *sides in block] for block in blocks]
    [[([0, 1], 1.0, 1.0, 1.0), ([1], 1.0, 1.0, 1.0)]]
    """
    by_label = isinstance(weights, ClassWeights)
    strengths = np.broadcast_to(np.asarray(strength, dtype=np.float64), targets.shape[1])
    found = [
        (
            targets.indices[targets.indptr[j] : targets.indptr[j + 1]],
            float(weights.positive[j]) if by_label else 1.0,
            float(weights.negative[j]) if by_label else 1.0,
            float(strengths[j]),
        )
        for j in labels
    ]
    return [found[first : first + size] for first in range(0, len(found), size)]


def point_weights(weights: Any) -> NDArray[np.float64] | None:
    """Of the weights of points, what is alike for all labels."""
    return weights.points if isinstance(weights, ClassWeights) else weights


def solve_with_liblinear(
    solve: Callable[[LiblinearTask, Any], Arrays],
    task: LiblinearTask,
    blocks: Sequence[Any],
    *,
    kinds: dict[str, type],
    total: int,
    n_jobs: int | None,
    run: Run,
    **decisive: Any,
) -> list[Arrays]:
    """The solutions of all blocks, in order: in processes, checkpointed.

    Parameters
    ----------
    solve : callable
        One of the functions below.
    kinds : dict
        Names and types of the arrays of a block; a kept block without them is solved again.
    total : int
        Problems in all, for reports of progress.
    **decisive
        What decides the result, beside X, the settings and the kind of problem.
    """
    found: dict[int, Arrays] = {}
    settings = (solve.__name__, *sorted(task.settings.items()))
    unsolved = Blocks(
        blocks, found.__setitem__, what="training", run=run, total=total,
        identity=lambda: fingerprint(X=task.X, settings=settings, **decisive),
        is_sound=lambda block, arrays: holds_columns(arrays, kinds, len(block), task.X.shape[1]),
    )  # fmt: skip
    unsolved.solve(solve, task, n_jobs=n_jobs, isolated=True)
    return [found[number] for number in range(len(blocks))]


def solve_labels(task: LiblinearTask, block: list[LabelRows]) -> Arrays:
    """A problem with an l2 penalty for each label of the block."""
    weights, sweeps = [], []
    for label in block:
        y, of_points = _problem(task, label)
        model = _fitted(task.X, y, of_points, **task.settings)
        weights.append(np.append(model.coef_, model.intercept_))
        sweeps.append(int(np.max(model.n_iter_)))
    return _packed(weights, sweeps)


def solve_pairs(task: LiblinearTask, pairs: list[tuple[int, int]]) -> Arrays:
    """A problem for each pair of classes in the block, on their own rows and features."""
    found: list[NDArray[Any]] = []
    values: list[NDArray[Any]] = []
    sweeps = []
    for first, second in pairs:
        both = np.concatenate([task.classes[first], task.classes[second]])
        order = np.argsort(both, kind="stable")
        part = task.X[both[order]]
        used, compact = np.unique(part.indices, return_inverse=True)
        if not len(used):  # nothing but the bias, which liblinear does not take
            used, part = np.zeros(1, dtype=np.int64), sp.csr_array((len(both), 1))
        else:
            part = sp.csr_array(
                (part.data, compact.astype(np.int32), part.indptr), (len(both), len(used))
            )
        is_second = (order >= len(task.classes[first])).astype(np.int8)
        model = _fitted(part, is_second, None, **task.settings)
        weights = np.append(model.coef_, model.intercept_).astype(np.float32)  # 0.0 for none
        features = np.append(used, task.X.shape[1]).astype(np.int32)
        kept = weights != 0
        found.append(features[kept])
        values.append(weights[kept])
        sweeps.append(int(np.max(model.n_iter_)))
    return pack_columns(found, values, KINDS, sweeps=sweeps)


def solve_together(task: LiblinearTask, classes: NDArray[np.int64]) -> Arrays:
    """Crammer and Singer's problem for all classes, which are the one block.

    Classes are numbered as they appear, so that the answer does not depend on their order.
    """
    if len(classes) == 1:
        return pack_columns([np.empty(0)], [np.empty(0)], KINDS, sweeps=[0])
    _, first, of = np.unique(np.asarray(task.y), return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    model = _fitted(task.X, rank[of], None, multi_class="crammer_singer", **task.settings)
    weights = np.column_stack([model.coef_, model.intercept_])
    if len(classes) == 2:  # scikit-learn gives the difference; the two add up to zero
        weights = np.vstack([-weights, weights]) / 2
    # scikit-learn before 1.9 does not report the sweeps: its n_iter_ is arbitrary.
    return _packed([weights[place] for place in rank], [0] * len(rank))


def solve_l1_labels(task: LiblinearTask, block: list[LabelRows]) -> Arrays:
    """liblinear's `-s 5` for each label of the block, and how well it did.

    No label may have all rows or none. The objective and the violation are computed anew from the
    weights, see `l1_point`; the seconds are those of scikit-learn's `fit`.
    """
    features, values = [], []
    report: dict[str, list[Any]] = {name: [] for name in REPORT}
    for label in block:
        began = time.perf_counter()
        y, of_points = _problem(task, label)
        model = _fitted(task.X, y, of_points, **task.settings, C=1.0 / label[3])
        seconds = time.perf_counter() - began
        w = np.append(model.coef_.ravel(), model.intercept_)
        point = l1_point(task.X, label[0], w, label[3], of_points)
        sweeps = int(model.n_iter_)
        features.append(np.flatnonzero(w))
        values.append(w[features[-1]])
        solved = (*point, sweeps, sweeps < task.settings["max_iter"], seconds)
        for entries, entry in zip(report.values(), solved, strict=True):
            entries.append(entry)
    return pack_columns(features, values, L1_KINDS, **report)


def l1_task(
    X: sp.csr_array,
    tol: float,
    max_iter: int,
    points: NDArray[np.float64] | None = None,
) -> LiblinearTask:
    """The task of `solve_l1_labels`, with liblinear's eps and its limit on sweeps.

    Examples
    --------
    >>> l1_task(sp.csr_array((2, 3)), 0.01, 1000).settings["max_iter"]
    1000
    """
    settings = {
        "penalty": "l1", "loss": "squared_hinge", "dual": False, "tol": float(tol),
        "max_iter": int(max_iter), "intercept_scaling": 1.0, "random_state": 0,
    }  # fmt: skip
    return LiblinearTask(X, settings, points=points)


def l1_point(
    X: sp.csr_array,
    positives: Rows,
    w: NDArray[np.float64],
    strength: float,
    weights: NDArray[np.float64] | None = None,
) -> tuple[float, float]:
    """Objective and violation of the optimality conditions at w, in plain double precision.

    The objective is strength·‖w‖₁ + Σ max(0, 1 - s_i⟨w, x_i⟩)², each point times its weight where
    there are `weights`, the bias being the last of w, on a constant feature of one. The violation
    is the largest entry of its smallest subgradient, relative to the strength. O(nnz).
    """
    signs = np.full(X.shape[0], -1.0)
    signs[positives] = 1.0
    slack = np.maximum(1.0 - signs * (X @ w[:-1] + w[-1]), 0.0)
    pull = slack if weights is None else weights * slack
    slope = -2.0 * signs * pull
    gradient = np.append(X.T @ slope, slope.sum())
    excess = np.abs(gradient + strength * np.sign(w))
    excess[w == 0] = np.maximum(np.abs(gradient[w == 0]) - strength, 0.0)
    objective = strength * np.abs(w).sum() + pull @ slack
    return float(objective), float(excess.max()) / strength


def _fitted(
    X: sp.csr_array, y: NDArray[Any], weights: NDArray[np.float64] | None, **settings: Any
) -> LinearSVC:
    """Fitted without scikit-learn's checks and warnings; the caller looks at the sweeps."""
    with (
        warnings.catch_warnings(),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore")
        with turns("liblinear"):
            return LinearSVC(**settings).fit(X, y, weights)


def _problem(
    task: LiblinearTask, label: LabelRows
) -> tuple[NDArray[np.int8], NDArray[np.float64] | None]:
    """Which points have the label, and what they all weigh; None if alike."""
    rows, positive, negative, _ = label
    y = np.zeros(task.X.shape[0], dtype=np.int8)
    y[rows] = 1
    if positive == negative == 1.0:
        return y, task.points
    sides = np.where(y, positive, negative)
    return y, sides if task.points is None else sides * task.points


def _packed(weights: list[NDArray[np.float64]], sweeps: list[int]) -> Arrays:
    """Dense columns as a block, in single precision and without zeros."""
    small = [column.astype(np.float32) for column in weights]
    used = [np.flatnonzero(column) for column in small]
    values = [column[at] for column, at in zip(small, used, strict=True)]
    return pack_columns(used, values, KINDS, sweeps=sweeps)
