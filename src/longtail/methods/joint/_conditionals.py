"""One logistic regression per label on X and other labels: the parts of chains and networks.

In training the other labels are known, so the regressions do not depend on each other. But each has
its own columns, so they are solved one by one, several at a time on threads.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ConvergenceWarning, warn
from longtail.runtime.blocks import Blocks
from longtail.runtime.checkpoint import fingerprint
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.runtime.workers import check_running
from longtail.solvers import fit_linear
from longtail.solvers.columns import holds_columns, pack_columns
from longtail.solvers.costs import linear_estimate, weights_kept
from longtail.solvers.linear.direct import few_and_dense

STORED = 12.0  # bytes per weight: its value and its row
COPYING = 2e-7  # seconds per stored value, to build the columns of a label
PIECE = 32  # labels per piece of work and of a checkpoint, at most
PIECES = 64  # pieces wanted, if there are enough labels
KINDS = {"features": np.int32, "values": np.float32, "ends": np.int64}
REPORT = {"gap": np.float64, "iterations": np.int64, "converged": np.bool_}


@dataclass(frozen=True)
class Conditionals:
    """The regressions of all labels.

    `weights` (D + 1, L) of the features, the bias last; entry (j, l) of `label_weights` is the
    weight of label j in the regression of label l; and for each label its proven relative gap (NaN
    without points), Newton steps, and whether it ended within the tolerance.
    """

    weights: sp.csc_array
    label_weights: sp.csc_array
    gap: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]


def conditional_estimate(
    X: sp.csr_array,
    Y: sp.csr_array,
    *,
    C: float,
    prune: float,
    n_chains: int = 1,
    share: float = 0.5,
    n_jobs: int | None = None,
) -> Estimate:
    """Memory and time of the regressions of all labels on X and other labels, for all chains.

    Each has a copy of X with the labels that it sees, and makes several temporary copies.
    """
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    n, seen = X.shape[0], share * float(np.count_nonzero(counts))
    solved: dict[str, Any] = {"loss": "logistic", "prune": prune, "strength": 1.0 / C}
    one = linear_estimate(X, counts[:1], **solved)
    kept, others = (  # a label is a feature among others
        float(weights_kept(part, counts, penalty="l2", **solved).sum()) for part in (X, Y)
    )
    stored = STORED * (kept + share * others) * n_chains
    threads = thread_count(n_jobs)
    working = 8.0 * matrix_bytes(X, Y) + one.peak_bytes
    seconds = linear_estimate(X, counts, **solved).seconds * n_chains
    wider = max(1.5, 1 + share * Y.nnz / max(X.nnz, 1))
    if few_and_dense(n, X.shape[1], X.nnz):
        wider = (1 + seen / X.shape[1]) ** 2
    return Estimate(
        int(matrix_bytes(Y) + threads * working + 3 * stored),
        int(stored),
        (seconds * wider + COPYING * (X.nnz + Y.nnz) * len(counts) * n_chains) / threads,
        f"{len(counts) * n_chains:,} regressions on {n:,} points and other labels",
    )


@dataclass(frozen=True)
class Task:
    """The task: what to fit.

    A label sees those of smaller `rank`, all others but itself if there is none. `C`, `tol`,
    `max_iter` and `prune` are as in `BinaryRelevance`; `start` is where to start from, such as
    another chain on the same labels.
    """

    X: sp.csr_array
    Y: sp.csr_array
    rank: NDArray[np.int64] | None
    C: float
    tol: float
    max_iter: int
    prune: float
    start: Conditionals | None = None

    @cached_property
    def labels(self) -> sp.csc_array:
        """Y by columns."""
        return sp.csc_array(self.Y, dtype=np.float64)

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """Columns of X that are not empty."""
        return np.unique(self.X.indices).astype(np.int64)

    @cached_property
    def features(self) -> sp.csr_array:
        """X without its empty columns."""
        if len(self.used) == self.X.shape[1]:
            return self.X
        place = np.zeros(self.X.shape[1], dtype=np.int32)
        place[self.used] = np.arange(len(self.used))
        shape = (self.X.shape[0], len(self.used))
        return sp.csr_array((self.X.data, place[self.X.indices], self.X.indptr), shape=shape)

    def seen(self, label: int) -> NDArray[np.int64]:
        """The labels that this one is regressed on, without those that never occur."""
        occur = np.diff(self.labels.indptr) > 0
        occur[label] = False
        if self.rank is not None:
            occur &= self.rank < self.rank[label]
        return np.flatnonzero(occur)

    def solve(self, label: int) -> dict[str, Any]:
        """The regression of one label: rows and values of its weights, and the report."""
        check_running()
        D, L = self.X.shape[1], self.Y.shape[1]
        others = self.seen(label)
        rows = np.concatenate([self.used, D + others, [D + L]])
        columns = sp.csr_array(self.labels[:, others], dtype=self.X.dtype)
        fit = fit_linear(
            sp.hstack([self.features, columns], format="csr"), self.labels[:, [label]],
            loss="logistic", strength=1.0 / self.C, tol=self.tol, max_iter=self.max_iter,
            prune=self.prune, warm_start=self._start(label, rows),
        )  # fmt: skip
        weights = fit.weights.tocoo()
        return {
            "features": rows[weights.row].astype(np.int32),
            "values": weights.data,
            **{name: getattr(fit, name)[0] for name in REPORT},
        }

    def _start(self, label: int, rows: NDArray[np.int64]) -> sp.csc_array | None:
        if self.start is None:
            return None
        parts = (self.start.weights, self.start.label_weights)
        own, others = (part[:, [label]].toarray().ravel() for part in parts)
        return sp.csc_array(np.concatenate([own[:-1], others, own[-1:]])[rows, None])


def fit_conditionals(task: Task, *, n_jobs: int | None, run: Run) -> Conditionals:
    """Solve the regressions of all labels, in pieces, on threads, resumably.

    Notes
    -----
    L problems of O(nnz(X) + nnz(Y)) per pass over the points, about 10 to 100 passes each. If
    columns are few and dense, the solvers work directly, with O(N·(D + L)²) per Newton step. The
    result does not depend on `n_jobs`.
    """
    n_labels = task.Y.shape[1]
    last = task.X.shape[1] + n_labels  # where the bias is
    size = min(max(n_labels // PIECES, 1), PIECE)
    spans = [range(a, min(a + size, n_labels)) for a in range(0, n_labels, size)]
    found: dict[int, dict[str, NDArray[Any]]] = {}
    blocks = Blocks(
        spans, found.__setitem__, what="training", run=run, identity=lambda: _identity(task),
        is_sound=lambda span, arrays: holds_columns(arrays, KINDS | REPORT, len(span), last),
    )  # fmt: skip
    if blocks.missing:
        _ = task.features, task.labels  # made once, before threads need them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one warning for all labels follows
        blocks.solve(solve_labels, task, n_jobs=n_jobs)
    fit = _assembled([found.pop(number) for number in range(len(spans))], task)
    _warn(fit, task, run)
    return fit


def solve_labels(task: Task, labels: range) -> dict[str, NDArray[Any]]:
    """The regressions of some labels."""
    columns = [task.solve(label) for label in labels]
    return pack_columns(
        [column["features"] for column in columns], [column["values"] for column in columns],
        KINDS | REPORT, **{name: [column[name] for column in columns] for name in REPORT},
    )  # fmt: skip


def _assembled(pieces: list[dict[str, NDArray[Any]]], task: Task) -> Conditionals:
    report = {name: np.concatenate([piece[name] for piece in pieces]) for name in REPORT}
    parts = []
    while pieces:  # each is freed once it is split
        parts.append(_parted(pieces.pop(0), task.X.shape[1], task.Y.shape[1]))
    weights, between = (sp.hstack(part, format="csc") for part in zip(*parts, strict=True))
    return Conditionals(sp.csc_array(weights), sp.csc_array(between), **report)


def _parted(
    piece: dict[str, NDArray[Any]], n_features: int, n_labels: int
) -> tuple[sp.csc_array, sp.csc_array]:
    """The weights of some regressions: of the features and the bias, and of other labels."""
    rows, values, ends = (piece[name] for name in KINDS)
    bias, width = n_features + n_labels, len(ends) - 1
    of_label = (rows >= n_features) & (rows < bias)
    before = np.concatenate(([0], np.cumsum(of_label)))[ends]
    own = np.where(rows == bias, n_features, rows)[~of_label]
    return (
        sp.csc_array((values[~of_label], own, ends - before), shape=(n_features + 1, width)),
        sp.csc_array(
            (values[of_label], rows[of_label] - n_features, before), shape=(n_labels, width)
        ),
    )


def _identity(task: Task) -> str:
    start = () if task.start is None else (task.start.weights, task.start.label_weights)
    return fingerprint(
        X=task.X, Y=task.Y, rank=task.rank,
        settings=(task.C, task.tol, task.max_iter, task.prune),
        **{f"start{number}": part for number, part in enumerate(start)},
    )  # fmt: skip


def _warn(fit: Conditionals, task: Task, run: Run) -> None:
    left = np.flatnonzero(~fit.converged)
    if len(left):
        names = run.names if run.names is not None else range(task.Y.shape[1])
        shown = ", ".join(str(names[label]) for label in left[:3].tolist())
        warn(
            f"{len(left)} of {task.Y.shape[1]} labels ended, after {task.max_iter} iterations or "
            f"for want of precision, with a relative gap up to {np.nanmax(fit.gap[left]):.1e} "
            f"(label {shown}{', ...' if len(left) > 3 else ''}); scale the features, lower C or "
            "raise the limit.",
            ConvergenceWarning,
        )
