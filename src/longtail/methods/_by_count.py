"""A penalty that grows with the number of a label's points. It is ours, not of any of the papers.

The noise in a gradient grows with the root of the number of points that it is a sum of. So the
same penalty is weak for a frequent label, which then learns accidents of the training set in a
problem that is ill-conditioned and slow, and strong for a rare one, which loses features that it
needs.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.parameters import Must, is_number
from longtail.solvers.costs import mean_square_length

ByCount = Annotated[
    tuple[float, float],
    Must(
        "a pair (a, b) of a positive number and one from 0 to 1",
        lambda pair: (
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(map(is_number, pair))
            and 0 < pair[0] < np.inf
            and 0 <= pair[1] <= 1
        ),
    ),
]


def by_count(counts: NDArray[Any], b: float) -> NDArray[np.float64]:
    """n**b for labels with n points each; 1 for labels without any.

    Examples
    --------
    >>> by_count(np.array([0, 1, 16]), 0.25).tolist()
    [1.0, 1.0, 2.0]
    """
    return np.asarray(np.maximum(counts, 1.0) ** b, dtype=np.float64)


def l1_strength(X: sp.csr_array, counts: NDArray[Any], given: Any) -> Any:
    """What a number, or a pair (a, b), makes the strength of an l1 penalty for each label.

    The pair stands for a·n**b, times the usual (root mean square) length of the rows of X, since
    weights, and with them the penalty, shrink as the rows grow.

    Examples
    --------
    >>> l1_strength(sp.csr_array(np.eye(2)), np.array([1, 16]), (0.5, 0.25)).tolist()
    [0.5, 1.0]
    """
    if is_number(given):
        return float(given)
    a, b = given
    return a * np.sqrt(mean_square_length(X)) * by_count(counts, b)


def l2_strength(X: sp.csr_array, counts: NDArray[Any], given: Any) -> Any:
    """What C, or a pair (a, b), makes the strength of an l2 penalty, 1/C, for each label.

    The pair stands for C = a / n**b, divided by the mean square length of the rows of X.

    Examples
    --------
    >>> l2_strength(sp.csr_array(np.eye(2)), np.array([1, 16]), (0.5, 0.25)).tolist()
    [2.0, 4.0]
    """
    if is_number(given):
        return 1.0 / given
    a, b = given
    return mean_square_length(X) * by_count(counts, b) / a
