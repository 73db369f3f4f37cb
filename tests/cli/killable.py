"""The command line in a process that kills itself at a chosen file operation.

`tests.preloaded` has it, so that a run costs a fork and not an import.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from longtail.cli import main
from tests.forking import write_to

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "ctypes.call_function"}


def run(words: list[str], folder: str, kill_at: int | None, log: str) -> None:
    """Run a command; count what it does to files in `folder`, and die at one of these moments."""
    done = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal done
        if event not in EVENTS or not _changes_files(event, arguments, folder):
            return
        if done == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1

    write_to(log)
    sys.argv = ["longtail", *words]
    sys.addaudithook(count)
    try:
        main()
    finally:
        if kill_at is None:
            counted, folder = done, "/nowhere"
            Path(log).with_suffix(".count").write_text(str(counted))


def _changes_files(event: str, arguments: tuple[object, ...], folder: str) -> bool:
    if event == "ctypes.call_function":
        return True
    place = arguments[0]
    if not isinstance(place, str | os.PathLike) or not os.fspath(place).startswith(folder):
        return False
    flags = arguments[2] if event == "open" else os.O_WRONLY
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
