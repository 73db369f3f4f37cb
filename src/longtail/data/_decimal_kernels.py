"""Kernels that read decimal numbers from bytes, correctly rounded to float64.

Two exact methods, which leave hardly any number to Python's own `float`:

- at most 53 bits of digits and a power of ten up to 22: one multiplication or division of two
  exactly represented numbers (W. Clinger, How to read floating point numbers accurately, 1990);
- up to 19 digits: the product with a 128-bit power of five, rounded where the bits beyond decide it
  (D. Lemire, Number parsing at a gigabyte per second, 2021).

Every buffer handed to these kernels ends with a newline, which stops each loop.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import math

import numpy as np

from longtail._numba import kernel

NUMBER = 0
"""The value was read."""
UNDECIDED = 1
"""The spelling is a number, but it takes exact arithmetic to round it."""
MALFORMED = 2
"""Not a number."""
NOT_FINITE = 3
"""NaN or infinity, spelt out."""

_SMALLEST_POWER = -342
_LARGEST_POWER = 308
_EXACT_POWERS = 10.0 ** np.arange(23)


def _powers_of_five() -> tuple[np.ndarray, np.ndarray]:
    """The leading 128 bits of 5^q for every q that can matter, as high and low halves.

    Negative powers are rounded up and others down, as the proof of the method asks.
    """
    high, low = [], []
    for q in range(_SMALLEST_POWER, _LARGEST_POWER + 1):
        if q < 0:
            power = 5**-q
            bits = (power - 1).bit_length()
            scale = bits + 127 if q >= -27 else 2 * bits + 128
            lead = (1 << scale) // power + 1
        else:
            lead = (5**q) << 128
        lead >>= lead.bit_length() - 128
        high.append(lead >> 64)
        low.append(lead & 0xFFFFFFFFFFFFFFFF)
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


_FIVE_HIGH, _FIVE_LOW = _powers_of_five()

_ONE = np.uint64(1)
_NINE = np.uint64(9)
_TEN = np.uint64(10)
_BITS_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)
_SHIFT_63 = np.uint64(63)
_ZERO_DIGIT = np.uint64(48)
_LARGEST_EXACT = np.uint64(1 << 53)
_ROUNDED_UP_PAST = np.uint64(1 << 53)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW_9_BITS = np.uint64(0x1FF)


@kernel
def _wide_product(a, b):
    """High and low half of the 128-bit product of two uint64."""
    a_high, a_low = a >> _SHIFT_32, a & _BITS_32
    b_high, b_low = b >> _SHIFT_32, b & _BITS_32
    low = a_low * b_low
    middle = a_high * b_low + (low >> _SHIFT_32)
    other = a_low * b_high + (middle & _BITS_32)
    high = a_high * b_high + (middle >> _SHIFT_32) + (other >> _SHIFT_32)
    return high, (other << _SHIFT_32) | (low & _BITS_32)


@kernel
def _rounded(digits, power):
    """(decided, digits * 10^power) for nonzero digits; subnormal and doubtful cases undecided."""
    if power < _SMALLEST_POWER:
        return True, 0.0
    if power > _LARGEST_POWER:
        return True, np.inf
    zeros = 0
    while (digits >> _SHIFT_63) == 0:
        digits <<= _ONE
        zeros += 1
    high, low = _wide_product(digits, _FIVE_HIGH[power - _SMALLEST_POWER])
    if (high & _LOW_9_BITS) == _LOW_9_BITS:
        carry, _ = _wide_product(digits, _FIVE_LOW[power - _SMALLEST_POWER])
        low += carry
        if low < carry:
            high += _ONE
    if low == _ALL_BITS and (power < -27 or power > 55):
        return False, 0.0
    top = high >> _SHIFT_63
    shift = top + _NINE
    mantissa = high >> shift
    # 217706 / 2^16 is log2(10) to enough digits for every power in range.
    exponent = ((217706 * power) >> 16) + 63 + np.int64(top) - zeros
    if exponent < -1022:
        return False, 0.0
    halfway = (
        low <= _ONE
        and power >= -4
        and power <= 23
        and (mantissa & np.uint64(3)) == _ONE
        and (mantissa << shift) == high
    )
    if not halfway:
        mantissa += mantissa & _ONE
    mantissa >>= _ONE
    if exponent > 1023 or (exponent == 1023 and mantissa >= _ROUNDED_UP_PAST):
        return True, np.inf
    return True, math.ldexp(np.float64(mantissa), exponent - 52)


@kernel
def _spells_not_finite(buffer, position):
    """Whether `nan` or `inf` begins here, in capitals or not."""
    first = buffer[position] | 32
    if first != 110 and first != 105:
        return False
    second = buffer[position + 1] | 32
    if not (first == 110 and second == 97) and not (first == 105 and second == 110):
        return False
    third = buffer[position + 2] | 32
    return third == 110 if first == 110 else third == 102


@kernel
def read_number(buffer, position):
    """Read the decimal number that starts at `position`: (status, value, position behind it)."""
    negative = buffer[position] == 45
    if negative or buffer[position] == 43:
        position += 1
    first = position
    digits = np.uint64(0)
    digit = np.uint64(buffer[position]) - _ZERO_DIGIT
    while digit <= _NINE:
        digits = digits * _TEN + digit
        position += 1
        digit = np.uint64(buffer[position]) - _ZERO_DIGIT
    n_digits = position - first
    power = 0
    if buffer[position] == 46:
        position += 1
        after_point = position
        digit = np.uint64(buffer[position]) - _ZERO_DIGIT
        while digit <= _NINE:
            digits = digits * _TEN + digit
            position += 1
            digit = np.uint64(buffer[position]) - _ZERO_DIGIT
        power = after_point - position
        n_digits -= power
    if n_digits == 0:
        if _spells_not_finite(buffer, first):
            return NOT_FINITE, 0.0, position
        return MALFORMED, 0.0, position
    if buffer[position] | 32 == 101:
        position += 1
        exponent_negative = buffer[position] == 45
        if exponent_negative or buffer[position] == 43:
            position += 1
        digit = np.uint64(buffer[position]) - _ZERO_DIGIT
        if digit > _NINE:
            return MALFORMED, 0.0, position
        exponent = 0
        while digit <= _NINE:
            if exponent < 100_000_000:
                exponent = exponent * 10 + np.int64(digit)
            position += 1
            digit = np.uint64(buffer[position]) - _ZERO_DIGIT
        power += -exponent if exponent_negative else exponent
    if n_digits > 19:
        leading = first
        while buffer[leading] == 48 or buffer[leading] == 46:
            n_digits -= buffer[leading] == 48
            leading += 1
        if n_digits > 19:
            return UNDECIDED, 0.0, position
    if digits == 0:
        value = 0.0
    elif digits <= _LARGEST_EXACT and power >= -22 and power <= 22:
        value = np.float64(digits)
        value = value / _EXACT_POWERS[-power] if power < 0 else value * _EXACT_POWERS[power]
    else:
        decided, value = _rounded(digits, power)
        if not decided:
            return UNDECIDED, 0.0, position
    return NUMBER, -value if negative else value, position
