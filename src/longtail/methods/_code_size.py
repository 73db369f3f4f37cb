"""The parameter `code_size`: how many problems stand for all labels, as a number or a share."""

from __future__ import annotations

from typing import Any

from longtail.errors import ParameterError
from longtail.parameters import is_count

SMALLEST = 64  # bits by default


def check_code_size(code_size: Any) -> None:
    """Refuse a code size that is neither None, a number of bits, nor a share of the labels."""
    if (
        code_size is None
        or is_count(code_size)
        or (isinstance(code_size, float) and 0 < code_size < 1)
    ):
        return
    raise ParameterError(
        f"code_size must be a number of bits, or a share of the labels between 0 and 1, not "
        f"{code_size!r}."
    )


def bits_of(code_size: float | None, n_labels: int) -> int:
    """A code size in bits; by default half the labels, but at least 64 bits.

    Below that there is nothing to be saved, and random codes collide.

    Examples
    --------
    >>> bits_of(0.25, 1000), bits_of(300, 1000), bits_of(None, 1000), bits_of(None, 20)
    (250, 300, 500, 64)
    """
    if code_size is None:
        return max(SMALLEST, n_labels // 2)
    return int(code_size) if is_count(code_size) else max(1, round(code_size * n_labels))
