"""Long work in pieces: those that an earlier run kept are read, the others done and kept.

Pieces do not depend on each other, so what comes out is the same however often the work was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.runtime.checkpoint import Checkpoint
from longtail.runtime.executor import run_threads
from longtail.runtime.run import Run, Stopped

Arrays = dict[str, NDArray[Any]]


class Pieces:
    """The pieces of one work; those that were kept are handed out at once.

    Parameters
    ----------
    sizes : sequence of int
        How many problems each piece has.
    keep : callable
        Called as `keep(number, arrays)` in the calling thread, once for every piece.
    what : str
        The work's name in reports of progress.
    identity : callable
        Gives the fingerprint of everything that decides the result; called only if there is a
        folder to keep pieces in.
    is_sound : callable
        Whether arrays that were read are the piece they claim to be, `is_sound(number, arrays)`;
        if not, it is done again.
    run : Run
        Who hears of progress and where pieces are kept.
    total : int, optional
        Problems in all, of which those of no piece count as done; by default those of the pieces.

    Attributes
    ----------
    missing : list of int
        The pieces that were not kept.

    Examples
    --------
    >>> found = {}
    >>> pieces = Pieces(
    ...     [2, 1], found.__setitem__, what="training", identity=str, run=Run(),
    ...     is_sound=lambda number, arrays: True,
    ... )
    >>> pieces.do(lambda number, stop: {"squares": np.arange(number + 2) ** 2}, n_jobs=2)
    >>> found[0]["squares"].tolist(), found[1]["squares"].tolist()
    ([0, 1], [0, 1, 4])
    """

    def __init__(
        self,
        sizes: Sequence[int],
        keep: Callable[[int, Arrays], None],
        *,
        what: str,
        identity: Callable[[], str],
        is_sound: Callable[[int, Arrays], bool],
        run: Run,
        total: int | None = None,
    ) -> None:
        self._sizes, self._keep, self._what, self._run = sizes, keep, what, run
        self._store = None if run.checkpoint is None else Checkpoint(run.checkpoint, identity())
        self.missing: list[int] = []
        for number in range(len(sizes)):
            arrays = None if self._store is None else self._store.load(number)
            if arrays is not None and is_sound(number, arrays):
                keep(number, arrays)
            else:
                self.missing.append(number)
        self._total = sum(sizes) if total is None else total
        self._finished = self._total - sum(sizes[number] for number in self.missing)
        self._report()

    def do(self, work: Callable[[int, NDArray[np.int8]], Arrays], *, n_jobs: int | None) -> None:
        """The missing pieces by `work(number, stop)`, on threads; see `run_threads`."""

        def unless_stopped(number: int, stop: NDArray[np.int8]) -> Arrays:
            if stop[0]:
                raise Stopped
            return work(number, stop)

        run_threads(unless_stopped, self.missing, n_jobs=n_jobs, done=self.done)

    def done(self, number: int, arrays: Arrays) -> None:
        """Take in a piece that was missing."""
        if self._store is not None:
            self._store.save(number, arrays)
        self._keep(number, arrays)
        self._finished += self._sizes[number]
        self._report()

    def _report(self) -> None:
        self._run.report(self._what, self._finished, self._total)
