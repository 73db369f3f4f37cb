"""Arrays in one `.safetensors` file: written by the safetensors library, read by memory map.

The library's own numpy reader copies; here the header is parsed under strict checks and every
array is a read-only view of the mapped file, so that opening a model costs the header and arrays
that nobody touches are never read.

Every file carries a checksum of its content in its header; `model.json` names the checksum of the
file that belongs to it. `write_arrays` and `read_arrays` are for files that stand alone, such as
checkpoints.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from longtail.errors import ModelError
from longtail.store.atomic import atomic_file
from longtail.store.files import explained, open_plain
from longtail.store.jsontext import MAX_BYTES, JsonError, dumps, loads, shortened

DTYPES = {
    "BOOL": np.dtype("bool"),
    "I8": np.dtype("<i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("<u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
"""The types an array in a file may have, by the name they have there."""

TENSOR_TYPES = frozenset(DTYPES.values())

MAX_DIMENSIONS = 64

_LENGTH = 8
_METADATA = "__metadata__"
_SEAL = "longtail"
_SEAL_FORMAT = 1


def write_tensors(
    path: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, str] | None = None
) -> str:
    """Write arrays of the types in `DTYPES` to a new file; the checksum of it all. O(bytes).

    The same arrays and notes give the same bytes. They are noted in one string, because the library
    writes several in a different order every time.
    """
    notes = dict(meta or {})
    for item in (text for pair in notes.items() for text in pair):
        if not isinstance(item, str) or not _is_text(item):
            raise ModelError(f"{path}: meta holds {item!r}; use strings of valid text only.")
    solid = _solid(path, arrays)
    digest = _digest(solid, notes)
    seal = dumps({"format": _SEAL_FORMAT, "sha256": digest, "meta": notes})
    with explained(path, "written"):
        try:
            save_file(solid, os.fspath(path), {_SEAL: seal})
        except SafetensorError as error:
            raise ModelError(f"{path}: cannot be written: {error}.") from error
        # The library makes files that only their owner may read; let others see what they may see
        # of the folder.
        path.chmod(path.parent.stat().st_mode & 0o666)
        with open_plain(path) as file:
            _read_header(path, file, os.fstat(file.fileno()).st_size)
    return digest


def _solid(path: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays as they are written, in C order; refused if a name or a type cannot be."""
    solid = {}
    for name, array in arrays.items():
        if not isinstance(name, str) or name == _METADATA or not _is_text(name):
            raise ModelError(
                f"{path}: {name!r} is no name for an array; use a string of valid text other than "
                f"{_METADATA!r}."
            )
        if array.dtype not in TENSOR_TYPES:
            raise ModelError(
                f"{path}: the array {name!r} is of type {array.dtype}, which cannot be stored; "
                "convert it to bool, an integer or a float of at most 64 bits."
            )
        solid[name] = np.asarray(array, order="C")
    return solid


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_tensors(
    path: Path, file: BinaryIO | None = None, *, verify: bool = True, follow: bool = False
) -> tuple[dict[str, NDArray[Any]], dict[str, str], str]:
    """The arrays of a file as read-only views of its memory map, its notes, and its checksum.

    With `verify` the checksum is compared, which reads the arrays once. Without, it costs the
    header, and one pass over the boolean arrays: a byte other than 0 and 1 in one of these would
    break whatever computes with it. `follow` allows the path to be a symbolic link. `file` is the
    file, if it is open already.
    """
    opened = open_plain(path, follow=follow) if file is None else nullcontext(file)
    with opened as file, explained(path, "read"):
        size = os.fstat(file.fileno()).st_size
        header = _read_header(path, file, size)
        try:
            mapped = np.memmap(file, dtype=np.uint8, mode="r", shape=(size,))
        except ValueError as error:
            raise ModelError(f"{path}: cannot be mapped into memory: {error}.") from None
    content = mapped[_LENGTH + len(header) :]
    entries, note = _parse_header(path, header, len(content))
    if (_LENGTH + len(header)) % _LENGTH:
        raise ModelError(f"{path}: its header is not padded to 8 bytes; it is not longtail's.")
    arrays = {}
    for name, dtype, shape, begin, end in entries:
        flat = np.asarray(content[begin:end])
        if dtype.kind == "b" and flat.size and flat.max() > 1:
            raise ModelError(f"{path}: the boolean array {shortened(name)!r} holds other values.")
        try:
            arrays[name] = flat.view(dtype).reshape(shape)
        except ValueError:
            raise ModelError(
                f"{path}: the shape of the array {shortened(name)!r} is beyond what numpy can hold."
            ) from None
    digest, meta = _parse_seal(path, note)
    if verify and (_digest(arrays, meta) != digest or header != _spelt(header)):
        raise ModelError(f"{path}: does not match its checksum; the file was altered.")
    return arrays, meta, digest


def _read_header(path: Path, file: BinaryIO, size: int) -> bytes:
    file.seek(0)
    length = int.from_bytes(file.read(_LENGTH), "little")
    if size < _LENGTH or length > size - _LENGTH:
        raise ModelError(
            f"{path}: is {size} bytes long, too short for its header; the file was cut off or is "
            "not a safetensors file."
        )
    if length > MAX_BYTES:
        raise ModelError(f"{path}: its header is longer than the {MAX_BYTES} bytes allowed.")
    header = file.read(length)
    if len(header) != length:
        raise ModelError(f"{path}: became shorter while it was read.")
    return header


_Entry = tuple[str, "np.dtype[Any]", tuple[int, ...], int, int]


def _parse_header(path: Path, header: bytes, size: int) -> tuple[list[_Entry], str | None]:
    """Every array's place, after the check that they cover the data exactly, without overlap."""
    try:
        table = loads(header)
    except JsonError as error:
        raise ModelError(f"{path}: its header cannot be read: {error}.") from None
    if not isinstance(table, dict):
        raise ModelError(f"{path}: its header is not a table of arrays.")
    note = _parse_note(path, table.pop(_METADATA, None))
    entries = [_parse_entry(path, name, entry) for name, entry in table.items()]
    entries.sort(key=lambda entry: (entry[3], entry[4]))
    reached = 0
    for name, dtype, _, begin, end in entries:
        if begin != reached:
            raise ModelError(f"{path}: the array {shortened(name)!r} overlaps another or a gap.")
        if begin % dtype.itemsize:
            raise ModelError(f"{path}: the array {shortened(name)!r} is not aligned.")
        reached = end
    if reached != size:
        raise ModelError(
            f"{path}: holds {size} bytes of arrays but its header describes {reached}; the file "
            "was cut off or altered."
        )
    return entries, note


def _parse_note(path: Path, note: Any) -> str | None:
    if note is None:
        return None
    if not isinstance(note, dict) or not all(isinstance(value, str) for value in note.values()):
        raise ModelError(f"{path}: the {_METADATA} of its header is not a table of strings.")
    return note.get(_SEAL)


def _parse_entry(path: Path, name: str, entry: Any) -> _Entry:
    wrong = ModelError(f"{path}: the header's entry for {shortened(name)!r} is malformed.")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not _are_counts(shape) or not _are_counts(place) or len(place) != 2:
        raise wrong
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelError(
            f"{path}: the array {shortened(name)!r} has the unknown type {shortened(str(dtype))!r}."
        )
    if len(shape) > MAX_DIMENSIONS:
        raise ModelError(f"{path}: the array {shortened(name)!r} has too many dimensions.")
    begin, end = place
    if end - begin != math.prod(shape) * DTYPES[dtype].itemsize:
        raise ModelError(
            f"{path}: the array {shortened(name)!r} has {end - begin} bytes, not what its shape "
            "and type need."
        )
    return name, DTYPES[dtype], tuple(shape), begin, end


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < 2**63 for value in values
    )


def write_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, NDArray[Any]],
    meta: Mapping[str, str] | None = None,
) -> None:
    """Write arrays to one file that carries its own checksum, whole or not at all. O(bytes).

    Parameters
    ----------
    path : path-like
        The file; an existing one is replaced.
    arrays : mapping of str to array
        Booleans, integers and floats of at most 64 bits, of any shape.
    meta : mapping of str to str, optional
        What else the reader should know.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "block.safetensors"
    >>> write_arrays(place, {"weights": np.array([0.5, 2.0])}, {"block": "7"})
    >>> arrays, meta = read_arrays(place)
    >>> arrays["weights"].tolist(), meta
    ([0.5, 2.0], {'block': '7'})
    """
    with atomic_file(path) as place:
        write_tensors(place, arrays, meta)


def read_arrays(
    path: str | os.PathLike[str], *, verify: bool = True
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Read what `write_arrays` wrote, as read-only views of the memory-mapped file.

    Parameters
    ----------
    path : path-like
        The file.
    verify : bool
        Whether to compare the checksum, which reads the arrays once. O(bytes).

    Returns
    -------
    arrays : dict of str to array
        In the order in which the file holds them.
    meta : dict of str to str
        The notes given to `write_arrays`.

    Raises
    ------
    ModelError
        If the file is missing, cut off, altered, or was not written by `write_arrays`.

    Examples
    --------
    >>> read_arrays("no-such-file")
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: no-such-file: is missing.
    """
    arrays, meta, _ = open_tensors(Path(path), verify=verify, follow=True)
    return arrays, meta


def _digest(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, str]) -> str:
    """The checksum of arrays, with their names, types and shapes, and of the notes beside them."""
    digest = hashlib.sha256(dumps(sorted(meta.items())).encode())
    for name, array in sorted(arrays.items()):
        digest.update(dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _spelt(header: bytes) -> bytes:
    """A header as the library spells it, so that no byte of it can change unseen."""
    text = json.dumps(loads(header), ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % _LENGTH)


def _parse_seal(path: Path, note: str | None) -> tuple[str, dict[str, str]]:
    try:
        seal = None if note is None else loads(note.encode())
    except (JsonError, UnicodeEncodeError):
        seal = None
    if not isinstance(seal, dict) or type(seal.get("format")) is not int or seal["format"] < 1:
        raise ModelError(f"{path}: carries no checksum of longtail's; it is another program's.")
    if seal["format"] > _SEAL_FORMAT:
        raise ModelError(
            f"{path}: was written by a newer longtail (format {seal['format']}; this one reads up "
            f"to {_SEAL_FORMAT}): upgrade longtail."
        )
    digest, meta = seal.get("sha256"), seal.get("meta")
    if (
        not isinstance(digest, str)
        or not re.fullmatch("[0-9a-f]{64}", digest)
        or not isinstance(meta, dict)
        or not all(isinstance(value, str) for value in meta.values())
        or dumps(seal) != note
    ):
        raise ModelError(f"{path}: its checksum is malformed; the file was altered.")
    return digest, meta
