"""Propensities: how likely a true label of a point was recorded at all.

Jain, Prabhu and Varma (2016) model the chance p_l that a label which applies is also marked as a
function of how often it is marked: with N points, N_l of them with label l,

    1 / p_l = 1 + C (N_l + B)^-A      where      C = (ln N - 1) (B + 1)^A.

Rare labels have small propensities, so metrics and losses weighted by 1 / p_l reward the tail.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.errors import InputError, ParameterError
from longtail.labels.encoding import encode_labels
from longtail.labels.tail import _checked_counts, _counts
from longtail.parameters import is_number

DEFAULT_CONSTANTS = (0.55, 1.5)
"""A and B for every published set that has no constants of its own."""

PROPENSITY_CONSTANTS: dict[str, tuple[float, float]] = {
    "WikiLSHTC-325K": (0.5, 0.4),
    "Wikipedia-500K": (0.5, 0.4),
    "Amazon-670K": (0.6, 2.6),
    "Amazon-3M": (0.6, 2.6),
    **dict.fromkeys(
        (
            "AmazonCat-13K",
            "AmazonCat-14K",
            "Bibtex",
            "Delicious",
            "Delicious-200K",
            "EURLex-4K",
            "Mediamill",
            "RCV1-2K",
            "RCV1-Subset1",
            "Scene",
            "Wiki10-31K",
            "WordNet-Hypernyms",
            "Yeast",
        ),
        DEFAULT_CONSTANTS,
    ),
}
"""A and B by name of the data set, as published."""

_ALIASES = {"wiki500k": "wikipedia500k", "eurlex": "eurlex4k", "wikilshtc": "wikilshtc325k"}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


Constants = str | tuple[float, float]
"""A published data set's name, or A and B themselves."""


def propensity_constants(dataset: str) -> tuple[float, float]:
    """The published constants A and B of a data set.

    Parameters
    ----------
    dataset : str
        Its name; case, hyphens, underscores and blanks do not matter.

    Examples
    --------
    >>> propensity_constants("Amazon-670K"), propensity_constants("eurlex_4k")
    ((0.6, 2.6), (0.55, 1.5))
    """
    plain = _plain(dataset)
    plain = _ALIASES.get(plain, plain)
    for name, constants in PROPENSITY_CONSTANTS.items():
        if _plain(name) == plain:
            return constants
    raise ParameterError(
        f"No propensity constants are published for {dataset!r}; leave the name out for the usual "
        f"0.55 and 1.5, give the pair, or name one of {', '.join(sorted(PROPENSITY_CONSTANTS))}."
    )


def pair_of_constants(given: Constants | None) -> tuple[float, float]:
    """A and B of what a function takes as `propensity_constants`."""
    if given is None:
        return DEFAULT_CONSTANTS
    if isinstance(given, str):
        return propensity_constants(given)
    pair = tuple(given) if isinstance(given, Iterable) else ()
    if len(pair) != 2 or not all(is_number(value) and 0 < value < math.inf for value in pair):
        raise ParameterError(
            "propensity_constants are the name of a published data set, or two positive numbers, "
            f"A and B, not {given!r}."
        )
    return float(pair[0]), float(pair[1])


def inverse_propensities(
    Y: Any,
    n: int | None = None,
    *,
    propensity_constants: Constants | None = None,
    classes: Sequence[Hashable] | None = None,
) -> NDArray[np.float64]:
    """1 / p of every label. See `propensities`, whose parameters these are.

    Examples
    --------
    >>> inverse_propensities([1, 10, 100], n=1000).round(2).tolist()
    [6.91, 3.55, 1.77]
    """
    counts, n = _counts_and_points(Y, n, classes)
    a, b = pair_of_constants(propensity_constants)
    # Below N = e the formula's C is negative and p would exceed 1.
    c = max(math.log(n) - 1, 0.0) * (b + 1) ** a
    return 1 + c * (counts + b) ** -a


def propensities(
    Y: Any,
    n: int | None = None,
    *,
    propensity_constants: Constants | None = None,
    classes: Sequence[Hashable] | None = None,
) -> NDArray[np.float64]:
    """Propensity of every label, from its frequency among the training points.

    Parameters
    ----------
    Y : label matrix, sequence of label collections, or counts
        The training labels in any form that `encode_labels` takes; or, together with `n`, the
        number of training points of every label.
    n : int, optional
        The number of training points, if `Y` holds counts.
    propensity_constants : str or pair of float, optional
        The model's A and B, or the name of a published data set that has them; see
        `PROPENSITY_CONSTANTS`. By default 0.55 and 1.5.
    classes : sequence, optional
        The names of the columns, where Y holds names.

    Returns
    -------
    float64 array of shape (L,)
        Between 0 and 1. A label without a point has the smallest.

    Notes
    -----
    For fewer than three points the formula's C is negative; it is taken as 0, so all propensities
    are 1.

    Examples
    --------
    >>> propensities([1, 10, 100], n=1000).round(3).tolist()
    [0.145, 0.282, 0.565]
    >>> propensities([("sea", "sun"), (), ("sun",), ("sun",)]).round(3).tolist()
    [0.721, 0.782]
    """
    return 1 / inverse_propensities(
        Y, n, propensity_constants=propensity_constants, classes=classes
    )


def _counts_and_points(
    Y: Any, n: int | None, classes: Sequence[Hashable] | None
) -> tuple[NDArray[np.int64], int]:
    if n is None:
        matrix = encode_labels(Y, label_names=classes).matrix
        if not matrix.shape[0]:
            raise InputError("Propensities come from training labels, but Y has no rows.")
        return _counts(matrix), matrix.shape[0]
    counts = _checked_counts(Y)
    if n < 1:
        raise ParameterError(f"n is the number of training points and at least 1, not {n}.")
    if len(counts) and counts.max() > n:
        raise InputError(
            f"A label occurs in {counts.max()} points, more than the {n} there are; "
            "give the counts and the number of points of the same training set."
        )
    return counts, n
