"""The parameter `code_size`: how many problems stand for all labels, as a number or a share."""

from __future__ import annotations

from typing import Annotated

from longtail.parameters import Must, at_least, is_count

SMALLEST = 64  # bits by default


CodeSize = Annotated[
    int | float | None,
    Must(
        "a number of bits, or a share of the labels between 0 and 1",
        lambda value: at_least(1).allows(value) or (isinstance(value, float) and 0 < value < 1),
    ),
]


def bits_of(code_size: float | None, n_labels: int) -> int:
    """A code size in bits; by default half the labels, but at least 64 bits.

    Smaller codes save nothing, and random codes collide.

    Examples
    --------
    >>> bits_of(0.25, 1000), bits_of(300, 1000), bits_of(None, 1000), bits_of(None, 20)
    (250, 300, 500, 64)
    """
    if code_size is None:
        return max(SMALLEST, n_labels // 2)
    return int(code_size) if is_count(code_size) else max(1, round(code_size * n_labels))
