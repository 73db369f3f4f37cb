"""Parameters that several methods of this wing have, and their checks."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from longtail.errors import ParameterError

Decoding = Literal["threshold", "random"]
SMALLEST = 64  # bits by default


def check_positive(**values: Any) -> None:
    """Refuse parameters that are not positive, finite numbers."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < math.inf):
            raise ParameterError(f"{name} must be a positive, finite number, not {value!r}.")


def check_count(**values: Any) -> None:
    """Refuse parameters that are not whole numbers from 1 on."""
    for name, value in values.items():
        if not is_count(value):
            raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}.")


def check_seed(random_state: Any) -> None:
    """Refuse a seed that is not a whole number from 0 to 2³² - 1."""
    if (
        isinstance(random_state, bool)
        or not isinstance(random_state, int | np.integer)
        or not 0 <= random_state < 2**32
    ):
        raise ParameterError(
            f"random_state must be a whole number from 0 to 2**32 - 1, not {random_state!r}."
        )


def check_share(**values: Any) -> None:
    """Refuse parameters that are not shares between 0 and 1."""
    for name, value in values.items():
        if not (_is_number(value) and 0 < value < 1):
            raise ParameterError(f"{name} must be a share between 0 and 1, not {value!r}.")


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


def is_count(value: Any) -> bool:
    """Whether a value is a whole number from 1 on."""
    return not isinstance(value, bool) and isinstance(value, int | np.integer) and bool(value >= 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
