"""Model folders with altered content and right checksums, and what may come of them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import longtail
from longtail.errors import LongtailError
from longtail.store.folder import ARRAYS, NAME, sealed
from longtail.store.jsontext import loads
from longtail.store.tensors import open_tensors, write_tensors

Change = Callable[[Any], Any]
Alteration = tuple[str, Callable[[Any, dict[str, np.ndarray]], None]]
"""What it does, in words, and a function that does it to the state and the arrays."""


def _first(value: Any) -> Change:
    return lambda array: _with(array, 0, value)


def _last(value: Any) -> Change:
    return lambda array: _with(array, -1, value)


def _with(array: np.ndarray, place: int, value: Any) -> np.ndarray:
    changed = array.copy()
    if changed.size:
        changed.reshape(-1)[place] = value
    return changed


def _as(kind: Any) -> Change:
    def change(array: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return array.astype(kind)

    return change


SHAPES: dict[str, Change] = {
    "truncated": lambda array: array[:-1] if array.ndim else array.reshape(1),
    "empty": lambda array: array.reshape(-1)[:0],
    "longer": lambda array: np.concatenate([array, array[-1:]]) if array.ndim else array[None],
    "transposed": lambda array: np.ascontiguousarray(array.T) if array.ndim > 1 else array[None],
    "flat": lambda array: array.reshape(-1) if array.ndim != 1 else array.reshape(-1, 1),
    "reversed": lambda array: np.ascontiguousarray(array[::-1]) if array.ndim else array[None],
    "narrower": lambda array: np.ascontiguousarray(array[..., :-1]) if array.ndim > 1 else array,
    **{f"as {kind}": _as(kind) for kind in ("f2", "f4", "f8", "i1", "i4", "i8", "u8", "?")},
}
FLOATS: dict[str, Change] = {
    "nan": _first(np.nan),
    "inf": _last(np.inf),
    "-inf": _first(-np.inf),
    "-1": _last(-1),
    "zeros": np.zeros_like,
    "largest": lambda array: _with(array, 0, np.finfo(array.dtype).max),
    "all largest": lambda array: np.full_like(array, np.finfo(array.dtype).max),
    "all smallest": lambda array: np.full_like(array, np.finfo(array.dtype).min),
    "all tiny": lambda array: np.full_like(array, np.finfo(array.dtype).smallest_subnormal),
}
WHOLE: dict[str, Change] = {
    "first -1": lambda array: _with(array, 0, np.asarray(-1).astype(array.dtype)),
    "last -1": lambda array: _with(array, -1, np.asarray(-1).astype(array.dtype)),
    "smallest": lambda array: _with(array, 0, np.iinfo(array.dtype).min),
    "largest": lambda array: _with(array, -1, np.iinfo(array.dtype).max),
    "far away": _last(100),
    "all largest": lambda array: np.full_like(array, np.iinfo(array.dtype).max),
    "zeros": np.zeros_like,
    "one more": lambda array: array + array.dtype.type(1),
}
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "false": False,
    "minus one": -1,
    "zero": 0,
    "one": 1,
    "2**31": 2**31,
    "2**40": 2**40,
    "2**70": 2**70,
    "a fraction": 0.5,
    "1e308": 1e308,
    "-1e308": -1e308,
    "nan": {"$": "float", "value": "nan"},
    "inf": {"$": "float", "value": "inf"},
    "a word": "x",
    "an empty word": "",
    "a list": [1],
    "no list": [],
    "a mapping": {},
    "a pair": {"$": "tuple", "items": [1, 2**40]},
}


def contents(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `model.json` of a folder says, and its arrays."""
    content = loads((folder / NAME).read_bytes())
    assert isinstance(content, dict)
    del content["checksum"]
    return content, open_tensors(folder / ARRAYS)[0]


def write_forged(
    folder: Path, content: dict[str, Any], arrays: dict[str, np.ndarray], alteration: Alteration
) -> None:
    """Write an altered model, with the checksums that it would have if it were none."""
    content, arrays = copy.deepcopy(content), dict(arrays)
    alteration[1](content["state"], arrays)
    folder.mkdir(exist_ok=True)
    for name in (NAME, ARRAYS):
        (folder / name).unlink(missing_ok=True)
    content["arrays"] = write_tensors(folder / ARRAYS, arrays)
    (folder / NAME).write_bytes(sealed(content))


def alterations(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> Iterator[Alteration]:
    """Every array with every change that suits it, and every value with every other value."""
    for name, array in arrays.items():
        kind = {"f": FLOATS, "i": WHOLE, "u": WHOLE}.get(array.dtype.kind, {})
        for what, change in (SHAPES | kind).items():
            changed = change(array)
            same = changed.shape == array.shape and changed.dtype == array.dtype
            if not same or changed.tobytes() != array.tobytes():
                yield f"{name}: {what}", _array_setter(name, changed)
    for path, value in _places(content["state"]):
        where = "/".join(map(str, path))
        for what, other in VALUES.items():
            if (type(other), other) != (type(value), value):
                yield f"{where}: {what}", _value_setter(path, other)
        yield f"{where}: left out", _remover(path)


def _array_setter(name: str, array: np.ndarray) -> Any:
    def alter(state: Any, arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = array

    return alter


def _value_setter(path: tuple[Any, ...], value: Any) -> Any:
    def alter(state: Any, arrays: dict[str, np.ndarray]) -> None:
        _parent(state, path)[path[-1]] = value
        _drop_unused(state, arrays)

    return alter


def _remover(path: tuple[Any, ...]) -> Any:
    def alter(state: Any, arrays: dict[str, np.ndarray]) -> None:
        del _parent(state, path)[path[-1]]
        _drop_unused(state, arrays)

    return alter


def _parent(state: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        state = state[key]
    return state


def _drop_unused(state: Any, arrays: dict[str, np.ndarray]) -> None:
    """Leave out the arrays that nothing names any more; a folder that has such is refused."""
    named = set()

    def walk(node: Any) -> None:
        if isinstance(node, str):
            named.add(node)
        for part in node.values() if isinstance(node, dict) else node:
            if isinstance(part, str | dict | list):
                walk(part) if not isinstance(part, str) else named.add(part)

    walk(state)
    for name in set(arrays) - named:
        del arrays[name]


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value in a tree, those within others too; not what describes an array."""
    described = isinstance(node, dict) and node.get("$") not in (None, "object", "tuple", "dict")
    if path:
        yield path, node
    if isinstance(node, dict) and not described:
        for key, value in node.items():
            if key not in ("$", "as"):
                yield from _places(value, (*path, key))
    elif isinstance(node, list):
        for number, value in enumerate(node[:3]):
            yield from _places(value, (*path, number))


def outcome(folder: Path, inputs: Any) -> str:
    """What comes of loading a folder and asking it everything: "refused" or "answered".

    Anything else raises an AssertionError: another error, more than a sentence, an answer of
    another shape, or one that is not a finite number.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", longtail.errors.LongtailWarning)
        try:
            model = longtail.load(folder)
            ask(model, inputs)
        except LongtailError as error:
            text = str(error)
            assert "\n" not in text, text
            assert text.endswith("."), text
            assert "its state is not that of a" not in text, text
            return "refused"
    return "answered"


def ask(model: Any, inputs: Any) -> None:
    """Everything that a user may ask, and whether the answers are sound."""
    n, n_labels = len(inputs), len(model.classes_)
    for top in (model.predict_topk(inputs, 3), model.predict_topk(inputs, 3, tail=1.0)):
        assert isinstance(top, sp.csr_array)
        assert top.shape == (n, n_labels)
        assert np.isfinite(top.data).all(), top.data
        assert (np.diff(top.indptr) <= 3).all()
    assert model.predict_matrix(inputs).shape == (n, n_labels)
    answer = model.predict(inputs)
    assert (answer.shape[0] if hasattr(answer, "shape") else len(answer)) == n
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            scores = getattr(model, name)(inputs)
            scores = scores.toarray() if sp.issparse(scores) else scores
            assert scores.shape in ((n, n_labels), (n,))
            never_listed = np.isneginf(scores) & (name == "decision_function")
            assert (np.isfinite(scores) | never_listed).all(), scores
    one = inputs[0] if isinstance(inputs[0], str) else inputs[:1]
    scored = model.predict_topk(inputs[:1], 1).nnz  # neighbours may have no label at all
    reason = model.explain(one, *(() if scored else model.classes_[:1].tolist()))
    assert np.isfinite(reason.score), reason.score
    assert str(reason)
    if hasattr(model, "predict_sets"):
        assert len(model.predict_sets(inputs, 2)) == n
    if hasattr(model, "choice_table"):
        assert str(model.choice_table())
