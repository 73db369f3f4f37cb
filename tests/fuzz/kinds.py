"""What a kind of hostile input is, and what becomes of one input."""

from __future__ import annotations

import traceback
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longtail.errors import LongtailError
from tests.fuzz.limits import PeakGrowth, memory_bound


class Wrong(Exception):  # noqa: N818 - it says what is wrong with an answer
    """An answer that is silently wrong."""


def nothing(folder: Path) -> None:
    """All that there is to do for inputs that are made from nothing."""


@dataclass(frozen=True)
class Kind:
    """A kind of input.

    Attributes
    ----------
    name : str
    attempt : callable
        Called with a random generator, an empty folder and the folder of what was prepared. It
        makes an input, notes what that is (`note`), and gives it to longtail. It returns if the
        input is accepted and the answer is right; else a `LongtailError` or `Wrong` comes out.
    prepare : callable
        Called once with the folder for what all inputs start from.
    warm_up : callable
        Called with an empty folder when a process begins: what it loads once is not counted as the
        memory of an input.
    start : str, optional
        The name of that folder; kinds with the same one share it. By default the kind's own name.
    may_die : bool
        Whether the process may end: longtail itself runs this work in a process that may.
    """

    name: str
    attempt: Callable[[np.random.Generator, Path, Path], None]
    prepare: Callable[[Path], None] = nothing
    warm_up: Callable[[Path], None] = nothing
    start: str | None = None
    may_die: bool = False

    def generator(self, seed: int, number: int) -> np.random.Generator:
        """The source of all that is random in one input."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), number])


@dataclass(frozen=True)
class Outcome:
    """What became of one input: "accepted", "refused", or "failed", and then how."""

    result: str
    how: str = ""
    details: str = ""


NOTE = "what.txt"


def note(folder: Path, what: str) -> None:
    """Say what the input is, before it is used: for the report, should the process end."""
    (folder / NOTE).write_text(what + "\n", encoding="utf-8")


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def outcome_of(kind: Kind, seed: int, number: int, scratch: Path, common: Path) -> Outcome:
    """What becomes of one input in this process."""
    growth = PeakGrowth()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            kind.attempt(kind.generator(seed, number), scratch, common)
        found = Outcome("accepted")
    except LongtailError as error:
        message = str(error)
        if "\n" in message or len(message) > 2000:
            found = Outcome("failed", "a refusal of several lines", message)
        else:
            found = Outcome("refused")
    except Wrong as error:
        found = Outcome("failed", str(error))
    except MemoryError:
        found = Outcome("failed", "MemoryError", traceback.format_exc())
    except Exception as error:
        found = Outcome("failed", f"raw {type(error).__name__}", traceback.format_exc())
    if found.result != "failed":
        grown, allowed = growth.bytes(), memory_bound(unpacked_size(scratch))
        if grown > allowed:
            how = "more memory than allowed"
            return Outcome("failed", how, f"{grown >> 20} MiB instead of {allowed >> 20} MiB")
    return found


UNPACKED = "unpacked.bytes"


def unpacked_size(scratch: Path) -> int:
    """Bytes of the input as longtail has to read it: what gzip unpacks to, where it is noted."""
    noted = scratch / UNPACKED
    return int(noted.read_text()) if noted.exists() else size_of(scratch)
