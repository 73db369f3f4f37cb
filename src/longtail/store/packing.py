"""From the nested state of a model to a JSON tree plus flat arrays.

JSON values stand for themselves: null, true, false, whole numbers, finite numbers, text, lists and
plain objects. Everything else is an object with the key ``"$"``, which says what it is; see
`docs/model-folder.md` for the list. The inverse is in `unpacking`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ModelError
from longtail.store.jsontext import shortened
from longtail.store.registry import full_name, registered_name
from longtail.store.sparse import SPARSE_CLASSES, compressed_fault
from longtail.store.strings import encode_strings
from longtail.store.tensors import TENSOR_TYPES

MAX_DEPTH = 60
"""How deeply values may be nested; what goes deeper most likely contains itself."""

LONG = 256
"""Lists and dicts of at least this many plain values are stored as arrays."""

MAX_EXPANSION = 64
"""How many times its stored size fixed-width text may take in memory, beyond `EXPANSION_FREE`."""

EXPANSION_FREE = 2**16
"""How many bytes fixed-width text may take in memory whatever its stored size."""

MAX_UNICODE = 0x10FFFF
"""The last character there is."""

_PLAIN = frozenset({str, int, float, bool, type(None)})
_COMPLEX_PARTS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype("<c8"): np.dtype("<f4"),
    np.dtype("<c16"): np.dtype("<f8"),
}


def pack(value: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Take a nested value apart into a JSON tree and flat arrays. O(size of the value).

    Parameters
    ----------
    value : object
        None, bool, int, float, str, list, tuple, dict with str keys, numpy scalars and arrays of
        numbers, bools, text or objects (which hold such scalars, or tuples of them), CSR and CSC
        matrices and arrays, and objects of registered classes; nested at will.

    Returns
    -------
    tree : object
        What JSON can hold.
    arrays : dict of str to array
        Bool, integer and float arrays, named after their places in the value; where possible they
        share memory with it.

    Raises
    ------
    ModelError
        Where something else is found: names the place and the type.

    Examples
    --------
    >>> tree, arrays = pack({"size": (2, 3), "weights": np.array([0.5, 1.5])})
    >>> tree
    {'size': {'$': 'tuple', 'items': [2, 3]}, 'weights': {'$': 'array', 'data': 'weights'}}
    >>> arrays
    {'weights': array([0.5, 1.5])}
    >>> pack({"callback": print})
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: callback: a value of type builtin_function_or_method cannot be
    stored in a model; ...
    """
    packer = _Packer(use_arrays=True)
    return packer.pack(value, "", 0), packer.arrays


def pack_plain(value: Any, place: str) -> Any:
    """The JSON tree of a value that holds no arrays and no objects.

    Examples
    --------
    >>> pack_plain({"epochs": 3, "rate": float("inf")}, "meta")
    {'epochs': 3, 'rate': {'$': 'float', 'value': 'inf'}}
    """
    return _Packer(use_arrays=False).pack(value, place, 0)


class _Packer:
    """One walk through a value, collecting its arrays."""

    def __init__(self, *, use_arrays: bool) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._copies: dict[str, int] = {}
        self._use_arrays = use_arrays

    def pack(self, value: Any, place: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ModelError(
                f"{_shown(place)}: values are nested more than {MAX_DEPTH} deep, or contain "
                "themselves."
            )
        kind = type(value)
        if kind in _PLAIN:
            return _pack_scalar(value)
        if kind is list:
            items = self._sequence(value, place, depth)
            return items if isinstance(items, list) else {"$": "list", "items": items}
        if kind is tuple:
            return {"$": "tuple", "items": self._sequence(value, place, depth)}
        if kind is dict:
            return self._dict(value, place, depth)
        if isinstance(value, np.generic):
            return self._numpy_scalar(value, place)
        if self._use_arrays:
            if kind is np.ndarray or kind is np.memmap:
                return self._array(value, place, depth)
            if sp.issparse(value):
                return self._sparse(value, place, depth)
            if registered_name(kind) is not None:
                return self._object(value, place, depth)
        raise self._unknown(kind, place)

    def _unknown(self, kind: type[Any], place: str) -> ModelError:
        if not self._use_arrays:
            remedy = "plain values are None, bools, numbers, strings, and lists and dicts of them"
        elif hasattr(kind, "_to_state"):
            remedy = "register its class with longtail.store.register"
        else:
            remedy = (
                "use plain values, lists, tuples, dicts, numpy arrays, CSR or CSC matrices, or "
                "objects of registered classes"
            )
        return ModelError(
            f"{_shown(place)}: a value of type {full_name(kind)} cannot be stored in a model; "
            f"{remedy}."
        )

    def _sequence(self, items: Sequence[Any], place: str, depth: int) -> Any:
        """A JSON list, or the column of a long run of plain values."""
        if self._use_arrays and len(items) >= LONG and _is_plain(items):
            return self._column(items, place, depth + 1)
        return [
            self.pack(item, f"{place}[{number}]", depth + 1) for number, item in enumerate(items)
        ]

    def _dict(self, value: dict[Any, Any], place: str, depth: int) -> Any:
        for key in value:
            if type(key) is not str:
                raise ModelError(
                    f"{_shown(place)}: the key {shortened(repr(key))} is of type "
                    f"{full_name(type(key))}; keys must be strings."
                )
        if len(value) < LONG and "$" not in value and all(map(_is_unicode, value)):
            return {
                key: self.pack(item, _joined(place, key), depth + 1) for key, item in value.items()
            }
        return {
            "$": "dict",
            "keys": self._sequence(list(value), _joined(place, "keys"), depth),
            "values": self._sequence(list(value.values()), _joined(place, "values"), depth),
        }

    def _numpy_scalar(self, value: np.generic, place: str) -> dict[str, Any]:
        dtype = value.dtype
        if dtype in _COMPLEX_PARTS:
            parts = [float(value.real), float(value.imag)]
            packed: Any = [_pack_scalar(part) for part in parts]
        elif isinstance(value, np.str_):
            packed = _pack_scalar(str.__str__(value))  # item() would drop NULs at the end
        elif dtype in TENSOR_TYPES:
            packed = _pack_scalar(value.item())
        else:
            raise self._unknown(type(value), place)
        return {"$": "scalar", "dtype": "str" if dtype.kind == "U" else dtype.name, "value": packed}

    def _object(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        state = value._to_state()
        if type(state) is not dict:
            raise ModelError(
                f"{_shown(place)}: {full_name(type(value))}._to_state() returned "
                f"{full_name(type(state))} instead of a dict."
            )
        name = registered_name(type(value))
        return {"$": "object", "class": name, "state": self._dict(state, place, depth + 1)}

    def _array(self, value: NDArray[Any], place: str, depth: int) -> dict[str, Any]:
        dtype = value.dtype
        if dtype.kind == "U":
            return self._text_array(value, place)
        if dtype.kind == "O":
            items = self._column(value.ravel().tolist(), _joined(place, "items"), depth + 1)
            return {"$": "objects", "shape": list(value.shape), "items": items}
        node: dict[str, Any] = {"$": "array"}
        little = _little_endian(dtype)
        if little not in TENSOR_TYPES and little not in _COMPLEX_PARTS:
            raise ModelError(
                f"{_shown(place)}: an array of type {dtype} cannot be stored in a model; use "
                "bools, numbers of at most 64 bits, text or objects."
            )
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            node["order"] = "F"
            value = value.T
        if dtype != little:
            node["byteorder"] = "big"
        value = np.asarray(value, dtype=little, order="C")
        if little in _COMPLEX_PARTS:
            node["complex"] = True
            value = value.reshape(*value.shape, 1).view(_COMPLEX_PARTS[little])
        node["data"] = self._add(value, place)
        return node

    def _text_array(self, value: NDArray[Any], place: str) -> dict[str, Any]:
        """Fixed-width text as UTF-8, or as it is where UTF-8 would unfold too far on reading."""
        node: dict[str, Any] = {
            "$": "text",
            "shape": list(value.shape),
            "width": value.dtype.itemsize // 4,
        }
        little = np.asarray(value, dtype=_little_endian(value.dtype), order="C")
        if value.dtype != _little_endian(value.dtype):
            node["byteorder"] = "big"
        codes = little.reshape(-1).view("<u4") if node["width"] else np.empty(0, dtype="<u4")
        if codes.size and codes.max() > MAX_UNICODE:
            raise ModelError(f"{_shown(place)}: holds text that is not Unicode.")
        text, ends = encode_strings(little.reshape(-1).tolist())
        if value.nbytes <= MAX_EXPANSION * (text.nbytes + ends.nbytes) + EXPANSION_FREE:
            node["text"] = self._add(text, _joined(place, "text"))
            node["ends"] = self._add(ends, _joined(place, "ends"))
        else:
            node["codes"] = self._add(codes, place)
        return node

    def _sparse(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        name = type(value).__name__
        if SPARSE_CLASSES.get(name) is not type(value) or len(value.shape) != 2:
            raise ModelError(
                f"{_shown(place)}: a sparse {name} of {len(value.shape)} dimensions cannot be "
                "stored in a model; convert it to a two-dimensional CSR or CSC array."
            )
        fault = compressed_fault(name, value.shape, value.indptr, value.indices, value.data)
        if fault is not None:
            raise ModelError(f"{_shown(place)}: is no valid sparse matrix: {fault}.")
        stored = int(value.indptr[-1])
        return {
            "$": "sparse",
            "class": name,
            "shape": [int(side) for side in value.shape],
            "indptr": self._array(value.indptr, _joined(place, "indptr"), depth + 1),
            "indices": self._array(value.indices[:stored], _joined(place, "indices"), depth + 1),
            "data": self._array(value.data[:stored], _joined(place, "data"), depth + 1),
        }

    def _column(self, items: Sequence[Any], place: str, depth: int) -> dict[str, Any]:
        """Plain values, numpy scalars and tuples of them as arrays, one array set per type."""
        if depth > MAX_DEPTH:
            raise ModelError(f"{_shown(place)}: tuples are nested more than {MAX_DEPTH} deep.")
        kinds = list(dict.fromkeys(map(type, items)))
        if len(kinds) == 1 and kinds[0] is not type(None):
            return self._uniform_column(items, kinds[0], place, depth)
        if len(kinds) > 256:
            raise ModelError(f"{_shown(place)}: holds values of more than 256 types.")
        number_of = {kind: number for number, kind in enumerate(kinds)}
        numbers = np.fromiter(
            (number_of[type(item)] for item in items), dtype=np.uint8, count=len(items)
        )
        parts = []
        for number, kind in enumerate(kinds):
            if kind is type(None):
                parts.append({"of": "none"})
                continue
            part = [item for item in items if type(item) is kind]
            parts.append(self._uniform_column(part, kind, _joined(place, str(number)), depth))
        return {"of": "mixed", "kinds": self._add(numbers, _joined(place, "kinds")), "parts": parts}

    def _uniform_column(
        self, items: Sequence[Any], kind: type[Any], place: str, depth: int
    ) -> dict[str, Any]:
        if kind is str or kind is np.str_:
            text, ends = encode_strings(items)
            return {
                "of": "str" if kind is str else "numpy str",
                "text": self._add(text, _joined(place, "text")),
                "ends": self._add(ends, _joined(place, "ends")),
            }
        if kind is int:
            try:
                return {"of": "int", "values": self._add(np.array(items, dtype=np.int64), place)}
            except OverflowError:
                digits = self._uniform_column([hex(item) for item in items], str, place, depth)
                return {"of": "big int", "digits": digits}
        if kind is float:
            return {"of": "float", "values": self._add(np.array(items, dtype=np.float64), place)}
        if kind is bool:
            return {"of": "bool", "values": self._add(np.array(items, dtype=np.bool_), place)}
        if kind is tuple:
            lengths = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
            content = list(chain.from_iterable(items))
            return {
                "of": "tuple",
                "ends": self._add(np.cumsum(lengths), _joined(place, "ends")),
                "items": self._column(content, _joined(place, "items"), depth + 1),
            }
        if issubclass(kind, np.generic):
            values = np.array(items)
            if values.dtype.kind in "biufc":
                return {"of": "numpy", "values": self._array(values, place, depth + 1)}
        raise self._unknown(kind, place)

    def _add(self, array: NDArray[Any], place: str) -> str:
        """Keep the array under a name of its own, close to its place in the value."""
        name = place.encode("utf-8", "replace").decode()[:120] or "value"
        if name.startswith("__"):  # safetensors keeps such a name for itself
            name = f"value.{name}"
        key = name
        while key in self.arrays:
            self._copies[name] = self._copies.get(name, 1) + 1
            key = f"{name}~{self._copies[name]}"
        self.arrays[key] = array
        return key


def _pack_scalar(value: Any) -> Any:
    kind = type(value)
    if kind is int and not -(2**63) <= value < 2**63:
        return {"$": "int", "value": hex(value)}
    if kind is float and not math.isfinite(value):
        return {"$": "float", "value": repr(value)}
    # JSON readers join two surrogates into one character, so text with surrogates is kept as bytes.
    if kind is str and not _is_unicode(value):
        return {"$": "str", "utf8": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(items: Iterable[Any]) -> bool:
    """Whether the items are plain values, or tuples of plain values."""
    kinds = set(map(type, items))
    if tuple in kinds:
        kinds.discard(tuple)
        kinds.update(map(type, chain.from_iterable(i for i in items if type(i) is tuple)))
    return kinds <= _PLAIN


def _little_endian(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # By its name, because numpy tells a type that was made little-endian from a native one.
    return np.dtype(dtype.newbyteorder("<").str)


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(place: str) -> str:
    return place or "the value"
