"""How long the tail is: label counts, their inequality, and the power law they follow.

Everything costs O(nnz(Y) + L log L), except the distinct label sets, which take one hash per row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import zeta

from longtail.errors import InputError
from longtail.labels.encoding import encode_labels
from longtail.labels.sets import distinct_sets

_SMALLEST_FIT = 10
"""Labels that a power-law fit needs; below it the exponent says nothing."""

_STARTS_TRIED = 100
"""How many starts of the tail the power-law fit compares at most."""


def label_counts(Y: Any, *, classes: Sequence[Hashable] | None = None) -> NDArray[np.int64]:
    """In how many rows each label occurs.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    classes : sequence, optional
        The names of the columns, where Y holds names; all that occur, sorted, if left out.

    Returns
    -------
    int64 array of shape (L,)

    Examples
    --------
    >>> label_counts([("sea", "sun"), (), ("sun",)]).tolist()
    [1, 2]
    >>> label_counts([("sea", "sun"), (), ("sun",)], classes=["sun", "snow", "sea"]).tolist()
    [2, 0, 1]
    """
    return _counts(encode_labels(Y, label_names=classes).matrix)


def _counts(matrix: sp.csr_array) -> NDArray[np.int64]:
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


class PowerLaw(NamedTuple):
    """A power law fitted to counts: P(count = x) proportional to x^-exponent from `start` on."""

    exponent: float
    start: int


def fit_power_law(counts: ArrayLike) -> PowerLaw:
    """Exponent of the power law that the label counts follow in their tail.

    The discrete maximum-likelihood fit of Clauset, Shalizi and Newman (2009): for every start of
    the tail the exponent is the most likely one under the zeta distribution, and the start is the
    one whose fit is nearest to the data (Kolmogorov-Smirnov). With more than 100 distinct counts,
    100 of them, evenly spaced, are tried as start. Labels without a point take no part.

    Returns
    -------
    PowerLaw
        `exponent` is NaN and `start` 0 if fewer than 10 labels occur or all occur equally often.

    Examples
    --------
    >>> import numpy as np
    >>> law = fit_power_law(np.random.default_rng(0).zipf(2.5, size=20_000))
    >>> round(law.exponent, 1)
    2.5
    """
    values, labels = np.unique(_checked_counts(counts), return_counts=True)
    values, labels = values[values > 0], labels[values > 0]
    remaining = np.cumsum(labels[::-1])[::-1]
    starts = np.flatnonzero(remaining >= _SMALLEST_FIT)
    starts = starts[starts < len(values) - 1]  # one distinct count fits any law
    if not len(starts):
        return PowerLaw(float("nan"), 0)
    if len(starts) > _STARTS_TRIED:
        starts = np.unique(np.linspace(starts[0], starts[-1], _STARTS_TRIED).astype(np.int64))
    best = (np.inf, float("nan"), 0)
    for first in starts:
        tail, weight = values[first:], labels[first:]
        exponent = _zeta_exponent(tail, weight)
        beyond = zeta(exponent, tail + 1.0) / zeta(exponent, float(tail[0]))
        distance = float(np.abs(1 - beyond - np.cumsum(weight) / weight.sum()).max())
        best = min(best, (distance, exponent, int(tail[0])))
    return PowerLaw(*best[1:])


def _zeta_exponent(values: NDArray[np.int64], weight: NDArray[np.int64]) -> float:
    start, mean_log = float(values[0]), float(np.average(np.log(values), weights=weight))
    fit = minimize_scalar(
        lambda exponent: np.log(zeta(exponent, start)) + exponent * mean_log,
        bounds=(1.001, 20.0),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return float(fit.x)


@dataclass(frozen=True)
class TailStatistics:
    """What a label matrix looks like. Shares and the Gini index are over the labels that occur.

    Attributes
    ----------
    points, labels : int
        Shape of the label matrix.
    labels_used : int
        Labels with at least one point.
    points_without_labels : int
        Empty rows.
    label_sets : int
        Distinct rows; the empty one counts if it occurs.
    labels_per_point, labels_per_point_max : float, int
        Mean and largest size of a row.
    points_per_label : float
        Mean over all columns, the unused ones included, as the published tables have it.
    points_per_label_median, points_per_label_max : float, int
        Over the labels that occur.
    share_with_one_point, share_below_5, share_below_10 : float
        Share of labels with exactly 1, fewer than 5, fewer than 10 points.
    mass_of_top_tenth : float
        Share of all label assignments that the most frequent tenth of the labels (rounded up) has.
    gini : float
        Inequality of the counts: 0 if all labels are equally frequent, towards 1 if one has all.
    power_law_exponent, power_law_start : float, int
        See `fit_power_law`.
    """

    points: int
    labels: int
    labels_used: int
    points_without_labels: int
    label_sets: int
    labels_per_point: float
    labels_per_point_max: int
    points_per_label: float
    points_per_label_median: float
    points_per_label_max: int
    share_with_one_point: float
    share_below_5: float
    share_below_10: float
    mass_of_top_tenth: float
    gini: float
    power_law_exponent: float
    power_law_start: int

    def to_dict(self) -> dict[str, float]:
        """The statistics by name."""
        return asdict(self)

    def table(self) -> pl.DataFrame:
        """The statistics as a table with the columns `statistic` and `value`."""
        values = self.to_dict()
        return pl.DataFrame(
            {"statistic": list(values), "value": [float(value) for value in values.values()]}
        )

    def __str__(self) -> str:
        width = max(map(len, self.to_dict()))
        return "\n".join(
            f"{name.replace('_', ' '):<{width}}  "
            + (f"{value:>12,}" if isinstance(value, int) else f"{value:>12,.3f}")
            for name, value in self.to_dict().items()
        )


def tail_statistics(Y: Any, *, classes: Sequence[Hashable] | None = None) -> TailStatistics:
    """Sizes, tail and inequality of the labels in Y.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    classes : sequence, optional
        The names that may occur, where Y holds names.

    Examples
    --------
    >>> statistics = tail_statistics([("sea", "sun"), (), ("sun",), ("sun",)])
    >>> statistics.points_without_labels, statistics.label_sets, statistics.share_with_one_point
    (1, 3, 0.5)
    """
    matrix = encode_labels(Y, label_names=classes).matrix
    n, L = matrix.shape
    sizes = np.diff(matrix.indptr)
    counts = _counts(matrix)
    used = np.sort(counts[counts > 0])[::-1]
    law = fit_power_law(used)

    def share(chosen: NDArray[np.bool_]) -> float:
        return float(chosen.mean()) if len(used) else float("nan")

    return TailStatistics(
        points=n,
        labels=L,
        labels_used=len(used),
        points_without_labels=int((sizes == 0).sum()),
        label_sets=distinct_sets(matrix)[0].shape[0],
        labels_per_point=matrix.nnz / n if n else float("nan"),
        labels_per_point_max=int(sizes.max(initial=0)),
        points_per_label=matrix.nnz / L if L else float("nan"),
        points_per_label_median=float(np.median(used)) if len(used) else float("nan"),
        points_per_label_max=int(used.max(initial=0)),
        share_with_one_point=share(used == 1),
        share_below_5=share(used < 5),
        share_below_10=share(used < 10),
        mass_of_top_tenth=(
            float(used[: -(-len(used) // 10)].sum() / used.sum()) if len(used) else float("nan")
        ),
        gini=_gini(used[::-1]),
        power_law_exponent=law.exponent,
        power_law_start=law.start,
    )


def _gini(ascending: NDArray[np.int64]) -> float:
    size = len(ascending)
    if not size:
        return float("nan")
    ranks = np.arange(1, size + 1)
    return float(2 * (ranks * ascending).sum() / (size * ascending.sum()) - (size + 1) / size)


def _checked_counts(counts: ArrayLike) -> NDArray[np.int64]:
    """Label counts as a 1-d int64 array, or a sentence that says why they are not."""
    array = np.asarray(counts)
    if array.ndim != 1 or array.dtype.kind not in "uif":
        raise InputError("Label counts are a 1-d array of whole numbers, one per label.")
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.floor(array))).all():
        raise InputError("Label counts are whole numbers; some given here are not.")
    if (array < 0).any():
        raise InputError(f"A label count is at least 0, but one is {array.min()}.")
    return array.astype(np.int64)
