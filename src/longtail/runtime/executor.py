"""Run pieces of work on threads of this process, and stop at once when asked.

Kernels release the GIL, so threads use all cores on one copy of X. The calling thread only waits,
which lets Ctrl-C through even while every kernel is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from longtail.parameters import check_jobs
from longtail.runtime.libraries import one_thread
from longtail.runtime.workers import Workers

Piece = TypeVar("Piece")
Result = TypeVar("Result")

AHEAD = 4
"""Pieces a thread that are under way at a time."""


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


def run_threads(
    work: Callable[[Piece, NDArray[np.int8]], Result],
    pieces: Iterable[Piece],
    *,
    n_jobs: int | None,
    done: Callable[[Piece, Result], None],
    limit_blas: bool = True,
) -> None:
    """Do `work(piece, stop)` for every piece; `done(piece, result)` in this thread as each ends.

    Parameters
    ----------
    work : callable
        Gets the piece and the stop flag, an int8 array of one entry; when that is no longer zero
        it raises `Stopped` soon.
    pieces : iterable
        Any order of finishing may occur with more than one thread. A few are under way at a time.
    n_jobs : int or None
        As in scikit-learn.
    done : callable
        Called in the calling thread. What it raises stops the run.
    limit_blas : bool
        Whether to hold BLAS down to one thread meanwhile, which is a setting of the whole process;
        for work that uses none, such as prediction, leave it alone.
    """
    threads = thread_count(n_jobs)
    coming = iter(pieces)
    with one_thread() if limit_blas else nullcontext(), Workers(threads) as workers:
        while True:
            for piece in islice(coming, AHEAD * threads - workers.under_way):
                workers.submit(piece, partial(work, piece, workers.stop))
            if not workers.under_way:
                break
            done(*workers.next_ended())


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
        Rows a block; it must not depend on the threads if the results are not to.
    n_jobs : int or None
        As in scikit-learn. One block is done in the calling thread.

    Examples
    --------
    >>> in_blocks(lambda block: block.sum(), np.arange(5), size=2, n_jobs=2)
    [np.int64(1), np.int64(5), np.int64(4)]
    """
    starts = range(0, max(matrices[0].shape[0], 1), size)
    if len(starts) == 1:
        return [work(*matrices)]
    found: dict[int, Result] = {}
    run_threads(
        lambda first, stop: work(*(matrix[first : first + size] for matrix in matrices)), starts,
        n_jobs=n_jobs, done=found.__setitem__,
    )  # fmt: skip
    return [found[first] for first in starts]
