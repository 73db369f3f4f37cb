"""Files of arrays: views of the map, and a sentence for everything that is wrong with a file."""

from __future__ import annotations

import contextlib
import itertools
import json
import mmap
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from longtail.errors import ModelError
from longtail.store import read_arrays, write_arrays
from longtail.store.tensors import DTYPES, open_tensors, write_tensors

ARRAYS = {
    "flags": np.array([True, False, True]),
    "small": np.arange(5, dtype=np.int8),
    "weights": np.linspace(0, 1, 7),
    "nothing": np.zeros((0, 4), dtype=np.float32),
    "single": np.array(3, dtype=np.uint16),
}


def base_of(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_type_comes_back_as_an_aligned_read_only_view(tmp_path, dtype):
    arrays = {"odd": np.ones(3, dtype=np.int8), "x": np.arange(6).reshape(2, 3).astype(dtype)}
    write_arrays(tmp_path / "a", arrays)
    x = read_arrays(tmp_path / "a")[0]["x"]
    assert x.dtype == dtype
    assert x.tolist() == arrays["x"].tolist()
    assert type(x) is np.ndarray
    assert isinstance(base_of(x), mmap.mmap)
    assert x.flags.aligned
    assert not x.flags.writeable


def test_the_library_reads_what_we_write(tmp_path):
    write_arrays(tmp_path / "a", ARRAYS, {"any": "thing"})
    library = load_file(tmp_path / "a")
    assert sorted(library) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(library[name], array, strict=True)


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    meta = {f"key {i}": str(i) for i in range(20)}
    for name in "ab":
        write_arrays(tmp_path / name, ARRAYS, meta)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_meta_comes_back_in_order(tmp_path):
    meta = {"z": 'quoted "text"', "a": "été \\ \n", "": "\0"}
    write_arrays(tmp_path / "a", {}, meta)
    assert list(read_arrays(tmp_path / "a")[1].items()) == list(meta.items())


def test_memory_layouts_do_not_matter(tmp_path):
    grid = np.arange(12).reshape(3, 4)
    write_arrays(tmp_path / "a", {"t": grid.T, "step": grid[::2, ::-1]})
    arrays, _ = read_arrays(tmp_path / "a")
    np.testing.assert_array_equal(arrays["t"], grid.T)
    np.testing.assert_array_equal(arrays["step"], grid[::2, ::-1])


@pytest.mark.parametrize(
    ("arrays", "meta", "message"),
    [
        ({"x": np.array(["a"])}, {}, "'x' is of type <U1"),
        ({"x": np.array([1j])}, {}, "'x' is of type complex128"),
        ({"x": np.ones(1, dtype=">f4")}, {}, "'x' is of type >f4"),
        ({"__metadata__": np.ones(1)}, {}, "no name for an array"),
        ({3: np.ones(1)}, {}, "no name for an array"),
        ({"\ud800": np.ones(1)}, {}, "no name for an array"),
        ({}, {"a": 1}, "meta holds 1"),
        ({}, {"a": "\ud800"}, "meta holds"),
    ],
)
def test_what_cannot_be_written_is_named(tmp_path, arrays, meta, message):
    with pytest.raises(ModelError, match=message) as caught:
        write_arrays(tmp_path / "a", arrays, meta)
    assert str(caught.value).startswith(f"{tmp_path / 'a'}: ")
    assert list(tmp_path.iterdir()) == []


def test_any_flipped_byte_is_noticed(tmp_path):
    place = tmp_path / "a"
    write_arrays(place, ARRAYS, {"note": "text"})
    good = place.read_bytes()
    for position, bit in itertools.product(range(len(good)), (0x01, 0x02, 0x08, 0x20, 0x29, 0x2A)):
        altered = bytes([good[position] ^ bit])  # of a space, the last two make other white space
        place.write_bytes(good[:position] + altered + good[position + 1 :])
        with pytest.raises(ModelError, match=str(place)):
            read_arrays(place)


def test_any_cut_is_noticed_even_without_the_checksum(tmp_path):
    place = tmp_path / "a"
    write_arrays(place, ARRAYS)
    good = place.read_bytes()
    for length in range(len(good)):
        place.write_bytes(good[:length])
        with pytest.raises(ModelError, match=str(place)):
            read_arrays(place, verify=False)


@given(data=st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_change_is_noticed_or_changes_nothing(tmp_path, data):
    place = tmp_path / "a"
    write_arrays(place, ARRAYS, {"note": "text"})
    good = place.read_bytes()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 20)))
    changed = good[:start] + data.draw(st.binary(max_size=20)) + good[end:]
    place.write_bytes(changed)
    with contextlib.suppress(ModelError):
        arrays, meta = read_arrays(place)
        assert meta == {"note": "text"}  # it may be spelt otherwise, but it is the same
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays.pop(name), array, strict=True)
        assert arrays == {}
    with contextlib.suppress(ModelError):
        read_arrays(place, verify=False)


def raw(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype="F64", shape=(1,), place=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(place), **more}


EIGHT = bytes(8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes long, too short"),
        (b"\x01", "too short"),
        (b"\x80\x04\x95not a pickle", "too short for its header"),
        (raw({}, length=2**63), "too short for its header"),
        (raw(b"\xff\xfe"), "byte 0 is not text"),
        (raw(b"{"), "not JSON"),
        (raw(b"[]"), "not a table"),
        (raw(b"[" * 100_000), "nested too deeply"),
        (raw(b'{"a": 1, "a": 2}'), "'a' occurs twice"),
        (raw(b'{"a": NaN}'), "holds NaN"),
        (raw(b'{"a": 1e999}'), "number that is too large"),
        (raw(b'{"a": ' + b"9" * 5000 + b"}"), "number that is too long"),
        (raw({"a": 1}), "entry for 'a' is malformed"),
        (raw({"a": entry(more=1)}, EIGHT), "entry for 'a' is malformed"),
        (raw({"a": entry(shape=[-1])}, EIGHT), "malformed"),
        (raw({"a": entry(shape=[1.0])}, EIGHT), "malformed"),
        (raw({"a": entry(shape=[True])}, EIGHT), "malformed"),
        (raw({"a": entry(shape=[2**63])}, EIGHT), "malformed"),
        (raw({"a": entry(place=[0])}, EIGHT), "malformed"),
        (raw({"a": entry(place=[-8, 0])}, EIGHT), "malformed"),
        (raw({"a": entry(dtype="BF16")}, EIGHT), "unknown type 'BF16'"),
        (raw({"a": entry(dtype=["F64"])}, EIGHT), "unknown type"),
        (raw({"a": entry(dtype="object")}, EIGHT), "unknown type 'object'"),
        (raw({"a": entry(shape=[1] * 65)}, EIGHT), "too many dimensions"),
        (raw({"a": entry(shape=[0, 2**62, 2**62], place=[0, 0])}), "beyond what numpy can hold"),
        (raw({"a": entry(shape=[2])}, EIGHT), "not what its shape and type need"),
        (raw({"a": entry(shape=[2**40], place=[0, 2**43])}, EIGHT), "header describes"),
        (raw({"a": entry()}, b""), "holds 0 bytes of arrays but its header describes 8"),
        (raw({"a": entry()}, EIGHT + b"x"), "holds 9 bytes of arrays but its header describes 8"),
        (raw({"a": entry(), "b": entry()}, EIGHT), "overlaps another or a gap"),
        (raw({"a": entry(place=[8, 16])}, EIGHT * 2), "overlaps another or a gap"),
        (
            raw({"a": entry("U8", [1], [0, 1]), "b": entry(place=[1, 9])}, EIGHT + b"x"),
            "'b' is not aligned",
        ),
        ((3).to_bytes(8, "little") + b"{ }", "not padded"),
        (raw({"a": entry("BOOL", [8])}, b"\0\1\0\1\0\2\0\1"), "boolean array 'a'"),
        (raw({"__metadata__": {"a": 1}}), "not a table of strings"),
        (raw({"__metadata__": []}), "not a table of strings"),
        (raw({"a": entry()}, EIGHT), "no checksum of longtail's"),
        (raw({"__metadata__": {"longtail": "{"}}), "no checksum of longtail's"),
        (raw({"__metadata__": {"longtail": '{"format": "1"}'}}), "no checksum of longtail's"),
        (raw({"__metadata__": {"longtail": '{"format": 9}'}}), "newer longtail .format 9;"),
        (raw({"__metadata__": {"longtail": '{"format": 1}'}}), "checksum is malformed"),
        (
            raw({"__metadata__": {"longtail": '{"format": 1, "sha256": "\\ud800", "meta": {}}'}}),
            "checksum is malformed",
        ),
        (
            raw(
                {
                    "__metadata__": {
                        "longtail": json.dumps({"format": 1, "sha256": "0" * 64, "meta": {}})
                    }
                }
            ),
            "does not match its checksum",
        ),
    ],
)
def test_hostile_files_are_refused(tmp_path, content, message):
    place = tmp_path / "a"
    place.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        read_arrays(place)
    assert str(caught.value).startswith(str(place))


def test_a_header_that_claims_gigabytes_is_not_read(tmp_path):
    place = tmp_path / "a"
    with open(place, "wb") as file:
        file.write((2**33).to_bytes(8, "little"))
        file.truncate(2**33 + 8)
    with pytest.raises(ModelError, match="header is longer than"):
        read_arrays(place)


def test_folders_pipes_and_missing_files_are_refused(tmp_path):
    with pytest.raises(ModelError, match="not a plain file"):
        read_arrays(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelError, match="not a plain file"):
        read_arrays(tmp_path / "pipe")
    with pytest.raises(ModelError, match="is missing"):
        read_arrays(tmp_path / "none")


def test_a_link_is_followed_only_where_allowed(tmp_path):
    write_tensors(tmp_path / "a", ARRAYS)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert sorted(open_tensors(tmp_path / "link", follow=True)[0]) == sorted(ARRAYS)
    with pytest.raises(ModelError, match="symbolic link"):
        open_tensors(tmp_path / "link")


def test_a_replaced_file_leaves_open_arrays_alone(tmp_path):
    write_arrays(tmp_path / "a", {"x": np.zeros(1000)})
    before = read_arrays(tmp_path / "a")[0]["x"]
    write_arrays(tmp_path / "a", {"x": np.ones(10)})
    assert before.sum() == 0
    assert read_arrays(tmp_path / "a")[0]["x"].sum() == 10
