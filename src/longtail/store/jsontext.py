"""Strict JSON: what the store writes into text, and the only way it reads text back.

Written JSON is pure ASCII and keeps the order of keys, so the same value always gives the same
bytes. Read JSON is refused where Python's own reader is lenient: repeated keys, NaN, infinities,
nesting without end.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAX_BYTES = 64 * 2**20
"""Longest JSON text that is read or written; large values belong into arrays."""


class JsonError(ValueError):
    """Bytes are not the strict JSON they should be; callers turn this into a `ModelError`."""


def dumps(value: Any) -> str:
    """The value as ASCII JSON on one line."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def loads(data: bytes) -> Any:
    """The value of JSON bytes, or a `JsonError` that says what is wrong with them."""
    if len(data) > MAX_BYTES:
        raise JsonError(f"it is longer than {MAX_BYTES} bytes")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except JsonError:
        raise
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start} is not text") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"it is not JSON at character {error.pos}") from None
    except RecursionError:
        raise JsonError("it is nested too deeply") from None
    except ValueError:
        raise JsonError("it holds a number that is too long") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonError(f"the key {shortened(key)!r} occurs twice")
            seen.add(key)
    return out


def _refuse_constant(name: str) -> None:
    raise JsonError(f"it holds {name}, which is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonError("it holds a number that is too large")
    return value


def shortened(text: str, length: int = 60) -> str:
    """A piece of foreign text, short enough for a message."""
    return text if len(text) <= length else text[:length] + "…"
