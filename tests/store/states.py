"""What the tests of the store share: random states, and an equality that overlooks nothing."""

from __future__ import annotations

import json
import math
import struct

import hypothesis.extra.numpy as hnp
import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from longtail.store import register

any_text = st.text(st.characters(exclude_categories=()), max_size=6).filter(
    lambda text: json.loads(json.dumps(text)) == text
)
plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | any_text
)
numeric = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="=")
    | hnp.unsigned_integer_dtypes(endianness="=")
    | hnp.floating_dtypes(sizes=(16, 32, 64), endianness="=")
)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
numpy_scalars = hnp.arrays(numeric, ()).map(lambda array: array[()])


@st.composite
def number_arrays(draw):
    array = draw(hnp.arrays(draw(numeric), draw(shapes)))
    form = draw(st.sampled_from(["C", "F", "reversed"]))
    if form == "F":
        return np.asfortranarray(array) if array.ndim else array
    return array[::-1] if form == "reversed" and array.ndim else array


@st.composite
def text_arrays(draw):
    strings = draw(st.lists(any_text, max_size=5))
    width = max((len(text.rstrip("\0")) for text in strings), default=0)
    return np.array(strings, dtype=f"U{width or 1}")


@st.composite
def object_arrays(draw):
    items = st.recursive(
        plain | numpy_scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4
    )
    listed = draw(st.lists(items, max_size=5))
    return np.fromiter(listed, dtype=object, count=len(listed))


@st.composite
def sparse_matrices(draw):
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    dtype = draw(st.sampled_from(["bool", "int8", "uint16", "int64", "float32", "float64"]))
    dense = draw(hnp.arrays(dtype, (rows, columns)))
    kind = draw(st.sampled_from([sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix]))
    matrix = kind(dense)
    if draw(st.booleans()):
        matrix.indices = matrix.indices.astype(np.int64)
        matrix.indptr = matrix.indptr.astype(np.int64)
    if draw(st.booleans()) and matrix.nnz:
        matrix.data[0] = 0
    return matrix


leaves = (
    plain | numpy_scalars | number_arrays() | text_arrays() | object_arrays() | sparse_matrices()
)
states = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(any_text | st.just("$"), inner, max_size=3)
        | st.dictionaries(st.integers() | st.tuples(any_text), inner, max_size=3)
        | st.dictionaries(st.just("value"), inner, min_size=1).map(lambda d: Thing(**d))
    ),
    max_leaves=6,
)


@register
class Thing:
    """A class that holds anything."""

    stored_as = "example-thing"

    def __init__(self, **parts):
        self.parts = parts

    def to_state(self):
        return dict(self.parts)

    @classmethod
    def from_state(cls, state):
        return cls(**state)


def bits(number):
    """A float as bytes; every NaN alike, as Python does not keep them apart."""
    return b"nan" if math.isnan(number) else struct.pack("<d", number)


def assert_same(wanted, got):
    """Same types all the way down, same bits, same memory order."""
    assert type(got) is type(wanted)
    if isinstance(wanted, np.ndarray):
        assert_same_array(wanted, got)
    elif sp.issparse(wanted):
        assert got.shape == wanted.shape
        for part in ("indptr", "indices", "data"):
            assert_same(getattr(wanted, part), getattr(got, part))
    elif isinstance(wanted, list | tuple):
        assert len(got) == len(wanted)
        for x, y in zip(wanted, got, strict=True):
            assert_same(x, y)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            assert_same(wanted[key], got[key])
    elif isinstance(wanted, Thing):
        assert_same(wanted.parts, got.parts)
    elif isinstance(wanted, float | np.floating):
        assert bits(float(got)) == bits(float(wanted))
    else:
        assert got == wanted


def assert_same_array(wanted, got):
    assert got.dtype == wanted.dtype
    assert got.dtype.byteorder == wanted.dtype.byteorder
    assert got.shape == wanted.shape
    if wanted.dtype.kind == "O":
        for x, y in zip(wanted.ravel(), got.ravel(), strict=True):
            assert_same(x, y)
        return
    if wanted.dtype.kind != "U":
        only_fortran = wanted.flags.f_contiguous and not wanted.flags.c_contiguous
        assert got.flags.f_contiguous if only_fortran else got.flags.c_contiguous
        assert got.flags.aligned
    assert got.tobytes() == wanted.tobytes()
