"""The small checks of `unpacking`: each gives what a node holds or names the wrong place."""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from longtail.errors import ModelError
from longtail.store.jsontext import shortened
from longtail.store.tensors import MAX_DIMENSIONS

_HEX = re.compile(r"-?0x[0-9a-f]+")


def fields_of(
    node: dict[str, Any],
    place: str,
    *required: str,
    optional: tuple[str, ...] = (),
    tag: str = "$",
) -> dict[str, Any]:
    """A node's parts without its tag, if it has those it needs and no others."""
    names = set(node) - {tag}
    if not set(required) <= names or not names <= {*required, *optional}:
        fail(place, f"is a {shortened(str(node[tag]))} without its parts or with others")
    return {name: value for name, value in node.items() if name != tag}


def product(shape: Any, place: str) -> int:
    """How many items an array of that shape has."""
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_DIMENSIONS
        or not all(type(side) is int and 0 <= side < 2**63 for side in shape)
    ):
        fail(place, "has a malformed shape")
    return math.prod(shape)


def big_endian(fields: dict[str, Any], place: str) -> bool:
    """Whether a node says that its numbers are big-endian in memory."""
    order = fields.get("byteorder")
    if order not in (None, "big"):
        fail(place, "is of an unknown byte order")
    return order == "big"


def big_int(digits: Any, place: str) -> int:
    """A whole number of any size out of hexadecimal digits."""
    if not isinstance(digits, str) or not _HEX.fullmatch(digits):
        fail(place, "is not a whole number in hexadecimal digits")
    return int(digits, 16)


def fail(place: str, reason: str) -> NoReturn:
    """Refuse the value at a place."""
    raise ModelError(f"{place or 'the value'}: {reason}.")
