"""Weights that differ between the positives and the negatives of each problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClassWeights:
    """A `sample_weight` (N, B) of which a column is made when it is asked for.

    Parameters
    ----------
    targets : csc_array of shape (N, B)
        Of which stored entries are positives.
    positive, negative : arrays of shape (B,)
        What a positive and a negative of each problem weighs.
    points : array of shape (N,), optional
        What each point weighs, in all problems alike.

    Examples
    --------
    >>> weights = ClassWeights(sp.csc_array([[1.0], [0.0]]), np.array([3.0]), np.array([1.0]))
    >>> weights.shape, weights[:, 0].tolist()
    ((2, 1), [3.0, 1.0])
    """

    targets: sp.csc_array
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    points: NDArray[np.float64] | None = None

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Points and problems."""
        return int(self.targets.shape[0]), int(self.targets.shape[1])

    def __getitem__(self, place: tuple[slice, int]) -> NDArray[np.float64]:
        """The weights of all points in one problem. O(N)."""
        _, problem = place
        out = np.full(self.shape[0], self.negative[problem])
        span = slice(self.targets.indptr[problem], self.targets.indptr[problem + 1])
        out[self.targets.indices[span]] = self.positive[problem]
        return out if self.points is None else out * self.points

    def of(self, problems: NDArray[np.bool_]) -> ClassWeights:
        """Those of some of the problems."""
        return ClassWeights(
            sp.csc_array(self.targets[:, problems]), self.positive[problems],
            self.negative[problems], self.points,
        )  # fmt: skip

    def __repr__(self) -> str:
        """All that decides the weights beside the targets, for a checkpoint's fingerprint."""
        points = None if self.points is None else self.points.tolist()
        return f"ClassWeights({self.positive.tolist()}, {self.negative.tolist()}, {points})"
