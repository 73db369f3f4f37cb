"""Label sets by a common threshold on the probabilities, and the best threshold."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import InputError
from longtail.methods.mixtures._options import Target, check_options
from longtail.methods.mixtures._target_kernels import sweep


def above_threshold(
    probabilities: NDArray[np.float64], threshold: float, *, allow_empty: bool = True
) -> NDArray[np.bool_]:
    """The labels with a probability above a threshold, (n, L).

    Unless empty sets are allowed, a point without any gets its most probable label.

    Examples
    --------
    >>> above_threshold(np.array([[0.2, 0.4]]), 0.5, allow_empty=False).tolist()
    [[False, True]]
    """
    sets = probabilities > threshold
    if not allow_empty:
        none = np.flatnonzero(~sets.any(axis=1))
        sets[none, probabilities[none].argmax(axis=1)] = True
    return np.asarray(sets)


def best_threshold(
    probabilities: Any, Y: Any, target: Target, *, allow_empty: bool = True
) -> tuple[float, float]:
    """The common threshold on probabilities that is the best on given labels, exactly.

    Parameters
    ----------
    probabilities : array or sparse matrix of shape (n, L)
        Of each label at each point; labels without a stored value are never predicted.
    Y : array or sparse matrix of shape (n, L)
        The true labels, 0 or 1.
    target : {"f1", "jaccard", "hamming", "subset"}
        The measure, its mean over points; of the Hamming loss, the smallest.
    allow_empty : bool
        As in `above_threshold`.

    Returns
    -------
    threshold : float
        Halfway between two probabilities that occur; labels above it are to be predicted. Among
        equally good ones the largest.
    value : float
        The measure there.

    Notes
    -----
    O(m·log m + nnz) for m stored probabilities: in falling order, each label that is added changes
    the measure of one point.

    Examples
    --------
    >>> best_threshold(np.array([[0.9, 0.4], [0.3, 0.2]]), np.array([[1, 1], [1, 0]]), "f1")
    (0.25, 1.0)
    """
    check_options(target=target)
    scores, truth = as_csr(probabilities, dtype=np.float64), as_csr(Y)
    if scores.shape != truth.shape:
        raise InputError(
            f"Probabilities of shape {scores.shape} and labels of shape {truth.shape} do not fit."
        )
    if not np.isfinite(scores.data).all():
        raise InputError("The probabilities must be numbers; some are not.")
    n, n_labels = scores.shape
    if not scores.data.all():
        scores = scores.copy()
        scores.eliminate_zeros()
    rows = np.repeat(np.arange(n), np.diff(scores.indptr))
    hit = np.zeros(scores.nnz, dtype=np.bool_)
    marked = sp.csr_array(truth, dtype=np.bool_, copy=True)
    marked.eliminate_zeros()
    places = rows * np.int64(n_labels) + scores.indices
    wanted = np.repeat(np.arange(n), np.diff(marked.indptr)) * np.int64(n_labels) + marked.indices
    hit[np.isin(places, wanted, assume_unique=True)] = True
    order = np.argsort(-scores.data, kind="stable")
    counted = np.zeros(scores.nnz, dtype=np.bool_)
    if not allow_empty:
        _, first = np.unique(rows[order], return_index=True)
        counted[order[first]] = True
    predicted = np.bincount(rows[counted], minlength=n)
    both = np.bincount(rows[counted & hit], minlength=n)
    if not allow_empty:  # a row of zeros gets its first label
        bare = np.flatnonzero(predicted == 0)
        predicted[bare] = 1
        both[bare] = np.isin(bare * np.int64(n_labels), wanted)
    true = np.diff(marked.indptr).astype(np.int64)
    threshold, value = sweep(
        order, rows, scores.data, hit, counted, true, predicted, both,
        get_args(Target).index(target),
    )  # fmt: skip
    return float(threshold), float(-value / n_labels if target == "hamming" else value)
