"""Taking turns in one process, in a way that survives a fork.

A lock that some thread holds while another one forks stays locked in the child for good, since that
thread is not there. So a child begins with locks of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any

_LOCKS: dict[str, AbstractContextManager[Any]] = {}
_FORKED: list[int] = []


def turns(name: str) -> AbstractContextManager[Any]:
    """The lock of that name in this process; a thread that holds it may take it again.

    Examples
    --------
    >>> with turns("liblinear"):
    ...     turns("liblinear") is turns("liblinear")
    True
    """
    return _LOCKS.setdefault(name, RLock())


def in_every_child(function: Callable[[], None]) -> Callable[[], None]:
    """Decorator of what a process has to do first when another one forked it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    return function


@in_every_child
def _begin_anew() -> None:
    _LOCKS.clear()
    _FORKED[:] = [os.getpid()]


def is_forked() -> bool:
    """Whether this process is the fork of one that has used longtail.

    Threads of libraries are gone then: polars waits for its own for ever.

    Examples
    --------
    >>> is_forked()
    False
    """
    return bool(_FORKED)
