"""One logistic regression a label on X and on other labels: what chains and networks are made of.

In training the other labels are known, so the regressions do not depend on each other. Each has
columns of its own, though: they are solved one by one, several at a time on threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._run import Run
from longtail.engine import fit_linear
from longtail.engine.checkpoint import Checkpoint, fingerprint
from longtail.engine.costs import linear_estimate, weights_kept
from longtail.engine.direct import few_and_dense
from longtail.engine.executor import run_threads, thread_count
from longtail.errors import ConvergenceWarning, InputError
from longtail.estimates import Estimate, matrix_bytes

MOST_LABELS = 5000
COPYING = 2e-7  # seconds of a stored value, to put the columns of a label together
PIECE = 32  # labels a piece of work and of a checkpoint, at most
PIECES = 64  # that there should be, if there are labels enough
REPORT = {"gap": np.float64, "iterations": np.int64, "converged": np.bool_}


@dataclass(frozen=True)
class Conditionals:
    """The regressions of all labels.

    Attributes
    ----------
    weights : csc_array of shape (D + 1, L)
        Of the features; the last row is the bias.
    label_weights : csc_array of shape (L, L)
        Entry (j, l) is the weight of label j in the regression of label l.
    gap, iterations, converged : arrays of shape (L,)
        Proven relative gap (NaN for a label without points), Newton steps, and whether it ended
        within the tolerance.
    """

    weights: sp.csc_array
    label_weights: sp.csc_array
    gap: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]


def between_bytes(n_labels: int, n_chains: int = 1, *, share: float = 0.5) -> float:
    """Bytes of the weights between labels, if each is regressed on this share of the others."""
    return 8.0 * share * n_labels * (n_labels - 1) * n_chains


def conditional_estimate(
    X: sp.csr_array,
    Y: sp.csr_array,
    *,
    prune: float,
    n_chains: int = 1,
    share: float = 0.5,
    n_jobs: int | None = None,
) -> Estimate:
    """What the regressions of all labels on X and on others need, a number of times.

    Each has a copy of X with the labels that it sees, put together by way of several more.
    """
    counts = np.bincount(Y.indices, minlength=Y.shape[1])
    n, seen = X.shape[0], share * float(np.count_nonzero(counts))
    one = linear_estimate(X, counts[:1], loss="logistic", prune=prune)
    kept = weights_kept(X, counts, loss="logistic", penalty="l2", prune=prune)
    weights = 8.0 * float(kept.sum()) * n_chains
    others = 8.0 * float(np.minimum(kept, seen).sum()) * n_chains  # as rare as a feature
    stored = weights + min(others, between_bytes(Y.shape[1], n_chains, share=share))
    threads = thread_count(n_jobs)
    working = 8.0 * matrix_bytes(X, Y) + one.peak_bytes
    seconds = linear_estimate(X, counts, loss="logistic", prune=prune).seconds * n_chains
    wider = (1 + seen / X.shape[1]) ** 2 if few_and_dense(n, X.shape[1], X.nnz) else 1.5
    return Estimate(
        int(matrix_bytes(Y) + threads * working + 3 * stored),
        int(stored),
        (seconds * wider + COPYING * (X.nnz + Y.nnz) * len(counts) * n_chains) / threads,
        f"{len(counts) * n_chains:,} regressions on {n:,} points and other labels",
    )


def check_label_count(n_labels: int, n_chains: int = 1, *, share: float = 0.5) -> None:
    """Refuse more labels than such a model is meant for, with what it would take."""
    if n_labels > MOST_LABELS:
        raise InputError(
            f"There are {n_labels:,} labels, and each is regressed on the others: up to "
            f"{between_bytes(n_labels, n_chains, share=share) / 1e9:,.1f} GB of weights between "
            f"labels and {n_labels * n_chains:,} problems "
            f"of their own columns; keep to {MOST_LABELS:,} labels, or use br or proxml."
        )


@dataclass(frozen=True)
class Task:
    """What is to be fitted.

    Attributes
    ----------
    X : csr_array of shape (N, D)
    Y : csr_array of shape (N, L)
        Ones.
    rank : int array of shape (L,), optional
        A label sees those of smaller rank; all others but itself if None.
    C, tol, max_iter, prune
        As in `BinaryRelevance`.
    start : Conditionals, optional
        Where to start from, such as another chain on the same labels.
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
            "rows": rows[weights.row].astype(np.int32),
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
    L problems of O(nnz(X) + nnz(Y)) a look at the points, some 10 to 100 looks each; where the
    engine solves directly, since columns are few and dense, O(N·(D + L)²) a Newton step instead.
    The result does not depend on `n_jobs`.
    """
    n_labels = task.Y.shape[1]
    size = min(max(n_labels // PIECES, 1), PIECE)
    pieces = [range(a, min(a + size, n_labels)) for a in range(0, n_labels, size)]
    found: dict[int, dict[str, NDArray[Any]]] = {}
    store = None
    if run.checkpoint is not None:
        store = Checkpoint(run.checkpoint, _identity(task))
        for number, piece in enumerate(pieces):
            loaded = store.load(number)
            if loaded is not None and _is_sound(loaded, len(piece), task):
                found[number] = loaded
    finished = sum(len(pieces[number]) for number in found)
    run.report("training", finished, n_labels)

    def work(number: int, stop: NDArray[np.int8]) -> dict[str, NDArray[Any]]:
        return _packed(task.solve(label) for label in pieces[number] if not stop[0])

    def done(number: int, arrays: dict[str, NDArray[Any]]) -> None:
        nonlocal finished
        if store is not None:
            store.save(number, arrays)
        found[number] = arrays
        finished += len(pieces[number])
        run.report("training", finished, n_labels)

    missing = [number for number in range(len(pieces)) if number not in found]
    if missing:
        _ = task.features, task.labels  # made once, before threads ask for them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one for all follows
        run_threads(work, missing, n_jobs=n_jobs, done=done)
    fit = _assembled([found[number] for number in range(len(pieces))], task)
    _warn(fit, task, run)
    return fit


def _packed(solved: Iterable[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    columns = list(solved)
    none = [np.empty(0)]
    return {
        "rows": np.concatenate([c["rows"] for c in columns] or none).astype(np.int32),
        "values": np.concatenate([c["values"] for c in columns] or none).astype(np.float32),
        "lengths": np.array([len(c["rows"]) for c in columns], dtype=np.int64),
        **{
            name: np.array([column[name] for column in columns], dtype=kind)
            for name, kind in REPORT.items()
        },
    }


def _assembled(pieces: list[dict[str, NDArray[Any]]], task: Task) -> Conditionals:
    D, L = task.X.shape[1], task.Y.shape[1]
    whole = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    ends = np.concatenate(([0], np.cumsum(whole["lengths"])))
    every = sp.csc_array((whole["values"], whole["rows"], ends), shape=(D + L + 1, L))
    return Conditionals(
        sp.csc_array(sp.vstack([every[:D], every[[D + L]]], format="csc")),
        sp.csc_array(every[D : D + L]),
        **{name: whole[name] for name in REPORT},
    )


def _identity(task: Task) -> str:
    start = () if task.start is None else (task.start.weights, task.start.label_weights)
    return fingerprint(
        X=task.X, Y=task.Y, rank=task.rank,
        settings=(task.C, task.tol, task.max_iter, task.prune),
        **{f"start{number}": part for number, part in enumerate(start)},
    )  # fmt: skip


def _is_sound(piece: dict[str, NDArray[Any]], size: int, task: Task) -> bool:
    """Whether arrays that were read are the piece they claim to be; if not, it is done again."""
    kinds = {"rows": np.int32, "values": np.float32, "lengths": np.int64, **REPORT}
    if set(piece) != set(kinds):
        return False
    if any(piece[name].dtype != kind or piece[name].ndim != 1 for name, kind in kinds.items()):
        return False
    rows, lengths = piece["rows"], piece["lengths"]
    return bool(
        all(len(piece[name]) == size for name in ("lengths", *REPORT))
        and (lengths >= 0).all()
        and len(rows) == len(piece["values"]) == lengths.sum()
        and (rows >= 0).all()
        and (rows <= task.X.shape[1] + task.Y.shape[1]).all()
    )


def _warn(fit: Conditionals, task: Task, run: Run) -> None:
    left = np.flatnonzero(~fit.converged)
    if len(left):
        names = run.names if run.names is not None else range(task.Y.shape[1])
        shown = ", ".join(str(names[label]) for label in left[:3].tolist())
        warnings.warn(
            f"{len(left)} of {task.Y.shape[1]} labels ended, after {task.max_iter} iterations or "
            f"for want of precision, with a relative gap up to {np.nanmax(fit.gap[left]):.1e} "
            f"(label {shown}{', ...' if len(left) > 3 else ''}); scale the features, lower C or "
            "raise the limit.",
            ConvergenceWarning,
            stacklevel=5,
        )
