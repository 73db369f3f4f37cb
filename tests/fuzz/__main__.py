"""`make fuzz`: hostile input of every kind, with a table of what became of it.

Kernels are compiled with numba's checks of bounds, into a folder of their own: one that would read
outside of its arrays raises IndexError, which is a failure.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".fuzz"


def main(words: list[str]) -> int:
    """Try inputs, print the table, and say whether all went well."""
    given = _arguments(words)
    if given.bounds:
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ["NUMBA_CACHE_DIR"] = str(given.folder / "kernels")
    from tests.fuzz.children import Tally, replay_line, try_inputs
    from tests.fuzz.every import KINDS

    given.folder.mkdir(parents=True, exist_ok=True)
    lock = (given.folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"Another run works in {given.folder}; wait for its end or name another --folder.")
        return 2
    shutil.rmtree(given.folder / "common", ignore_errors=True)
    names = given.kinds or list(KINDS)
    tallies: list[Tally] = []
    for name in names:
        if given.only is not None:
            first, enough = given.only, lambda tried: True
        elif given.inputs is not None:
            first, enough = 0, lambda tried: tried >= given.inputs
        else:
            first, enough = 0, _deadline(60 * given.minutes / len(names))
        tallies.append(
            try_inputs(KINDS[name], given.seed, given.folder, enough=enough, first=first)
        )
        print(_row(tallies[-1]) if len(tallies) > 1 else f"{_HEAD}\n{_row(tallies[-1])}")
        sys.stdout.flush()
    for tally in tallies:
        ways = Counter(how for _, how in tally.failures)
        for how, count in ways.most_common():
            number = next(number for number, told in tally.failures if told == how)
            print(f"{tally.kind}: {how} ({count}): {replay_line(tally.kind, given.seed, number)}")
    failed = sum(len(tally.failures) for tally in tallies)
    print(f"{sum(tally.tried for tally in tallies):,} inputs, {failed} failures", end="")
    print(f"; they are in {given.folder / 'failures'}" if failed else "")
    return 1 if failed else 0


_HEAD = "| kind | inputs | refused | accepted | decoder died | failures | seconds |\n" + (
    "|---|---|---|---|---|---|---|"
)


def _row(tally) -> str:
    counts = [tally.counts[result] for result in ("refused", "accepted", "decoder died", "failed")]
    cells = [tally.kind, f"{tally.tried:,}", *(f"{n:,}" for n in counts), f"{tally.seconds:.0f}"]
    return f"| {' | '.join(cells)} |"


def _deadline(seconds: float):
    """Whether so many seconds have passed since the first input was done."""
    started: list[float] = []

    def enough(tried: int) -> bool:
        started.append(time.monotonic()) if not started else None
        return time.monotonic() - started[0] > seconds

    return enough


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all kinds together")
    parser.add_argument("--inputs", type=int, help="inputs per kind, instead of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", help="some of: readers parquet folders arrays trees")
    parser.add_argument("--only", type=int, help="try one input again, by its number")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for failing inputs")
    parser.add_argument("--no-bounds", dest="bounds", action="store_false", help="as users have it")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
