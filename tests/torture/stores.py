"""Saving while others read, while others save, and while the disk is full."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

from longtail.errors import LongtailError
from longtail.store import read, write
from tests.cli.files import write_docs
from tests.cli.killable import Training, content
from tests.forking import fork_server
from tests.torture.findings import Findings

PATIENCE = 60.0
"""Seconds after which a process gives up waiting for the others, or to be killed."""


def _value(number: int) -> dict[str, object]:
    return {"number": number, "array": np.full(20_000 + number % 7, number)}


def _is_whole(found: dict[str, object]) -> bool:
    wanted = _value(int(found["number"]))  # type: ignore[call-overload]
    return np.array_equal(found["array"], wanted["array"])  # type: ignore[arg-type]


def _again_and_again(
    there: Connection, together: Barrier, seconds: float, step: Callable[[int], str | None]
) -> None:
    """Take a step with 0, 1, ... for some seconds after all processes have begun, once at least."""
    number, failures = 0, []
    together.wait(PATIENCE)
    until = time.monotonic() + seconds
    while number == 0 or time.monotonic() < until:
        failure = step(number)
        failures += [failure] if failure else []
        number += 1
    there.send((number, failures))


def _saving(place: Path, first: int, number: int) -> str | None:
    try:
        write(place, _value(first + number))
    except Exception as error:
        return f"saving: {error!r}"
    return None


def _loading(place: Path, number: int) -> str | None:
    try:
        return None if _is_whole(read(place)) else "loading: parts of two models"
    except Exception as error:
        return f"loading: {error!r}"


def _save_until_killed(place: Path, first: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        write(place, _value(first))
        first += 1


def readers_and_writers(folder: Path, writers: int, readers: int, seconds: float) -> Findings:
    """Processes that save models to one place, and others that load from it meanwhile."""
    findings = Findings(f"{writers} saving and {readers} loading, one folder")
    place = folder / f"models-{writers}" / "model"
    write(place, _value(0))
    together, started = fork_server().Barrier(writers + readers), []
    for number in range(writers + readers):
        ours, theirs = fork_server().Pipe(duplex=False)
        saves = number < writers
        step = partial(_saving, place, 1000 * number) if saves else partial(_loading, place)
        given = (theirs, together, seconds, step)
        process = fork_server().Process(target=_again_and_again, args=given)
        process.start()
        theirs.close()
        started.append((process, ours, "saved" if saves else "loaded"))
    for process, ours, what in started:
        try:
            number, failures = ours.recv()
            findings.count(what, number)
            for failure in failures:
                findings.fail(failure)
        except EOFError:
            findings.fail(f"a process that {what} died")
        process.join()
    write(place, _value(7))
    if os.listdir(place.parent) != ["model"]:
        findings.fail(f"left: {os.listdir(place.parent)}")
    return findings


def two_trainings(folder: Path, times: int) -> Findings:
    """The same command twice at once: each ends well or is refused, and the model is the same."""
    findings = Findings("the same training twice at once")
    data = folder / "train.jsonl"
    write_docs(data, folder / "test" / "test.jsonl")
    alone = Training(data, folder / "alone")
    alone.run()
    wanted = content(alone.model)
    for number in range(times):
        pair = [Training(data, folder / f"pair-{number}") for _ in range(2)]
        pair[1].log = pair[1].log.with_suffix(".second")
        processes = [training.start() for training in pair]
        for process, training in zip(processes, pair, strict=True):
            process.join()
            said = training.log.read_text().strip().splitlines()
            if process.exitcode == 0:
                findings.count("done")
            elif process.exitcode == 1 and said and said[-1].startswith("Error: "):
                findings.count("refused in one sentence")
            else:
                findings.fail(f"exit code {process.exitcode}: {said[-3:]}")
        if pair[0].run() != 0 or content(pair[0].model) != wanted or pair[0].left() != ["model"]:
            findings.fail(f"afterwards: {pair[0].left()}, {pair[0].log.read_text()[-300:]}")
    return findings


FULL = "a full disk"


def full_disk(rng: np.random.Generator, folder: Path, times: int) -> Findings:
    """Trainings on a disk that is too small, then on one that is large enough."""
    data = folder / "train.jsonl"
    write_docs(data, folder / "test" / "test.jsonl")
    alone = Training(data, folder / "alone-disk")
    alone.run()
    wanted = content(alone.model)
    disk = folder / "disk"
    disk.mkdir()
    mounted = _mount(disk, 2**26)
    findings = Findings(FULL if mounted else "files that may not grow (no tmpfs can be mounted)")
    try:
        for number in range(times):
            training = Training(data, disk / f"run-{number}")
            training.log = folder / f"disk-{number}.log"
            largest = sum(map(len, wanted.values())) * 2
            if mounted:
                _fill(disk, free=int(rng.integers(4096, largest)))
                code = training.run()
                (disk / "ballast").unlink()
            else:
                given = (training.words, str(training.log), int(rng.integers(256, largest // 3)))
                process = fork_server().Process(target=_with_small_files, args=given)
                process.start()
                process.join()
                code = process.exitcode
            said = training.log.read_text().strip().splitlines()
            if code == 0:
                findings.count("fitted in")
            elif code == 1 and said and said[-1].startswith("Error: "):
                findings.count("refused in one sentence")
            else:
                findings.fail(f"exit code {code}: {said[-5:]}")
            if training.model.exists() and content(training.model) != wanted:
                findings.fail("half a model")
            if training.run() != 0 or content(training.model) != wanted:
                findings.fail(f"does not go on: {training.log.read_text()[-300:]}")
            elif training.left() != ["model"]:
                findings.fail(f"left: {training.left()}")
            else:
                findings.count("ended with the same bytes")
            shutil.rmtree(training.folder)
    finally:
        if mounted:
            subprocess.run(["umount", str(disk)], check=False)
    return findings


def _mount(place: Path, size: int) -> bool:
    """Mount a file system in memory; False where that is not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _fill(disk: Path, free: int) -> None:
    """Leave so many bytes of a disk free."""
    left = shutil.disk_usage(disk).free - free
    with open(disk / "ballast", "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(left, 1))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def _with_small_files(words: list[str], log: str, size: int) -> None:
    """A command that cannot write files of more than so many bytes."""
    from tests.cli.killable import Moment, run

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    run(words, "/nowhere", Moment(operation=-1), log)


def killed_writers(rng: np.random.Generator, folder: Path, times: int) -> Findings:
    """Processes that save on and on, killed at random moments: the old or the new stands, whole."""
    findings = Findings("SIGKILL while saving")
    place = folder / "killed" / "model"
    write(place, _value(0))
    for number in range(times):
        process = fork_server().Process(target=_save_until_killed, args=(place, 1000 * number))
        process.start()
        time.sleep(0.01 + 0.08 * rng.random())
        process.kill()
        process.join()
        if process.exitcode != -signal.SIGKILL:
            findings.fail(f"saving ends with {process.exitcode}")
        findings.count("killed")
        try:
            if not _is_whole(read(place)):
                findings.fail("parts of two models")
        except LongtailError as error:
            findings.fail(str(error))
    write(place, _value(7))
    if os.listdir(place.parent) != ["model"]:
        findings.fail(f"left: {os.listdir(place.parent)}")
    return findings
