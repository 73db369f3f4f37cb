"""Expectation maximisation for conditional mixtures: Algorithm 1 of the paper.

The E step gives every point's responsibilities, in log space; the M step hands them to the gate and
the experts, of whatever kind. What falls, round by round, is the bound (7), with the penalties of
gate and experts: after an E step it is the negative log-likelihood itself.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from longtail._run import Run
from longtail.engine.executor import run_threads
from longtail.mixtures._likelihood_kernels import set_logs

BLOCK_BYTES = 2**25  # bound on the log-odds of a block of points


class Gate(Protocol):
    """What decides how much each component weighs for a point."""

    def update(self, X: sp.csr_array, responsibilities: NDArray[np.float64], run: Run) -> None:
        """An M step from where it is; responsibilities (n, K) have rows that add up to one."""

    def log_weights(self, X: sp.csr_array) -> NDArray[np.float64]:
        """log π_k(x), (n, K)."""

    def penalty(self) -> float:
        """Its regulariser's part of the objective."""

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""

    def to_arrays(self) -> dict[str, Any]:
        """What the store keeps."""


class Experts(Protocol):
    """What predicts each label within each component."""

    def update(
        self, X: sp.csr_array, Y: sp.csr_array, responsibilities: NDArray[np.float64], run: Run
    ) -> None:
        """An M step from where they are."""

    def log_odds(self, X: sp.csr_array) -> NDArray[np.float64]:
        """The log-odds of every label in every component, (n, K, L)."""

    def penalty(self) -> float:
        """Their regulariser's part of the objective."""

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""

    def to_arrays(self) -> dict[str, Any]:
        """What the store keeps."""


@dataclass
class History:
    """What happened in each round.

    Attributes
    ----------
    bound : list of float
        The bound (7) with the penalties, after the round's E step: what is minimised.
    loss : list of float
        The negative log-likelihood of the training labels, a point.
    held_out : list of float
        The same of held-out points, where there are any.
    """

    bound: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)


class Points:
    """Points with their labels, cut into blocks once.

    Experts may remember what they have said of a block that they are asked about again.

    Parameters
    ----------
    X, Y : csr_arrays of shape (n, D) and (n, L)
    n_components : int
        K, which decides how large a block may be; blocks do not depend on the number of threads.
    """

    def __init__(self, X: sp.csr_array, Y: sp.csr_array, n_components: int) -> None:
        labels = sp.csr_array(Y)
        self.X, self.Y = X, labels
        self.indptr = labels.indptr.astype(np.int64)
        self.indices = labels.indices.astype(np.int64)
        self.size = block_size(n_components, labels.shape[1])
        self.blocks = [X[at : at + self.size] for at in range(0, X.shape[0], self.size)]

    def joint_logs(
        self, gate: Gate, experts: Experts, *, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """log π_k(x) + log p(y | x, k) of each point and component, (n, K). O(n·K·L)."""
        out = np.concatenate([gate.log_weights(block) for block in self.blocks])

        def work(number: int, stop: NDArray[np.int8]) -> None:
            first = number * self.size
            odds = experts.log_odds(self.blocks[number])
            set_logs(odds, self.indptr, self.indices, first, out[first : first + self.size])

        run_threads(work, range(len(self.blocks)), n_jobs=n_jobs, done=lambda *_: None)
        return out


def joint_logs(
    gate: Gate, experts: Experts, X: sp.csr_array, Y: sp.csr_array, *, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """`Points.joint_logs` of points that are looked at once."""
    n_components = gate.log_weights(X[:1]).shape[1]
    return Points(X, Y, n_components).joint_logs(gate, experts, n_jobs=n_jobs)


def block_size(n_components: int, n_labels: int) -> int:
    """Points whose log-odds fit in a block.

    Examples
    --------
    >>> block_size(32, 1024)
    128
    """
    return max(1, BLOCK_BYTES // (8 * n_components * n_labels))


def maximise(
    gate: Gate,
    experts: Experts,
    X: sp.csr_array,
    Y: sp.csr_array,
    responsibilities: NDArray[np.float64],
    *,
    max_rounds: int,
    tol: float,
    held_out: tuple[sp.csr_array, sp.csr_array] | None = None,
    patience: int = 3,
    n_jobs: int | None = None,
    run: Run | None = None,
) -> tuple[Gate, Experts, NDArray[np.float64], History]:
    """M and E steps in turn, from given responsibilities.

    Parameters
    ----------
    gate, experts : Gate, Experts
        Not changed: an update puts new parts in the place of the old ones, in a copy.
    X, Y : csr_arrays of shape (n, D) and (n, L)
    responsibilities : array of shape (n, K)
        Rows that add up to one.
    max_rounds : int
        Limit on rounds.
    tol : float
        It ends when a round lowers the bound by less than this share of it.
    held_out : pair of csr_arrays, optional
        Points and labels: it ends too when their likelihood has not risen for `patience` rounds,
        and the best round is returned. Without them it is the last but for one that raised the
        bound, which inexact M steps may do.
    patience : int
        See `held_out`.
    n_jobs : int, optional
        Threads.
    run : Run, optional
        Told after every round.

    Returns
    -------
    gate, experts : Gate, Experts
    responsibilities : array of shape (n, K)
        After the E step with these.
    history : History
    """
    run = run or Run()
    history = History()
    gate, experts = copy(gate), copy(experts)
    points = Points(X, Y, responsibilities.shape[1])
    unseen = None if held_out is None else Points(*held_out, responsibilities.shape[1])
    best = gate, experts, responsibilities
    for done in range(1, max_rounds + 1):
        gate.update(X, responsibilities, run)
        experts.update(X, Y, responsibilities, run)
        logs = points.joint_logs(gate, experts, n_jobs=n_jobs)
        of_point = logsumexp(logs, axis=1)
        responsibilities = np.exp(logs - of_point[:, None])
        loss = -float(of_point.sum())
        history.loss.append(loss / len(of_point))
        history.bound.append(loss + gate.penalty() + experts.penalty())
        run.report("rounds", done, max_rounds)
        behind = 0
        if unseen is not None:
            logs = unseen.joint_logs(gate, experts, n_jobs=n_jobs)
            history.held_out.append(-float(logsumexp(logs, axis=1).mean()))
            behind = len(history.held_out) - 1 - int(np.argmin(history.held_out))
            if behind >= patience:
                break
        rose = done > 1 and history.bound[-1] > history.bound[-2]
        if not behind and (unseen is not None or not rose):
            best = copy(gate), copy(experts), responsibilities
        if done > 1 and history.bound[-2] - history.bound[-1] < tol * abs(history.bound[-1]):
            break
    return *best, history
