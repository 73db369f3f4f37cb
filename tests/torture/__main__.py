"""`make torture`: kills, full disks, forks and threads, with a table of what became of it all."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.torture import kills, processes, stores
from tests.torture.findings import Findings


def main(words: list[str]) -> int:
    """Run the trials, print the table, and say whether all went well."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="signals to trainings")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", nargs="*", help="some of them, by name")
    given = parser.parse_args(words)
    print("| trial | what happened | failures | seconds |\n|---|---|---|---|", flush=True)
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="longtail-torture-") as place:
        for name, trial in trials(given.kills, given.seed).items():
            if given.trials and name not in given.trials:
                continue
            folder = Path(place, name)
            folder.mkdir()
            started = time.monotonic()
            findings = trial(folder)
            findings.seconds = time.monotonic() - started
            print(findings.row(), flush=True)
            failed += [f"{name}: {failure}" for failure in findings.failures]
    print(*failed, sep="\n")
    return 1 if failed else 0


def trials(
    n_kills: int, seed: int, methods: list[str] | None = None
) -> dict[str, Callable[[Path], Findings]]:
    """All trials by name, as long as so many kills suggest, with randomness of their own."""
    rng = np.random.default_rng(seed)
    seconds, times = max(0.5, n_kills / 30), max(1, n_kills // 10)
    return {
        "kills": lambda folder: kills.torture(rng, n_kills, folder, methods),
        "killed-writers": lambda folder: stores.killed_writers(rng, folder, n_kills),
        "loading": lambda folder: stores.readers_and_writers(folder, 1, 2, seconds),
        "two-writers": lambda folder: stores.readers_and_writers(folder, 2, 1, seconds),
        "two-trainings": lambda folder: stores.two_trainings(folder, times),
        "full-disk": lambda folder: stores.full_disk(rng, folder, times),
        "forks": lambda folder: processes.forks(methods),
        "threads": lambda folder: processes.threads(methods),
        "interrupts": lambda folder: processes.interrupts(seed, max(1, n_kills // 100), methods),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
