"""Counts of words from X: whole numbers as they are, weights of terms in small units.

Units turn weights into whole counts, so that a document can be removed from its class exactly.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from longtail.errors import InputError

FINENESS = 10  # a unit is at most 2**-FINENESS of the mean weight
LARGEST = 2.0**40  # larger counts would not add up exactly


def unit_of(X: sp.csr_array, *, term_weights: bool) -> float:
    """The value in X that counts as one: 1 for counts, 2⁻¹⁰ of the mean or less for weights.

    Examples
    --------
    >>> unit_of(sp.csr_array([[1.0, 2.0]]), term_weights=True)
    1.0
    >>> unit_of(sp.csr_array([[0.5, 2.5]]), term_weights=True)
    0.0009765625
    """
    values = X.data[X.data > 0]
    if not term_weights or not len(values) or not (values != np.floor(values)).any():
        return 1.0
    mean = float(values.mean(dtype=np.float64))
    return float(2.0 ** (np.floor(np.log2(mean)) - FINENESS))


def as_counts(X: sp.csr_array, unit: float, *, term_weights: bool) -> sp.csr_array:
    """X in units, as float64 without stored zeros; an error for values that are no counts. O(nnz).

    Examples
    --------
    >>> as_counts(sp.csr_array([[0.5, 2.0]]), 1.0, term_weights=False)
    Traceback (most recent call last):
        ...
    longtail.errors.InputError: PairRanker needs term counts, but X holds 0.5, as tf-idf and dense
    features do; count words, with TextFeatures(sublinear_tf=False, idf=False, norm=None), or set
    term_weights=True to take the values as weights of terms.
    """
    values = X.data.astype(np.float64)
    if (values < 0).any():
        raise InputError(
            f"Negative values in data passed to PairRanker: X holds {values[values < 0][0]:g}, but "
            "it needs term counts, and similarities of words cannot be had from dense features "
            "such as embeddings; count words, with TextFeatures(sublinear_tf=False, idf=False, "
            "norm=None)."
        )
    odd = values != np.floor(values)
    if odd.any() and not term_weights:
        raise InputError(
            f"PairRanker needs term counts, but X holds {values[odd][0]:g}, as tf-idf and dense "
            "features do; count words, with TextFeatures(sublinear_tf=False, idf=False, norm=None),"
            " or set term_weights=True to take the values as weights of terms."
        )
    if odd.any() or unit != 1.0:
        values = np.where(values > 0, np.maximum(np.rint(values / unit), 1.0), 0.0)
    if (values > LARGEST).any():
        raise InputError(
            f"X holds {X.data[values > LARGEST][0]:g}, which is too large for a count of words."
        )
    counts = sp.csr_array((values, X.indices, X.indptr), shape=X.shape, copy=True)
    counts.eliminate_zeros()
    return counts
