"""Decimal numbers are read as Python's float reads them, to the bit."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from longtail.data import read_xmc
from longtail.data._decimal_kernels import (
    MALFORMED,
    NOT_FINITE,
    NUMBER,
    UNDECIDED,
    read_number,
)
from longtail.data._sparse_writing import number_texts
from tests.data.readers_common import written


def parsed(text: str) -> tuple[int, float, int]:
    return read_number(np.frombuffer(text.encode() + b"\n", dtype=np.uint8), 0)


def assert_exact(text: str, *, may_be_undecided: bool = True) -> None:
    status, value, behind = parsed(text)
    assert behind == len(text)
    if status == UNDECIDED and may_be_undecided:
        return
    assert status == NUMBER
    assert struct.pack("d", value) == struct.pack("d", float(text))


@settings(deadline=None)  # the kernel may have to be compiled first
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.0)
@example(-0.0)
@example(5e-324)
@example(2.2250738585072014e-308)
@example(1.7976931348623157e308)
def test_shortest_digits(value: float) -> None:
    assert_exact(repr(value))
    assert_exact(f"{value:.18e}")
    assert_exact(f"{value:.6f}")


@settings(deadline=None)
@given(st.integers(0, 10**25), st.integers(-360, 330), st.booleans())
@example(9007199254740993, 0, True)
@example(1, 23, True)
@example(18446744073709551615, 0, False)
@example(18446744073709551616, 0, False)
@example(17976931348623158, 292, False)
@example(17976931348623159, 292, False)
def test_digits_and_power(digits: int, power: int, point: bool) -> None:
    text = str(digits)
    if point:
        text = f"{text[0]}.{text[1:]}"
    assert_exact(f"{text}e{power}")


@settings(deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(-4, 10))
def test_halfway_between_two_floats(mantissa: int, shift: int) -> None:
    twice = 2 * mantissa + 1
    exact = twice * 2**shift if shift >= 0 else None
    text = str(exact) if exact is not None else f"{twice * 5**-shift}e{shift}"
    assert_exact(text)


def test_common_numbers_are_all_decided() -> None:
    rng = np.random.default_rng(0)
    for value in rng.lognormal(0, 20, size=2000).tolist():
        assert_exact(repr(value), may_be_undecided=False)
        assert_exact(f"{value:.16e}", may_be_undecided=False)
    for value in rng.normal(size=2000).tolist():
        assert_exact(f"{value:.6f}", may_be_undecided=False)


@pytest.mark.parametrize(
    "text",
    ["1", "+1", ".5", "5.", "00012", "0" * 50 + "1", "0." + "0" * 50 + "1", "1E+5", "1e00005"],
)
def test_spellings(text: str) -> None:
    assert_exact(text, may_be_undecided=False)


@pytest.mark.parametrize("text", ["1e99999999999999999999", "1e-99999999999999999999", "0e9999999"])
def test_absurd_exponents(text: str) -> None:
    assert_exact(text, may_be_undecided=False)


@pytest.mark.parametrize("text", ["", "-", "+", ".", "e5", "1e", "1e+", "--1", "n", "in", "x"])
def test_what_is_no_number(text: str) -> None:
    assert parsed(text)[0] == MALFORMED


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "inf", "-Inf", "+infinity"])
def test_what_is_not_finite(text: str) -> None:
    assert parsed(text)[0] == NOT_FINITE


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.decimals(-(10**40), 10**40, places=30).map(str),
            st.floats(-1e-300, 1e-300).map(repr),
        ),
        min_size=1,
    )
)
def test_files_of_numbers(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    file = tmp_path_factory.getbasetemp() / "numbers.txt"
    line = " ".join(f"{i}:{text}" for i, text in enumerate(texts))
    data = read_xmc(written(file, f"1 {len(texts)} 1\n0 {line}\n"), dtype=np.float64)
    assert data.X.toarray()[0].tolist() == [float(text) for text in texts]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1))
def test_float32_is_written_in_digits_that_read_back(values: list[float]) -> None:
    array = np.array(values, dtype=np.float32)
    texts = number_texts(array)
    np.testing.assert_array_equal(np.array([float(text) for text in texts], np.float32), array)


def test_float32_digits_are_the_shortest() -> None:
    assert number_texts(np.array([0.1, 1, 1e20, -3], np.float32)) == ["0.1", "1", "1e+20", "-3"]
    assert number_texts(np.array([0.1, math.pi])) == ["0.1", "3.141592653589793"]
