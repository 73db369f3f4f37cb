"""Metrics of one predicted class per point: accuracy, MaF1, covered classes.

MaF1 is the macro F1 of Joshi, Amini, Partalas, Ralaivola, Usunier and Gaussier (2015): the harmonic
mean of macro precision and macro recall. It is not the mean of the classes' F1, which is
`f1(average="macro")`. All cost O(n + L).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.metrics.sets import SetCounts


def _classes_of(Y_true: Any, Y_pred: Any, classes: Sequence[Hashable] | None) -> SetCounts:
    counts = SetCounts.of(Y_true, Y_pred, classes)
    if not counts.multiclass:
        raise InputError(
            "This metric is for one class per point: give 1-d arrays of classes, or use "
            "subset_accuracy and f1 for label sets."
        )
    return counts


def accuracy(Y_true: Any, Y_pred: Any) -> float:
    """The share of points whose predicted class is the true one.

    Parameters
    ----------
    Y_true, Y_pred : 1-d array or sequence
        One class per point.

    Examples
    --------
    >>> accuracy(["cat", "dog", "cat"], ["cat", "cat", "cat"])
    0.6666666666666666
    """
    return _classes_of(Y_true, Y_pred, None).subset_accuracy()


def maf1(Y_true: Any, Y_pred: Any, *, classes: Sequence[Hashable] | None = None) -> float:
    """MaF1: the harmonic mean of macro precision and macro recall.

    Parameters
    ----------
    Y_true, Y_pred : 1-d array or sequence
        One class per point.
    classes : sequence, optional
        All classes of the problem, over which both means go; those that occur in either argument
        if left out.

    Notes
    -----
    A class that was never predicted has precision 0 and a class without a point recall 0; MaF1 is
    0 if nothing is right.

    Examples
    --------
    Precisions 2/3 and 0, recalls 1 and 0:

    >>> maf1(["cat", "dog", "cat"], ["cat", "cat", "cat"])
    0.4
    """
    return macro_f1_of_means(_classes_of(Y_true, Y_pred, classes))


def covered_classes(
    Y_true: Any, Y_pred: Any, *, classes: Sequence[Hashable] | None = None
) -> float:
    """The share of classes for which at least one point was classified rightly.

    Parameters
    ----------
    Y_true, Y_pred : 1-d array or sequence
        One class per point.
    classes : sequence, optional
        All classes of the problem; those that occur in `Y_true` if left out.

    Examples
    --------
    >>> covered_classes(["cat", "dog", "cat"], ["cat", "cat", "cat"])
    0.5
    """
    return covered_share(_classes_of(Y_true, Y_pred, classes), classes is not None)


def macro_f1_of_means(counts: SetCounts) -> float:
    """MaF1 of counted classes."""
    true, pred, both = counts.by_label
    precision, recall = _mean_ratio(both, pred), _mean_ratio(both, true)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def covered_share(counts: SetCounts, of_all: bool) -> float:
    """Covered classes, of all columns or of those that occur in the truth."""
    true, _, both = counts.by_label
    return int((both > 0).sum()) / (len(true) if of_all else int((true > 0).sum()))


def _mean_ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> float:
    return float(np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0).mean())
