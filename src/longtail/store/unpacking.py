"""From a JSON tree plus flat arrays back to the value that `packing` took apart.

Trees and arrays come from files and are hostile until checked: every field is looked at before it
is used, an array may be used once only (so that a small file cannot unfold into a large value),
and every array must be used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.errors import MissingExtraError, ModelError
from longtail.store.checks import big_endian, big_int, fail, fields_of, product
from longtail.store.jsontext import shortened
from longtail.store.packing import EXPANSION_FREE, MAX_DEPTH, MAX_EXPANSION, MAX_UNICODE
from longtail.store.registry import registered_class
from longtail.store.sparse import SPARSE_CLASSES, assembled, compressed_fault
from longtail.store.strings import check_ends, decode_strings
from longtail.store.tensors import DTYPES, TENSOR_TYPES

_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SCALARS = {
    **{dtype.name: dtype for dtype in DTYPES.values()},
    "complex64": np.dtype("complex64"),
    "complex128": np.dtype("complex128"),
}


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
        raise ModelError(f"the value: does not use the array {shortened(unused[0])!r}.")
    return value


class _Unpacker:
    """One walk through a tree."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self.used: set[str] = set()
        self._readers = {
            "int": self._int,
            "float": self._float,
            "str": self._str,
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
            fail(place, "is nested too deeply")
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if isinstance(tree, list):
            return [
                self.unpack(item, f"{place}[{number}]", depth + 1)
                for number, item in enumerate(tree)
            ]
        if not isinstance(tree, dict):
            fail(place, f"is of type {type(tree).__name__}, which no tree holds")
        if "$" not in tree:
            return {
                key: self.unpack(item, f"{place}.{key}" if place else key, depth + 1)
                for key, item in tree.items()
            }
        kind = tree["$"]
        if not isinstance(kind, str) or kind not in self._readers:
            fail(place, f"is of the unknown kind {shortened(repr(kind))}")
        return self._readers[kind](tree, place, depth)

    def _int(self, node: dict[str, Any], place: str, depth: int) -> int:
        return big_int(fields_of(node, place, "value")["value"], place)

    def _float(self, node: dict[str, Any], place: str, depth: int) -> float:
        value = fields_of(node, place, "value")["value"]
        if not isinstance(value, str) or value not in _FLOATS:
            fail(place, "is not nan, inf or -inf")
        return _FLOATS[value]

    def _str(self, node: dict[str, Any], place: str, depth: int) -> str:
        digits = fields_of(node, place, "utf8")["utf8"]
        try:
            return bytes.fromhex(digits).decode("utf-8", "surrogatepass")
        except (TypeError, ValueError):
            fail(place, "is not text in hexadecimal digits")

    def _list(self, node: dict[str, Any], place: str, depth: int) -> list[Any]:
        return self._sequence(fields_of(node, place, "items")["items"], place, depth)

    def _tuple(self, node: dict[str, Any], place: str, depth: int) -> tuple[Any, ...]:
        return tuple(self._sequence(fields_of(node, place, "items")["items"], place, depth))

    def _sequence(self, items: Any, place: str, depth: int) -> list[Any]:
        if isinstance(items, list):
            return self.unpack(items, place, depth)
        return self._column(items, place, depth + 1)

    def _dict(self, node: dict[str, Any], place: str, depth: int) -> dict[str, Any]:
        fields = fields_of(node, place, "keys", "values")
        keys = self._sequence(fields["keys"], place, depth)
        values = self._sequence(fields["values"], place, depth)
        distinct = all(type(key) is str for key in keys) and len(set(keys)) == len(keys)
        if not distinct or len(keys) != len(values):
            fail(place, "has keys that are not distinct strings, one for each value")
        return dict(zip(keys, values, strict=True))

    def _scalar(self, node: dict[str, Any], place: str, depth: int) -> Any:
        fields = fields_of(node, place, "dtype", "value")
        value, name = self.unpack(fields["value"], place, depth + 1), fields["dtype"]
        if name == "str" and type(value) is str:
            return np.str_(value)
        dtype = _SCALARS.get(name) if isinstance(name, str) else None
        if dtype is None:
            fail(place, f"is a scalar of the unknown type {shortened(repr(name))}")
        try:
            if dtype.kind == "c":
                real, imaginary = value
                return dtype.type(complex(float(real), float(imaginary)))
            needed = {"b": bool, "f": float}.get(dtype.kind, int)
            if type(value) is needed:
                made = dtype.type(value)
                if needed is not int or made.item() == value:
                    return made
        except (TypeError, ValueError, OverflowError):
            pass
        fail(place, f"is not a number of type {name}")

    def _object(self, node: dict[str, Any], place: str, depth: int) -> Any:
        fields = fields_of(node, place, "class", "state")
        name = fields["class"]
        if not isinstance(name, str):
            fail(place, "is an object whose class is not named")
        try:
            cls = registered_class(name)
        except ModelError as error:
            raise ModelError(f"{place or 'the value'}: {error}") from None
        state = self.unpack(fields["state"], place, depth + 1)
        if type(state) is not dict:
            fail(place, f"is an object of {name} whose state is not a dict")
        try:
            return cls._from_state(state)
        except (ModelError, MissingExtraError):
            raise
        except Exception as error:
            raise ModelError(
                f"{place or 'the value'}: its state is not that of an object of {name} "
                f"({type(error).__name__}: {shortened(str(error), 200)})."
            ) from error

    def _array(self, node: dict[str, Any], place: str, depth: int) -> NDArray[Any]:
        fields = fields_of(node, place, "data", optional=("order", "byteorder", "complex"))
        array = self._take(fields["data"], place)
        if fields.pop("complex", None) is not None:
            if node["complex"] is not True or array.dtype not in (np.float32, np.float64):
                fail(place, "is not an array of complex numbers")
            if array.ndim == 0 or array.shape[-1] != 2:
                fail(place, "is not an array of complex numbers")
            array = array.view(f"<c{2 * array.dtype.itemsize}")[..., 0]
        if big_endian(fields, place):
            array = array.astype(array.dtype.newbyteorder(">"))
        if "order" in fields:
            if fields["order"] != "F":
                fail(place, "is an array of an unknown order")
            array = array.T
        return array

    def _array_node(self, node: Any, place: str, depth: int) -> NDArray[Any]:
        if not isinstance(node, dict) or node.get("$") != "array":
            fail(place, "has a part that is not an array of numbers")
        return self._array(node, place, depth)

    def _text(self, node: dict[str, Any], place: str, depth: int) -> NDArray[Any]:
        optional = ("text", "ends", "codes", "byteorder")
        fields = fields_of(node, place, "shape", "width", optional=optional)
        width, size = fields["width"], product(fields["shape"], place)
        if type(width) is not int or not 0 <= width < 2**29:
            fail(place, "is text of an impossible width")
        dtype = np.dtype(f"{'>' if big_endian(fields, place) else '<'}U{width}")
        try:
            if "codes" in fields:
                flat = self._codes(fields["codes"], size, width, place)
            else:
                flat = self._fixed_width(fields, size, width, place)
            if width == 0:  # which numpy takes for "as wide as needed" where it can
                return np.ndarray(fields["shape"], dtype=dtype)
            return flat.astype(dtype, copy=False).reshape(fields["shape"])
        except ModelError:
            raise
        except (ValueError, OverflowError) as error:
            fail(place, f"is not text: {error}")

    def _codes(self, key: Any, size: int, width: int, place: str) -> NDArray[Any]:
        codes = self._take(key, place)
        if codes.dtype != np.uint32 or codes.shape != (size * width,):
            raise ValueError("its characters do not fit its shape")
        if codes.size and codes.max() > MAX_UNICODE:
            raise ValueError("a character is not Unicode")
        return codes.view(f"<U{width or 1}")

    def _fixed_width(
        self, fields: dict[str, Any], size: int, width: int, place: str
    ) -> NDArray[Any]:
        text, ends = self._take(fields.get("text"), place), self._take(fields.get("ends"), place)
        if size * width * 4 > MAX_EXPANSION * (text.nbytes + ends.nbytes) + EXPANSION_FREE:
            raise ValueError("it would unfold too far")
        strings = self._decoded(text, ends)
        if len(strings) != size or max(map(len, strings), default=0) > width:
            raise ValueError("its strings do not fit its shape")
        return np.array(strings, dtype=f"<U{width or 1}")

    def _objects(self, node: dict[str, Any], place: str, depth: int) -> NDArray[Any]:
        fields = fields_of(node, place, "shape", "items")
        size = product(fields["shape"], place)
        items = self._column(fields["items"], place, depth + 1)
        if len(items) != size:
            fail(place, f"holds {len(items)} objects instead of {size}")
        flat = np.fromiter(items, dtype=object, count=size)
        try:
            return flat.reshape(fields["shape"])
        except (ValueError, OverflowError):
            fail(place, "has a shape beyond what numpy can hold")

    def _sparse(self, node: dict[str, Any], place: str, depth: int) -> Any:
        fields = fields_of(node, place, "class", "shape", "indptr", "indices", "data")
        name, shape = fields["class"], fields["shape"]
        if not isinstance(name, str) or name not in SPARSE_CLASSES:
            fail(place, "is a sparse matrix of an unknown kind")
        product(shape, place)
        if len(shape) != 2:
            fail(place, "is a sparse matrix that has not two dimensions")
        indptr, indices, data = (
            self._array_node(fields[part], place, depth) for part in ("indptr", "indices", "data")
        )
        fault = compressed_fault(name, shape, indptr, indices, data)
        if fault is None and not indptr[-1] == len(indices) == len(data):
            fault = "its entries and their indices are not as many as its indptr says"
        if fault is not None:
            fail(place, f"is no valid sparse matrix: {fault}")
        return assembled(name, tuple(shape), indptr, indices, data)

    def _column(self, node: Any, place: str, depth: int) -> list[Any]:
        if depth > MAX_DEPTH + 2:
            fail(place, "is nested too deeply")
        if not isinstance(node, dict) or not isinstance(node.get("of"), str):
            fail(place, "is not a column of values")
        kind = node["of"]
        try:
            if kind == "mixed":
                return self._mixed(node, place, depth)
            if kind == "str" or kind == "numpy str":
                fields = fields_of(node, place, "text", "ends", tag="of")
                strings = self._decoded(
                    self._take(fields["text"], place), self._take(fields["ends"], place)
                )
                return strings if kind == "str" else [np.str_(string) for string in strings]
            if kind == "tuple":
                return self._tuples(node, place, depth)
            if kind == "big int":
                digits = fields_of(node, place, "digits", tag="of")["digits"]
                if not isinstance(digits, dict) or digits.get("of") != "str":
                    fail(place, "is not a column of whole numbers")
                return [big_int(text, place) for text in self._column(digits, place, depth)]
            if kind == "numpy":
                fields = fields_of(node, place, "values", tag="of")
                values = self._array_node(fields["values"], place, depth)
                if values.ndim != 1:
                    fail(place, "is not a column of numbers")
                return list(values)
            dtype = {"int": np.int64, "float": np.float64, "bool": np.bool_}.get(kind)
            if dtype is None:
                fail(place, f"is a column of the unknown kind {shortened(repr(kind))}")
            values = self._take(fields_of(node, place, "values", tag="of")["values"], place)
            if values.dtype != dtype or values.ndim != 1:
                fail(place, f"is not a column of type {kind}")
            return values.tolist()
        except ModelError:
            raise
        except ValueError as error:
            fail(place, f"is not a column of values: {error}")

    def _mixed(self, node: dict[str, Any], place: str, depth: int) -> list[Any]:
        fields = fields_of(node, place, "kinds", "parts", tag="of")
        kinds, parts = self._take(fields["kinds"], place), fields["parts"]
        if kinds.dtype != np.uint8 or kinds.ndim != 1 or not isinstance(parts, list):
            fail(place, "is not a column of several kinds")
        if kinds.size and int(kinds.max()) >= len(parts):
            fail(place, "is a column with a kind that is not there")
        out = np.empty(len(kinds), dtype=object)
        for number, part in enumerate(parts):
            places = np.flatnonzero(kinds == number)
            if part == {"of": "none"}:
                continue
            if isinstance(part, dict) and part.get("of") == "mixed":
                fail(place, "is a column of several kinds within another")
            items = self._column(part, place, depth)
            if len(items) != len(places):
                fail(place, "is a column whose parts do not fit together")
            out[places] = np.fromiter(items, dtype=object, count=len(items))
        return out.tolist()

    def _tuples(self, node: dict[str, Any], place: str, depth: int) -> list[tuple[Any, ...]]:
        fields = fields_of(node, place, "ends", "items", tag="of")
        ends = self._take(fields["ends"], place)
        items = self._column(fields["items"], place, depth + 1)
        check_ends(ends, len(items), "the ends of the tuples do not fit")
        limits = [0, *ends.tolist()]
        return [tuple(items[a:b]) for a, b in pairwise(limits)]

    def _decoded(self, text: NDArray[Any], ends: NDArray[Any]) -> list[str]:
        if text.dtype != np.uint8 or text.ndim != 1:
            raise ValueError("the text is not a run of bytes")
        return decode_strings(text, ends)

    def _take(self, key: Any, place: str) -> NDArray[Any]:
        """The array of that name, once."""
        if not isinstance(key, str) or key not in self._arrays:
            fail(place, f"names an array {shortened(repr(key))} that is not there")
        if key in self.used:
            fail(place, f"uses the array {shortened(key)!r} a second time")
        self.used.add(key)
        array = self._arrays[key]
        if array.dtype not in TENSOR_TYPES:
            fail(place, f"uses an array of type {array.dtype}")
        return array
