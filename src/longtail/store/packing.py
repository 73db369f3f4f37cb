"""From the nested state of a model to a JSON tree plus flat arrays.

JSON values stand for themselves: null, true, false, whole numbers, finite numbers, text, lists and
plain objects. Everything else is an object with the key ``"$"``, which says what it is; see
`docs/model-folder.md` for the list. The inverse is in `unpacking`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ModelError
from longtail.store.protocol import full_name, stored_name
from longtail.store.strings import encode_strings, is_rising
from longtail.store.tensors import TENSOR_TYPES

MAX_DEPTH = 60
"""How deeply values may be nested; what goes deeper most likely contains itself."""

LONG = 256
"""Lists of at least this many values of one type are stored as arrays."""

MAX_BITS = 10_000
"""The longest whole number; Python refuses to read much longer ones."""

NUMBERS = {int: np.int64, float: np.float64, bool: np.bool_}
"""Python's numbers, and the arrays that hold many of them."""

SPARSE_CLASSES: dict[str, type[Any]] = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
}
"""The kinds of sparse matrix a model may hold, by their names in files."""

_MAX_UNICODE = 0x10FFFF
_JOINED_BY_JSON = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def pack(value: Any) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Take a nested value apart into a JSON tree and flat arrays. O(size of the value).

    Parameters
    ----------
    value : object
        None, bool, int, float, str, list, tuple, dict, numpy numbers, numpy arrays of numbers and
        bools, 1-d numpy arrays of text or objects, CSR and CSC matrices and arrays, and `Storable`
        objects; nested at will.

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
    """The JSON tree of a value that holds no arrays and no objects."""
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
        if value is None or kind is str or kind is np.str_ or kind in NUMBERS:
            return _scalar(value, place)
        if kind is list:
            items = self._sequence(value, place, depth)
            return items if isinstance(items, list) else {"$": "list", "items": items}
        if kind is tuple:
            return {"$": "tuple", "items": self._sequence(value, place, depth)}
        if kind is dict:
            return self._dict(value, place, depth)
        if isinstance(value, np.generic) and value.dtype in TENSOR_TYPES:
            packed = _scalar(value.item(), place)
            return {"$": "scalar", "dtype": value.dtype.name, "value": packed}
        if self._use_arrays:
            if kind is np.ndarray or kind is np.memmap:
                return self._array(value, place, depth)
            if sp.issparse(value):
                return self._sparse(value, place)
            if stored_name(kind) is not None:
                return self._object(value, place, depth)
        raise self._unknown(kind, place)

    def _unknown(self, kind: type[Any], place: str) -> ModelError:
        if not self._use_arrays:
            remedy = "plain values are None, bools, numbers, strings, and lists and dicts of them"
        elif hasattr(kind, "to_state"):
            remedy = "give its class a name of its own and register it; see longtail.store.Storable"
        else:
            remedy = (
                "use plain values, lists, tuples, dicts, numpy arrays, CSR or CSC matrices, or "
                "objects that implement longtail.store.Storable"
            )
        return ModelError(
            f"{_shown(place)}: a value of type {full_name(kind)} cannot be stored in a model; "
            f"{remedy}."
        )

    def _dict(self, value: dict[Any, Any], place: str, depth: int) -> Any:
        if len(value) < LONG and "$" not in value and all(type(key) is str for key in value):
            return {
                _scalar(key, place): self.pack(item, _joined(place, key), depth + 1)
                for key, item in value.items()
            }
        return {
            "$": "dict",
            "keys": self._sequence(list(value), _joined(place, "keys"), depth),
            "values": self._sequence(list(value.values()), _joined(place, "values"), depth),
        }

    def _object(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        state = value.to_state()
        if type(state) is not dict:
            raise ModelError(
                f"{_shown(place)}: {full_name(type(value))}.to_state() returned "
                f"{full_name(type(state))} instead of a dict."
            )
        state = self._dict(state, place, depth + 1)
        return {"$": "object", "as": stored_name(type(value)), "state": state}

    def _array(self, value: NDArray[Any], place: str, depth: int) -> dict[str, Any]:
        if value.dtype.kind in "UO" and value.ndim == 1:
            if value.dtype.kind == "U":
                return {"$": "text", **self._strings(_unicode(value, place), place)}
            items = self._sequence(value.tolist(), _joined(place, "items"), depth)
            return {"$": "objects", "items": items}
        little = np.dtype(value.dtype.newbyteorder("<").str)  # a type by its name, not its alias
        if little not in TENSOR_TYPES:
            raise ModelError(
                f"{_shown(place)}: an array of type {value.dtype} and {value.ndim} dimensions "
                "cannot be stored in a model; use bools, numbers of at most 64 bits, or 1-d arrays "
                "of text or objects."
            )
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            transposed = np.asarray(value.T, dtype=little, order="C")
            return {"$": "array", "data": self._add(transposed, place), "order": "F"}
        return {"$": "array", "data": self._add(np.asarray(value, little, order="C"), place)}

    def _sparse(self, value: Any, place: str) -> dict[str, Any]:
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
            "indptr": self._add(value.indptr, _joined(place, "indptr")),
            "indices": self._add(value.indices[:stored], _joined(place, "indices")),
            "data": self._add(value.data[:stored], _joined(place, "data")),
        }

    def _sequence(self, items: Sequence[Any], place: str, depth: int) -> Any:
        """A JSON list, or the column of a long run of values of one type."""
        if self._use_arrays and len(items) >= LONG:
            column = self._column(items, place, depth)
            if column is not None:
                return column
        return [
            self.pack(item, f"{place}[{number}]", depth + 1) for number, item in enumerate(items)
        ]

    def _column(self, items: Sequence[Any], place: str, depth: int) -> dict[str, Any] | None:
        """Strings, numbers or tuples as arrays; None if they are not all of one such type."""
        kinds = set(map(type, items))
        kind = kinds.pop()
        if kinds:
            return None
        if kind is str or kind is np.str_:
            return {"of": "str", **self._strings(items, place)}
        if kind is tuple:
            ends = np.cumsum([len(item) for item in items])
            content = list(chain.from_iterable(items))
            return {
                "of": "tuple",
                "ends": self._add(ends, _joined(place, "ends")),
                "items": self._sequence(content, _joined(place, "items"), depth + 1),
            }
        if kind in NUMBERS or issubclass(kind, np.generic):
            try:
                values = np.array(items, dtype=NUMBERS.get(kind))
            except OverflowError:
                return None
            if values.dtype in TENSOR_TYPES:
                name = kind.__name__ if kind in NUMBERS else "numpy"
                return {"of": name, "values": self._add(values, place)}
        return None

    def _strings(self, strings: Sequence[str], place: str) -> dict[str, str]:
        text, ends = encode_strings(strings)
        return {
            "text": self._add(text, _joined(place, "text")),
            "ends": self._add(ends, _joined(place, "ends")),
        }

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


def _scalar(value: Any, place: str) -> Any:
    """A plain value as JSON holds it."""
    if isinstance(value, str):
        if _JOINED_BY_JSON.search(value):
            raise ModelError(f"{_shown(place)}: holds text that is not valid Unicode.")
        return str.__str__(value)  # numpy's own drops NULs at the end
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise ModelError(f"{_shown(place)}: is a number of more than {MAX_BITS} bits.")
    if type(value) is float and not math.isfinite(value):
        return {"$": "float", "value": repr(value)}
    return value


def _unicode(value: NDArray[Any], place: str) -> list[str]:
    """The strings of an array of text, whose memory may hold anything."""
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    if little.size and little.view("<u4").max(initial=0) > _MAX_UNICODE:
        raise ModelError(f"{_shown(place)}: holds text that is not Unicode.")
    return little.tolist()


def _joined(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _shown(place: str) -> str:
    return place or "the value"


def compressed_fault(
    name: str,
    shape: tuple[int, ...],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
) -> str | None:
    """What is wrong with the parts of a CSR or CSC matrix, or None. O(rows + nnz), no copies.

    Checked before any compiled code follows the indices.
    """
    major, minor = shape if name.startswith("csr") else shape[::-1]
    for part, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype not in (np.int32, np.int64):
            return f"its {part} are not a run of whole numbers"
    if data.ndim != 1 or data.dtype.kind not in "biufc":
        return "its data are not a run of numbers"
    if len(indptr) != major + 1:
        return f"its indptr has {len(indptr)} entries instead of {major + 1}"
    stored = indptr[-1]
    if indptr[0] != 0 or not is_rising(indptr):
        return "its indptr does not rise from 0"
    if stored > len(indices) or stored > len(data):
        return f"its indptr ends at {stored}, beyond its {min(len(indices), len(data))} entries"
    used = indices[:stored]
    if stored and used.min() < 0:
        return "an index is negative"
    if stored and used.max() >= minor:
        return f"an index is not below {minor}"
    return None
