"""Hostile arrays in memory, given to every function of every method that takes one."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

import longtail
from longtail.metrics import evaluate
from tests.fuzz.kinds import Kind, Wrong, note
from tests.fuzz.models import ask, finite, loaded, prepare, problem, unfitted
from tests.test_hostile_arrays import LIES

Rng = np.random.Generator
FORMS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")
DTYPES = (
    "float16", "float32", "longdouble", "bool", "int8", "uint64", "int64", ">f8", ">f4", ">i4",
    "complex128", "object", "U8", "S8", "datetime64[s]", "timedelta64[s]",
)  # fmt: skip
VALUES = (
    np.nan, np.inf, -np.inf, 1e200, -1e200, 1e308, 1.7e308, 1e38, 3e38, 1e154, 5e-324, 1e-310, -0.0,
    2.0**53, -1.0, 2.0, 0.5,
)  # fmt: skip


def _lie(rng: Rng, matrix: Any) -> Any:
    """A sparse matrix with one of its arrays changed behind scipy's back."""
    form = ("csr", "csc", "bsr")[int(rng.integers(3))]
    kind = (sp.csr_array, sp.csr_matrix)[int(rng.integers(2))]
    bad = kind(matrix, dtype=float).asformat(form).copy()
    _ = getattr(bad, "has_canonical_format", None)
    LIES[int(rng.integers(len(LIES)))](bad)
    return bad


def _random_lie(rng: Rng, matrix: Any) -> Any:
    """A sparse matrix with a random number at a random place of one of its arrays."""
    bad = sp.csr_array(matrix, dtype=float).asformat(("csr", "csc", "bsr")[int(rng.integers(3))])
    part = bad.indptr if rng.random() < 0.5 else bad.indices
    values = (-1, 0, 1, 9, 10, 11, 59, 60, 61, 10**6, 2**31 - 1, -(2**31))
    if len(part):
        part[int(rng.integers(len(part)))] = values[int(rng.integers(len(values)))]
    return bad


def _places_outside(rng: Rng, matrix: Any) -> Any:
    bad = sp.coo_array(matrix, dtype=float)
    bad.coords[int(rng.integers(2))][0] = int(rng.choice([-1, 60, 10, 10**8]))
    return bad


def _shuffled(rng: Rng, matrix: Any) -> Any:
    """The same numbers with unsorted or repeated columns."""
    found = sp.csr_array(matrix, dtype=float)
    found.indices = found.indices.copy()
    part = slice(0, int(found.indptr[1]))
    found.indices[part] = rng.permutation(found.indices[part])
    if rng.random() < 0.5 and found.indptr[1] > 1:
        found.indices[1] = found.indices[0]
    return found


def _other_dtype(rng: Rng, matrix: Any) -> Any:
    kind = DTYPES[int(rng.integers(len(DTYPES)))]
    whole = np.asarray(matrix)
    if kind.startswith(("date", "time")):
        whole = whole.astype(np.int64)
    changed = whole.astype(kind)
    if kind == "object" and rng.random() < 0.5:
        odd = (None, "x", decimal.Decimal(1), [1], 10**400, 1j, np.nan)
        changed[tuple(int(rng.integers(n)) for n in changed.shape)] = odd[int(rng.integers(7))]
    sparse = changed.dtype.isnative and changed.dtype.kind in "fibuc" and kind != "float16"
    if sparse and changed.ndim == 2 and rng.random() < 0.4:
        return sp.csr_array(changed)
    return changed


def _hostile_values(rng: Rng, matrix: Any) -> Any:
    found = np.array(matrix, dtype=float)
    flat = found.reshape(-1)
    places = rng.integers(flat.size, size=1 if rng.random() < 0.5 else flat.size)
    flat[places] = VALUES[int(rng.integers(len(VALUES)))]
    if rng.random() < 0.4:
        with np.errstate(all="ignore"):
            found = found.astype(np.float32)
    if rng.random() < 0.5 and found.ndim == 2:
        return sp.csr_array(found).asformat(FORMS[int(rng.integers(4))])
    return found


def _form(rng: Rng, matrix: Any) -> Any:
    return sp.csr_array(np.atleast_2d(matrix)).asformat(FORMS[int(rng.integers(len(FORMS)))])


def _container(rng: Rng, matrix: Any) -> Any:
    whole = np.array(matrix)
    choices: tuple[Callable[[], Any], ...] = (
        lambda: np.asmatrix(whole), lambda: whole.tolist(), lambda: pd.DataFrame(whole),
        lambda: np.ma.masked_array(whole, mask=whole > 0), lambda: iter(whole),
        lambda: memoryview(np.ascontiguousarray(whole)), lambda: whole[::-1], lambda: whole.T,
        lambda: np.asfortranarray(whole), lambda: whole[None], lambda: whole[0],
        lambda: whole[:, None, None] if whole.ndim == 1 else whole.reshape(-1), lambda: None,
        lambda: "a text", lambda: b"bytes", lambda: 7, lambda: float("nan"), lambda: {}, lambda: [],
        lambda: [[]], lambda: [[1, 2], [3]], lambda: [None] * len(whole), lambda: set(),
        lambda: pd.DataFrame(whole).astype("string"), lambda: pd.Series(whole.reshape(-1)),
        lambda: [["a"], 7], lambda: [[float("nan")]] * len(whole), lambda: np.float64(3),
        lambda: object(), lambda: [object()] * len(whole), lambda: np.zeros(()),
        lambda: np.broadcast_to(whole[:1], whole.shape), lambda: ["x" * 10**5] * len(whole),
        lambda: [(name,) for name in range(len(whole))], lambda: [["\ud800"]] * len(whole),
        lambda: [[1, "1"]] * len(whole), lambda: [[10**30]] * len(whole), lambda: range(len(whole)),
    )  # fmt: skip
    return choices[int(rng.integers(len(choices)))]()


def _shape(rng: Rng, matrix: Any) -> Any:
    """Too few or too many rows or columns, also none, also billions."""
    whole = np.atleast_2d(np.array(matrix, dtype=float))
    huge = (2**31 - 1, 2**31, 2**40)[int(rng.integers(3))]
    choices: tuple[Callable[[], Any], ...] = (
        lambda: whole[:0], lambda: whole[:, :0], lambda: whole[:0, :0], lambda: whole[:1],
        lambda: whole[:, :-1], lambda: np.hstack([whole, whole]), lambda: np.vstack([whole, whole]),
        lambda: sp.csr_array(whole[:0]), lambda: sp.csr_array(whole[:, :0]),
        lambda: sp.csr_array((len(whole), huge)), lambda: sp.coo_array((huge, whole.shape[1])),
        lambda: sp.coo_array(([1.0], ([0], [huge - 1])), shape=(len(whole), huge)),
        lambda: sp.csc_array((huge, 3)) if huge < 2**31 else sp.coo_array((3, huge)),
        lambda: sp.coo_array(whole[0]), lambda: np.zeros_like(whole), lambda: np.ones_like(whole),
    )  # fmt: skip
    return choices[int(rng.integers(len(choices)))]()


HOSTILE: tuple[Callable[[Rng, Any], Any], ...] = (
    _lie, _random_lie, _places_outside, _shuffled, _other_dtype, _other_dtype, _hostile_values,
    _hostile_values, _hostile_values, _form, _container, _container, _shape, _shape,
)  # fmt: skip


def hostile(rng: Rng, matrix: Any) -> tuple[Any, str]:
    """Something hostile in place of a good array, and what it is."""
    make = HOSTILE[int(rng.integers(len(HOSTILE)))]
    whole = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    if len(whole) < 3 and make is _lie:
        make = _random_lie
    if whole.ndim == 1 and make in (_lie, _random_lie, _places_outside, _shuffled):
        whole = np.eye(6)[whole.astype(int) % 6]
    found = make(rng, whole)
    told = f"{type(found).__name__} {getattr(found, 'dtype', '')} {getattr(found, 'shape', '')}"
    return found, f"{make.__name__.strip('_')}: {told}"


ASKED = (
    "predict", "predict_topk", "predict_matrix", "top_labels", "decision_function",
    "predict_proba", "explain", "score",
)  # fmt: skip


def attempt(rng: Rng, folder: Path, common: Path) -> None:
    """One hostile array, as X or as y, to one function of one method."""
    name = sorted(unfitted())[int(rng.integers(len(unfitted())))]
    X, y = problem(name)
    action = int(rng.integers(10))
    if action <= 2:
        bad, what = hostile(rng, X)
        with_y = bool(rng.integers(4) == 0)
        bad_y, what_y = hostile(rng, y) if with_y else (y, "")
        note(folder, f"{name}.fit: X {what} y {what_y}")
        model = clone(unfitted()[name]).fit(bad, bad_y)
        ask(model, bad if _is_rows(bad, model) else X[:, : model.n_features_in_])
    elif action == 3:
        bad, what = hostile(rng, y)
        note(folder, f"{name}.fit: y {what}")
        ask(clone(unfitted()[name]).fit(X, bad), X)
    elif action == 4:
        _evaluated(rng, folder, name, common)
    elif action == 5:
        _extended(rng, folder, name, common)
    else:
        _asked(rng, folder, name, loaded(common / name))


def _is_rows(bad: Any, model: Any) -> bool:
    shape = getattr(bad, "shape", ())
    return len(shape) == 2 and shape[0] > 0 and shape[1] == model.n_features_in_


def _asked(rng: Rng, folder: Path, name: str, model: Any) -> None:
    X, y = problem(name)
    asked = ASKED[int(rng.integers(len(ASKED)))]
    if not hasattr(model, asked):
        asked = "predict"
    bad, what = hostile(rng, X[:1] if asked == "explain" else X)
    note(folder, f"{name}.{asked}: {what}")
    if asked == "score":
        finite(model.score(bad, y), "a score")
        return
    found = getattr(model, asked)(bad)
    if asked == "predict_topk":
        finite(found.data, "scores")
    elif asked == "explain":
        finite(found.score, "score of an explanation")
    elif asked in ("decision_function", "predict_proba"):
        values = found.data if sp.issparse(found) else np.asarray(found)
        if np.isnan(values).any() or (values == np.inf).any():
            raise Wrong("scores that are not finite")


def _evaluated(rng: Rng, folder: Path, name: str, common: Path) -> None:
    model = loaded(common / name)
    X, _ = problem(name)
    given: dict[str, Any] = {
        "Y_true": sp.csr_array(np.eye(6)[np.arange(len(X)) % 6]),
        "Y_score": model.predict_topk(X, 3), "Y_pred": model.predict_matrix(X),
    }  # fmt: skip
    which = sorted(given)[int(rng.integers(3))]
    given[which], what = hostile(rng, given[which])
    note(folder, f"evaluate of {name}: {which} {what}")
    evaluate(given.pop("Y_true"), **given)


def _extended(rng: Rng, folder: Path, name: str, common: Path) -> None:
    model = longtail.load(common / name)
    if not hasattr(model, "add_labels"):
        _asked(rng, folder, name, loaded(common / name))
        return
    X, _ = problem(name)
    given: dict[str, Any] = {"X": X, "y_new": np.eye(3)[np.arange(len(X)) % 3]}
    which = sorted(given)[int(rng.integers(2))]
    given[which], what = hostile(rng, given[which])
    note(folder, f"{name}.add_labels: {which} {what}")
    model.add_labels(given["X"], given["y_new"], label_names=["new a", "new b", "new c"])
    ask(model, X)


ARRAYS = Kind("arrays", attempt, prepare, start="models")
