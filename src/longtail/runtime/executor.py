"""What solves the blocks of a task: threads of this process, or other processes.

A block is solved by a function of a module, `solve(task, block)`. The task is plain arrays and
settings, so that any worker can have it; the function asks `stopping` whether to stop.
Kernels release the GIL, so threads use all cores on one copy of X. The calling thread only waits,
which lets Ctrl-C through even while every kernel is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Protocol, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from longtail.parameters import check_jobs
from longtail.runtime.libraries import one_thread
from longtail.runtime.workers import Workers

Piece = TypeVar("Piece")
Result = TypeVar("Result")
Solve = Callable[[Any, Any], Any]
"""A function of a module, `solve(task, block)`."""

AHEAD = 4
"""Pieces per thread that are under way at a time."""


def thread_count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for, as in scikit-learn: None is one, -1 is all cores.

    Examples
    --------
    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    check_jobs(n_jobs)
    if n_jobs is None or n_jobs > 0:
        return int(n_jobs or 1)
    return int(effective_n_jobs(n_jobs))


class Executor(Protocol):
    """Who solves blocks; a `Run` may name one.

    Attributes
    ----------
    isolated : bool
        Whether no two blocks are solved in one process at the same time.
    """

    isolated: ClassVar[bool]

    def each(
        self,
        solve: Solve,
        task: Any,
        blocks: Iterable[tuple[int, Any]],
        done: Callable[[int, Any], None],
    ) -> None:
        """Call `done(number, solve(task, block))` in this thread for each numbered block."""


@dataclass(frozen=True)
class ThreadExecutor:
    """Threads of this process. Blocks end in any order.

    Parameters
    ----------
    n_jobs : int, optional
        Threads, as in scikit-learn.

    Examples
    --------
    >>> found = {}
    >>> ThreadExecutor(2).each(pow, 3, enumerate([1, 2]), found.__setitem__)
    >>> sorted(found.items())
    [(0, 3), (1, 9)]
    """

    isolated: ClassVar[bool] = False

    n_jobs: int | None = None

    def each(
        self,
        solve: Solve,
        task: Any,
        blocks: Iterable[tuple[int, Any]],
        done: Callable[[int, Any], None],
    ) -> None:
        """See `Executor`."""
        run_threads(
            lambda numbered: solve(task, numbered[1]), blocks, n_jobs=self.n_jobs,
            done=lambda numbered, result: done(numbered[0], result),
        )  # fmt: skip


@dataclass(frozen=True)
class ProcessExecutor:
    """Other processes of this machine, which share large arrays of the task. Blocks end in order.

    Parameters
    ----------
    n_jobs : int, optional
        Processes, as in scikit-learn. One process, or one block, is this process itself.

    Examples
    --------
    >>> found = {}
    >>> ProcessExecutor(1).each(pow, 3, enumerate([1, 2]), found.__setitem__)
    >>> found
    {0: 3, 1: 9}
    """

    isolated: ClassVar[bool] = True

    n_jobs: int | None = None

    def each(
        self,
        solve: Solve,
        task: Any,
        blocks: Iterable[tuple[int, Any]],
        done: Callable[[int, Any], None],
    ) -> None:
        """See `Executor`."""
        numbered = list(blocks)
        processes = min(thread_count(self.n_jobs), max(len(numbered), 1))
        # Arrays arrive as memory maps; kernels are compiled for arrays that can be written to.
        pool = Parallel(n_jobs=processes, return_as="generator", mmap_mode="c")
        results = pool(delayed(_solved_alone)(solve, task, block) for _, block in numbered)
        with closing(results):
            for (number, _), result in zip(numbered, results, strict=True):
                done(number, result)


def _solved_alone(solve: Solve, task: Any, block: Any) -> Any:
    with one_thread():
        return solve(task, block)


def run_threads(
    work: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    *,
    n_jobs: int | None,
    done: Callable[[Piece, Result], None] | None = None,
    limit_blas: bool = True,
) -> None:
    """Do `work(piece)` for every piece; `done(piece, result)` in this thread as each ends.

    Parameters
    ----------
    work : callable
        Gets the piece. Where that takes long, it asks `stopping` and raises `Stopped`.
    pieces : iterable
        Any order of finishing may occur with more than one thread. A few are under way at a time.
    n_jobs : int or None
        As in scikit-learn.
    done : callable, optional
        Called in the calling thread. What it raises stops the run.
    limit_blas : bool
        Whether to limit BLAS to one thread meanwhile, in the whole process; not needed for work
        that does not use BLAS, such as prediction.
    """
    threads = thread_count(n_jobs)
    coming = iter(pieces)
    with one_thread() if limit_blas else nullcontext(), Workers(threads) as workers:
        while True:
            for piece in islice(coming, AHEAD * threads - workers.under_way):
                workers.submit(piece, partial(work, piece))
            if not workers.under_way:
                break
            piece, result = workers.next_ended()
            if done is not None:
                done(piece, result)


def run_here_or_on_threads(
    work: Callable[[Piece], Any], pieces: Iterable[Piece], *, n_jobs: int | None
) -> None:
    """Do `work(piece)` for every piece, without threads where they would not pay.

    For prediction: BLAS is left alone.

    Examples
    --------
    >>> seen = []
    >>> run_here_or_on_threads(seen.append, [1, 2], n_jobs=1)
    >>> seen
    [1, 2]
    """
    listed = list(pieces)
    if len(listed) <= 1 or thread_count(n_jobs) == 1:
        for piece in listed:
            work(piece)
    else:
        run_threads(work, listed, n_jobs=n_jobs, limit_blas=False)


def in_blocks(
    work: Callable[..., Result], *matrices: Any, size: int, n_jobs: int | None
) -> list[Result]:
    """What `work` makes of each block of rows of a matrix, or of several, in order, on threads.

    Parameters
    ----------
    work : callable
        Gets the block, or the same rows of each matrix.
    *matrices : arrays or CSR matrices
        With the same number of rows.
    size : int
        Rows per block; if it does not depend on the threads, nor do the results.
    n_jobs : int or None
        As in scikit-learn. One block is done in the calling thread.

    Examples
    --------
    >>> import numpy as np
    >>> in_blocks(lambda block: block.sum(), np.arange(5), size=2, n_jobs=2)
    [np.int64(1), np.int64(5), np.int64(4)]
    """
    starts = range(0, max(matrices[0].shape[0], 1), size)
    if len(starts) == 1:
        return [work(*matrices)]
    found: dict[int, Result] = {}
    run_threads(
        lambda first: work(*(matrix[first : first + size] for matrix in matrices)), starts,
        n_jobs=n_jobs, done=found.__setitem__,
    )  # fmt: skip
    return [found[first] for first in starts]
