"""A task in blocks: those that an earlier run kept are read, the others solved and kept.

Blocks do not depend on each other, so what comes out is the same however often the work was killed,
and whoever solves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from longtail.runtime.checkpoint import Checkpoint
from longtail.runtime.executor import Executor, ProcessExecutor, Solve, ThreadExecutor
from longtail.runtime.run import Run

Arrays = dict[str, NDArray[Any]]


class Blocks:
    """The blocks of one task; those that were kept are handed out at once.

    Parameters
    ----------
    blocks : sequence
        What the function that solves a block gets; its length is the number of its problems.
    keep : callable
        Called as `keep(number, arrays)` in the calling thread, once for every block.
    what : str
        The work's name in reports of progress.
    identity : callable
        Gives the fingerprint of everything that decides the result; called only if there is a
        folder to keep blocks in.
    is_sound : callable
        Whether arrays that were read are the block they claim to be, `is_sound(block, arrays)`;
        if not, it is solved again.
    run : Run
        Progress callback, where blocks are kept, and what solves them.
    total : int, optional
        Problems in all, of which those of no block count as done; by default those of the blocks.
    costs : sequence of float, optional
        What each block costs, in any unit: the dearest are solved first, so that nobody waits for
        them at the end.

    Attributes
    ----------
    missing : list of int
        The blocks that were not kept.

    Examples
    --------
    >>> import numpy as np
    >>> def squares(task, block):
    ...     return {"squares": task["numbers"][block.start : block.stop] ** 2}
    >>> found = {}
    >>> blocks = Blocks(
    ...     [range(0, 2), range(2, 3)], found.__setitem__, what="training", identity=str,
    ...     is_sound=lambda block, arrays: True, run=Run(),
    ... )
    >>> blocks.solve(squares, {"numbers": np.arange(3)}, n_jobs=2)
    >>> found[0]["squares"].tolist(), found[1]["squares"].tolist()
    ([0, 1], [4])
    """

    def __init__(
        self,
        blocks: Sequence[Any],
        keep: Callable[[int, Arrays], None],
        *,
        what: str,
        identity: Callable[[], str],
        is_sound: Callable[[Any, Arrays], bool],
        run: Run,
        total: int | None = None,
        costs: Sequence[float] | None = None,
    ) -> None:
        self._blocks, self._keep, self._what, self._run = blocks, keep, what, run
        self._store = None if run.checkpoint is None else Checkpoint(run.checkpoint, identity())
        self.missing: list[int] = []
        for number, block in enumerate(blocks):
            arrays = None if self._store is None else self._store.load(number)
            if arrays is not None and is_sound(block, arrays):
                keep(number, arrays)
            else:
                self.missing.append(number)
        if costs is not None:
            self.missing.sort(key=lambda number: -costs[number])
        self._total = sum(map(len, blocks)) if total is None else total
        self._finished = self._total - sum(len(blocks[number]) for number in self.missing)
        self._report()

    def solve(self, solve: Solve, task: Any, *, n_jobs: int | None, isolated: bool = False) -> None:
        """The missing blocks by `solve(task, block)`, by the executor of the run.

        Parameters
        ----------
        solve : callable
            A function of a module; it gives a dictionary of arrays.
        task : object
            All that the blocks share: arrays and settings that can be pickled.
        n_jobs : int or None
            Threads or processes, where the run has no executor of its own.
        isolated : bool
            Whether two blocks must not be solved in one process at the same time.
        """
        executor: Executor = self._run.executor or ThreadExecutor(n_jobs)
        if isolated and not executor.isolated:
            executor = ProcessExecutor(n_jobs)
        missing = ((number, self._blocks[number]) for number in self.missing)
        executor.each(solve, task, missing, self._done)

    def _done(self, number: int, arrays: Arrays) -> None:
        if self._store is not None:
            self._store.save(number, arrays)
        self._keep(number, arrays)
        self._finished += len(self._blocks[number])
        self._report()

    def _report(self) -> None:
        self._run.report(self._what, self._finished, self._total)
