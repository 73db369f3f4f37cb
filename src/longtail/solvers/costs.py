"""What the solvers will need, estimated before they run.

Memory is summed over the arrays that a solver makes; how many weights a linear problem will keep is
not known in advance and is estimated from the features of the points that it will rest on. Seconds
are counts of products times the constants below, measured with `make bench-estimates` on one core
of an ordinary machine: they are right to the order of magnitude.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.runtime.estimates import PRODUCT, SPARSE_PRODUCT, WORKSPACE, Estimate, matrix_bytes
from longtail.runtime.executor import thread_count
from longtail.solvers.linear.direct import direct_bytes, few_and_dense
from longtail.solvers.linear.fit import SOLVERS, block_of
from longtail.solvers.ridge.fit import cheapest_solver, ridge_block
from longtail.solvers.softmax.loss import KEPT_BYTES, lanes_of, working_type
from longtail.solvers.softmax.score_maps import DENSE_SHARE

STORED = 8  # bytes of a stored weight: its value and its feature
SOFTMAX_ARRAYS = 12  # of the size of the weights, that training a softmax holds at once
GRID = 64  # sizes of labels for which features are counted; between them it is interpolated

PULL = {"squared_hinge": (1.0, 0.0, 3.2, 3.5), "logistic": (14.0, 0.33, 0.75, 1.5)}
"""What all points without a label together pull at its weights: (a, b, c, d) is a·C^b, which holds
the bias down, and c·C / (1 + d·C) for each of its points. A feature gets its share by the values
that it has, and no weight where that is less than what is pruned. Set on nine sets of texts and
tags, of six to 240 features per point: the estimate is 0.6 to 2.1 times what is kept for C from
0.1 to 10, and 0.5 to 2.7 times from 0.01 to 100 (`make bench-kept-weights`)."""
UNPRUNED = (8.0, 200.0)
"""Points that the weights of a label rest on where all are kept: so many for each of its own
points, and so many more."""
CHOSEN = (7.5, 0.63, 0.38, 0.18, 0.4)
"""Weights that an l1 penalty leaves, (a, b, c, d, e): a·n**b for a label with n points, where the
strength is c·n**d times the usual length of a row, and less by its power e where it is stronger."""

LOOK = {"dual": 1e-9, "newton": 3e-8, "working_set": 0.0, "proximal_gradient": 1e-6,
        "accelerated": 3e-7}  # fmt: skip
"""Seconds of a problem and a stored value of X."""
PROBLEM = {"dual": 5e-4, "working_set": 1e-4}  # seconds of a problem, whatever its size
USUAL_PROBLEM = 3e-3
DESCENTS = (7e-7, 5e-4)
"""Seconds of the dual solver for a stored value in the points of a label, and for the root of their
number: its working sets grow with them."""
COLUMNS, PRODUCTS = 6e-8, 1e-7
"""Seconds of the l1 solver for a value in the columns that it lets in, some thirty passes over
each, and for a product of two of these columns."""
LONG_ROWS = 6e-9
"""Seconds of the l1 solver for a stored value of X where rows are so long that a bias is dear: then
it stays above the margin, and all points have a slope."""
LOOKS = 25  # products with X, and as many with its transpose, of conjugate gradients
HESSIANS = 100  # products with the Hessian that a softmax takes
GROWING = 3e-9  # seconds of a tree for a value that it looks at
NEWTON = 8  # steps of a direct solution
SWEEP = 3e-9  # seconds of liblinear for a stored value


def features_met(X: sp.csr_array, n_points: Any) -> NDArray[np.float64]:
    """How many features so many points, drawn at random, have between them.

    O(nnz + D), and for each of `n_points` O(distinct numbers of points of a feature).

    Examples
    --------
    >>> X = sp.csr_array(np.eye(4))
    >>> features_met(X, [1, 4]).round(2).tolist()
    [1.0, 2.73]
    """
    wanted = np.asarray(n_points, dtype=np.float64)
    counts = np.bincount(X.indices, minlength=1)
    values, times = np.unique(counts[counts > 0], return_counts=True)
    missed = np.log1p(-np.minimum(values / max(X.shape[0], 1), 1.0 - 1e-12))
    met = [float(times @ -np.expm1(s * missed)) for s in wanted.ravel()]
    return np.reshape(met, wanted.shape)


def features_above(X: sp.csr_array, least: Any) -> NDArray[np.float64]:
    """How many features have values that add up to at least so much. O(nnz + D log D).

    Examples
    --------
    >>> features_above(sp.csr_array([[1.0, 2.0, 0.0], [0.0, 2.0, -1.0]]), [0.5, 1.5, 9.0]).tolist()
    [3.0, 1.0, 0.0]
    """
    sums = np.sort(np.bincount(X.indices, weights=np.abs(X.data), minlength=1))
    return (len(sums) - np.searchsorted(sums, least)).astype(np.float64)


def used_features(X: sp.csr_array) -> int:
    """Features that some point has."""
    return int(np.count_nonzero(np.bincount(X.indices, minlength=1)))


def weights_kept(
    X: sp.csr_array,
    counts: NDArray[Any],
    *,
    loss: str,
    penalty: str,
    prune: float,
    strength: Any = 1.0,
) -> NDArray[np.float64]:
    """About how many weights the problem of a label with so many points keeps, bias included.

    With an l2 penalty, what C, here 1/strength, does to it is estimated only where small weights
    are dropped.
    """
    points = np.asarray(counts, dtype=np.float64)
    if penalty == "l1":
        a, b, c, d, e = CHOSEN
        n = np.maximum(points, 1.0)
        relative = np.asarray(strength) / np.sqrt(mean_square_length(X)) / (c * n**d)
        kept = a * n**b * np.clip(relative, 1e-3, 1e3) ** -e
        return np.where(points > 0, np.minimum(kept, used_features(X)), 0.0) + 1.0
    if loss == "logistic" and prune == 0:  # every point has a part in every weight
        return np.where(points > 0, float(used_features(X)), 0.0) + 1.0
    n = X.shape[0]
    if prune == 0:
        sizes = np.unique(points) if len(points) else np.zeros(1)
        if len(sizes) > GRID:
            sizes = np.geomspace(max(sizes[0], 0.5), sizes[-1], GRID)
        each, more = UNPRUNED
        met = features_met(X, np.minimum(each * sizes + more, n))
        kept = np.interp(points, sizes, met)
    else:
        # Rows of length r with C and weights w are rows of length 1 with C·r² and weights w·r.
        square = mean_square_length(X)
        fixed, power, each, limit = PULL[loss]
        C = np.clip(square / np.asarray(strength), 1e-9, 1e9)
        pull = fixed * C**power + each * points * C / (1 + limit * C)
        kept = features_above(X, prune * square * n / pull)
    return np.where(points > 0, kept, 0.0) + 1.0


def linear_estimate(
    X: sp.csr_array,
    counts: NDArray[Any],
    *,
    loss: str,
    penalty: str = "l2",
    prune: float = 0.0,
    strength: Any = 1.0,
    solver: str | None = None,
    n_jobs: int | None = None,
    **_: Any,
) -> Estimate:
    """What `fit_linear` needs for problems with so many positives each.

    It takes the same description of the problems; what does not matter here is ignored.

    Examples
    --------
    >>> X = sp.random_array((1000, 500), density=0.1, format="csr", random_state=0)
    >>> need = linear_estimate(X, np.full(50, 20), loss="squared_hinge", prune=0.01)
    >>> need.model_bytes <= 50 * 501 * 8, need.reason
    (True, '50 linear problems on 1,000 points of 500 features')
    """
    n, n_features = X.shape
    threads = thread_count(n_jobs)
    known = SOLVERS[penalty, loss]
    if solver is None:
        few = "direct" in known and few_and_dense(n, n_features, X.nnz)
        solver = "direct" if few else next(iter(known))
    trained = int(np.count_nonzero(counts))
    each = weights_kept(X, counts, loss=loss, penalty=penalty, prune=prune, strength=strength)
    stored = float(each.sum())
    # what all problems share
    shared = 8.0 * (n + 1) + 16.0 * float(np.sum(counts)) + 60.0 * len(counts)
    if solver == "direct":
        shared += 8.0 * n * (n_features + 1)
        working = float(direct_bytes(n, n_features))
        seconds = NEWTON * PRODUCT * n * float(n_features) ** 2 * trained
    else:
        width = min(block_of(known[solver][1](n, n_features)), max(len(counts), 1))
        if penalty == "l1":
            shared += float(matrix_bytes(X))  # X by columns
            working = 2.0 * matrix_bytes(X) + 120.0 * n + 32.0 * n_features  # and what is touched
        else:
            shared += 4.0 * X.nnz if solver == "newton" and X.dtype == np.float64 else 0.0
            working = float(width * known[solver][1](n, n_features))
        seconds = _seconds(solver, X, np.asarray(counts, dtype=np.float64), each)
    held = STORED * stored
    peak = shared + max(held + threads * working, 2 * held) + WORKSPACE
    return Estimate(
        int(peak),
        int(held),
        (seconds + PROBLEM.get(solver, USUAL_PROBLEM) * trained) / threads,
        f"{trained:,} linear problems on {n:,} points of {n_features:,} features",
    )


def _seconds(
    solver: str, X: sp.csr_array, counts: NDArray[np.float64], kept: NDArray[np.float64]
) -> float:
    """Of all problems on one thread, beside what each takes whatever its size."""
    points, kept = counts[counts > 0], kept[counts > 0]
    seconds = LOOK[solver] * X.nnz * len(points)
    if solver == "dual":
        stored = X.nnz / max(X.shape[0], 1)
        seconds += math.fsum(DESCENTS[0] * stored * points + DESCENTS[1] * np.sqrt(points))
    elif solver == "working_set":
        length = np.sqrt(mean_square_length(X))
        long = LONG_ROWS * X.nnz * float(np.clip((length - 1.0) / 3.0, 0.0, 1.0))
        columns = COLUMNS * _usual_column(X) * kept
        seconds += math.fsum(columns + PRODUCTS * kept**2 + long)  # in whatever order
    return seconds


def _usual_column(X: sp.csr_array) -> float:
    """Points that have the feature of a stored value, as a geometric mean. O(nnz + D)."""
    counts = np.bincount(X.indices, minlength=1)
    counts = counts[counts > 0]
    return float(np.exp(counts @ np.log(counts) / counts.sum())) if len(counts) else 1.0


def mean_square_length(X: sp.csr_array) -> float:
    """Of the rows of X; 1 if X is empty or zero. O(nnz).

    Examples
    --------
    >>> mean_square_length(sp.csr_array([[3.0, 4.0], [0.0, 5.0]]))
    25.0
    """
    square = float(np.square(X.data, dtype=np.float64).sum()) / max(X.shape[0], 1)
    return square if square > 0 else 1.0


def ridge_estimate(X: sp.csr_array, n_problems: int, *, n_jobs: int | None = None) -> Estimate:
    """What `fit_ridge` needs for so many regressions.

    Examples
    --------
    >>> X = sp.random_array((1000, 500), density=0.1, format="csr", random_state=0)
    >>> ridge_estimate(X, 64).model_bytes == 501 * 64 * 4
    True
    """
    n, n_features = X.shape
    threads = thread_count(n_jobs)
    _, side = cheapest_solver(X, n_problems)
    weights = 4.0 * (n_features + 1) * n_problems
    block = ridge_block(n, n_features + 1) * 8.0 * (5 * (n_features + 1) + n)
    in_row = np.diff(X.indptr).astype(np.float64)
    seconds = SPARSE_PRODUCT * X.nnz * n_problems * (2 if side else LOOKS)
    seconds += PRODUCT * side**3 + SPARSE_PRODUCT * float(in_row @ in_row) * bool(side)
    return Estimate(
        int(weights + threads * block + 24.0 * side**2 + 8.0 * n + WORKSPACE),
        int(weights),
        seconds / threads,
        f"{n_problems:,} regressions on {n:,} points of {n_features:,} features",
    )


def softmax_bytes(n_parameters: int) -> float:
    """Bytes of the arrays that are as large as the parameters: of Newton's method and the lanes.

    Examples
    --------
    >>> softmax_bytes(1000) == (12 + 8) * 8 * 1000
    True
    """
    return 8.0 * n_parameters * (SOFTMAX_ARRAYS + lanes_of(max(n_parameters, 1)))


def softmax_estimate(X: sp.csr_array, n_classes: int, *, n_jobs: int | None = None) -> Estimate:
    """What `fit_softmax` needs for so many classes.

    Examples
    --------
    >>> X = sp.random_array((1000, 500), density=0.1, format="csr", random_state=0)
    >>> need = softmax_estimate(X, 200)
    >>> need.peak_bytes > 12 * 8 * 501 * 200, need.model_bytes == 501 * 200 * 4
    (True, True)
    """
    n, used, threads = X.shape[0], used_features(X) + 1, thread_count(n_jobs)
    item = np.dtype(working_type(n * n_classes, 1e-4, 1.0)).itemsize
    kept = float(item) * n * n_classes
    is_dense = X.nnz > DENSE_SHARE * n * (used - 1)
    dense = float(item) * n * used if is_dense else float(item + 4) * X.nnz
    peak = softmax_bytes(used * n_classes) + min(kept, float(KEPT_BYTES)) + dense
    products = 2.0 * (n * used if is_dense else X.nnz + n) * n_classes
    return Estimate(
        int(peak + WORKSPACE),
        int(4.0 * (X.shape[1] + 1) * n_classes),
        HESSIANS * products * (PRODUCT if is_dense else SPARSE_PRODUCT) / threads,
        f"{n_classes:,} classes on {n:,} points of {used - 1:,} features",
    )


def liblinear_bytes(X: sp.csr_array, *, l1: bool = False, processes: int = 1) -> float:
    """What liblinear holds of X: a copy in double precision, and its own nodes.

    With an l1 penalty the nodes once more, by columns.

    Examples
    --------
    >>> X = sp.csr_array(np.eye(100))
    >>> liblinear_bytes(X, l1=True) > liblinear_bytes(X)
    True
    """
    n, n_features = X.shape
    nodes = 16.0 * (X.nnz + 2 * n) * (2 if l1 else 1)
    return 12.0 * X.nnz + 4.0 * n + processes * (nodes + 24.0 * n + 40.0 * (n_features + 1))
