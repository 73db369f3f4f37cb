"""Which label set to predict for which measure, given the joint distribution of the labels.

The most probable set is the best for subset accuracy, but not for other measures. A mixture of
independent labels says exactly what is best for the Hamming loss (labels more probable than not)
and for F1 (general F-measure maximisation, Dembczyński, Waegeman, Cheng & Hüllermeier, NIPS 2011);
for the Jaccard index it gives the exact expectation of any set, and a search looks for a good one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import InputError, ParameterError
from longtail.methods.mixtures._jaccard_kernels import jaccard_sets, sampled_jaccard_sets
from longtail.methods.mixtures._options import Decoding, Target, check_options
from longtail.methods.mixtures._target_kernels import f1_sets, sampled_f1_sets, sweep
from longtail.methods.mixtures.decoding import (
    BLOCK,
    _checked,
    marginals,
    most_probable_sets,
    sample_sets,
)
from longtail.parameters import check_count, check_seed, is_number
from longtail.runtime.executor import run_threads
from longtail.runtime.seeds import point_seeds

_LOOK = 2000
"""Limit on visited sets for the most probable one, if it is only a starting point."""


def optimal_sets(
    log_weights: Any,
    log_odds: Any,
    *,
    target: Target = "subset",
    decoding: Decoding = "joint",
    threshold: float = 0.5,
    allow_empty: bool = True,
    n_samples: int = 1000,
    random_state: int = 0,
    seeds: NDArray[np.uint64] | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.bool_]:
    """The label set of each point that is the best for a measure.

    Parameters
    ----------
    log_weights : array of shape (n, K)
        Logarithms of the components' weights; they need not add up to one.
    log_odds : array of shape (n, K, L)
        Log-odds of each label within each component.
    target : {"subset", "hamming", "f1", "jaccard"}
        The measure: subset accuracy, Hamming loss, or F1 or the Jaccard index averaged over points,
        both 1 where true and predicted set are empty.
    decoding : {"joint", "threshold", "sample"}
        From the joint distribution itself; or, for F1 and Jaccard, the labels with a probability
        above a common threshold; or, for all but the Hamming loss, from sets drawn at random.
    threshold : float, default 0.5
        For decoding "threshold"; `best_threshold` finds one on held-out data.
    allow_empty : bool
        Whether the set without labels may be given.
    n_samples : int, default 1000
        Sets drawn for each point, for decoding "sample".
    random_state : int, default 0
        Seed of these draws.
    seeds : uint64 array of shape (n,), optional
        A seed for each point instead, such as `runtime.seeds.row_seeds` makes of X; by default
        they come from `random_state` and the numbers of the points.
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Returns
    -------
    bool array of shape (n, L)

    Notes
    -----
    With decoding "joint", the sets for subset accuracy, Hamming loss and F1 are the best of all
    2^L. For the Jaccard index no efficient exact method is known: the search starts from the best
    prefix of the labels by falling probability, from the set that is best for F1 and from the most
    probable set, and adds or removes labels as long as the exact expectation rises.

    With S the sizes of sets that occur, a point costs O(K·L) for the Hamming loss and thresholds,
    O(K·L·S) for F1, and O(K·L·S) per step of the search for Jaccard; from samples O(n_samples·L)
    and O(n_samples·L) per step. The cost of F1 is linear in L for sets of bounded size, so "sample"
    pays only where sets are large.

    Examples
    --------
    >>> weights, odds = np.log([[0.6, 0.4]]), np.array([[[3.0, -0.5, -0.5], [3.0, 4.0, -4.0]]])
    >>> optimal_sets(weights, odds, target="hamming").astype(int).tolist()
    [[1, 1, 0]]
    >>> weights, odds = np.log([[0.4, 0.35, 0.25]]), 9.0 * (2 * np.eye(3)[None] - 1)
    >>> for target in ("subset", "hamming", "f1"):
    ...     print(target, optimal_sets(weights, odds, target=target).astype(int).tolist())
    subset [[1, 0, 0]]
    hamming [[0, 0, 0]]
    f1 [[1, 1, 1]]
    """
    check_options(target=target, decoding=decoding)
    if not (is_number(threshold) and 0 <= threshold <= 1):
        raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}.")
    check_count(n_samples=n_samples)
    check_seed(random_state)
    if target == "subset":
        if decoding == "sample":
            found = sample_sets(
                log_weights, log_odds, n_samples=n_samples, allow_empty=allow_empty,
                random_state=random_state, seeds=seeds,
            )  # fmt: skip
        else:
            found = most_probable_sets(
                log_weights, log_odds, allow_empty=allow_empty, n_jobs=n_jobs
            )
        return found.sets[:, 0]
    weights, odds = _checked(log_weights, log_odds)
    if target == "hamming" or decoding == "threshold":
        level = 0.5 if target == "hamming" else float(threshold)
        return above_threshold(marginals(weights, odds), level, allow_empty=allow_empty)
    n, _, n_labels = odds.shape
    sets, values = np.zeros((n, n_labels), dtype=np.bool_), np.zeros(n)
    empty = bool(allow_empty)

    if decoding == "sample":
        sampled = sampled_f1_sets if target == "f1" else sampled_jaccard_sets
        of_point = point_seeds(n, random_state, seeds)

        def work(part: slice) -> None:
            sampled(
                weights[part], odds[part], int(n_samples), of_point[part], empty, sets[part],
                values[part],
            )  # fmt: skip
    else:

        def work(part: slice) -> None:
            f1_sets(weights[part], odds[part], empty, sets[part], values[part])

    _in_blocks(work, n, n_jobs)
    if target == "jaccard" and decoding == "joint":
        modes = most_probable_sets(
            weights, odds, allow_empty=empty, max_visits=_LOOK, n_jobs=n_jobs
        )
        starts = np.stack([sets, modes.sets[:, 0]], axis=1)

        def climb(part: slice) -> None:
            jaccard_sets(weights[part], odds[part], starts[part], empty, sets[part], values[part])

        _in_blocks(climb, n, n_jobs)
    return sets


def _in_blocks(work: Callable[[slice], None], n: int, n_jobs: int | None) -> None:
    parts = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    run_threads(work, parts, n_jobs=n_jobs, limit_blas=False)


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
