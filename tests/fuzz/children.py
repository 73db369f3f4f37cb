"""Inputs in processes of their own: a crash, a hang or a memory peak ends one of them at most."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from numba.core.event import Event, Listener, install_listener

from tests.forking import fork_server, write_to
from tests.fuzz.kinds import Kind, Outcome, outcome_of
from tests.fuzz.limits import SECONDS, limit_address_space

DIED = "the process died"
HUNG = "no answer in time"
COMPILING, COMPILED = "compiling", "compiled"
COMPILING_SECONDS = 600.0
PATIENCE = 5
"""Seconds that the kernels of one call may take to be compiled."""


@dataclass
class Tally:
    """What became of the inputs of one kind."""

    kind: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def tried(self) -> int:
        return self.counts.total()


@dataclass(frozen=True)
class Places:
    """Where the files of one kind are: all below one folder."""

    folder: Path
    kind: str
    start: str

    @property
    def common(self) -> Path:
        """What all inputs start from."""
        return self.folder / "common" / self.start

    @property
    def scratch(self) -> Path:
        """The input that is being tried."""
        return self.folder / f"scratch-{self.kind}" / "input"

    @property
    def log(self) -> Path:
        """What the process said."""
        return self.folder / f"scratch-{self.kind}" / "log.txt"

    def keep(self, seed: int, number: int, outcome: Outcome) -> None:
        """Keep the failing input, what went wrong, and the line that tries it again."""
        place = self.folder / "failures" / f"{self.kind}-{seed}-{number}"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.scratch, place)
        told = self.log.read_text("utf-8", "replace")[-4000:] if self.log.exists() else ""
        lines = [replay_line(self.kind, seed, number), outcome.how, outcome.details, told]
        (place / "failure.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def replay_line(kind: str, seed: int, number: int) -> str:
    """The command that tries one input again."""
    return f".venv/bin/python -m tests.fuzz --kinds {kind} --seed {seed} --only {number}"


def try_inputs(
    kind: Kind, seed: int, folder: Path, *, enough: Callable[[int], bool], first: int = 0
) -> Tally:
    """Try inputs `first`, `first + 1`, ... until `enough(how many)`.

    Parameters
    ----------
    folder : Path
        For what is prepared, what is tried, and `failures`, the inputs that failed.
    """
    tally, started, places = (
        Tally(kind.name),
        time.monotonic(),
        Places(folder, kind.name, kind.start or kind.name),
    )
    if not places.common.is_dir():
        _prepare(kind, places.common)
    outcomes = _outcomes(kind, seed, first, places)
    for number, outcome in outcomes:
        tally.counts[outcome.result] += 1
        if outcome.result == "failed":
            tally.failures.append((number, outcome.how))
        if enough(tally.tried):
            break
    outcomes.close()
    tally.seconds = time.monotonic() - started
    return tally


def _prepare(kind: Kind, common: Path) -> None:
    """Make what all inputs start from, in a process of its own and without limits."""
    making = common.with_name(f"{common.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    process = fork_server().Process(target=kind.prepare, args=(making,))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"preparing {kind.name} ended with {process.exitcode}")
    making.rename(common)


def _outcomes(
    kind: Kind, seed: int, number: int, places: Places
) -> Generator[tuple[int, Outcome], None, None]:
    """The outcome of every input from `number` on, one after another."""
    while True:
        here, there = fork_server().Pipe(duplex=False)
        process = fork_server().Process(
            target=_try_in_turn, args=(there, kind, seed, number, places)
        )
        process.start()
        there.close()
        try:
            here.recv()  # it has warmed up, however long that took
            ended = None
            while ended is None:
                try:
                    outcome = _next_outcome(here, process.pid or 0)
                except TimeoutError:
                    ended = Outcome("failed", HUNG)
                    continue
                except EOFError:
                    process.join()
                    ended = _death(process.exitcode or 0, kind)
                    continue
                yield number, outcome
                number += 1
            if ended.result == "failed":
                places.keep(seed, number, ended)
            yield number, ended
            number += 1
        finally:
            if process.is_alive():
                process.kill()
            process.join()
            here.close()


def _next_outcome(here: Connection, process: int) -> Outcome:
    """What the process answers; seconds in which it compiles kernels are not counted.

    On a crowded machine it may have had little of a processor, so it is waited for up to `PATIENCE`
    times as long as long as it has not had half of its seconds.
    """
    left, compiling = SECONDS, False
    used, patience = _seconds_used(process), PATIENCE - 1
    while True:
        started = time.monotonic()
        if not here.poll(COMPILING_SECONDS if compiling else max(left, 0.0)):
            if compiling or not patience or _seconds_used(process) - used > SECONDS / 2:
                raise TimeoutError
            left, patience = SECONDS, patience - 1
            continue
        told = here.recv()
        if isinstance(told, Outcome):
            return told
        if not compiling:
            left -= time.monotonic() - started
        compiling = told == COMPILING


def _seconds_used(process: int) -> float:
    """Of processors, by a process and the children that it has waited for."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


class _TellsOfKernels(Listener):
    """Tells the parent when kernels are compiled; numba compiles in one thread at a time."""

    def __init__(self, there: Connection) -> None:
        self._there, self._depth = there, 0

    def on_start(self, event: Event) -> None:
        self._depth += 1
        if self._depth == 1:
            self._there.send(COMPILING)

    def on_end(self, event: Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._there.send(COMPILED)


def _death(code: int, kind: Kind) -> Outcome:
    """What it means that the process ended."""
    if kind.may_die and code < 0:
        return Outcome("decoder died")
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return Outcome("failed", f"{DIED}: {name}")


def _try_in_turn(there: Connection, kind: Kind, seed: int, number: int, places: Places) -> None:
    """Try inputs until the parent has enough and ends this process."""
    places.log.parent.mkdir(parents=True, exist_ok=True)
    write_to(str(places.log))
    shutil.rmtree(places.scratch, ignore_errors=True)
    places.scratch.mkdir()
    kind.warm_up(places.scratch)
    limit_address_space()
    gc.freeze()
    there.send("ready")
    while True:
        shutil.rmtree(places.scratch, ignore_errors=True)
        places.scratch.mkdir()
        with install_listener("numba:compile", _TellsOfKernels(there)):
            outcome = outcome_of(kind, seed, number, places.scratch, places.common)
        if outcome.result == "failed":
            places.keep(seed, number, outcome)
        there.send(outcome)
        number += 1
