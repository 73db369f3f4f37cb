"""Where output goes: results to stdout, remarks to stderr, JSON as UTF-8 whatever the terminal."""

from __future__ import annotations

import json
import math
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """For tables on stdout."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def remark(message: str, *, quiet: bool) -> None:
    """Say on stderr what is going on."""
    if not quiet:
        print(message, file=sys.stderr, flush=True)


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
