"""Many strings as two arrays: one run of UTF-8 bytes, and where each string ends in it.

A million label names are two arrays in a file instead of a million JSON values, and go in and out
by a handful of passes over whole arrays. A lone surrogate, which Python strings may hold and UTF-8
may not, is written in the three bytes that the pattern of UTF-8 would give it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ERRORS = "surrogatepass"


def encode_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The bytes of all strings in UTF-8, one after the other, and their ends. O(characters)."""
    joined = "".join(strings)
    text = np.frombuffer(joined.encode("utf-8", _ERRORS), dtype=np.uint8)
    ends = np.cumsum(np.fromiter(map(len, strings), dtype=np.int64, count=len(strings)))
    if len(text) != len(joined):
        starts_of_characters = np.append(np.flatnonzero(_begins_character(text)), len(text))
        ends = starts_of_characters[ends]
    return text, ends.astype(np.uint32 if len(text) < 2**32 else np.int64)


def decode_strings(text: NDArray[np.uint8], ends: NDArray[Any]) -> list[str]:
    """The inverse of `encode_strings`; a ValueError says what is wrong with the arrays."""
    check_ends(ends, len(text), "the ends of the strings do not fit their text")
    try:
        joined = text.tobytes().decode("utf-8", _ERRORS)
    except UnicodeDecodeError:
        raise ValueError("the text is not UTF-8") from None
    limits = np.zeros(len(ends) + 1, dtype=np.int64)
    limits[1:] = ends
    if len(joined) != len(text):
        begins = np.append(_begins_character(text), True)
        if not begins[limits].all():
            raise ValueError("a string ends within a character")
        characters_before = np.zeros(len(text) + 1, dtype=np.int64)
        np.cumsum(begins[:-1], out=characters_before[1:])
        limits = characters_before[limits]
    places = limits.tolist()
    return [joined[a:b] for a, b in pairwise(places)]


def check_ends(ends: NDArray[Any], total: int, message: str) -> None:
    """Refuse ends that decrease or do not arrive at `total`."""
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise ValueError(message)
    if len(ends) == 0:
        if total:
            raise ValueError(message)
    elif ends[0] < 0 or ends[-1] != total or not is_rising(ends):
        raise ValueError(message)


def is_rising(values: NDArray[Any], chunk: int = 2**18) -> bool:
    """Whether no value is below the one before it; works in chunks, so in little memory."""
    for start in range(0, len(values) - 1, chunk):
        piece = values[start : start + chunk + 1]
        if (piece[1:] < piece[:-1]).any():
            return False
    return True


def _begins_character(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """True at the first byte of every character: the others have the form 10xxxxxx."""
    return (text & 0xC0) != 0x80
