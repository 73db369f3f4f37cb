"""Metrics of predicted label sets: Hamming loss, subset accuracy, Jaccard, F1.

Where both sets are empty a share of them is 0 / 0. Averaged over points it is taken as 1 (nothing
was asked for and nothing was given), averaged over labels or pooled as 0, which is what
scikit-learn gives with `zero_division=1` and `0`; `zero_division` says otherwise, NaN leaving such
rows or labels out of the mean.

All cost O(nnz of both) and never make the matrices dense.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ParameterError
from longtail.metrics._align import align_sets

Average = Literal["example", "micro", "macro"]


@dataclass(frozen=True)
class SetCounts:
    """Sizes of the true sets, the predicted sets and their intersections, in this order.

    Attributes
    ----------
    by_row : int64 array of shape (3, n)
    by_label : int64 array of shape (3, L)
    multiclass : bool
        Whether both came as one class per row.
    """

    by_row: NDArray[np.int64]
    by_label: NDArray[np.int64]
    multiclass: bool

    @classmethod
    def of(cls, Y_true: Any, Y_pred: Any, classes: Sequence[Hashable] | None) -> SetCounts:
        """Count two label sets in any form."""
        truth, predicted, multiclass = align_sets(Y_true, Y_pred, classes)
        three = (truth, predicted, sp.csr_array(truth.multiply(predicted)))
        by_row = np.array([np.diff(each.indptr) for each in three], dtype=np.int64)
        by_label = [np.bincount(each.indices, minlength=truth.shape[1]) for each in three]
        return cls(by_row, np.array(by_label, dtype=np.int64), multiclass)

    def hamming_loss(self) -> float:
        """See `hamming_loss`."""
        n, L = self.by_row.shape[1], self.by_label.shape[1]
        true, pred, both = self.by_row.sum(axis=1).tolist()
        wrong = true + pred - 2 * both
        if self.multiclass:
            return wrong / (2 * n)
        return wrong / (n * L) if L else 0.0

    def subset_accuracy(self) -> float:
        """See `subset_accuracy`."""
        true, pred, both = self.by_row
        return float(((true == both) & (pred == both)).mean())

    def jaccard(self, average: Average, zero_division: float | None = None) -> float:
        """See `jaccard`."""
        true, pred, both = self._by(average)
        return _mean_share(both, true + pred - both, average, zero_division)

    def f1(self, average: Average, zero_division: float | None = None) -> float:
        """See `f1`."""
        true, pred, both = self._by(average)
        return _mean_share(2 * both, true + pred, average, zero_division)

    def _by(self, average: Average) -> NDArray[np.int64]:
        if average == "example":
            return self.by_row
        if average == "macro":
            return self.by_label
        if average == "micro":
            return self.by_row.sum(axis=1, keepdims=True)
        raise ParameterError(f"average must be one of {get_args(Average)}, not {average!r}.")


def _mean_share(
    part: NDArray[np.int64],
    whole: NDArray[np.int64],
    average: Average,
    zero_division: float | None,
) -> float:
    if zero_division is None:
        zero_division = 1.0 if average == "example" else 0.0
    elif not (zero_division in (0, 1) or np.isnan(zero_division)):
        raise ParameterError(f"zero_division must be 0, 1 or NaN, not {zero_division!r}.")
    shares = np.divide(part, whole, out=np.full(len(whole), float(zero_division)), where=whole > 0)
    shares = shares[~np.isnan(shares)]
    return float(shares.mean()) if len(shares) else float(zero_division)


def hamming_loss(Y_true: Any, Y_pred: Any, *, classes: Sequence[Hashable] | None = None) -> float:
    """The share of the n x L yes-or-no decisions that are wrong.

    Parameters
    ----------
    Y_true, Y_pred : array, sparse matrix or sequence of label collections
        Any form that `labels.encode_labels` takes.
    classes : sequence, optional
        Names of all L labels, where a form holds names; those that occur in either if left out.

    Returns
    -------
    float
        For one class per row, the share of wrong rows, as scikit-learn has it.

    Examples
    --------
    >>> hamming_loss([[1, 0, 0, 1], [0, 1, 0, 0]], [[1, 0, 1, 0], [0, 1, 0, 0]])
    0.25
    """
    return SetCounts.of(Y_true, Y_pred, classes).hamming_loss()


def subset_accuracy(
    Y_true: Any, Y_pred: Any, *, classes: Sequence[Hashable] | None = None
) -> float:
    """The share of points whose predicted set equals the true one; two empty sets are equal.

    The parameters are those of `hamming_loss`.

    Examples
    --------
    >>> subset_accuracy([("sea", "sun"), (), ("sun",)], [("sea",), (), ("sun",)])
    0.6666666666666666
    """
    return SetCounts.of(Y_true, Y_pred, classes).subset_accuracy()


def jaccard(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: Average = "example",
    zero_division: float | None = None,
    classes: Sequence[Hashable] | None = None,
) -> float:
    """Size of the intersection over size of the union.

    Parameters
    ----------
    Y_true, Y_pred, classes
        As in `hamming_loss`.
    average : {"example", "micro", "macro"}
        Mean over points, all pooled, or mean over labels.
    zero_division : {0, 1, nan}, optional
        The share where both sets are empty: 1 for "example" and 0 otherwise if left out; NaN takes
        them out of the mean.

    Examples
    --------
    >>> jaccard([("sea", "sun"), (), ("sun",)], [("sea",), (), ("sun",)])
    0.8333333333333334
    """
    return SetCounts.of(Y_true, Y_pred, classes).jaccard(average, zero_division)


def f1(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: Average = "micro",
    zero_division: float | None = None,
    classes: Sequence[Hashable] | None = None,
) -> float:
    """2 |intersection| / (|true| + |predicted|), the harmonic mean of precision and recall.

    The parameters are those of `jaccard`, except that by default all is pooled.

    Examples
    --------
    >>> f1([("sea", "sun"), (), ("sun",)], [("sea",), (), ("sun",)], average="macro")
    0.8333333333333333
    """
    return SetCounts.of(Y_true, Y_pred, classes).f1(average, zero_division)
