"""Run pieces of work on threads of this process, and stop at once when asked.

Kernels release the GIL, so threads use all cores on one copy of X. The calling thread only waits,
which lets Ctrl-C through even while every kernel is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from longtail.engine._solution import Stopped
from longtail.errors import ParameterError

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for, as in scikit-learn: None is one, -1 is all cores.

    Examples
    --------
    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer)
    ):
        raise ParameterError(f"n_jobs must be a whole number or None, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; use 1 for one thread or -1 for all cores.")
    if n_jobs is None or n_jobs > 0:
        return int(n_jobs or 1)
    return int(effective_n_jobs(n_jobs))


def run_threads(
    work: Callable[[Piece, NDArray[np.int8]], Result],
    pieces: Iterable[Piece],
    *,
    n_jobs: int | None,
    done: Callable[[Piece, Result], None],
) -> None:
    """Do `work(piece, stop)` for every piece; `done(piece, result)` in this thread as each ends.

    Parameters
    ----------
    work : callable
        Gets the piece and the stop flag, an int8 array of one entry; when that is no longer zero
        it raises `Stopped` soon.
    pieces : iterable
        Any order of finishing may occur with more than one thread.
    n_jobs : int or None
        As in scikit-learn.
    done : callable
        Called in the calling thread. What it raises stops the run.
    """
    stop = np.zeros(1, dtype=np.int8)
    with (
        threadpool_limits(limits=1),
        ThreadPoolExecutor(thread_count(n_jobs), thread_name_prefix="longtail") as pool,
    ):
        futures: dict[Future[Result], Piece] = {
            pool.submit(work, piece, stop): piece for piece in pieces
        }
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    done(futures[future], future.result())
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
            for future in futures:
                if not future.cancelled():
                    with suppress(Stopped):
                        future.exception()
            raise
