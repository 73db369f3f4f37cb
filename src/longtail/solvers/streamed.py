"""`fit_streamed`: linear problems with few dense features whose rows come as a stream of blocks.

    ½‖w‖² + C·Σ_j weight_j·max(0, 1 - y_j·⟨w, z_j⟩)²

The rows are never stored: a pass asks for all blocks anew and gives, for every problem at once,
value, gradient and Hessian. So Newton's method takes one pass per step, and some ten passes solve
the problems of all strengths and folds together. There is no bias: rows are thought of as
differences, where it would cancel.

The objective is strongly convex with modulus one, so ‖gradient‖²/2 bounds its distance to the
minimum; that is the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.errors import ConvergenceWarning, InputError, ParameterError, warn
from longtail.parameters import check_count, check_positive
from longtail.runtime.checkpoint import LatestState, fingerprint, is_like
from longtail.runtime.executor import run_threads, thread_count
from longtail.runtime.run import Run
from longtail.solvers._streamed_kernels import add_linear, add_rows

SUFFICIENT = 1e-4  # share of the fall that the slope promises from which on a step is taken
SHORTEST, LONGEST = 0.1, 0.7  # limits of what is left of a step that was too long
ROUNDING = 1e-13  # relative error of sums over many rows
STATE = ("point", "step", "value", "slope", "gradient", "scale", "iterations", "stuck")
NO_FOLD = -2  # the fold that a problem on all rows leaves out: none has this number

_Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a stream.

    Attributes
    ----------
    rows : float64 array of shape (n, p)
        z.
    weights : float64 array of shape (n,), optional
        One by default.
    signs : float64 array of shape (n,), optional
        y, +1 or -1; +1 by default.
    folds : int64 array of shape (n,), optional
        The fold in which a row is held out; -1 for none.
    """

    rows: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    signs: NDArray[np.float64] | None = None
    folds: NDArray[np.int64] | None = None

    def arrays(self) -> tuple[_Array, _Array, _Array, NDArray[np.int64]]:
        """Rows, signs, weights and folds, those that were left out filled in."""
        n = len(self.rows)
        if not np.isfinite(self.rows).all():
            raise InputError("A row of the stream is not finite; leave out NaN and infinity.")
        if self.signs is not None and not (np.abs(self.signs) == 1).all():
            raise InputError("The signs of a stream's rows are +1 or -1.")
        return (
            np.ascontiguousarray(self.rows, dtype=np.float64),
            np.ones(n) if self.signs is None else self.signs,
            np.ones(n) if self.weights is None else self.weights,
            np.full(n, -1, dtype=np.int64) if self.folds is None else self.folds,
        )


Piece = Block | Callable[[], Block]
"""A block, or what makes one: that is then done on the thread that uses it."""


@dataclass(frozen=True)
class StreamedFit:
    """The weights and what it took; of `folds` folds, or 1 without them.

    Attributes
    ----------
    weights : array of shape (len(Cs), folds, p)
        Those of problem [c, f] were learned with strength Cs[c] on all rows outside fold f.
    objective : array of shape (len(Cs), folds)
        Values of the objectives, penalty included.
    gap : array of shape (len(Cs), folds)
        Proven distance to the optimal objective, as a share of it.
    violation : array of shape (len(Cs), folds)
        Norm of the gradient, relative to that at w = 0.
    iterations : int array of shape (len(Cs), folds)
        Newton steps.
    passes : int
        Times that the stream was read.
    converged : bool
        Whether every violation is within the tolerance.
    """

    weights: NDArray[np.float64]
    objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    violation: NDArray[np.float64]
    iterations: NDArray[np.int64]
    passes: int
    converged: bool


def fit_streamed(
    blocks: Callable[[], Iterable[Piece]],
    n_features: int,
    *,
    Cs: Sequence[float] = (1.0,),
    folds: int | None = None,
    warm_start: Any = None,
    tol: float = 1e-6,
    max_iter: int = 50,
    n_jobs: int | None = None,
    run: Run | None = None,
    identity: str = "",
) -> StreamedFit:
    """Minimise ½‖w‖² + C·Σ_j weight_j·max(0, 1 - y_j·⟨w, z_j⟩)² over rows that are not stored.

    Parameters
    ----------
    blocks : callable
        Called without arguments for every pass; gives the same rows in the same blocks each time,
        as an iterable of `Block`, or of functions that make one, which are called on threads.
    n_features : int
        p, some dozens: each problem keeps a p×p Hessian.
    Cs : sequence of floats
        Strengths, one problem each.
    folds : int, optional
        If given, each strength has this many problems; problem f leaves out the rows of fold f.
    warm_start : array of shape (len(Cs), folds, p), optional
        Where to start; at zero by default.
    tol : float
        A problem is solved once the norm of its gradient is at most this times that at zero.
    max_iter : int
        Limit on passes; if it is hit, a warning says so.
    n_jobs : int, optional
        Threads, as in scikit-learn. The result does not depend on it, bit for bit: the sums over
        the blocks are added up in the order of the blocks.
    run : Run, optional
        Progress callback, and where the state is kept after every pass.
    identity : str
        What names the stream in that folder, such as a fingerprint of what it is made of.

    Returns
    -------
    StreamedFit

    Notes
    -----
    A pass costs O(p) per row and problem and O(p²) more where the row is within the margin; some 6
    to 20 passes are needed, whatever the number of problems. Memory: one block per thread, and
    O(p²) per problem and block under way.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.5, 0.5], [-1.0, 0.2]])
    >>> block = Block(rows, signs=np.array([1.0, 1.0, -1.0]))
    >>> fit = fit_streamed(lambda: [block], 2, Cs=[0.1, 10.0])
    >>> fit.weights[:, 0].round(2).tolist(), fit.converged
    ([[0.34, 0.05], [1.13, 0.72]], True)
    """
    check_positive(tol=tol)
    check_count(n_features=n_features, max_iter=max_iter)
    strengths = np.asarray(Cs, dtype=np.float64)
    if strengths.ndim != 1 or not len(strengths):
        raise ParameterError("Cs must be a sequence of at least one positive number.")
    for C in strengths.tolist():
        check_positive(C=C)
    if folds is not None:
        check_count(folds=folds)
    thread_count(n_jobs)
    width = folds or 1
    left_out = np.arange(width, dtype=np.int64) if folds else np.array([NO_FOLD], dtype=np.int64)
    shape = (len(strengths), width, n_features)
    start = _checked_start(warm_start, shape)
    stream = _Stream(blocks, n_features, n_jobs)
    problems = _Problems(
        np.repeat(strengths, width), np.tile(left_out, len(strengths)), start.reshape(-1, shape[2])
    )
    run = run or Run()
    settings = (shape, float(tol), identity)
    states = LatestState(run, lambda: fingerprint(Cs=strengths, start=start, settings=settings))
    states.read(problems.resume)
    run.report("training", min(problems.passes, max_iter), max_iter)
    while problems.passes < max_iter and problems.active(tol).any():
        problems.advance(stream, problems.active(tol))
        states.write(problems.state)
        run.report("training", min(problems.passes, max_iter), max_iter)
    run.report("training", max_iter, max_iter)
    return _finished(problems, shape[:2], tol)


class _Stream:
    """The rows, and sums over all of them for some problems at a time."""

    def __init__(
        self, blocks: Callable[[], Iterable[Piece]], n_features: int, n_jobs: int | None
    ) -> None:
        self._blocks, self._p, self._n_jobs = blocks, n_features, n_jobs

    def moments(self, W: _Array, left_out: NDArray[np.int64]) -> tuple[_Array, _Array]:
        """Losses (B,) and moments (B, p(p + 1)/2 + p) of the problems W (B, p)."""
        columns = np.ascontiguousarray(W.T)
        size = self._p * (self._p + 1) // 2 + self._p

        def work(block: Block) -> _Array:
            sums = np.zeros((len(W), size + 1))
            losses, moments = np.zeros(len(W)), np.zeros((len(W), size))
            add_rows(*self._checked(block), left_out, columns, losses, moments)
            sums[:, 0], sums[:, 1:] = losses, moments
            return sums

        total = self._total(work, (len(W), size + 1))
        return total[:, 0].copy(), total[:, 1:]

    def linear(self, left_out: NDArray[np.int64]) -> _Array:
        """Σ weight·y·z of every problem, (B, p): at zero, the gradient is -2C times that."""

        def work(block: Block) -> _Array:
            sums = np.zeros((len(left_out), self._p))
            add_linear(*self._checked(block), left_out, sums)
            return sums

        return self._total(work, (len(left_out), self._p))

    def _checked(self, block: Block) -> tuple[_Array, _Array, _Array, NDArray[np.int64]]:
        arrays = block.arrays()
        n = len(arrays[0])
        if arrays[0].shape != (n, self._p) or any(part.shape != (n,) for part in arrays[1:]):
            raise InputError(
                f"A block has rows of shape {arrays[0].shape}, where (n, {self._p}) was announced, "
                "or signs, weights or folds of another length."
            )
        return arrays

    def _total(self, work: Callable[[Block], _Array], shape: tuple[int, int]) -> _Array:
        """The results of all blocks, added up in their order as they come in."""
        total, waiting = np.zeros(shape), dict[int, _Array]()
        due = 0

        def done(piece: tuple[int, Piece], result: _Array) -> None:
            nonlocal due
            waiting[piece[0]] = result
            while due in waiting:
                np.add(total, waiting.pop(due), out=total)
                due += 1

        def made(piece: tuple[int, Piece]) -> _Array:
            block = piece[1]
            return work(block if isinstance(block, Block) else block())

        run_threads(made, enumerate(self._blocks()), n_jobs=self._n_jobs, done=done)
        return total


class _Problems:
    """Where all problems are: their points, values, gradients, and the steps to be tried next."""

    def __init__(self, C: _Array, left_out: NDArray[np.int64], start: _Array) -> None:
        count, p = start.shape
        self.C, self.left_out = C, left_out
        self.point, self.step = start.copy(), np.zeros_like(start)
        self.value, self.slope = np.full(count, np.inf), np.zeros(count)
        self.gradient, self.scale = np.full((count, p), np.inf), np.zeros(count)
        self.iterations = np.zeros(count, dtype=np.int64)
        self.stuck = np.zeros(count, dtype=bool)
        self.passes = 0
        self.from_zero = not start.any()

    def active(self, tol: float) -> NDArray[np.bool_]:
        return ~self.stuck & ~(self.norm() <= tol * self.scale)

    def norm(self) -> _Array:
        return np.sqrt((self.gradient**2).sum(axis=1))

    def advance(self, stream: _Stream, active: NDArray[np.bool_]) -> None:
        """One pass: look where the steps lead, take those that fall enough, shorten the others."""
        if self.passes == 0 and not self.from_zero:
            sums = stream.linear(self.left_out)
            self.scale = 2.0 * self.C * np.sqrt((sums**2).sum(axis=1))
            self.passes += 1
        at = np.flatnonzero(active)
        trial = self.point[at] + self.step[at]
        losses, moments = stream.moments(trial, self.left_out[at])
        self.passes += 1
        for i, problem in enumerate(at.tolist()):
            self._look(problem, trial[i], float(losses[i]), moments[i])
        if self.from_zero and self.passes == 1:
            self.scale = self.norm()

    def _look(self, b: int, w: _Array, loss: float, moments: _Array) -> None:
        p = len(w)
        curvature = np.zeros((p, p))
        curvature[np.tril_indices(p)] = moments[: p * (p + 1) // 2]
        curvature += np.tril(curvature, -1).T
        C = self.C[b]
        value = 0.5 * float(w @ w) + C * loss
        gradient = w + 2.0 * C * (curvature @ w - moments[p * (p + 1) // 2 :])
        before, slope = self.value[b], self.slope[b]
        noise = ROUNDING * value
        if not value <= before + SUFFICIENT * slope + noise:
            rest = _minimum_between(before, slope, value, float(gradient @ self.step[b]))
            self.step[b] *= rest
            self.slope[b] *= rest
            return
        falls = np.linalg.norm(gradient) < np.linalg.norm(self.gradient[b])
        if abs(slope) <= noise and np.isfinite(before) and not falls:
            self.stuck[b] = True  # only rounding errors are left
            return
        if np.isfinite(before):
            self.iterations[b] += 1
        self.point[b], self.value[b], self.gradient[b] = w, value, gradient
        curvature *= 2.0 * C
        curvature[np.diag_indices(p)] += 1.0
        self.step[b] = -np.linalg.solve(curvature, gradient)
        self.slope[b] = float(gradient @ self.step[b])

    def state(self) -> dict[str, NDArray[Any]]:
        """All that decides how it goes on."""
        return {name: getattr(self, name) for name in STATE} | {"passes": np.array([self.passes])}

    def resume(self, found: dict[str, NDArray[Any]]) -> None:
        """Go on from a state that `state` gave; an invalid one is ignored."""
        if not is_like(found, self.state()):
            return
        parts = {name: np.array(part) for name, part in found.items()}
        self.passes = int(parts.pop("passes")[0])
        self.__dict__.update(parts)


def _minimum_between(before: float, slope: float, after: float, slope_after: float) -> float:
    """Where the cubic through both ends of a step, with their slopes, is least."""
    bend = slope + slope_after - 3.0 * (after - before)
    root = np.sqrt(max(bend * bend - slope * slope_after, 0.0))
    below = slope_after - slope + 2.0 * root
    share = 1.0 - (slope_after + root - bend) / below if below > 0 else 0.5
    return float(np.clip(share if np.isfinite(share) else 0.5, SHORTEST, LONGEST))


def _finished(problems: _Problems, shape: tuple[int, int], tol: float) -> StreamedFit:
    norm, scale = problems.norm(), problems.scale
    violation = np.divide(norm, scale, out=np.zeros_like(norm), where=scale > 0)
    gap = 0.5 * norm**2 / np.maximum(problems.value, np.finfo(float).tiny)
    converged = bool((violation <= tol).all())
    if not converged:
        warn(
            f"{int((violation > tol).sum())} of {len(norm)} streamed problems ended after "
            f"{problems.passes} passes, or for lack of precision, with a gradient of up to "
            f"{violation.max():.1e} of that at zero; scale the features, lower C or raise the "
            "limit.",
            ConvergenceWarning,
        )
    return StreamedFit(
        weights=problems.point.reshape(*shape, -1),
        objective=problems.value.reshape(shape),
        gap=gap.reshape(shape),
        violation=violation.reshape(shape),
        iterations=problems.iterations.reshape(shape),
        passes=problems.passes,
        converged=converged,
    )


def _checked_start(warm_start: Any, shape: tuple[int, int, int]) -> _Array:
    if warm_start is None:
        return np.zeros(shape)
    start = np.asarray(warm_start, dtype=np.float64)
    if start.shape != shape or not np.isfinite(start).all():
        raise InputError(
            f"warm_start must be finite and of shape {shape}: one vector per strength and fold."
        )
    return start
