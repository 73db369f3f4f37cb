"""The command line in a process that gets a signal at a chosen moment, and trainings made of it.

`tests.preloaded` has it, so that a run costs a fork and not an import.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from longtail.cli import main
from tests.forking import fork_server, write_to

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "ctypes.call_function"}


@dataclass(frozen=True)
class Moment:
    """When a process sends itself a signal: before a file operation, or after some seconds."""

    operation: int | None = None
    seconds: float | None = None
    signal: int = signal.SIGKILL


def run(words: list[str], folder: str, moment: Moment, log: str) -> None:
    """Run a command; count what it does to files in `folder`, and send the signal in time."""
    done = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal done
        if event not in EVENTS or not _changes_files(event, arguments, folder):
            return
        if done == moment.operation:
            done += 1
            os.kill(os.getpid(), moment.signal)
        else:
            done += 1

    def wait() -> None:
        time.sleep(moment.seconds or 0.0)
        os.kill(os.getpid(), moment.signal)

    write_to(log)
    sys.argv = ["longtail", *words]
    sys.addaudithook(count)
    if moment.seconds is not None:
        threading.Thread(target=wait, daemon=True).start()
    try:
        main()
    finally:
        if moment == Moment():
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


class Training:
    """The same command, over and over, in a folder of its own."""

    def __init__(self, data: Path, folder: Path, *options: str, method: str = "dismec") -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.model = folder / "model"
        self.words = ["train", str(data), "--to", str(self.model), "--n-jobs", "1"]
        self.words += ["-m", method, *options]
        self.log = folder.with_suffix(".log")

    def start(self, moment: Moment = Moment()) -> ForkServerProcess:
        process = fork_server().Process(
            target=run, args=(self.words, str(self.folder), moment, str(self.log))
        )
        process.start()
        return process

    def run(self, moment: Moment = Moment()) -> int | None:
        """Exit code of a run: negative if a signal ended it."""
        process = self.start(moment)
        process.join()
        return process.exitcode

    def moments(self) -> int:
        """How many file operations the last undisturbed run had."""
        return int(self.log.with_suffix(".count").read_text())

    def left(self) -> list[str]:
        """The names of what is in the folder."""
        return sorted(entry.name for entry in self.folder.iterdir())


def content(model: Path) -> dict[str, bytes]:
    """The files of a model."""
    return {file.name: file.read_bytes() for file in sorted(model.iterdir())}


def killed(trainings: Sequence[Training], operations: Sequence[int]) -> list[int | None]:
    """Kill each training at its file operation, two at a time; the exit codes."""
    codes: list[int | None] = []
    for first in range(0, len(trainings), 2):
        pair = zip(trainings[first : first + 2], operations[first : first + 2], strict=True)
        processes = [training.start(Moment(operation)) for training, operation in pair]
        for process in processes:
            process.join()
            codes.append(process.exitcode)
    return codes
