"""What the solvers are asked to solve: B linear problems on one X, checked once, read by column.

Problem b minimises over w (its last entry the bias, on a constant feature of value `bias`)

    strength · Ω(w) + Σ_i weight_ib · [ t_ib·ℓ(z_i) + (1 - t_ib)·ℓ(-z_i) ],   z = X w,

with Ω(w) = ½‖w‖² for the l2 penalty and ‖w‖₁ for l1, in which the bias may be left out. In
liblinear's words strength = 1/C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import sound
from longtail.errors import InputError, ParameterError
from longtail.parameters import check_count, check_positive
from longtail.solvers.linear._loss_kernels import LOGISTIC, SQUARED_HINGE
from longtail.solvers.linear._matrix_kernels import column_sums
from longtail.solvers.linear.class_weights import ClassWeights
from longtail.solvers.points import (
    check_bias,
    check_same_rows,
    check_start,
    check_weights,
    checked_points,
)

LOSSES = {"squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
PENALTIES = ("l2", "l1")
TOLERANCE = {"l2": 1e-4, "l1": 1e-2}
BLOCK = 32  # problems that look at X together
BLOCK_BYTES = 2**28  # bound on the dense arrays of one block


@dataclass
class Solution:
    """One solved problem: its weights where they are not zero, and what it took.

    The violation, of the l1 penalty only, is the largest distance of a partial derivative to where
    the optimality conditions want it, relative to `strength`.
    """

    features: NDArray[np.int64]  # with a weight; feature D is the bias
    values: NDArray[np.float64]
    objective: float  # over all points, before any pruning
    gap: float  # proven upper bound on its distance to the optimum, relative to it
    iterations: int  # sweeps over the working set, or Newton steps
    converged: bool  # within the tolerance
    seconds: float = 0.0  # work shared by a block is spread evenly
    violation: float = math.nan


@dataclass(frozen=True)
class LinearTask:
    """Many problems on one X, as the solvers read them. Made by `make_task`."""

    indptr: NDArray[np.int64]  # of X by rows
    indices: NDArray[np.int32]
    data: NDArray[Any]
    n_features: int  # without the bias
    targets: sp.csc_array  # (N, B), in (0, 1]; what is not stored is a negative
    sample_weight: Any  # array (N,) or (N, B), csc_array (N, B), or None
    start: sp.csc_array | None  # (D + 1, B)
    loss: str
    penalty: str
    strength: NDArray[np.float64]  # of each problem
    bias: float
    penalize_bias: bool
    tol: float
    max_iter: int
    max_seconds: float | None

    @property
    def n_points(self) -> int:
        """Rows of X."""
        return len(self.indptr) - 1

    @property
    def n_problems(self) -> int:
        """Columns of the targets."""
        return int(self.targets.shape[1])

    @property
    def loss_code(self) -> int:
        """The number by which kernels know the loss."""
        return LOSSES[self.loss]

    @cached_property
    def fast_data(self) -> NDArray[Any]:
        """Values of X for sums that need not be exact: single precision where they fit it."""
        largest = float(np.abs(self.data).max(initial=0.0))
        return self.data.astype(np.float32 if largest < 1e6 else np.float64, copy=False)

    @cached_property
    def dense(self) -> NDArray[np.float64]:
        """X with the constant feature, as a dense array (N, D + 1)."""
        out = np.full((self.n_points, self.n_features + 1), self.bias)
        shape = (self.n_points, self.n_features)
        out[:, :-1] = sp.csr_array((self.data, self.indices, self.indptr), shape=shape).toarray()
        return out

    @cached_property
    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
        """X by columns: indptr, indices, data. O(nnz), once."""
        shape = (self.n_points, self.n_features)
        turned = sp.csc_array(sp.csr_array((self.data, self.indices, self.indptr), shape=shape))
        return (
            turned.indptr.astype(np.int64),
            turned.indices.astype(np.int32, copy=False),
            turned.data,
        )

    @cached_property
    def column_lengths(self) -> NDArray[np.int64]:
        """Stored entries of each column of X."""
        return np.diff(self.columns[0])

    @cached_property
    def non_negative(self) -> bool:
        """Whether no entry of X is below zero."""
        return bool(self.data.min(initial=0.0) >= 0.0)

    @cached_property
    def doubt(self) -> float:
        """Bound of the rounding error of any row's score in single precision, per ‖w‖.

        A sum of n products errs by no more than (n + 3)·2^-24·‖w‖·‖x‖ in any order, if its factors
        were rounded too.
        """
        lengths = np.diff(self.indptr)
        squares = np.append(np.square(self.data, dtype=np.float64), 0.0)
        norms = np.add.reduceat(squares, self.indptr[:-1]) * (lengths > 0) + self.bias**2
        return float((1.01 * 2.0**-24 * (lengths + 8) * np.sqrt(norms)).max(initial=0.0))

    @property
    def weights_differ(self) -> bool:
        """Whether the points weigh differently in different problems."""
        given = self.sample_weight
        return given is not None and (sp.issparse(given) or given.ndim == 2)

    @cached_property
    def shared_sums(self) -> tuple[Any, ...]:
        """`sums_of` the weights that all problems share."""
        return self.sums_of(self.weights(0))

    def sums_of(self, weights: NDArray[np.float64] | None) -> tuple[Any, ...]:
        """Sum, absolute sum and sum of squares of each column, the rows weighted, and the largest
        absolute sum. O(nnz)."""
        sums = tuple(np.empty(self.n_features) for _ in range(3))
        column_sums(*self.columns, np.empty(0) if weights is None else weights, *sums)
        return *sums, float(sums[1].max(initial=0.0))

    def positives(self, problem: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows with a target above zero, and the targets."""
        span = slice(self.targets.indptr[problem], self.targets.indptr[problem + 1])
        return (
            self.targets.indices[span].astype(np.int64),
            self.targets.data[span].astype(np.float64),
        )

    def weights(self, problem: int) -> NDArray[np.float64] | None:
        """Weight of every point in this problem; None where all are one."""
        given = self.sample_weight
        if given is None:
            return None
        if sp.issparse(given):
            out = np.zeros(self.n_points)
            span = slice(given.indptr[problem], given.indptr[problem + 1])
            out[given.indices[span]] = given.data[span]
            return out
        column = given if given.ndim == 1 else given[:, problem]
        return np.ascontiguousarray(column, dtype=np.float64)

    def start_of(self, problem: int) -> NDArray[np.float64] | None:
        """Dense weights to start from, or None. O(D)."""
        if self.start is None:
            return None
        out = np.zeros(self.n_features + 1)
        span = slice(self.start.indptr[problem], self.start.indptr[problem + 1])
        out[self.start.indices[span]] = self.start.data[span]
        return out


def make_task(
    X: Any,
    targets: Any,
    *,
    loss: str,
    penalty: str,
    strength: Any,
    bias: float,
    sample_weight: Any,
    penalize_bias: bool,
    warm_start: Any,
    tol: float | None,
    max_iter: int,
    max_seconds: float | None,
) -> LinearTask:
    """Check everything and bring it to the form that the solvers read. O(nnz)."""
    if loss not in LOSSES:
        raise ParameterError(f"loss must be one of {', '.join(LOSSES)}, not {loss!r}.")
    if penalty not in PENALTIES:
        raise ParameterError(f"penalty must be one of {', '.join(PENALTIES)}, not {penalty!r}.")
    if tol is None:
        tol = TOLERANCE[penalty]
    check_positive(tol=tol)
    check_bias(bias)
    if not penalize_bias and penalty != "l1":
        raise ParameterError("penalize_bias=False needs penalty='l1'.")
    check_count(max_iter=max_iter)
    if max_seconds is not None:
        check_positive(max_seconds=max_seconds)
    rows = checked_points(X)
    wanted = sp.csc_array(sound(targets), dtype=np.float64, copy=True)
    wanted.sum_duplicates()
    wanted.eliminate_zeros()
    check_same_rows(rows, wanted)
    if not ((wanted.data > 0) & (wanted.data <= 1)).all():
        raise InputError("Targets must lie between 0 and 1.")
    start = None
    if warm_start is not None:
        start = sp.csc_array(sound(warm_start))
        check_start(start, start.data, (rows.shape[1] + 1, wanted.shape[1]))
    return LinearTask(
        indptr=rows.indptr.astype(np.int64),
        indices=rows.indices.astype(np.int32, copy=False),
        data=rows.data,
        n_features=int(rows.shape[1]),
        targets=wanted,
        sample_weight=_checked_weights(sample_weight, wanted.shape),
        start=start,
        loss=loss,
        penalty=penalty,
        strength=_checked_strength(strength, int(wanted.shape[1])),
        bias=float(bias),
        penalize_bias=bool(penalize_bias),
        tol=float(tol),
        max_iter=int(max_iter),
        max_seconds=None if max_seconds is None else float(max_seconds),
    )


def _checked_strength(strength: Any, n_problems: int) -> NDArray[np.float64]:
    """One strength per problem, of a number or an array with one per problem."""
    if np.ndim(strength) == 0:
        check_positive(strength=strength)
        return np.full(n_problems, float(strength))
    given = np.array(strength, dtype=np.float64)
    if given.shape != (n_problems,) or not ((given > 0) & (given < np.inf)).all():
        raise ParameterError(
            f"strength must be a positive, finite number, or {n_problems} of them: one per problem."
        )
    return given


def _checked_weights(weights: Any, shape: tuple[int, int]) -> Any:
    if weights is None or isinstance(weights, ClassWeights):
        return weights
    if sp.issparse(weights):
        weights = sp.csc_array(sound(weights), dtype=np.float64, copy=True)
        weights.sum_duplicates()
    else:
        weights = np.asarray(weights, dtype=np.float64)
    values = weights.data if sp.issparse(weights) else weights
    check_weights(weights, values, shape[:1], shape)
    return weights


def bias_alone(task: LinearTask, points: float, strength: float) -> float:
    """The best score for negatives of total weight `points`, if there is nothing but the bias."""
    spring = strength / task.bias**2 if task.penalty == "l2" else 0.0
    push = strength / task.bias if task.penalty == "l1" and task.penalize_bias else 0.0
    if points <= 0:
        return 0.0
    if task.loss == "squared_hinge":
        return min(push - 2.0 * points, 0.0) / (spring + 2.0 * points)
    if task.penalty == "l1":  # push·|v| + points·log(1 + e^v); without a push, half a positive
        share = (push or 0.5) / points
        return math.log(share) - math.log1p(-share) if share < 0.5 else 0.0
    score = 0.0
    for _ in range(100):  # Newton on spring·v + points·sigmoid(v) = 0
        p = 1.0 / (1.0 + math.exp(-score))
        step = (spring * score + points * p) / (spring + points * p * (1.0 - p))
        score -= step
        if abs(step) < 1e-12:
            break
    return score
