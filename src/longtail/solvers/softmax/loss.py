"""The multinomial loss over scores that are linear in some parameters, in blocks of points.

    strength/2·‖parameters‖² + Σ_i weight_i · (log Σ_k exp z_ik - Σ_k t_ik z_ik)

A `ScoreMap` defines what the parameters are: it turns them into the scores z of a
block of points, and derivatives by scores into derivatives by parameters. The probabilities are the
only array of all points and all classes, where they fit in 1 GB; otherwise they are computed anew
for each product with the Hessian. Where there are floors, these products go by rounded
probabilities instead, see `rounded`, until `sharpen` is called; values and gradients are exact all
the same.

Blocks are dealt out to a fixed number of lanes, each with a sum of its own. Threads work on lanes,
so neither the cuts nor the order of sums depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.runtime.executor import thread_count
from longtail.runtime.libraries import one_thread
from longtail.runtime.workers import Workers
from longtail.solvers.softmax._softmax_kernels import (
    cross_terms,
    curvature_rows,
    normalise,
    residuals,
)
from longtail.solvers.softmax.rounded import Rounded, Rounder

BLOCK_BYTES = 2**21  # scores of one block: what stays in a cache
KEPT_BYTES = 10**9  # probabilities of all points that are kept between products
CAUTION = 100.0  # points' worth of spread that a class is given on top of its own, far away
LANES = 8
LANE_BYTES = 2**28  # sums of all lanes
SINGLE = 2**22  # scores from which on they are single precision, where the tolerance allows
SINGLE_TOLERANCE = 1e-5
LARGEST_SINGLE = 1e6  # features beyond this magnitude make scores that need double precision

_Array = NDArray[Any]


class ScoreMap(Protocol):
    """Scores of points as a linear function of parameters, a float64 array of any one shape."""

    n_classes: int

    def prepared(self, parameters: NDArray[np.float64]) -> Any:
        """The parameters as `scores` wants them; called once for all blocks."""

    def scores(self, prepared: Any, rows: slice) -> _Array:
        """A new array (points, K) of the precision asked for."""

    def add_back(self, by_score: _Array, rows: slice, out: NDArray[np.float64]) -> None:
        """Add to `out`, of the shape of the parameters, the transposed map of (points, K)."""

    def prepared_at(self, parameters: NDArray[np.float64]) -> Any:
        """The parameters as `scores_at` wants them."""

    def scores_at(self, prepared: Any, kept: Rounded) -> _Array:
        """A new array of the scores of what is kept, in its order."""

    def add_back_at(self, by_score: _Array, kept: Rounded, out: NDArray[np.float64]) -> None:
        """Add to `out` the transposed map of what is kept."""


def lanes_of(n_parameters: int) -> int:
    """In how many lanes the points are summed up, each with a gradient of its own.

    Examples
    --------
    >>> lanes_of(1000), lanes_of(10_000_000), lanes_of(10**9)
    (8, 3, 1)
    """
    return int(min(max(LANE_BYTES // (8 * n_parameters), 1), LANES))


def working_type(n_scores: int, tol: float, largest: float) -> Any:
    """The precision that scores are made in: single for very many and a modest tolerance.

    Examples
    --------
    >>> working_type(100, 1e-4, 1.0).__name__, working_type(10**8, 1e-4, 1.0).__name__
    ('float64', 'float32')
    """
    single = n_scores > SINGLE and tol >= SINGLE_TOLERANCE and largest <= LARGEST_SINGLE
    return np.float32 if single else np.float64


class SoftmaxLoss:
    """The regularised loss as a function to be minimised; see `minimise.Convex`.

    Parameters
    ----------
    scores : ScoreMap
    targets : csr_array of shape (N, K)
        Rows are distributions.
    weights : array of shape (N,)
        Weights of the points.
    strength : float
        Weight of the penalty.
    dtype : dtype
        Precision of scores and probabilities.
    n_parameters : int
        To bound the memory of the lanes.
    precondition : callable
        Given a residual and `spread`, an approximate inverse Hessian times the residual.
    floors : array of shape (K,), optional
        Probabilities below are rounded in products with the Hessian; see `rounded.floors`.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.

    Attributes
    ----------
    total_weight : float
        Sum of the weights of the points.
    spread : array of shape (K,)
        Σ_i weight_i p_ik (1 - p_ik) at the last point evaluated.

    Notes
    -----
    An evaluation, and a product with the Hessian, cost two applications of the map and O(N·K); with
    floors a product costs two applications to what is kept.
    """

    def __init__(
        self,
        scores: ScoreMap,
        targets: sp.csr_array,
        weights: NDArray[np.float64],
        *,
        strength: float,
        dtype: Any,
        n_parameters: int,
        precondition: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
        floors: NDArray[np.float64] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        n, k = targets.shape
        self.map = scores
        self.strength = strength
        self.dtype = np.dtype(dtype)
        self._indptr = targets.indptr.astype(np.int64)
        self._indices = targets.indices.astype(np.int64)
        self._targets = targets.data.astype(dtype)
        self._weights = weights.astype(dtype)
        self._exact_weights = weights
        self.total_weight = float(weights.sum())
        self._precondition = precondition
        lanes = lanes_of(n_parameters)
        rows = max(1, min(BLOCK_BYTES // (self.dtype.itemsize * max(k, 1)), -(-n // lanes)))
        blocks = [slice(first, min(first + rows, n)) for first in range(0, n, rows)]
        self._lanes = [blocks[lane::lanes] for lane in range(min(lanes, len(blocks)))]
        self._floors = None if floors is None else floors.astype(dtype)
        self._rounded: list[Rounded | None] = [None] * len(self._lanes)
        self._kept: _Array | None = None
        if floors is None:
            self.sharpen()
        self._point: Any = None
        self._threads = min(thread_count(n_jobs), len(self._lanes))
        self._workers: Workers | None = None
        self.spread = np.zeros(k)

    @property
    def noise(self) -> float:
        """Relative rounding error of a value."""
        return 1e-7 if self.dtype == np.float32 else 1e-13

    @contextmanager
    def running(self) -> Iterator[None]:
        """Threads for what is done within; BLAS is limited to one per lane."""
        with one_thread():
            if self._threads == 1:
                yield
                return
            with Workers(self._threads) as workers:
                self._workers = workers
                try:
                    yield
                finally:
                    self._workers = None

    @property
    def is_exact(self) -> bool:
        """Whether products with the Hessian are exact."""
        return self._floors is None

    def sharpen(self) -> None:
        """Make them so, from the next evaluation on."""
        self._floors = None
        shape = (len(self._weights), self.map.n_classes)
        if shape[0] * shape[1] * self.dtype.itemsize <= KEPT_BYTES:
            self._kept = np.empty(shape, dtype=self.dtype)

    def evaluate(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Value and gradient."""
        self._point = self.map.prepared(point)
        results = self._each_lane(partial(self._evaluate_lane, point.shape))
        value = sum(result[0] for result in results)
        gradient, self.spread = results[0][1], results[0][2]
        for _, more, spread in results[1:]:
            gradient += more
            self.spread += spread
        gradient += self.strength * point
        return value + 0.5 * self.strength * float(np.vdot(point, point)), gradient

    def curved(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Hessian at the last point evaluated, times a direction."""
        if self._floors is None:
            work = partial(self._curved_lane, self.map.prepared(direction), direction.shape)
        else:
            work = partial(self._curved_kept, self.map.prepared_at(direction), direction.shape)
        results = self._each_lane(work)
        product = results[0]
        for more in results[1:]:
            product += more
        product += self.strength * direction
        return product

    def preconditioned(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The residual as the preconditioner turns it."""
        return self._precondition(residual, self.spread)

    def cautious(self, residual: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same as if every class were more uncertain, rare ones by far: steps that are safe."""
        return self._precondition(residual, self.spread + CAUTION)

    def _each_lane(self, work: Callable[[int], Any]) -> list[Any]:
        lanes = range(len(self._lanes))
        if self._workers is None:
            return [work(lane) for lane in lanes]
        return self._workers.map(work, lanes)

    def _evaluate_lane(self, shape: tuple[int, ...], lane: int) -> Any:
        value, gradient, spread = 0.0, np.zeros(shape), np.zeros(self.map.n_classes)
        rounder = None if self._floors is None else Rounder(self._floors)
        self._rounded[lane] = None
        for rows in self._lanes[lane]:
            scores = self.map.scores(self._point, rows)
            scores -= scores.max(axis=1, keepdims=True)
            chosen = np.empty(len(scores))
            cross_terms(self._indptr, self._indices, self._targets, scores, rows.start, chosen)
            np.exp(scores, out=scores)
            totals = scores.sum(axis=1)
            value += float(self._exact_weights[rows] @ (np.log(totals.astype(np.float64)) - chosen))
            by_score = np.empty_like(scores)
            residuals(
                self._indptr, self._indices, self._targets, self._weights, scores, totals,
                rows.start, by_score, spread,
            )  # fmt: skip
            if self._kept is not None:
                self._kept[rows] = scores
            if rounder is not None:
                rounder.add(scores, rows)
            self.map.add_back(by_score, rows, gradient)
        if rounder is not None:
            self._rounded[lane] = rounder.rounded()
        return value, gradient, spread

    def _curved_kept(self, prepared: Any, shape: tuple[int, ...], lane: int) -> Any:
        product, kept = np.zeros(shape), self._rounded[lane]
        if kept is None:
            raise RuntimeError("There is no Hessian before a point was evaluated.")
        scores = self.map.scores_at(prepared, kept)
        kept.curve(self._weights, scores)
        self.map.add_back_at(scores, kept, product)
        return product

    def _curved_lane(self, prepared: Any, shape: tuple[int, ...], lane: int) -> Any:
        product = np.zeros(shape)
        for rows in self._lanes[lane]:
            scores = self.map.scores(prepared, rows)
            p = self._probabilities(rows)
            means = np.einsum("ik,ik->i", p, scores)
            curvature_rows(self._weights, p, means, rows.start, scores)
            self.map.add_back(scores, rows, product)
        return product

    def _probabilities(self, rows: slice) -> _Array:
        if self._kept is not None:
            return self._kept[rows]
        scores = self.map.scores(self._point, rows)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        normalise(scores, scores.sum(axis=1))
        return scores
