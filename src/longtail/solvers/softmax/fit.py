"""`fit_softmax`: one multinomial logistic regression on one X, with hard or soft targets.

    strength/2·‖W‖² + Σ_i weight_i · (-Σ_k t_ik log softmax(W'x̃_i)_k),

where x̃ is x with a constant feature for the bias, which is penalised like every weight. The
minimum is unique: the penalty settles what the softmax leaves open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax

from longtail._sparse import as_csr
from longtail.errors import ConvergenceWarning, InputError, warn
from longtail.parameters import check_count, check_positive
from longtail.runtime.checkpoint import LatestState, fingerprint, is_like
from longtail.runtime.executor import thread_count
from longtail.runtime.libraries import one_thread
from longtail.runtime.run import Run
from longtail.solvers._product_kernels import scores_of_rows
from longtail.solvers.points import (
    check_bias,
    check_same_rows,
    check_start,
    check_weights,
    checked_points,
)
from longtail.solvers.softmax.loss import SoftmaxLoss, working_type
from longtail.solvers.softmax.minimise import Minimum, minimise
from longtail.solvers.softmax.quasi_newton import descend
from longtail.solvers.softmax.rounded import floors
from longtail.solvers.softmax.score_maps import DENSE_SHARE, preconditioner, score_map

SUM_TOLERANCE = 1e-5  # by which a row of targets may miss one
PER_PARAMETER = 8  # probabilities that a rare class keeps for the Hessian, for each of its weights
CLOSE = 5e-3  # norm of the gradient, relative to that at zero, that is left to Newton's steps
ROUNDING = 1e-15  # of the weight of all points: a gradient that is none

_Array = NDArray[Any]


@dataclass(frozen=True)
class SoftmaxFit:
    """The weights and what it took.

    Attributes
    ----------
    weights : array of shape (D + 1, K)
        One column per class; the last row is the bias.
    objective : float
        Value of the objective, penalty included.
    violation : float
        Norm of the gradient, relative to that at W = 0.
    iterations : int
        Newton steps.
    converged : bool
        Whether the violation is within the tolerance.
    """

    weights: NDArray[Any]
    objective: float
    violation: float
    iterations: int
    converged: bool


def fit_softmax(
    X: Any,
    targets: Any,
    *,
    sample_weight: Any = None,
    strength: float = 1.0,
    bias: float = 1.0,
    warm_start: Any = None,
    tol: float = 1e-4,
    max_iter: int = 100,
    dtype: Any = np.float32,
    n_jobs: int | None = None,
    run: Run | None = None,
) -> SoftmaxFit:
    """Minimise strength/2·‖W‖² + Σ_i weight_i·(-Σ_k t_ik log softmax(W'x̃_i)_k).

    Parameters
    ----------
    X : sparse matrix or array of shape (N, D)
        Where more than three tenths of it are stored, a dense copy is made for the products.
    targets : sparse matrix or array of shape (N, K)
        Each row a distribution over the classes: a single one, or shares that add up to one.
    sample_weight : array of shape (N,), optional
        Weights of the points. Points of weight zero are left out.
    strength : float
        Weight of the penalty; 1/C in liblinear's words.
    bias : float
        Value of the constant feature whose weight is the bias; 0 for none.
    warm_start : array of shape (D + 1, K), optional
        Weights to start from, such as `SoftmaxFit.weights` of an earlier fit.
    tol : float
        The problem is solved once the norm of the gradient is at most this times that at W = 0.
        With a tolerance from 1e-5 on, scores are single precision where there are more than four
        million of them; sums over points are always double.
    max_iter : int
        Limit on Newton steps; if it is hit, a warning says so.
    dtype : dtype
        Of the weights that are returned.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it.
    run : Run, optional
        Progress callback, and where the weights are kept after every step.

    Returns
    -------
    SoftmaxFit

    Notes
    -----
    Cost: O(nnz(X)·K) per product with the Hessian, 5 to 100 of them per Newton step, some 5 to 30
    steps from nothing and two or three from a good start. Memory: about twelve arrays of (D + 1)·K,
    where features that no point has do not count; and N·K probabilities, where they fit in 1 GB. Of
    some thousand classes and more, products with the Hessian go by rounded probabilities, see
    `longtail.solvers.softmax.rounded`, at a tenth of the cost or less.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> fit = fit_softmax(X, [[1, 0, 0], [0, 1, 0], [0, 0.2, 0.8]], strength=0.1)
    >>> fit.weights.shape, fit.converged
    ((3, 3), True)
    >>> softmax_logs(X, fit.weights).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    check_positive(strength=strength, tol=tol)
    check_bias(bias)
    check_count(max_iter=max_iter)
    thread_count(n_jobs)
    run = run or Run()
    rows, wanted, weights = _checked(X, targets, sample_weight)
    n_features, n_classes = rows.shape[1], wanted.shape[1]
    start = _checked_start(warm_start, (n_features + 1, n_classes))
    weighing = np.flatnonzero(weights)
    if not len(weighing):
        return SoftmaxFit(np.zeros((n_features + 1, n_classes), dtype=dtype), 0.0, 0.0, 0, True)
    if len(weighing) < len(weights):
        rows, wanted, weights = rows[weighing], wanted[weighing], weights[weighing]
    used = np.flatnonzero(np.bincount(rows.indices, minlength=n_features))
    if len(used) < n_features:
        rows = as_csr(rows[:, used])
    shape = (len(used) + 1, n_classes)
    largest = float(np.abs(rows.data).max(initial=bias))
    kind = working_type(rows.shape[0] * n_classes, tol, largest)
    below = None
    if kind == np.float32:
        below = floors(weights @ wanted, len(weighing), PER_PARAMETER * shape[0])
    loss = SoftmaxLoss(
        score_map(rows, bias, n_classes, kind), wanted, weights, strength=float(strength),
        dtype=kind, n_parameters=shape[0] * shape[1],
        precondition=preconditioner(rows, weights, bias, float(strength)), floors=below,
        n_jobs=n_jobs,
    )  # fmt: skip
    settings = (float(strength), float(bias), float(tol), int(max_iter))
    given = start
    states = LatestState(
        run, lambda: fingerprint(
            X=rows, shape=(n_features, n_classes), targets=wanted, weights=weights, start=given,
            settings=settings,
        ),
    )  # fmt: skip
    with loss.running():
        if start is not None:
            start = start[np.append(used, n_features)]
        minimum, scale = solve(
            loss, shape, start, _shares(wanted, weights, bias), tol, max_iter, states, run,
            far=below is not None,
        )  # fmt: skip
    fit = SoftmaxFit(
        weights=np.zeros((n_features + 1, n_classes), dtype=dtype),
        objective=minimum.value,
        violation=minimum.gradient_norm / scale,
        iterations=minimum.steps,
        converged=minimum.converged,
    )
    fit.weights[np.append(used, n_features)] = minimum.point
    if not fit.converged:
        warn_of("The multinomial regression", minimum, scale)
    return fit


def softmax_logs(X: Any, weights: NDArray[Any], *, bias: float = 1.0) -> NDArray[np.float64]:
    """The logarithm of the probability of each class. O(nnz(X)·K), for all points at once.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, D)
    weights : array of shape (D + 1, K)
        The bias last.
    bias : float
        Value of the constant feature.

    Returns
    -------
    float64 array of shape (n, K)
        The caller keeps n small where K is large.

    Examples
    --------
    >>> softmax_logs([[1.0]], np.array([[0.0, 0.0], [0.0, 0.0]])).round(3).tolist()
    [[-0.693, -0.693]]
    """
    rows = as_csr(X, dtype=np.float64)
    if weights.shape[0] != rows.shape[1] + 1:
        raise InputError(
            f"The weights are for {weights.shape[0] - 1} features, X has {rows.shape[1]}."
        )
    W = np.asarray(weights)
    if rows.nnz > DENSE_SHARE * rows.shape[0] * rows.shape[1]:
        with one_thread():
            scores = rows.toarray() @ W[:-1].astype(np.float64)
        scores += bias * W[-1].astype(np.float64)
    else:
        scores = np.empty((rows.shape[0], W.shape[1]))
        scores_of_rows(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, float(bias),
            np.ascontiguousarray(W, dtype=W.dtype if W.dtype == np.float32 else np.float64), 0,
            scores,
        )  # fmt: skip
    return log_softmax(scores, axis=1)


def solve(
    loss: SoftmaxLoss,
    shape: tuple[int, ...],
    start: NDArray[np.float64] | None,
    guess: NDArray[np.float64],
    tol: float,
    max_iter: int,
    states: LatestState,
    run: Run,
    *,
    far: bool = False,
) -> tuple[Minimum, float]:
    """Minimise the loss from the best start there is; the minimum, and the gradient at zero.

    `guess` is a bias to start from, where there is no other start. `far` says that it is a long way
    for Newton's method, of which the first part is gone by `descend`.
    """
    origin = np.zeros(shape)
    value, gradient = loss.evaluate(origin)
    scale = float(np.linalg.norm(gradient))
    if scale <= ROUNDING * loss.total_weight:  # nothing to learn
        run.report("training", max_iter, max_iter)
        return Minimum(origin, value, 0.0, 0, True), 1.0
    steps, rounds, radius = 0, 0, None
    found = states.read(lambda arrays: arrays if _is_sound(arrays, shape) else None)
    if found is not None:
        start, steps, rounds = found["point"], int(found["steps"][0]), int(found["rounds"][0])
        radius = float(found["radius"][0]) if steps else None
        if found["exact"][0] and not loss.is_exact:
            loss.sharpen()
    elif start is None:
        start = origin.copy()
        start.reshape(-1)[start.size - len(guess) :] = guess
        if loss.evaluate(start)[0] > value:
            start = origin
    run.report("training", min(steps, max_iter), max_iter)

    def keep(point: NDArray[np.float64], radius: float, steps: int, rounds: int = 0) -> None:
        states.write(lambda: _state(point, radius, steps, rounds, loss.is_exact))
        run.report("training", min(steps, max_iter), max_iter)

    if far and not steps:
        start = descend(
            loss, start, enough=max(tol, CLOSE) * scale, noise=loss.noise, done=rounds,
            after_round=lambda point, done: keep(point, math.inf, 0, done),
        )  # fmt: skip
    minimum = minimise(
        loss, start, enough=tol * scale, scale=scale, max_iter=max_iter, noise=loss.noise,
        steps=steps, radius=radius, after_step=keep,
        sharpen=None if loss.is_exact else loss.sharpen,
    )  # fmt: skip
    run.report("training", max_iter, max_iter)
    return minimum, scale


def warn_of(what: str, minimum: Minimum, scale: float) -> None:
    """Say in one sentence that a problem was not solved."""
    warn(
        f"{what} ended after {minimum.steps} iterations, or for lack of precision, with a gradient "
        f"of {minimum.gradient_norm / scale:.1e} of that at zero; scale the features, raise "
        "strength (lower C) or raise the limit.",
        ConvergenceWarning,
    )


def _state(
    point: NDArray[np.float64], radius: float, steps: int, rounds: int, exact: bool
) -> dict[str, _Array]:
    parts = {"radius": float(radius), "steps": steps, "rounds": rounds, "exact": exact}
    return {"point": point} | {key: np.array([value]) for key, value in parts.items()}


def _is_sound(found: dict[str, _Array], shape: tuple[int, ...]) -> bool:
    return (
        is_like(found, _state(np.empty(shape), 1.0, 0, 0, True))
        and bool(np.isfinite(found["point"]).all())
        and bool(found["radius"][0] > 0)
        and bool(found["steps"][0] >= 0)
        and bool(found["rounds"][0] >= 0)
    )


def _shares(
    targets: sp.csr_array, weights: NDArray[np.float64], bias: float
) -> NDArray[np.float64]:
    """The bias that gives every class its share of the points; nothing where there is none."""
    if bias == 0:
        return np.empty(0)
    logs = np.log(weights @ targets + 0.5)
    return (logs - logs.mean()) / bias


def _checked(
    X: Any, targets: Any, sample_weight: Any
) -> tuple[sp.csr_array, sp.csr_array, NDArray[np.float64]]:
    rows = checked_points(X)
    wanted = sp.csr_array(as_csr(targets, dtype=np.float64), copy=True)
    wanted.eliminate_zeros()
    check_same_rows(rows, wanted)
    if wanted.shape[1] == 0:
        raise InputError("The targets have no columns; there must be at least one class.")
    if not (np.isfinite(wanted.data) & (wanted.data > 0)).all():
        raise InputError("Targets must be finite and not negative.")
    if sample_weight is None:
        weights = np.ones(rows.shape[0])
    else:
        weights = np.asarray(sample_weight, dtype=np.float64)
        check_weights(weights, weights, (rows.shape[0],))
    sums = np.asarray(wanted.sum(axis=1)).ravel()
    off = (np.abs(sums - 1.0) > SUM_TOLERANCE) & (weights > 0)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise InputError(
            f"Each row of the targets must add up to one; row {row} adds up to {sums[row]:g}."
        )
    wanted.data /= np.repeat(sums, np.diff(wanted.indptr))
    return rows, wanted, weights


def _checked_start(warm_start: Any, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    if warm_start is None:
        return None
    start = warm_start.toarray() if sp.issparse(warm_start) else np.asarray(warm_start)
    start = start.astype(np.float64)
    check_start(start, start, shape)
    return start
