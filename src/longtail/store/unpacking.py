"""From a JSON tree plus flat arrays back to the value that `packing` took apart.

Trees and arrays come from files and are hostile until checked: every field is looked at before it
is used, an array may be used once only (so that a small file cannot unfold into a large value),
and every array must be used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from longtail.errors import MissingExtraError, ModelError
from longtail.store.jsontext import shortened
from longtail.store.packing import MAX_DEPTH, NUMBERS, SPARSE_CLASSES, compressed_fault
from longtail.store.protocol import find_class
from longtail.store.strings import check_ends, decode_strings
from longtail.store.tensors import TENSOR_TYPES

MAX_EXPANSION = 64
"""How many times its stored size fixed-width text may take in memory, beyond `EXPANSION_FREE`."""

EXPANSION_FREE = 2**16
"""How many bytes fixed-width text may take in memory whatever its stored size."""

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SCALARS = {dtype.name: dtype for dtype in TENSOR_TYPES}
_COLUMNS = {kind.__name__: dtype for kind, dtype in NUMBERS.items()}


def unpack(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Put together again what `pack` took apart. O(size of the value).

    Parameters
    ----------
    tree : object
        The JSON tree.
    arrays : mapping of str to array
        The arrays; numeric ones are handed out as they are, without a copy.

    Raises
    ------
    ModelError
        If the two do not describe a value, with the place in the value that is wrong.

    Examples
    --------
    >>> from longtail.store import pack
    >>> unpack(*pack({"names": np.array(["sea", "sun"]), "size": (2, 3)}))
    {'names': array(['sea', 'sun'], dtype='<U3'), 'size': (2, 3)}
    >>> unpack({"$": "array", "data": "weights"}, {})
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: the value: names an array 'weights' that is not there.
    """
    unpacker = _Unpacker(arrays)
    value = unpacker.unpack(tree, "", 0)
    unused = [name for name in arrays if name not in unpacker.used]
    if unused:
        _fail("", f"does not use the array {shortened(unused[0])!r}")
    return value


class _Unpacker:
    """One walk through a tree."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self.used: set[str] = set()
        self._readers = {
            "float": self._float,
            "list": self._list,
            "tuple": self._tuple,
            "dict": self._dict,
            "scalar": self._scalar,
            "array": self._array,
            "text": self._text,
            "objects": self._objects,
            "sparse": self._sparse,
            "object": self._object,
        }

    def unpack(self, tree: Any, place: str, depth: int) -> Any:
        if depth > MAX_DEPTH + 2:
            _fail(place, "is nested too deeply")
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if isinstance(tree, list):
            return [
                self.unpack(item, f"{place}[{number}]", depth + 1)
                for number, item in enumerate(tree)
            ]
        if not isinstance(tree, dict):
            _fail(place, f"is of type {type(tree).__name__}, which no tree holds")
        if "$" not in tree:
            return {
                key: self.unpack(item, f"{place}.{key}" if place else key, depth + 1)
                for key, item in tree.items()
            }
        kind = tree["$"]
        if not isinstance(kind, str) or kind not in self._readers:
            _fail(place, f"is of the unknown kind {shortened(repr(kind))}")
        return self._readers[kind](tree, place, depth)

    def _float(self, node: dict[str, Any], place: str, depth: int) -> float:
        (value,) = _parts(node, place, "value")
        if not isinstance(value, str) or value not in _FLOATS:
            _fail(place, "is not nan, inf or -inf")
        return _FLOATS[value]

    def _list(self, node: dict[str, Any], place: str, depth: int) -> list[Any]:
        (items,) = _parts(node, place, "items")
        return self._sequence(items, place, depth)

    def _tuple(self, node: dict[str, Any], place: str, depth: int) -> tuple[Any, ...]:
        return tuple(self._list(node, place, depth))

    def _dict(self, node: dict[str, Any], place: str, depth: int) -> dict[Any, Any]:
        keys, values = (
            self._sequence(part, place, depth) for part in _parts(node, place, "keys", "values")
        )
        try:
            out = dict(zip(keys, values, strict=True))
        except (TypeError, ValueError):
            out = {}
        if len(out) != len(keys):
            _fail(place, "has keys that are not distinct and hashable, one for each value")
        return out

    def _scalar(self, node: dict[str, Any], place: str, depth: int) -> Any:
        name, value = _parts(node, place, "dtype", "value")
        value = self.unpack(value, place, depth + 1)
        dtype = _SCALARS.get(name) if isinstance(name, str) else None
        if dtype is None:
            _fail(place, f"is a scalar of the unknown type {shortened(repr(name))}")
        needed = {"b": bool, "f": float}.get(dtype.kind, int)
        try:
            made = dtype.type(value) if type(value) is needed else None
        except OverflowError:
            made = None
        if made is None or (needed is int and made.item() != value):
            _fail(place, f"is not a number of type {name}")
        return made

    def _object(self, node: dict[str, Any], place: str, depth: int) -> Any:
        name, state = _parts(node, place, "as", "state")
        if not isinstance(name, str):
            _fail(place, "is an object that has no name")
        try:
            cls = find_class(name)
        except ModelError as error:
            raise ModelError(f"{place or 'the value'}: {error}") from error
        state = self.unpack(state, place, depth + 1)
        if type(state) is not dict:
            _fail(place, f"is a {name} whose state is not a dict")
        try:
            return cls.from_state(state)
        except (ModelError, MissingExtraError, MemoryError):
            raise
        except Exception as error:
            raise ModelError(
                f"{place or 'the value'}: its state is not that of a {name} "
                f"({type(error).__name__}: {shortened(str(error), 200)})."
            ) from error

    def _array(self, node: dict[str, Any], place: str, depth: int) -> NDArray[Any]:
        if "order" not in node:
            (data,) = _parts(node, place, "data")
            return self._take(data, place)
        data, order = _parts(node, place, "data", "order")
        if order != "F":
            _fail(place, "is an array of an unknown order")
        return self._take(data, place).T

    def _text(self, node: dict[str, Any], place: str, depth: int) -> NDArray[Any]:
        """Text of the width of its longest string, or objects where that would unfold too far."""
        strings, stored = self._strings(_parts(node, place, "text", "ends"), place)
        width = max(map(len, strings), default=0)
        if len(strings) * width * 4 > MAX_EXPANSION * stored + EXPANSION_FREE:
            return np.fromiter(strings, dtype=object, count=len(strings))
        return np.array(strings, dtype=f"U{width or 1}")

    def _objects(self, node: dict[str, Any], place: str, depth: int) -> NDArray[Any]:
        items = self._list(node, place, depth)
        return np.fromiter(items, dtype=object, count=len(items))

    def _sparse(self, node: dict[str, Any], place: str, depth: int) -> Any:
        name, shape, *parts = _parts(node, place, "class", "shape", "indptr", "indices", "data")
        if not isinstance(name, str) or name not in SPARSE_CLASSES:
            _fail(place, "is a sparse matrix of an unknown kind")
        if (
            not isinstance(shape, list)
            or len(shape) != 2
            or not all(type(side) is int and 0 <= side < 2**63 for side in shape)
        ):
            _fail(place, "is a sparse matrix with a malformed shape")
        indptr, indices, data = (self._take(part, place) for part in parts)
        fault = compressed_fault(name, tuple(shape), indptr, indices, data)
        if fault is None and not indptr[-1] == len(indices) == len(data):
            fault = "its entries and their indices are not as many as its indptr says"
        if fault is not None:
            _fail(place, f"is no valid sparse matrix: {fault}")
        # scipy's own constructor would convert 64-bit indices that fit into 32 bits, so copy them.
        matrix = SPARSE_CLASSES[name](tuple(shape), dtype=np.float64)
        matrix.indptr, matrix.indices, matrix.data = indptr, indices, data
        return matrix

    def _sequence(self, items: Any, place: str, depth: int) -> list[Any]:
        """The items of a JSON list or of a column."""
        if isinstance(items, list):
            return self.unpack(items, place, depth)
        if depth > MAX_DEPTH + 2:
            _fail(place, "is nested too deeply")
        kind = items.get("of") if isinstance(items, dict) else None
        if kind == "str":
            return self._strings(_parts(items, place, "text", "ends", tag="of"), place)[0]
        if kind == "tuple":
            return self._tuples(items, place, depth)
        if kind != "numpy" and (not isinstance(kind, str) or kind not in _COLUMNS):
            _fail(place, "is not a list of values")
        (values,) = _parts(items, place, "values", tag="of")
        array = self._take(values, place)
        if array.ndim != 1 or (kind != "numpy" and array.dtype != _COLUMNS[kind]):
            _fail(place, f"is not a list of numbers of type {kind}")
        return list(array) if kind == "numpy" else array.tolist()

    def _tuples(self, node: dict[str, Any], place: str, depth: int) -> list[tuple[Any, ...]]:
        ends, content = _parts(node, place, "ends", "items", tag="of")
        limits, items = self._take(ends, place), self._sequence(content, place, depth + 1)
        try:
            check_ends(limits, len(items), "the ends of the tuples do not fit")
        except ValueError as error:
            _fail(place, f"is not a list of tuples: {error}")
        return [tuple(items[a:b]) for a, b in pairwise([0, *limits.tolist()])]

    def _strings(self, parts: list[Any], place: str) -> tuple[list[str], int]:
        """Strings, and how many bytes they take in the file."""
        text, ends = (self._take(part, place) for part in parts)
        if text.dtype != np.uint8 or text.ndim != 1:
            _fail(place, "is not text: it is not a run of bytes")
        try:
            return decode_strings(text, ends), text.nbytes + ends.nbytes
        except ValueError as error:
            _fail(place, f"is not text: {error}")

    def _take(self, key: Any, place: str) -> NDArray[Any]:
        """The array of that name, once."""
        if not isinstance(key, str) or key not in self._arrays:
            _fail(place, f"names an array {shortened(repr(key))} that is not there")
        if key in self.used:
            _fail(place, f"uses the array {shortened(key)!r} a second time")
        self.used.add(key)
        array = self._arrays[key]
        if array.dtype not in TENSOR_TYPES:
            _fail(place, f"uses an array of type {array.dtype}")
        return array


def _parts(node: dict[str, Any], place: str, *names: str, tag: str = "$") -> list[Any]:
    """The parts of a node, if it has those beside its tag and no others."""
    if set(node) != {tag, *names}:
        _fail(place, f"is a {shortened(str(node[tag]))} without its parts or with others")
    return [node[name] for name in names]


def _fail(place: str, reason: str) -> NoReturn:
    raise ModelError(f"{place or 'the value'}: {reason}.")
