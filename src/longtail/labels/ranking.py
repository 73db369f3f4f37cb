"""How a score and the rarity of its label make a rank: tail weighting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longtail._numba import kernel
from longtail._sparse import as_csr
from longtail.errors import InputError, ParameterError
from longtail.labels.propensity import inverse_propensities
from longtail.parameters import is_number


@kernel
def rank_value(score: Any, scale: Any, shift: Any, offset: Any) -> Any:
    """log σ(scale·score + shift) + offset, without overflow for any log-odds."""
    odds = scale * score + shift
    if odds >= 0:
        return offset - math.log1p(math.exp(-odds))
    return offset + (odds - math.log1p(math.exp(odds)))


@kernel
def rank_bound(score: Any, scale: Any, shift: Any, offset: Any) -> Any:
    """What `rank_value` never exceeds, without logarithms.

    log σ lies below 0, below the log-odds, and below its tangent at 0; the last needs room for
    rounding where it touches.
    """
    odds = scale * score + shift
    return offset + min(min(odds, 0.0), 0.5 * odds - 0.6931471805)


@kernel
def _rank_values(scores: Any, scale: Any, shift: Any, offsets: Any, values: Any) -> None:
    for p in range(scores.shape[0]):
        values[p] = rank_value(scores[p], scale, shift, offsets[p])


@dataclass(frozen=True, eq=False)
class TailRanking:
    """Rank labels by log σ(scale·score + shift) + offset of the label.

    The first term is the log of the probability that the label applies, as far as the score tells;
    the offset lifts rare labels. A ranking is immutable, with a copy of the offsets of its own, and
    equal to another of the same numbers.

    Parameters
    ----------
    scale, shift : float
        Turn a score into log-odds; scale is positive.
    offsets : array of shape (L,)
        What each label gets on top: tail · log(1 / propensity).

    Examples
    --------
    >>> ranking = TailRanking(scale=2.0, shift=0.0, offsets=[0.0, 1.0])
    >>> ranking.of(sp.csr_array([[0.5, 0.1]])).toarray().round(3).tolist()
    [[-0.313, 0.402]]
    """

    scale: float
    shift: float
    offsets: NDArray[np.float64]

    def __post_init__(self) -> None:
        scale, shift = _number("scale", self.scale), _number("shift", self.shift)
        if scale <= 0:
            raise ParameterError(f"The scale of a ranking must be positive, not {self.scale!r}.")
        try:
            offsets = np.array(self.offsets, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("The offsets of a ranking must be numbers.") from None
        if offsets.ndim != 1 or not np.isfinite(offsets).all():
            raise ParameterError(
                "The offsets of a ranking must be one finite number per label, in one dimension."
            )
        offsets.flags.writeable = False
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "shift", shift)
        object.__setattr__(self, "offsets", offsets)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TailRanking):
            return NotImplemented
        return (self.scale, self.shift) == (other.scale, other.shift) and np.array_equal(
            self.offsets, other.offsets
        )

    def __hash__(self) -> int:
        return hash((self.scale, self.shift, len(self.offsets)))

    def of(self, scores: sp.csr_array) -> sp.csr_array:
        """The values that stored scores are ranked by, in the same places. O(nnz).

        Parameters
        ----------
        scores : csr_array of shape (n, L)

        Returns
        -------
        csr_array of shape (n, L)

        Examples
        --------
        >>> ranking = TailRanking(1.0, 0.0, np.zeros(3))
        >>> ranking.of(sp.csr_array(([0.0, -800.0], ([0, 0], [0, 2])), shape=(1, 3))).data.tolist()
        [-0.6931471805599453, -800.0]
        """
        matrix = as_csr(scores)
        self.check_labels(matrix.shape[1])
        values = self.values(matrix.data, matrix.indices)
        return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)

    def values(self, scores: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
        """The values that scores are ranked by, each of the label at its side.

        Examples
        --------
        >>> TailRanking(2.0, 0.0, [0.0, 1.0]).values([0.5, 0.1], [0, 1]).round(3).tolist()
        [-0.313, 0.402]
        """
        given = np.asarray(scores, dtype=np.float64)
        values = np.empty(len(given))
        offsets = self.offsets[np.asarray(labels, dtype=np.int64)]
        _rank_values(given, self.scale, self.shift, offsets, values)
        return values

    def check_labels(self, n_labels: int) -> None:
        """Refuse, with `ParameterError`, to rank another number of labels."""
        if len(self.offsets) != n_labels:
            raise ParameterError(
                f"The ranking has offsets for {len(self.offsets)} labels, but there are "
                f"{n_labels}; make it from the same labels."
            )


def check_tail(tail: Any) -> float:
    """A tail weight as a float, refused unless it is zero or a positive, finite number.

    Examples
    --------
    >>> check_tail(-1)
    Traceback (most recent call last):
        ...
    longtail.errors.ParameterError: tail must be zero or a positive, finite number, not -1.
    """
    if not (is_number(tail) and 0 <= tail < math.inf):
        raise ParameterError(f"tail must be zero or a positive, finite number, not {tail!r}.")
    return float(tail)


def rarity(label_counts: ArrayLike, inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a tail weight of 1 adds to the labels: log(1 / p), and 0 to those without a point.

    Examples
    --------
    >>> rarity([0, 1, 100], np.exp([3.0, 2.0, 0.5])).tolist()
    [0.0, 2.0, 0.5]
    """
    return np.where(np.asarray(label_counts) > 0, np.log(inverse), 0.0)


def tail_ranking(
    tail: float,
    scale: tuple[float, float],
    label_counts: ArrayLike,
    n_points: int = 0,
    *,
    propensities: ArrayLike | None = None,
) -> TailRanking | None:
    """How labels are ranked with a tail weight; None if that is zero.

    Parameters
    ----------
    tail : float
        See `check_tail`.
    scale : pair of float
        Scale and shift that make log-odds of scores.
    label_counts : array of shape (L,)
        Training points of each label.
    n_points : int
        Training points in all, where there are no propensities.
    propensities : array of shape (L,), optional
        By default those of the counts; see `labels.propensities`.

    Examples
    --------
    >>> tail_ranking(1.0, (2.0, 0.0), [1, 9], propensities=[0.1, 1.0]).offsets.round(2).tolist()
    [2.3, 0.0]
    """
    counts = np.asarray(label_counts)
    if propensities is not None:
        given = np.asarray(propensities, dtype=np.float64)
        if given.shape != counts.shape or not ((given > 0) & (given <= 1)).all():
            raise InputError(
                f"Propensities are {len(counts)} numbers above 0 and at most 1, one per label; see "
                "labels.propensities."
            )
    if tail == 0:
        return None
    inverse = inverse_propensities(counts, n_points) if propensities is None else 1 / given
    return TailRanking(*scale, tail * rarity(counts, inverse))


def is_calibration(value: Any) -> bool:
    """Whether a value is a scale and a shift that make log-odds of scores.

    Examples
    --------
    >>> is_calibration(np.array([2.0, 0.0])), is_calibration(np.array([-2.0, 0.0]))
    (True, False)
    """
    return (
        isinstance(value, np.ndarray)
        and value.shape == (2,)
        and value.dtype.kind == "f"
        and bool(np.isfinite(value).all())
        and bool(value[0] > 0)
    )


def _number(name: str, value: Any) -> float:
    if not is_number(value) or not math.isfinite(value):
        raise ParameterError(f"The {name} of a ranking must be a finite number, not {value!r}.")
    return float(value)
