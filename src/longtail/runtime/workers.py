"""Threads that take tasks from a queue, and that Ctrl-C can stop at any moment.

The pool of the standard library is not safe from that: an interrupt that comes while the calling
thread holds the lock of a future, as it does before and after every wait, leaves it locked; the
workers then wait for it forever, and so does whoever waits for the workers. Starting a thread has
such a moment, too. Here the calling thread takes no lock that a worker needs: all that passes
between them goes through queues whose every use is one step to the interpreter.
"""

from __future__ import annotations

import sys
import threading
import weakref
from _thread import start_new_thread
from collections.abc import Callable, Iterable
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.runtime.run import Stopped

PATIENCE = 0.2  # seconds; an endless wait ignores Ctrl-C on Windows

_HERE = threading.local()
_NEVER: NDArray[np.int8] = np.zeros(1, dtype=np.int8)


def stopping() -> NDArray[np.int8]:
    """The stop flag of the work that this thread does: not zero once it is to end soon.

    Kernels get the array, and look at it now and then. Code that finds it set raises `Stopped`.
    Where nobody can ask for a stop, as in a process of its own, it stays zero.

    Examples
    --------
    >>> stopping().tolist()
    [0]
    """
    flag: NDArray[np.int8] = getattr(_HERE, "stop", _NEVER)
    return flag


def check_running() -> None:
    """Raise `Stopped` if the work that this thread does is to end.

    Examples
    --------
    >>> check_running()
    """
    if stopping()[0]:
        raise Stopped


class Workers:
    """A few threads for the tasks of one caller; tasks end in any order.

    Use it in a `with` statement: when that ends by an error, tasks that wait are dropped, `stop`
    goes up for those under way, and these are waited for.

    Parameters
    ----------
    threads : int
        How many at most; they start as tasks come.

    Attributes
    ----------
    stop : int8 array of one entry
        No longer zero once the tasks under way are to end.
    under_way : int
        Tasks handed in whose end was not yet reported.

    Examples
    --------
    >>> with Workers(2) as workers:
    ...     workers.submit("nine", lambda: 3**2)
    ...     workers.next_ended()
    ...     workers.map(abs, [-1, -2])
    ('nine', 9)
    [1, 2]
    """

    def __init__(self, threads: int) -> None:
        self._waiting: SimpleQueue[Any] = SimpleQueue()
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._gone: SimpleQueue[None] = SimpleQueue()
        # Threads that nobody closed, because an interrupt came in between, end with this object. No
        # Python runs for it, in which another interrupt would be lost, as in __del__.
        self._closer = weakref.ref(self, self._waiting.put)
        self._most = threads
        self._started = 0
        self._closed = False
        self.stop: NDArray[np.int8] = np.zeros(1, dtype=np.int8)
        self.under_way = 0

    def submit(self, name: Any, task: Callable[[], Any]) -> None:
        """Hand in a task; the name tells which one ended."""
        if self._closed:
            raise RuntimeError("The with statement of these workers has ended.")
        if self._started < self._most:
            queues = self._waiting, self._ended, self._gone
            start_new_thread(_traced, (*queues, self.stop, self._closer))
            self._started += 1
        self.under_way += 1
        self._waiting.put((name, task))

    def next_ended(self) -> tuple[Any, Any]:
        """Wait for a task to end: its name and what it gave; what it raised is raised here."""
        if not self.under_way:
            raise RuntimeError("No task is under way.")
        name, result, error = _next(self._ended)
        self.under_way -= 1
        if error is None:
            return name, result
        try:
            raise error
        finally:
            del error  # whose traceback has this frame, and so all that it knows

    def map(self, work: Callable[[Any], Any], pieces: Iterable[Any]) -> list[Any]:
        """What `work` makes of each piece, in order; no other task may be under way.

        If it raises something, that is raised once all pieces have ended.
        """
        for number, piece in enumerate(pieces):
            self.submit(number, partial(work, piece))
        found: dict[int, Any] = {}
        failed: BaseException | None = None
        while self.under_way:
            try:
                number, result = self.next_ended()
                found[number] = result
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failed = failed or error
        if failed is not None:
            try:
                raise failed
            finally:
                del failed
        return [found[number] for number in range(len(found))]

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop[0] = error is not None
        self._closed = True
        self.under_way = 0
        self._waiting.put(None)
        for _ in range(self._started):
            _next(self._gone)


def _next(queue: SimpleQueue[Any]) -> Any:
    while True:
        try:
            return queue.get(timeout=PATIENCE)
        except Empty:
            continue


def _traced(*words: Any) -> None:
    """The work of a thread, seen by debuggers and coverage as if `threading` had started it."""
    if threading.gettrace() is not None:
        sys.settrace(threading.gettrace())
    if threading.getprofile() is not None:
        sys.setprofile(threading.getprofile())
    _work(*words)


def _work(
    waiting: SimpleQueue[Any],
    ended: SimpleQueue[Any],
    gone: SimpleQueue[None],
    stop: NDArray[np.int8],
    closer: Any,
) -> None:
    """Do tasks until something else comes, and leave something for the next thread, too."""
    _HERE.stop = stop
    while isinstance(handed_in := waiting.get(), tuple):
        name, task = handed_in
        if not stop[0]:
            try:
                ended.put((name, task(), None))
            except BaseException as error:
                ended.put((name, None, error))
        del handed_in, name, task  # nothing is kept alive by a thread that waits
    waiting.put(None)
    gone.put(None)
