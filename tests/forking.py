"""Processes that cost a fork and not an import: one fork server for all tests of a worker.

It imports `tests.preloaded` when the first process is asked for.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from longtail.cli import main


def fork_server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context


def answer_of(work: Callable[..., Any], *given: Any) -> Any:
    """What a function of a module gives in a process of its own."""
    there, here = fork_server().Pipe(duplex=False)
    process = fork_server().Process(target=_answer, args=(here, work, given))
    process.start()
    here.close()
    found = there.recv()  # EOFError if the process died
    process.join()
    return found


def run_longtail(words: Sequence[str], environment: Mapping[str, str]) -> tuple[int | None, str]:
    """The exit code of a command of `longtail` in the current folder, and all that it says."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        given = (list(words), os.getcwd(), dict(environment), str(log))
        process = fork_server().Process(target=_run_longtail, args=given)
        process.start()
        process.join()
        return process.exitcode, log.read_text("utf-8")


def run_script(script: str, words: Sequence[str], folder: str) -> tuple[int | None, str]:
    """The exit code of a script that can import what is in a folder, and all that it says."""
    with tempfile.TemporaryDirectory() as place:
        log = str(Path(place, "log"))
        process = fork_server().Process(target=_run_script, args=(script, list(words), folder, log))
        process.start()
        process.join()
        return process.exitcode, Path(log).read_text("utf-8")


def in_a_fork(work: Callable[[], Any], seconds: float = 60) -> Any:
    """What a fork of this process answers; None if it hangs or dies."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=lambda: theirs.send(work()))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(seconds) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def _answer(here: Connection, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    here.send(work(*given))


def _run_longtail(words: list[str], folder: str, environment: dict[str, str], log: str) -> None:
    os.environ.update(environment)
    os.chdir(folder)
    write_to(log)
    sys.argv = ["longtail", *words]
    main()


def _run_script(script: str, words: list[str], folder: str, log: str) -> None:
    write_to(log)
    sys.path.insert(0, folder)
    sys.argv = ["script", *words]
    exec(compile(script, "script", "exec"), {"__name__": "script"})


def write_to(log: str) -> None:
    """Send what this process says to a file, in the order in which it is said."""
    with open(log, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)
