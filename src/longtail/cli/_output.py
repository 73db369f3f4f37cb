"""Where output goes: results to stdout, remarks to stderr, JSON always as UTF-8."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.padding import Padding


def console() -> Console:
    """For tables on stdout."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def indented(text: str, by: int = 2) -> Padding:
    """A paragraph whose every line is indented, however the terminal breaks it."""
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, by), expand=False)


def print_missing_extras() -> None:
    """List what is not installed, what it is for and how to install it, if anything is missing."""
    from longtail.runtime.extras import missing_extras

    missing = missing_extras()
    if missing:
        lines = [f"  {extra.command:<35} {extra.what}" for extra in missing]
        console().print("\nNot installed, and not needed for the rest:\n", *lines, sep="\n")


def remark(message: str, *, quiet: bool) -> None:
    """Say on stderr what is going on."""
    if not quiet:
        print(message, file=sys.stderr, flush=True)


@contextmanager
def output(to: Path | None) -> Iterator[IO[bytes]]:
    """Where the lines of a command go: a file as `store.output_file` opens it, or stdout."""
    if to is None or to == Path("-"):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from longtail.store import output_file

    with output_file(to) as stream:
        yield stream


def print_json(value: Any) -> None:
    """Write one JSON value, and nothing else, to stdout."""
    sys.stdout.flush()
    stream = sys.stdout.buffer
    write_json(value, stream, indent=2)
    stream.flush()


def write_json(value: Any, stream: IO[bytes], *, indent: int | None = None) -> None:
    """One JSON value as UTF-8; numbers that JSON does not have become null."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    # Half of a surrogate pair becomes \udc80, which is how JSON spells it.
    stream.write(text.encode("utf-8", "backslashreplace") + b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.item() if hasattr(value, "item") else str(value)
