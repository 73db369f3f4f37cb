"""Model folders with flipped bytes, and forged ones whose checksums are right."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import longtail
from longtail.store.folder import ARRAYS, NAME
from tests.fuzz.kinds import Kind, Wrong, note
from tests.fuzz.models import ask, prepare, problem, unfitted
from tests.resealing import content_of, forge_arrays, reseal

SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 1000, 2**20, 2**31 - 1, 2**31, 2**53, 2**63, 10**30, 0.5,
    -0.5, 1e-320, 1e30, 1e308, -1e308, "", "x", "l2", "dense", "names", [], {}, [0], [[]],
    {"$": "array", "data": "0"}, {"$": "float", "value": "nan"}, {"$": "float", "value": "inf"},
    {"$": "tuple", "items": []},
)  # fmt: skip


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a tree are, inner ones as well."""
    found = [path] if path else []
    entries: Any = ()
    if isinstance(tree, dict):
        entries = tree.items()
    elif isinstance(tree, list):
        entries = enumerate(tree)
    for key, value in entries:
        found += _places(value, (*path, key))
    return found


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def forge_values(rng: np.random.Generator, folder: Path) -> str:
    """One or two values of the state: replaced, moved or left out."""
    state = content_of(folder)["state"]
    told = []
    for _ in range(int(rng.integers(1, 3))):
        places = _places(state)
        path = places[int(rng.integers(len(places)))]
        inner, key = _at(state, path[:-1]), path[-1]
        how = int(rng.integers(10))
        if how == 0 and isinstance(inner, dict):
            del inner[key]
            told.append(f"{path} left out")
            continue
        if how in (1, 2):
            value = copy.deepcopy(_at(state, places[int(rng.integers(len(places)))]))
        else:
            value = copy.deepcopy(SCALARS[int(rng.integers(len(SCALARS)))])
        inner[key] = value
        told.append(f"{path} = {str(value)[:60]}")
    reseal(folder, state=state)
    return "; ".join(told)


def change_array(rng: np.random.Generator, array: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """An array with other values, of another length, shape or type, and what was done."""
    how = int(rng.integers(12))
    if how == 0 and array.size:
        return array.reshape(-1)[: int(rng.integers(array.size))], "cut"
    if how == 1:
        return np.concatenate([array.reshape(-1)] * 2), "doubled"
    if how == 2:
        kinds = (np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8, np.bool_)
        kind = kinds[int(rng.integers(len(kinds)))]
        with np.errstate(all="ignore"):
            return array.astype(kind), f"as {np.dtype(kind)}"
    if how == 3:
        return array.reshape(1, *array.shape), "one dimension more"
    if how == 4:
        return np.zeros((0, *array.shape[1:]), array.dtype), "empty"
    if how == 5:
        return array[::-1].copy() if array.ndim else array, "turned round"
    if how == 6:
        return array.T.copy(), "transposed"
    flat = array.reshape(-1).copy()
    if not flat.size:
        return array, "as it was"
    if array.dtype.kind == "f":
        values: tuple[Any, ...] = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 0.0, -1.0, 0.5)
    elif array.dtype.kind == "b":
        values = (True, False)
    else:
        limits = np.iinfo(array.dtype)
        values = (limits.max, limits.min, 0, 1, 2, 5, 6, 59, 60, 61, 100)
        if limits.min < 0:
            values = (*values, -1, -2)
    places = rng.integers(flat.size, size=1 if rng.random() < 0.6 else max(1, flat.size // 3))
    told = values[int(rng.integers(len(values)))]
    with np.errstate(all="ignore"):
        flat[places] = told
    return flat.reshape(array.shape), f"{len(places)} values {told}"


def forge_one_array(rng: np.random.Generator, folder: Path) -> str:
    """One array of the model: with other values, length, shape or type."""
    told = []

    def change(arrays: dict[str, Any]) -> dict[str, Any]:
        if arrays:
            name = sorted(arrays)[int(rng.integers(len(arrays)))]
            arrays[name], what = change_array(rng, arrays[name])
            told.append(f"array {name}: {what}")
        return arrays

    forge_arrays(folder, change)
    return "; ".join(told)


def flip(rng: np.random.Generator, folder: Path) -> str:
    """A byte of one of the files, or its end."""
    path = folder / (NAME, ARRAYS)[int(rng.integers(2))]
    content = bytearray(path.read_bytes())
    at = int(rng.integers(len(content)))
    if rng.random() < 0.2:
        del content[at:]
    else:
        content[at] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)
    return f"{path.name}, byte {at}"


FORGERIES: tuple[Callable[[np.random.Generator, Path], str], ...] = (
    forge_values, forge_one_array, forge_one_array,
)  # fmt: skip


def attempt(rng: np.random.Generator, folder: Path, common: Path) -> None:
    """One altered model: refused, or a model whose answers are finite."""
    name = sorted(unfitted())[int(rng.integers(len(unfitted())))]
    model = folder / "model"
    shutil.copytree(common / name, model)
    if rng.random() < 0.15:
        note(folder, f"{name}: {flip(rng, model)}")
        longtail.load(model)
        raise Wrong("a flipped byte goes unnoticed")
    note(folder, f"{name}: {FORGERIES[int(rng.integers(len(FORGERIES)))](rng, model)}")
    X, _ = problem(name)
    ask(longtail.load(model), X[:5])


FOLDERS = Kind("folders", attempt, prepare, start="models")
