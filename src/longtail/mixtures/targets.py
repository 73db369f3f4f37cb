"""Which label set to predict for which measure, given the joint distribution of the labels.

The most probable set is the best for subset accuracy, but not for other measures. A mixture of
independent labels says exactly what is best for the Hamming loss (labels more probable than not)
and for F1 (general F-measure maximisation, Dembczyński, Waegeman, Cheng & Hüllermeier, NIPS 2011);
for the Jaccard index it gives the exact expectation of any set, among which a search is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from longtail._checks import check_count, check_seed
from longtail._sparse import as_csr
from longtail.engine.executor import run_threads
from longtail.errors import InputError, ParameterError
from longtail.mixtures._jaccard_kernels import jaccard_sets, sampled_jaccard_sets
from longtail.mixtures._target_kernels import (
    draw,
    f1_sets,
    mixture_marginals,
    sampled_f1_sets,
    sweep,
)
from longtail.mixtures.decoding import (
    BLOCK,
    _checked,
    most_probable_sets,
    point_seeds,
    sample_sets,
)

Target = Literal["subset", "hamming", "f1", "jaccard"]
Way = Literal["joint", "threshold", "sample"]

_LOOK = 2000
"""Sets looked at for the most probable one, where it is only a place to start from."""


def optimal_sets(
    log_weights: Any,
    log_odds: Any,
    *,
    target: Target = "subset",
    way: Way = "joint",
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
    way : {"joint", "threshold", "sample"}
        From the joint distribution itself; or, for F1 and Jaccard, the labels with a probability
        above a common threshold; or, for all but the Hamming loss, from sets drawn at random.
    threshold : float, default 0.5
        For way "threshold"; `best_threshold` finds one on held-out data.
    allow_empty : bool
        Whether the set without labels may be given.
    n_samples : int, default 1000
        Sets drawn for each point, for way "sample".
    random_state : int, default 0
        Seed, likewise.
    seeds : uint64 array of shape (n,), optional
        A seed for each point instead, such as `longtail.marginal.row_seeds` makes of X; by default
        they come from `random_state` and the numbers of the points.
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Returns
    -------
    bool array of shape (n, L)

    Notes
    -----
    With way "joint", the sets for subset accuracy, Hamming loss and F1 are the best of all 2^L. For
    the Jaccard index no efficient exact method is known: the search starts from the best prefix of
    the labels by falling probability, from the set that is best for F1 and from the most probable
    set, and adds or takes away labels as long as the exact expectation rises.

    With S the sizes of sets that occur, a point costs O(K·L) for the Hamming loss and thresholds,
    O(K·L·S) for F1, and O(K·L·S) a step of the search for Jaccard; from samples O(n_samples·L) and
    O(n_samples·L) a step. The cost of F1 is linear in L for sets of bounded size, so "sample" pays
    only where sets are large.

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
    _check_choices(target, way, threshold)
    check_count(n_samples=n_samples)
    check_seed(random_state)
    if target == "subset":
        if way == "sample":
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
    if target == "hamming" or way == "threshold":
        level = 0.5 if target == "hamming" else float(threshold)
        return above_threshold(marginals(weights, odds), level, allow_empty=allow_empty)
    n, _, n_labels = odds.shape
    sets, values = np.zeros((n, n_labels), dtype=np.bool_), np.zeros(n)
    empty = bool(allow_empty)

    if way == "sample":
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
    if target == "jaccard" and way == "joint":
        modes = most_probable_sets(
            weights, odds, allow_empty=empty, max_visits=_LOOK, n_jobs=n_jobs
        )
        starts = np.stack([sets, modes.sets[:, 0]], axis=1)

        def climb(part: slice) -> None:
            jaccard_sets(weights[part], odds[part], starts[part], empty, sets[part], values[part])

        _in_blocks(climb, n, n_jobs)
    return sets


def marginals(log_weights: Any, log_odds: Any) -> NDArray[np.float64]:
    """The probability of each label at each point, (n, L). O(n·K·L).

    Parameters
    ----------
    log_weights, log_odds : arrays of shape (n, K) and (n, K, L)
        As for `optimal_sets`.

    Examples
    --------
    >>> odds = np.array([[[0.0, np.log(4)], [0.0, -np.log(4)]]])
    >>> marginals(np.log([[0.5, 0.5]]), odds).round(3).tolist()
    [[0.5, 0.5]]
    """
    weights, odds = _checked(log_weights, log_odds)
    out = np.empty((odds.shape[0], odds.shape[2]))
    mixture_marginals(weights, odds, out)
    return out


def label_correlations(log_weights: Any, log_odds: Any) -> NDArray[np.float64]:
    """Pearson correlations between the labels of one point, (L, L), by the paper's formula (5).

    Parameters
    ----------
    log_weights, log_odds : arrays of shape (K,) and (K, L)
        One point's mixture, for instance of a few labels only.

    Returns
    -------
    array of shape (L, L)
        Ones on the diagonal; zero where a label is certain. O(K·L²).

    Examples
    --------
    Labels are independent in each of the two components, but not in the mixture:

    >>> odds = np.array([[2.0, 2.0], [-2.0, -2.0]])
    >>> label_correlations(np.log([0.5, 0.5]), odds).round(2).tolist()
    [[1.0, 0.58], [0.58, 1.0]]
    """
    weights, odds = np.asarray(log_weights, dtype=np.float64), np.asarray(log_odds)
    if weights.ndim != 1 or odds.ndim != 2:
        raise InputError(
            f"Weights of shape (K,) and log-odds of shape (K, L) of one point are needed, not "
            f"{weights.shape} and {odds.shape}."
        )
    _checked(weights[None], odds[None])
    shares, chances = np.exp(weights - logsumexp(weights)), expit(odds.astype(np.float64))
    mean = shares @ chances
    away = chances - mean
    covariance = (away * shares[:, None]).T @ away
    spread = np.sqrt(mean * (shares @ expit(-odds.astype(np.float64))))
    scale = np.outer(spread, spread)
    out = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(out, 1.0)
    return np.clip(out, -1.0, 1.0)


def draw_sets(
    log_weights: Any,
    log_odds: Any,
    *,
    n_samples: int = 1,
    random_state: int = 0,
    seeds: NDArray[np.uint64] | None = None,
) -> NDArray[np.bool_]:
    """Label sets drawn from each point's mixture, (n, n_samples, L).

    Parameters
    ----------
    log_weights, log_odds : arrays of shape (n, K) and (n, K, L)
        As for `optimal_sets`.
    n_samples : int
        Sets for each point.
    random_state : int
        Seed.
    seeds : uint64 array of shape (n,), optional
        As for `optimal_sets`.

    Notes
    -----
    O(K·L + n_samples·(K + L)) a point.

    Examples
    --------
    >>> drawn = draw_sets(np.log([[0.5, 0.5]]), [[[9.0, -9.0], [-9.0, 9.0]]], n_samples=4000)
    >>> drawn.mean(axis=1).round(1).tolist()
    [[0.5, 0.5]]
    """
    weights, odds = _checked(log_weights, log_odds)
    check_count(n_samples=n_samples)
    out = np.empty((odds.shape[0], n_samples, odds.shape[2]), dtype=np.bool_)
    draw(weights, odds, point_seeds(len(weights), random_state, seeds), out)
    return out


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
    probabilities: Any, Y: Any, measure: Target, *, allow_empty: bool = True
) -> tuple[float, float]:
    """The common threshold on probabilities that is the best on given labels, exactly.

    Parameters
    ----------
    probabilities : array or sparse matrix of shape (n, L)
        Of each label at each point; what is not stored is never predicted.
    Y : array or sparse matrix of shape (n, L)
        The true labels, 0 or 1.
    measure : {"f1", "jaccard", "hamming", "subset"}
        Mean over points; of the Hamming loss, the smallest.
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
    _check_choices(measure, "joint", 0.5)
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
        get_args(Target).index(measure),
    )  # fmt: skip
    return float(threshold), float(-value / n_labels if measure == "hamming" else value)


def _in_blocks(work: Callable[[slice], None], n: int, n_jobs: int | None) -> None:
    run_threads(
        lambda first, _: work(slice(first, min(first + BLOCK, n))),
        range(0, n, BLOCK),
        n_jobs=n_jobs,
        done=lambda *_: None,
        limit_blas=False,
    )


def _check_choices(target: Any, way: Any, threshold: Any) -> None:
    for name, value, kind in (("target", target, Target), ("way", way, Way)):
        if value not in get_args(kind):
            raise ParameterError(f"{name} must be one of {get_args(kind)}, not {value!r}.")
    if isinstance(threshold, bool) or not (
        isinstance(threshold, int | float | np.number) and 0 <= threshold <= 1
    ):
        raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}.")
