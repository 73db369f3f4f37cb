"""A metric of label vectors with large margins, by an accelerated proximal gradient method.

The points are given as outputs u_i of regressions on the label vectors y_i (or on fewer
coordinates of these). With squared distances d_Q(u, y) = (u - y)'Q(u - y) the metric Q minimises

    F(Q) = ½ tr Q + C/n · Σ_i Σ_{j ∈ N(i)} max(0, Δ_ij - d_Q(u_i, y_j) + d_Q(u_i, y_i))²

over the positive semidefinite matrices: an output should be nearer to its own label vector than to
that of each of its neighbours N(i), by as many labels Δ_ij as the two do not share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.methods.neighbors._metric_kernels import label_losses, margins

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class MarginProblem:
    """The constraints of a metric: outputs, label vectors, and which to hold apart.

    Attributes
    ----------
    outputs : array of shape (n, r)
        u_i.
    targets : array of shape (n, r)
        y_i in the same coordinates.
    neighbours : int array of shape (n, k)
        N(i), -1 for none.
    losses : array of shape (n, k)
        Δ_ij; see `losses_of`.
    C : float
        Weight of the constraints.
    """

    outputs: Matrix
    targets: Matrix
    neighbours: NDArray[np.int64]
    losses: Matrix
    C: float

    def margins(self, Q: Matrix) -> Matrix:
        """d_Q(u_i, y_j) - d_Q(u_i, y_i) of each constraint. O(n·r² + constraints·r)."""
        turned = self.targets @ Q
        lengths = np.einsum("ij,ij->i", turned, self.targets)
        found = np.empty(self.neighbours.shape)
        margins(self.outputs, turned, lengths, self.neighbours, found)
        return found

    def violations(self, Q: Matrix) -> Matrix:
        """By how much each constraint is violated."""
        return np.maximum(self.losses - self.margins(Q), 0.0)

    def smooth_part(self, Q: Matrix) -> tuple[float, Matrix]:
        """C/n times the sum of squares, and the violations."""
        lacking = self.violations(Q)
        return self.C / len(self.outputs) * float(np.vdot(lacking, lacking)), lacking

    def objective(self, Q: Matrix) -> float:
        """F(Q)."""
        return 0.5 * float(np.trace(Q)) + self.smooth_part(Q)[0]

    def gradient(self, lacking: Matrix) -> Matrix:
        """The gradient of the smooth part by the violations. O(n·r² + constraints·r)."""
        n = len(self.neighbours)
        there = self.neighbours >= 0
        ends = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
        weights = sp.csr_array((lacking[there], self.neighbours[there], ends), shape=(n, n))
        given, taken = lacking.sum(axis=1), np.asarray(weights.sum(axis=0)).ravel()
        apart = weights @ self.targets
        apart -= given[:, None] * self.targets
        cross = self.outputs.T @ apart
        own = self.targets.T @ ((taken - given)[:, None] * self.targets)
        return -2.0 * self.C / n * (own - cross - cross.T)


def losses_of(Y: sp.csr_array, neighbours: NDArray[np.int64]) -> Matrix:
    """How many labels each point does not share with each of its neighbours. O(their labels).

    Examples
    --------
    >>> losses_of(sp.csr_array([[1, 0, 1], [0, 1, 1]]), np.array([[1], [0]])).tolist()
    [[2.0], [2.0]]
    """
    losses = np.empty(neighbours.shape)
    label_losses(Y.indptr.astype(np.int64), Y.indices, neighbours, losses)
    return losses


@dataclass(frozen=True)
class LearnedMetric:
    """A metric and the course of its training.

    Attributes
    ----------
    Q : array of shape (r, r)
        Symmetric, positive semidefinite.
    factor : array of shape (r, rank)
        V with Q = VV', columns of falling length.
    objective : array
        F at the start and after every step; it never rises.
    """

    Q: Matrix
    factor: Matrix
    objective: Matrix


def learn_metric(
    problem: MarginProblem,
    *,
    eta: float = 0.4,
    tol: float = 1e-4,
    max_iter: int = 100,
    report: Callable[[int], Any] | None = None,
) -> LearnedMetric:
    """Minimise F over the positive semidefinite matrices, starting from the identity.

    Parameters
    ----------
    problem : MarginProblem
    eta : float
        Between 0 and 1. Each step first tries a step size larger by 1/eta than the last one and
        makes it smaller by eta until the quadratic model bounds F.
    tol : float
        Stop once F falls by no more than this share of itself, three times in a row.
    max_iter : int
        Limit on steps.
    report : callable, optional
        Told the number of finished steps.

    Returns
    -------
    LearnedMetric

    Notes
    -----
    The proximal step of ½ tr over the positive semidefinite matrices takes eigenvalues λ to max(λ -
    ½t, 0) for a step size t. A step that would raise F is not taken, but still influences the next
    one (the monotone version of the accelerated method, Beck & Teboulle 2009). A step costs several
    times O(n·r² + constraints·r + r³).

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0], [0, 1]])
    >>> others = np.array([[1], [0]])
    >>> outputs = np.array([[0.4, 0.3], [0.3, 0.4]])
    >>> problem = MarginProblem(outputs, Y.toarray() * 1.0, others, losses_of(Y, others), C=10.0)
    >>> learned = learn_metric(problem)
    >>> int((problem.violations(np.eye(2)) > 0.5).sum()), bool((learned.Q == learned.Q.T).all())
    (2, True)
    >>> problem.margins(learned.Q).round(1).ravel().tolist()
    [1.9, 1.9]
    """
    Q = np.eye(problem.outputs.shape[1])
    value = problem.objective(Q)
    values, ahead, momentum, step, calm = [value], Q, 1.0, 1.0, 0
    for done in range(1, max_iter + 1):
        smooth, lacking = problem.smooth_part(ahead)
        slope = problem.gradient(lacking)
        step /= eta
        while True:
            trial = _shrunk(ahead - step * slope, 0.5 * step)
            change = trial - ahead
            here, _ = problem.smooth_part(trial)
            bound = smooth + float(np.vdot(slope, change))
            bound += float(np.vdot(change, change)) / (2 * step)
            if here <= bound + 1e-12 * abs(smooth) or step < 1e-300:
                break
            step *= eta
        reached = 0.5 * float(np.trace(trial)) + here
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        new = trial if reached <= value else Q
        ahead = new + (momentum / following) * (trial - new)
        ahead += ((momentum - 1.0) / following) * (new - Q)
        momentum, Q = following, new
        fall = value - min(reached, value)
        value = min(reached, value)
        values.append(value)
        if report is not None:
            report(done)
        calm = calm + 1 if fall <= tol * abs(value) else 0
        if calm == 3:
            break
    return LearnedMetric(Q, _factor(Q), np.array(values))


def _shrunk(matrix: Matrix, amount: float) -> Matrix:
    """The matrix with its eigenvalues lowered, but not below zero; exactly symmetric."""
    values, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T), check_finite=False)
    kept = values > amount
    half = vectors[:, kept] * np.sqrt(values[kept] - amount)
    product = half @ half.T
    return np.asarray(0.5 * (product + product.T))


def _factor(Q: Matrix) -> Matrix:
    values, vectors = scipy.linalg.eigh(Q, check_finite=False)
    kept = np.flatnonzero(values > 1e-10 * max(values[-1], 0.0))[::-1]
    if not len(kept):
        kept = np.array([len(values) - 1])
    factor = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    largest = factor[np.abs(factor).argmax(axis=0), np.arange(len(kept))]
    return np.asarray(factor * np.where(largest < 0, -1.0, 1.0))
