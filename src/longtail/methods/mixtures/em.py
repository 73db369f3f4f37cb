"""Expectation maximisation for conditional mixtures: Algorithm 1 of the paper.

The E step gives every point's responsibilities, in log space; the M step passes them to the gate
and the experts, of any kind. Each round lowers the bound (7), with the penalties of gate and
experts; after an E step the bound is the negative log-likelihood itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import logsumexp

from longtail.errors import ModelError
from longtail.methods._soundness import is_array
from longtail.methods.mixtures._saved import packed, settings_of, unpacked
from longtail.methods.mixtures._target_kernels import set_logs
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.executor import run_threads
from longtail.runtime.run import Run

BLOCK_BYTES = 2**25  # bound on the log-odds of a block of points


class Part(Protocol):
    """What gate and experts have in common."""

    def penalty(self) -> float:
        """Its regulariser's part of the objective."""

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""

    def to_arrays(self) -> dict[str, Any]:
        """The learned arrays, exactly; `from_arrays` is the inverse."""


class Gate(Part, Protocol):
    """Computes the weight of each component for a point."""

    def update(self, X: sp.csr_array, responsibilities: NDArray[np.float64]) -> None:
        """An M step from the current state; responsibilities (n, K) have rows with sum one."""

    def log_weights(self, X: sp.csr_array) -> NDArray[np.float64]:
        """log π_k(x), (n, K)."""


class Experts(Part, Protocol):
    """Predicts each label within each component."""

    def update(
        self, X: sp.csr_array, Y: sp.csr_array, responsibilities: NDArray[np.float64], run: Run
    ) -> None:
        """An M step from the current state."""

    def log_odds(self, X: sp.csr_array) -> NDArray[np.float64]:
        """The log-odds of every label in every component, (n, K, L)."""


@dataclass
class History:
    """What happened in each round.

    `bound` is the bound (7) with the penalties, after the round's E step: what is minimised; `loss`
    the negative log-likelihood per training point; `held_out` the same for held-out points, if any.
    """

    bound: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The lowest held-out loss, or bound where nothing is held out."""
        return min(self.held_out or self.bound)


@dataclass
class State:
    """The state of expectation maximisation between two rounds.

    `gate`, `experts` and `responsibilities` are of the last round; `best` has those of
    `best_round`, 0 before the first: the result if training ended now.
    """

    gate: Gate
    experts: Experts
    responsibilities: NDArray[np.float64]
    best: tuple[Gate, Experts, NDArray[np.float64]]
    best_round: int = 0
    ended: bool = False
    history: History = field(default_factory=History)

    @property
    def rounds(self) -> int:
        """Rounds done."""
        return len(self.history.bound)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The whole state, for a checkpoint."""
        arrays = {
            "progress": np.array([self.best_round, self.ended], dtype=np.int64),
            **{name: np.array(values, dtype=float) for name, values in vars(self.history).items()},
            **_mixture_arrays("last", self.gate, self.experts, self.responsibilities),
        }
        if self.best_round < self.rounds:
            arrays |= _mixture_arrays("best", *self.best)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], start: State) -> Self:
        """The inverse; raises `ModelError` if the arrays do not fit this start."""
        history = History(*(_numbers(arrays.get(name), 1).tolist() for name in vars(History())))
        rounds = len(history.bound)
        progress = arrays.get("progress", np.empty(0))
        if (
            progress.shape != (2,)
            or progress.dtype != np.int64
            or not 1 <= progress[0] <= rounds
            or len(history.loss) != rounds
            or len(history.held_out) not in (0, rounds)
        ):
            raise ModelError("The checkpoint does not say which round it is of.")
        best_round, ended = progress.tolist()
        gate, experts, shares = last = _mixture_of("last", arrays, start)
        if best_round == rounds:
            best = copy(gate), copy(experts), shares
        else:
            best = _mixture_of("best", arrays, start)
        return cls(*last, best, best_round, bool(ended), history)


def _mixture_arrays(
    name: str, gate: Gate, experts: Experts, responsibilities: NDArray[np.float64]
) -> dict[str, NDArray[Any]]:
    parts = packed(f"{name}.gate", gate) | packed(f"{name}.experts", experts)
    return parts | {f"{name}.responsibilities": responsibilities}


def _mixture_of(
    name: str, arrays: Mapping[str, NDArray[Any]], start: State
) -> tuple[Gate, Experts, NDArray[np.float64]]:
    shares = _numbers(arrays.get(f"{name}.responsibilities"), 2)
    if shares.shape != start.responsibilities.shape:
        raise ModelError("The checkpoint is of another number of points or components.")
    gate = unpacked(f"{name}.gate", arrays, start.gate)
    return gate, unpacked(f"{name}.experts", arrays, start.experts), shares


def _numbers(array: Any, ndim: int) -> NDArray[np.float64]:
    """A copy of an array of finite numbers."""
    if not is_array(array, (None,) * ndim, np.float64, finite=True):
        raise ModelError("The checkpoint lacks numbers, or they are none.")
    return np.array(array)


class Points:
    """Points with their labels, cut into blocks once.

    Experts may remember their results for a block and use them again. The number of components
    decides how large a block may be; blocks do not depend on the number of threads.
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

        def work(number: int) -> None:
            first = number * self.size
            odds = experts.log_odds(self.blocks[number])
            set_logs(odds, self.indptr, self.indices, first, out[first : first + self.size])

        run_threads(work, range(len(self.blocks)), n_jobs=n_jobs)
        return out


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

    Gate and experts are not changed: an update replaces parts of a copy. It ends when a round
    lowers the bound by less than the share `tol` of it. With `held_out` points and labels it also
    ends when their likelihood has not risen for `patience` rounds, and the best round is returned.
    Without them, the last round is returned, or the one before if the last raised the bound, which
    inexact M steps may do. `run` is told after every round; its checkpoint, if any, then has the
    state of the round. The responsibilities returned are those after the E step.
    """
    run = run or Run()
    state = State(
        copy(gate), copy(experts), responsibilities, best=(gate, experts, responsibilities)
    )
    states = LatestState(
        run, lambda: fingerprint(
            X=X, Y=Y, responsibilities=responsibilities,
            settings=(settings_of(gate), settings_of(experts), max_rounds, tol, patience),
            **dict(zip(("unseen_X", "unseen_Y"), held_out or (), strict=False)),
            **packed("gate", gate), **packed("experts", experts),
        ),
    )  # fmt: skip
    start = state
    state = states.read(lambda arrays: State.from_arrays(arrays, start)) or start
    run.report("rounds", state.rounds, max_rounds)
    points = Points(X, Y, responsibilities.shape[1])
    unseen = None if held_out is None else Points(*held_out, responsibilities.shape[1])
    while state.rounds < max_rounds and not state.ended:
        _do_round(state, points, unseen, tol=tol, patience=patience, n_jobs=n_jobs, run=run)
        states.write(state.to_arrays)
        run.report("rounds", state.rounds, max_rounds)
    return *state.best, state.history


def _do_round(
    state: State, points: Points, unseen: Points | None, *,
    tol: float, patience: int, n_jobs: int | None, run: Run,
) -> None:  # fmt: skip
    """An M step, an E step, and their result."""
    gate, experts, history = state.gate, state.experts, state.history
    gate.update(points.X, state.responsibilities)
    experts.update(points.X, points.Y, state.responsibilities, run)
    logs = points.joint_logs(gate, experts, n_jobs=n_jobs)
    of_point = logsumexp(logs, axis=1)
    state.responsibilities = np.exp(logs - of_point[:, None])
    loss = -float(of_point.sum())
    history.loss.append(loss / len(of_point))
    history.bound.append(loss + gate.penalty() + experts.penalty())
    behind = 0
    if unseen is not None:
        logs = unseen.joint_logs(gate, experts, n_jobs=n_jobs)
        history.held_out.append(-float(logsumexp(logs, axis=1).mean()))
        behind = state.rounds - 1 - int(np.argmin(history.held_out))
    fallen = np.inf if state.rounds == 1 else history.bound[-2] - history.bound[-1]
    if not behind and (unseen is not None or fallen >= 0):
        state.best = copy(gate), copy(experts), state.responsibilities
        state.best_round = state.rounds
    state.ended = behind >= patience or fallen < tol * abs(history.bound[-1])
