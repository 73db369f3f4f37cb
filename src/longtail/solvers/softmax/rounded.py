"""Probabilities of very many classes, rounded so that few of them are left.

For products with the Hessian of a multinomial loss, the probabilities p_ik of points and classes
are needed many times, and nearly all of them are almost zero. Those below a floor of their
class are not dropped, for a rare class may have nothing else: going through the points, they are
added up, and each time the sum reaches the floor, the current point gets the floor and the sum
starts again with what is left. So every class keeps its mass, up to one floor, and keeps it where
it is; and since every value kept is at least a floor, few are kept. Classes start with different
sums, so that they do not all take the same points. Nothing here is random.

Gradients never come from here, so the optimum is not touched; steps towards it are a bit off, and
where they are off too much, the minimiser asks for exact products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.solvers.softmax._rounded_kernels import curve_kept, order_by_class, round_rows

PER_POINT = 200  # that are kept of a point at most, about
KEPT_SHARE = 0.1  # of all probabilities; beyond that, dense products are as fast
GOLDEN = 0.6180339887498949  # multiples of it, modulo one, are spread evenly

_Array = NDArray[Any]


def floors(
    mass: NDArray[np.float64], n_points: int, per_class: float
) -> NDArray[np.float64] | None:
    """The floor of each class, 1/200 or less; None if too much would be kept for it to pay.

    Parameters
    ----------
    mass : array of shape (K,)
        About Σ_i p_ik of each class, such as the number of its points.
    n_points : int
    per_class : float
        Points that a class is to keep at least, however rare it is; several times the number of its
        own parameters.

    Examples
    --------
    >>> floors(np.array([1.0, 100.0]), 101, per_class=1000) is None
    True
    >>> floors(np.full(10_000, 3.0), 30_000, per_class=1000)[0].item()
    0.003
    """
    found = np.full(len(mass), 1.0 / PER_POINT)
    if per_class > 0:
        found = np.minimum(found, mass / per_class)
    occupied = mass > 0
    found[~occupied] = 1.0 / PER_POINT
    kept = float((mass[occupied] / found[occupied]).sum())
    return found if kept <= KEPT_SHARE * n_points * len(mass) else None


@dataclass(frozen=True)
class Rounded:
    """What is kept of some points; that of class k is from `starts[k]` to `starts[k + 1]`."""

    blocks: list[slice]  # of the points, in their order here
    rows: NDArray[np.int64]  # the same, one by one
    starts: NDArray[np.int64]
    points: NDArray[np.int32]  # the place of each among `rows`
    values: _Array  # the rounded probabilities
    totals: NDArray[np.float64]  # their sum at each point: one, except for rounding

    def curve(self, weights: _Array, scores: _Array) -> None:
        """Turn scores of what is kept into the Hessian in the scores times these. O(kept).

        weight_i·(diag(p̃) - p̃p̃'/Σp̃), which is positive semidefinite for any p̃ ≥ 0, and
        does not see what is added to all scores of a point, like the Hessian that it stands for.
        """
        means = np.zeros(len(self.rows))
        curve_kept(self.points, self.values, self.totals, weights[self.rows], means, scores)


class Rounder:
    """Takes the probabilities of block after block.

    Parameters
    ----------
    floors : array of shape (K,)
        In the precision of the probabilities.

    Notes
    -----
    O(K) per point. Memory: three times a block's probabilities, and 12 bytes for each that is kept.

    Examples
    --------
    >>> rounder = Rounder(np.array([0.25, 0.25]))
    >>> rounder.add(np.array([[0.9, 0.1], [0.9, 0.1], [1.0, 0.0]]), slice(0, 3))
    >>> rounded = rounder.rounded()
    >>> rounded.starts.tolist(), rounded.points.tolist(), rounded.values.tolist()
    ([0, 3, 4], [0, 1, 2, 0], [0.9, 0.9, 1.0, 0.25])
    """

    def __init__(self, floors: _Array) -> None:
        self._floors = floors
        self._sums = (floors * (np.arange(len(floors)) * GOLDEN % 1.0)).astype(floors.dtype)
        self._blocks: list[slice] = []
        self._parts: list[tuple[_Array, ...]] = []
        self._scratch: tuple[_Array, ...] = ()
        self._n = 0

    def add(self, probabilities: _Array, rows: slice) -> None:
        """Round those of a block, which follow those of the block before."""
        size = probabilities.size
        if not self._scratch or len(self._scratch[0]) < size:
            kinds = (np.int32, np.int32, probabilities.dtype)
            self._scratch = tuple(np.empty(size, dtype=kind) for kind in kinds)
        count = round_rows(probabilities, self._floors, self._sums, self._n, *self._scratch)
        self._parts.append(tuple(part[:count].copy() for part in self._scratch))
        self._blocks.append(rows)
        self._n += len(probabilities)

    def rounded(self) -> Rounded:
        """All that was kept."""
        points, classes, values = (
            np.concatenate(parts) for parts in zip(*self._parts, strict=True)
        )
        totals = np.bincount(points, values, minlength=self._n).astype(np.float64, copy=False)
        starts = np.zeros(len(self._floors) + 1, dtype=np.int64)
        ordered = np.empty_like(points), np.empty_like(values)
        order_by_class(points, classes, values, starts, *ordered)
        rows = np.concatenate([np.arange(block.start, block.stop) for block in self._blocks])
        return Rounded(self._blocks, rows, starts, *ordered, totals)
