"""Metrics of the k best labels of every point: P, nDCG, PSP, PSnDCG, recall, coverage at k.

Scores are a CSR matrix, of which the stored entries are predicted, or a dense array, of which all
are. The best k are those of highest score, ties going to the smaller column. A row with fewer than
k entries is filled up with misses: P@k divides by k all the same. Points without labels stay in
every mean, as points on which nothing was right.

All six come from one pass over the scores, with a block's worth of working memory beside the
arrays given.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longtail._sparse import ranked
from longtail.labels import inverse_propensities
from longtail.metrics._align import (
    align_scores,
    check_k,
    inverse_by_column,
    ranked_blocks,
    training_counts,
)

AtK = float | NDArray[np.float64]
"""A float for one k, an array for several."""

HITS, NDCG, RECALL, PS_HITS, PS_BEST, PS_NDCG, PS_NDCG_BEST = range(7)


@dataclass(frozen=True)
class RankTotals:
    """Sums over all points at the ranks 1 ... depth, from which every metric at k follows.

    Attributes
    ----------
    n : int
        Number of points.
    sums : float64 array of shape (7, depth)
        See `_add_rank_totals`.
    first_rank : int64 array of shape (L,)
        Best rank, from 0, at which a label was right; `depth` if at none.
    labels : int
        Labels that occur in the truth.
    """

    n: int
    sums: NDArray[np.float64]
    first_rank: NDArray[np.int64]
    labels: int

    def _at(self, quantity: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.sums[quantity, np.minimum(k, self.sums.shape[1]) - 1]

    def precision(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """P@k."""
        return self._at(HITS, k) / (self.n * k)

    def ndcg(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """nDCG@k."""
        return self._at(NDCG, k) / self.n

    def recall(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """R@k."""
        return self._at(RECALL, k) / self.n

    def psp(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """PSP@k."""
        return _ratio(self._at(PS_HITS, k), self._at(PS_BEST, k))

    def psndcg(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """PSnDCG@k."""
        return _ratio(self._at(PS_NDCG, k), self._at(PS_NDCG_BEST, k))

    def coverage(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """C@k."""
        right = np.array([(self.first_rank < min(j, self.sums.shape[1])).sum() for j in k.tolist()])
        return right / max(self.labels, 1)


def _ratio(reached: NDArray[np.float64], reachable: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(reached, reachable, out=np.zeros_like(reached), where=reachable > 0)


def rank_totals(
    truth: sp.csr_array,
    scores: sp.csr_array | NDArray[Any],
    depth: int,
    inverse: NDArray[np.float64] | None = None,
) -> RankTotals:
    """One pass over aligned truth and scores; `inverse` is 1 / p of every column of the truth."""
    n, L = truth.shape
    depth = max(1, min(depth, L))
    if inverse is None:
        inverse = np.ones(L)
    sums = np.zeros((7, depth))
    first_rank = np.full(L, depth, dtype=np.int64)
    discounts = 1 / np.log2(np.arange(depth) + 2)
    ideals = np.cumsum(discounts)
    earned = np.append(inverse, 0.0)  # the last for the label -1
    best = sp.csr_array((inverse[truth.indices], truth.indices, truth.indptr), shape=truth.shape)
    for rows, labels, right in ranked_blocks(truth, scores, depth):
        # A row without labels has nothing right, so any positive divisor gives it 0.
        sizes = np.maximum(np.diff(truth.indptr[rows.start : rows.stop + 1]), 1)[:, None]
        ideal = ideals[np.minimum(np.arange(depth), sizes - 1)]
        hits = right.cumsum(axis=1, dtype=np.float64)
        gains = np.where(right, earned[labels], 0.0)
        most, largest = ranked(best[rows], depth)
        largest[most < 0] = 0.0
        for quantity, values in (
            (HITS, hits),
            (NDCG, (right * discounts).cumsum(axis=1) / ideal),
            (RECALL, hits / sizes),
            (PS_HITS, gains.cumsum(axis=1)),
            (PS_BEST, largest.cumsum(axis=1)),
            (PS_NDCG, (gains * discounts).cumsum(axis=1) / ideal),
            (PS_NDCG_BEST, (largest * discounts).cumsum(axis=1) / ideal),
        ):
            values[0] += sums[quantity]
            sums[quantity] = values.cumsum(axis=0)[-1]  # row by row, whatever the block and depth
        np.minimum.at(first_rank, labels[right], np.nonzero(right)[1])
    return RankTotals(n, sums, first_rank, len(np.unique(truth.indices)))


def metric_at_k(
    read: Callable[[RankTotals, NDArray[np.int64]], NDArray[np.float64]],
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int],
    classes: Sequence[Hashable] | None,
    propensities: ArrayLike | Mapping[Any, float] | None = None,
) -> AtK:
    """One ranking metric, given as the method of `RankTotals` that reads it."""
    ks = check_k(k)
    values = read(totals_at(ks, Y_true, Y_score, classes, propensities)[0], ks)
    return float(values[0]) if np.ndim(k) == 0 else values


def totals_at(
    k: NDArray[np.int64],
    Y_true: Any,
    Y_score: Any,
    classes: Sequence[Hashable] | None,
    propensities: ArrayLike | Mapping[Any, float] | None = None,
    Y_train: Any = None,
) -> tuple[RankTotals, bool]:
    """The totals of truth and scores in any form, and whether propensities took part in them.

    Where there are none, they are those of the training labels, if these are given.
    """
    truth, scores, space = align_scores(Y_true, Y_score, classes)
    inverse = None
    if propensities is not None:
        inverse = inverse_by_column(propensities, space, truth.shape[1])
    elif Y_train is not None:
        inverse = inverse_propensities(*training_counts(Y_train, space, truth.shape[1]))
    return rank_totals(truth, scores, int(k.max()), inverse), inverse is not None


def precision_at_k(
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int] = 5,
    *,
    classes: Sequence[Hashable] | None = None,
) -> AtK:
    """P@k: the share of right labels among the k best, averaged over the points.

    Parameters
    ----------
    Y_true : array, sparse matrix or sequence of label collections
        Any form that `labels.encode_labels` takes.
    Y_score : CSR matrix or dense array of shape (n, L)
        Scores; of a sparse matrix only the stored entries are predicted.
    k : int or sequence of int
        How many labels per point. A sequence gives an array, computed in one pass.
    classes : sequence, optional
        Names of the columns of `Y_score`, where `Y_true` holds names. A name in `Y_true` that is
        not among them counts as a label that was missed.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, 0]])
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]])
    >>> precision_at_k(truth, scores, k=1), precision_at_k(truth, scores, k=[1, 2]).tolist()
    (1.0, [1.0, 0.5])
    """
    return metric_at_k(RankTotals.precision, Y_true, Y_score, k, classes)


def ndcg_at_k(
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int] = 5,
    *,
    classes: Sequence[Hashable] | None = None,
) -> AtK:
    """nDCG@k: right labels weighted by 1 / log2(rank + 1), over the best that was possible.

    The best possible has min(k, |y|) right labels; a point without labels counts as 0.
    The parameters are those of `precision_at_k`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, 0]])
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]])
    >>> round(ndcg_at_k(truth, scores, k=3), 4)
    0.9599
    """
    return metric_at_k(RankTotals.ndcg, Y_true, Y_score, k, classes)


def recall_at_k(
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int] = 5,
    *,
    classes: Sequence[Hashable] | None = None,
) -> AtK:
    """R@k: the share of a point's labels that are among the k best, averaged over the points.

    A point without labels counts as 0. The parameters are those of `precision_at_k`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, 0]])
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]])
    >>> recall_at_k(truth, scores, k=2)
    0.75
    """
    return metric_at_k(RankTotals.recall, Y_true, Y_score, k, classes)


def coverage_at_k(
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int] = 5,
    *,
    classes: Sequence[Hashable] | None = None,
) -> AtK:
    """C@k: the share of the labels in `Y_true` that are right among the k best of some point.

    0 if `Y_true` has no label at all. The parameters are those of `precision_at_k`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, 0]])
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]])
    >>> round(coverage_at_k(truth, scores, k=1), 4)
    0.6667
    """
    return metric_at_k(RankTotals.coverage, Y_true, Y_score, k, classes)


def psp_at_k(
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int] = 5,
    *,
    propensities: ArrayLike | Mapping[Any, float],
    classes: Sequence[Hashable] | None = None,
) -> AtK:
    """PSP@k: precision in which a right label l counts 1 / p_l, over the best that was possible.

    A ratio of means, as the published scripts have it: the sum over all points of what the k best
    labels earn, divided by the sum over all points of the k largest 1 / p among the true labels. 0
    if there are no true labels.

    Parameters
    ----------
    Y_true, Y_score, k, classes
        As in `precision_at_k`.
    propensities : array of shape (L,), or mapping
        The propensity p of every label, from the training labels; see `labels.propensities`. A
        mapping goes from label name (column number, if the labels have no names) to p.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, 0]])
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]])
    >>> psp_at_k(truth, scores, k=1, propensities=[0.5, 0.5, 0.1])  # (2 + 2) / (10 + 2)
    0.3333333333333333
    """
    return metric_at_k(RankTotals.psp, Y_true, Y_score, k, classes, propensities)


def psndcg_at_k(
    Y_true: Any,
    Y_score: Any,
    k: int | Sequence[int] = 5,
    *,
    propensities: ArrayLike | Mapping[Any, float],
    classes: Sequence[Hashable] | None = None,
) -> AtK:
    """PSnDCG@k: nDCG in which a right label l counts 1 / p_l, over the best that was possible.

    A ratio of means like PSP@k. Above and below the line, each point's discounted sum is first
    divided by that point's ideal DCG without propensities, as the published scripts do.
    The parameters are those of `psp_at_k`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[1, 0, 1], [0, 1, 0]])
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]])
    >>> round(psndcg_at_k(truth, scores, k=3, propensities=[0.5, 0.5, 0.1]), 4)
    0.7066
    """
    return metric_at_k(RankTotals.psndcg, Y_true, Y_score, k, classes, propensities)
