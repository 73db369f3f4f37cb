"""Values come back exactly; what cannot be stored or was not packed here is refused by name."""

from __future__ import annotations

import contextlib
import copy
import functools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import ModelError
from longtail.store import pack, register, unpack
from longtail.store.jsontext import dumps, loads
from longtail.store.protocol import find_class
from longtail.store.tensors import TENSOR_TYPES
from tests.store.states import Thing, assert_same, states


def through(value):
    """Packed, through JSON text and back."""
    tree, arrays = pack(value)
    assert all(array.dtype in TENSOR_TYPES for array in arrays.values())
    return unpack(loads(dumps(tree).encode()), arrays)


@given(states)
@settings(max_examples=200, deadline=None)
def test_any_state_comes_back_exactly(state):
    assert_same(state, through(state))


@pytest.mark.parametrize(
    "value",
    [
        [f"word {i}" for i in range(1000)],
        [None, *range(300), 2**80, -(2**63), 2**63],
        tuple(i % 2 == 0 for i in range(300)),
        [0.5, float("nan"), float("-inf"), -0.0] * 100,
        {f"n-gram {i}": i for i in range(1000)},
        {"$": 1, "\ud800": "\udc80", "__metadata__": np.arange(3)},
        {1: "a", ("b", 2): "c", None: "d"},
        [("a", i, None) for i in range(300)],
        [("a", np.arange(i % 3)) for i in range(300)],
        [["nested", i] for i in range(300)],
        {"a.b": np.arange(2), "a": {"b": np.arange(3)}},
        np.array([("a", 1), ("b", 2), None], dtype=object),
        np.array(["a\0b", "\0", "été", "\udfff"]),
        np.array(["x"] * 3 + ["y" * 50] + ["z"] * 1000),
        np.array([10**30, np.float32(0.1), "x", True, np.True_], dtype=object),
        np.array([np.int64(i) for i in range(300)], dtype=object),
        np.array([10**30 + i for i in range(300)], dtype=object),
        np.array([("a", (i, None)) for i in range(300)] + [None], dtype=object)[:300],
        np.zeros((3, 0, 2), dtype=np.float16),
        Thing(inner=Thing(weights=np.ones(2)), names=["a"]),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_special_values_come_back_exactly(value):
    assert_same(value, through(value))


def test_a_number_type_that_has_two_names_comes_back_under_either():
    assert through(np.longlong(7)).dtype == np.longlong
    assert through(np.ones(2, dtype=np.longlong)).dtype == np.longlong


def test_foreign_byte_orders_and_wide_text_come_back_as_this_machine_has_them():
    back = through([np.arange(3, dtype=">i4"), np.array(["a", "bc"], dtype=">U9"), np.str_("a\0")])
    assert_same([np.arange(3, dtype="<i4"), np.array(["a", "bc"]), "a\0"], back)


def test_text_that_would_unfold_too_far_comes_back_as_objects():
    names = np.array(["x" * 50_000, *map(str, range(1000))])
    back = through(names)
    assert back.dtype == object
    assert back.tolist() == names.tolist()


def test_equal_tuples_in_an_object_array_stay_tuples():
    names = np.empty(2, dtype=object)
    names[0], names[1] = ("a", 1), ("b", 2)
    assert through(names).tolist() == [("a", 1), ("b", 2)]


def test_long_runs_go_to_arrays_not_to_json():
    tree, arrays = pack({"words": [f"w{i}" for i in range(5000)]})
    assert len(dumps(tree)) < 200
    assert {array.dtype for array in arrays.values()} == {np.dtype("u1"), np.dtype("u4")}


def test_many_names_take_little_room():
    names = np.array([f"label {i}" for i in range(10_000)], dtype=object)
    _, arrays = pack(names)
    characters = sum(map(len, names))
    assert sum(array.nbytes for array in arrays.values()) == characters + 4 * len(names)


def test_arrays_are_not_copied():
    weights = np.arange(6.0).reshape(2, 3)
    _, arrays = pack({"weights": weights, "transposed": weights.T})
    assert all(np.shares_memory(array, weights) for array in arrays.values())
    assert np.shares_memory(through({"w": weights})["w"], weights)


def test_indices_of_either_width_and_unsorted_stay_as_they_are():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices = np.array([2, 0, 1], dtype=np.int64)
    matrix.indptr = np.array([0, 2, 2, 3], dtype=np.int64)
    back = through(matrix)
    assert back.indices.tolist() == [2, 0, 1]
    assert back.indices.dtype == back.indptr.dtype == np.int64
    assert not back.has_sorted_indices
    np.testing.assert_array_equal((back @ np.eye(3)), matrix.toarray())


def test_room_beyond_the_stored_entries_is_dropped():
    matrix = sp.csr_array(np.eye(2))
    matrix.data, matrix.indices = np.array([1.0, 2.0, 9.0]), np.array([0, 1, 77], dtype=np.int32)
    back = through(matrix)
    assert back.data.tolist() == [1.0, 2.0]
    assert back.indices.tolist() == [0, 1]


class Unregistered:
    def to_state(self):
        return {}

    @classmethod
    def from_state(cls, state):
        return cls()


class Word(str):
    """A string with more to it."""


def itself():
    value = []
    value.append(value)
    return value


def broken_matrix():
    matrix = sp.csr_array(np.eye(2))
    matrix.indices = np.array([0, 5], dtype=np.int32)
    return matrix


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": {"b": [0, print]}}, r"a\.b\[1\]: a value of type builtin_function_or_method"),
        ({"f": functools.partial(print)}, "f: a value of type functools.partial"),
        ({"f": {1, 2}}, "f: a value of type set"),
        ({"f": b"x"}, "f: a value of type bytes"),
        ({"f": Word("x")}, "f: a value of type tests.store.test_packing.Word"),
        ({"f": Unregistered()}, "give its class a name of its own and register it"),
        ({"f": {frozenset(): 2}}, r"f\.keys\[0\]: a value of type frozenset"),
        ({"f": "\ud83d\ude00"}, "f: holds text that is not valid Unicode"),
        ({"\ud83d\ude00": 1}, "the value: holds text that is not valid Unicode"),
        ({"f": 1 << 20_000}, "f: is a number of more than 10000 bits"),
        ({"f": np.array([1j])}, "f: an array of type complex128"),
        ({"f": 1j}, "f: a value of type complex"),
        ({"f": np.array([["a"]])}, "f: an array of type <U1 and 2 dimensions"),
        ({"f": np.ma.array([1])}, r"f: a value of type numpy\.ma\.(core\.)?MaskedArray"),
        ({"f": np.array(["2020"], dtype="M8[Y]")}, r"f: an array of type datetime64\[Y\]"),
        ({"f": np.array([b"x"])}, r"f: an array of type \|S1"),
        ({"f": np.zeros(2, dtype="i4,f4")}, "f: an array of type"),
        ({"f": np.longdouble(1)}, "f: a value of type numpy.longdouble"),
        ({"f": np.array([1, {2}], dtype=object)}, r"f\.items\[1\]: a value of type set"),
        ({"f": np.array([Word("x")] * 300, dtype=object)}, r"f\.items\[0\]: .* type .*Word"),
        ({"f": sp.coo_array(np.eye(2))}, "f: a sparse coo_array .* convert it"),
        ({"f": broken_matrix()}, "f: is no valid sparse matrix: an index is not below 2"),
        (itself(), "contain themselves"),
    ],
)
def test_what_cannot_be_stored_is_named_with_its_place(value, message):
    with pytest.raises(ModelError, match=message):
        pack(value)


def test_text_that_is_not_unicode_is_refused():
    text = np.array([0x110000], dtype="u4").view("U1")
    with pytest.raises(ModelError, match="not Unicode"):
        pack({"names": text})


def test_a_state_must_be_a_dict():
    @register
    class Odd:
        stored_as = "example-odd"

        def to_state(self):
            return [1]

        @classmethod
        def from_state(cls, state):
            return cls()

    with pytest.raises(ModelError, match=r"Odd\.to_state\(\) returned list"):
        pack(Odd())


U1 = np.zeros(3, dtype=np.uint8)
I8 = np.arange(3)


def csr(indptr, indices, data, shape=(2, 3), name="csr_array"):
    node = {"$": "sparse", "class": name, "shape": list(shape)}
    parts = {"indptr": indptr, "indices": indices, "data": data}
    node |= {part: part for part in parts}
    return node, {part: np.array(values) for part, values in parts.items()}


def text(raw, ends, **more):
    node = {"$": "text", "text": "t", "ends": "e", **more}
    return node, {"t": np.frombuffer(raw, dtype=np.uint8), "e": np.array(ends)}


@pytest.mark.parametrize(
    ("tree", "arrays", "message"),
    [
        ({"a": {"$": "pickle"}}, {}, "a: is of the unknown kind 'pickle'"),
        ({"$": ["array"]}, {}, "unknown kind"),
        ({"$": "tuple"}, {}, "without its parts"),
        ({"$": "tuple", "items": [], "more": 1}, {}, "or with others"),
        ({"$": "float", "value": "huge"}, {}, "nan, inf or -inf"),
        ({"$": "scalar", "dtype": "object", "value": 1}, {}, "unknown type 'object'"),
        ({"$": "scalar", "dtype": "int8", "value": 300}, {}, "not a number of type int8"),
        ({"$": "scalar", "dtype": "int8", "value": True}, {}, "not a number of type int8"),
        ({"$": "scalar", "dtype": "float32", "value": "1"}, {}, "not a number of type float32"),
        ({"$": "scalar", "dtype": "uint8", "value": -1}, {}, "not a number of type uint8"),
        ({"$": "scalar", "dtype": "complex64", "value": 1.0}, {}, "unknown type 'complex64'"),
        ({"$": "dict", "keys": ["a", "a"], "values": [1, 2]}, {}, "not distinct"),
        ({"$": "dict", "keys": ["a", "a"], "values": [1]}, {}, "not distinct"),
        ({"$": "dict", "keys": [["a"]], "values": [1]}, {}, "not distinct"),
        ({"$": "array", "data": "x"}, {}, "an array 'x' that is not there"),
        ({"$": "array", "data": ["x"]}, {"x": I8}, "that is not there"),
        ([{"$": "array", "data": "x"}] * 2, {"x": I8}, r"\[1\]: uses the array 'x' a second time"),
        (None, {"x": I8}, "does not use the array 'x'"),
        ({"$": "array", "data": "x"}, {"x": np.array(["a"])}, "array of type <U1"),
        ({"$": "array", "data": "x", "order": "Z"}, {"x": I8}, "unknown order"),
        ({"$": "array", "data": "x", "byteorder": "big"}, {"x": I8}, "or with others"),
        (*text(b"abc", [1]), "do not fit their text"),
        (*text(b"abc", [2, 1, 3]), "do not fit their text"),
        (*text(b"abc", [-1, 3]), "do not fit their text"),
        (*text(b"abc", [2.0, 3.0]), "do not fit their text"),
        (*text(b"a\xff", [2]), "not UTF-8"),
        (*text("é".encode(), [1, 2]), "within a character"),
        ({"$": "text", "text": "x", "ends": "y"}, {"x": I8, "y": I8}, "not a run of bytes"),
        ({"$": "list", "items": {"of": "none"}}, {}, "not a list of values"),
        ({"$": "list", "items": {"of": ["int"]}}, {}, "not a list of values"),
        ({"$": "list", "items": 3}, {}, "not a list of values"),
        ({"$": "objects", "items": 3}, {}, "not a list of values"),
        ({"$": "list", "items": {"of": "int", "values": "x"}}, {"x": U1}, "numbers of type int"),
        (
            {"$": "list", "items": {"of": "numpy", "values": "x"}},
            {"x": np.eye(2)},
            "numbers of type numpy",
        ),
        (
            {
                "$": "list",
                "items": {"of": "tuple", "ends": "e", "items": {"of": "int", "values": "x"}},
            },
            {"x": I8, "e": np.array([2, 99])},
            "ends of the tuples",
        ),
        (*csr([0, 1, 3], [0, 1, 3], [1.0, 1, 1]), "an index is not below 3"),
        (*csr([0, 1, 3], [0, 1, -1], [1.0, 1, 1]), "an index is negative"),
        (*csr([0, 3, 1], [0, 1, 2], [1.0, 1, 1]), "does not rise from 0"),
        (*csr([1, 1, 3], [0, 1, 2], [1.0, 1, 1]), "does not rise from 0"),
        (*csr([0, 1, 4], [0, 1, 2], [1.0, 1, 1]), "ends at 4, beyond its 3 entries"),
        (*csr([0, 1, 2], [0, 1, 2], [1.0, 1, 1]), "not as many as its indptr says"),
        (*csr([0, 1, 3], [0, 1, 2], [1.0, 1]), "ends at 3, beyond its 2 entries"),
        (*csr([0, 3], [0, 1, 2], [1.0, 1, 1]), "indptr has 2 entries instead of 3"),
        (*csr([0, 3], [0, 1, 2], [1.0, 1, 1], shape=(2**62, 3)), "indptr has 2 entries instead"),
        (*csr([0.0, 1, 3], [0, 1, 2], [1.0, 1, 1]), "whole numbers"),
        (*csr([0, 1, 3], [[0, 1, 2]], [1.0, 1, 1]), "whole numbers"),
        (*csr([0, 1, 3], [0, 1, 2], [1.0, 1, 1], shape=(2,)), "malformed shape"),
        (*csr([0, 1, 3], [0, 1, 2], [1.0, 1, 1], name="lil_array"), "unknown kind"),
        ({"$": "object", "as": 3, "state": {}}, {}, "has no name"),
        ({"$": "object", "as": "os.system", "state": {}}, {}, "nothing here is called 'os.system'"),
        ({"$": "object", "as": "example-thing", "state": []}, {}, "state is not a dict"),
        ({"$": "object", "as": "example-picky", "state": {}}, {}, r"picky \(KeyError: 'x'\)"),
        (functools.reduce(lambda tree, _: [tree], range(90), 0), {}, "nested too deeply"),
    ],
)
def test_hostile_trees_are_refused(tree, arrays, message):
    with pytest.raises(ModelError, match=message):
        unpack(tree, arrays)


@register
class Picky:
    stored_as = "example-picky"

    def to_state(self):
        return {"x": 1}

    @classmethod
    def from_state(cls, state):
        state["x"]
        return cls()


hostile = st.sampled_from([None, True, -1, 0, 1, 2**40, 2**63, 1e308, [], {}, [0, 0]]) | (
    st.sampled_from(["", "x", "value", "csc_matrix", "tuple", "dismec"])
    | st.sampled_from([{"of": "none"}, {"$": "array"}, {"$": "list", "items": []}])
)


def places_in(tree, path=()):
    yield path
    pairs = enumerate(tree) if isinstance(tree, list) else ()
    for key, item in tree.items() if isinstance(tree, dict) else pairs:
        yield from places_in(item, (*path, key))


@given(state=states, data=st.data())
@settings(max_examples=200, deadline=None)
def test_an_altered_tree_is_refused_or_read_but_never_breaks(state, data):
    tree, arrays = pack(state)
    tree = copy.deepcopy(tree)
    place = data.draw(st.sampled_from(list(places_in(tree))))
    if place:
        holder = functools.reduce(lambda node, key: node[key], place[:-1], tree)
        if data.draw(st.booleans()):
            holder[place[-1]] = data.draw(hostile)
        else:
            del holder[place[-1]]
    else:
        tree = data.draw(hostile)
    with contextlib.suppress(ModelError):
        find_class("nothing")  # whoever is asked for names is imported now
    tracemalloc.start()
    try:
        with contextlib.suppress(ModelError):
            unpack(tree, arrays)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 10 * 2**20


@given(state=states, data=st.data())
@settings(max_examples=200, deadline=None)
def test_altered_arrays_are_refused_or_read_but_never_break(state, data):
    tree, arrays = pack(state)
    if not arrays:
        return
    arrays = {name: array.copy() for name, array in arrays.items()}
    array = arrays[data.draw(st.sampled_from(sorted(arrays)))]
    raw = array.reshape(-1).view(np.uint8)
    if array.dtype != bool and len(raw):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ModelError):
        unpack(tree, arrays)
