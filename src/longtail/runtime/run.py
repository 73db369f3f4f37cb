"""One run of some long work: who is told of its progress, where its checkpoints go, what executes
it.

A `Run` is handed down from `fit` to the solvers, so that no method needs to know about terminals,
folders or processes. Methods that call solvers several times give each call a part of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longtail.errors import ParameterError

if TYPE_CHECKING:
    from longtail.runtime.executor import Executor

Progress = Callable[[str, int, int], None]
"""Called as `progress(what, done, total)` after every finished piece of work."""


class Stopped(Exception):  # noqa: N818 - not an error: the way out of a solver that was told to stop
    """Raised inside a solver when the run was told to stop."""


@dataclass(frozen=True)
class Run:
    """What a piece of long work needs to know about its surroundings.

    Attributes
    ----------
    progress : callable, optional
        Called with `(what, done, total)` after every finished piece.
    checkpoint : Path, optional
        Folder for finished pieces; a run that finds its own pieces there goes on after them.
    names : sequence, optional
        Names of the labels, for warnings.
    executor : Executor, optional
        What solves the blocks of a task; by default threads of this process, as many as `n_jobs`
        says.
    """

    progress: Progress | None = None
    checkpoint: Path | None = None
    names: Sequence[Any] | None = None
    executor: Executor | None = None

    def part(self, name: str) -> Run:
        """The same run with its checkpoints in a folder of their own."""
        return replace(self, checkpoint=None if self.checkpoint is None else self.checkpoint / name)

    def report(self, what: str, done: int, total: int) -> None:
        """Report progress, if there is a callback."""
        if self.progress is not None:
            self.progress(what, done, total)


@contextmanager
def progress_bar(
    wanted: bool | Progress | None, *, delay: float = 2.0
) -> Iterator[Progress | None]:
    """The callback for `wanted`: a bar on stderr, nothing, or the user's own.

    Parameters
    ----------
    wanted : bool, callable or None
        None: a bar if stderr is a terminal and the work takes longer than `delay` seconds. True:
        the same at once. False: nothing. A callable is passed through.
    delay : float
        Seconds before an automatic bar appears.
    """
    if callable(wanted):
        yield wanted
        return
    if wanted not in (None, True, False):
        raise ParameterError("progress must be None, True, False or a callable.")
    if wanted is False or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(0.0 if wanted else delay)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """A rich progress bar that appears only when the work turns out to be long."""

    def __init__(self, delay: float) -> None:
        self._show_at = time.monotonic() + delay
        self._bar: object | None = None
        self._tasks: dict[str, int] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() < self._show_at:
                return
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        bar = self._bar
        if what not in self._tasks:
            self._tasks[what] = bar.add_task(what, total=total)  # type: ignore[attr-defined]
        bar.update(self._tasks[what], completed=done, total=total)  # type: ignore[attr-defined]

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]
