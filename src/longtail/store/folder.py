"""The model folder: `model.json`, which describes, and `arrays.safetensors`, which is mapped.

`model.json` begins with the checksum of every byte behind the checksum. Nothing in it is believed
before this seal is checked, except the format number, which tells whether this longtail knows how.
The layout and the procedure for changing it are written down in `docs/model-folder.md`.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader
from pathlib import Path
from platform import python_version
from typing import Any

from longtail.errors import ModelError
from longtail.store.atomic import atomic_folder, refuse_to_lose, standing
from longtail.store.files import explained, open_plain
from longtail.store.jsontext import MAX_BYTES, JsonError, dumps, loads, shortened
from longtail.store.packing import pack, pack_plain
from longtail.store.protocol import full_name, stored_name
from longtail.store.tensors import open_tensors, write_tensors
from longtail.store.unpacking import unpack

FORMAT = 1
"""The format that `write` writes and `read` reads."""

_ATTEMPTS = 50
_PAUSE = 1e-3  # seconds before the second attempt, growing to twenty times that
KIND = "longtail model"
"""What every model folder says it is, in every format."""

NAME = "model.json"
ARRAYS = "arrays.safetensors"

_HEAD = re.compile(rb'\{"checksum": "([0-9a-f]{64})"')


@dataclass(frozen=True)
class Description:
    """What `model.json` says about a model, apart from the model's state.

    Attributes
    ----------
    format : int
        The version of the folder's format.
    stored_as : str or None
        The name of the stored object, such as "tagger"; None for a plain value.
    meta : dict
        Notes of the writer.
    versions : dict of str to str
        The libraries that wrote the model.
    """

    format: int
    stored_as: str | None
    meta: dict[str, Any]
    versions: dict[str, str]


def write(path: str | os.PathLike[str], obj: Any, *, meta: dict[str, Any] | None = None) -> None:
    """Store an object as a model folder, whole or not at all. O(bytes).

    The same object, written with the same libraries, gives the same bytes.

    Parameters
    ----------
    path : path-like
        The folder. An existing model folder is replaced in one step; a folder that holds anything
        else is left alone, with an error.
    obj : object
        A `Storable` object, or any other value that `pack` takes.
    meta : dict, optional
        Plain values to note beside the model, for `read_meta`.

    Raises
    ------
    ModelError
        If the object holds something that cannot be stored, or the folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> place = Path(tempfile.mkdtemp()) / "model"
    >>> write(place, {"weights": np.array([0.5, 2.0])}, meta={"trained on": "api-docs"})
    >>> read(place)
    {'weights': array([0.5, 2. ])}
    """
    notes = {} if meta is None else meta
    if type(notes) is not dict:
        raise ModelError(f"meta: is of type {full_name(type(notes))}; give a dict.")
    packed_notes = pack_plain(notes, "meta")
    with atomic_folder(path, objection=_why_not_replaced) as folder:
        tree, arrays = pack(obj)
        data = sealed(
            {
                "kind": KIND,
                "format": FORMAT,
                "stored_as": stored_name(type(obj)),
                "meta": packed_notes,
                "versions": library_versions(),
                "arrays": write_tensors(folder / ARRAYS, arrays),
                "state": tree,
            }
        )
        with explained(folder / NAME, "written"):
            (folder / NAME).write_bytes(data)


def read(path: str | os.PathLike[str], *, verify: bool = True) -> Any:
    """Load what `write` stored; its arrays are read-only views of the memory-mapped file.

    Parameters
    ----------
    path : path-like
        The folder.
    verify : bool
        Whether to compare the checksum of the arrays, which reads them once. O(bytes). Sizes,
        structure, sparse indices and `model.json` are checked either way.

    Raises
    ------
    ModelError
        If the folder is not a whole, unaltered model folder of a known format: says which file is
        wrong and why.

    Examples
    --------
    >>> read("no/such/folder")
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: no/such/folder: there is no such folder.
    """
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE * min(attempt, 20))  # a writer at work needs a moment, too
        folder = standing(path)
        before = _identity(folder)
        try:
            # Both files are opened at once, so that a writer has a short moment only to come in
            # between; the checksums say so then, and it is tried again.
            with _opened(folder / ARRAYS) as file:
                return _read(folder, _read_content(folder), file, verify)
        except ModelError:
            if _identity(standing(path)) == before:
                raise
    raise ModelError(f"{path}: was replaced again and again while it was read; try again.")


def read_meta(path: str | os.PathLike[str]) -> Description:
    """What a model folder says about itself, without loading its arrays. O(bytes of model.json).

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "model"
    >>> from longtail import RowScaler
    >>> write(place, RowScaler().fit([[1.0]]), meta={"trained on": "api-docs"})
    >>> description = read_meta(place)
    >>> description.stored_as, description.meta
    ('row-scaler', {'trained on': 'api-docs'})
    """
    folder = standing(path)
    return _described(folder, _read_content(folder))


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `write` would refuse; for use before the work that makes the model.

    Examples
    --------
    >>> check_target("new-model")
    >>> check_target("/")
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: /: is not overwritten because it is not empty and not a longtail
    model; name another folder or remove it first.
    """
    target = Path(os.path.realpath(path))
    refuse_to_lose(target, _why_not_replaced)
    above = target.parent
    while not os.path.lexists(above):
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ModelError(f"{target}: cannot be written: {above} is not a folder to write to.")


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with a `model.json` in it, whatever its state.

    Examples
    --------
    >>> is_model("no/such/folder")
    False
    """
    return (standing(path) / NAME).is_file()


@contextmanager
def _opened(place: Path) -> Iterator[BufferedReader | None]:
    """A file open for reading; None if that cannot be, which is explained when it is needed."""
    with ExitStack() as stack:
        file = None
        with suppress(ModelError):
            file = stack.enter_context(open_plain(place))
        yield file


def _read(folder: Path, content: dict[str, Any], file: BufferedReader | None, verify: bool) -> Any:
    if "state" not in content:
        raise ModelError(f"{folder / NAME}: does not describe a model of format {FORMAT}.")
    _refuse_strangers(folder)
    arrays, _, digest = open_tensors(folder / ARRAYS, file, verify=verify)
    if digest != content.get("arrays"):
        raise ModelError(f"{folder / ARRAYS}: is not the file that {NAME} was written with.")
    with _placed(folder / NAME):
        return unpack(content["state"], arrays)


def _refuse_strangers(folder: Path) -> None:
    """Refuse files that are not the model's; names with a dot in front belong to the system."""
    with explained(folder, "read"):
        for name in sorted(os.listdir(folder)):
            if name not in (NAME, ARRAYS) and not name.startswith("."):
                raise ModelError(
                    f"{folder / shortened(name)}: is not part of the model; move it elsewhere."
                )


def _identity(folder: Path) -> tuple[int, ...] | None:
    """What changes whenever another model takes the folder's place."""
    try:
        status = os.stat(folder / NAME, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def sealed(content: dict[str, Any]) -> bytes:
    """The bytes of `model.json`: the checksum, then the content, one line for each key.

    Examples
    --------
    >>> print(sealed({"kind": "example", "format": 1}).decode(), end="")
    {"checksum": "c98f8c0a01df43d740e749674c59d1b2e48a1b145efe23d4e0e782d76703eb08",
    "kind": "example",
    "format": 1
    }
    """
    lines = [f"{dumps(key)}: {dumps(value)}" for key, value in content.items()]
    rest = (",\n" + ",\n".join(lines) + "\n}\n").encode()
    if len(rest) > MAX_BYTES - 100:
        raise ModelError(
            f"the {NAME} of the model would be {len(rest)} bytes long, more than the {MAX_BYTES} "
            "allowed; keep large parts of the state in arrays."
        )
    return b'{"checksum": "' + hashlib.sha256(rest).hexdigest().encode() + b'"' + rest


def _read_content(folder: Path) -> dict[str, Any]:
    """The content of a folder's `model.json`, after all checks that do not depend on the format."""
    place = folder / NAME
    data = _read_bytes(folder)
    try:
        content = loads(data)
    except JsonError as error:
        raise ModelError(
            f"{place}: cannot be read: {error}; the file was cut off or altered."
        ) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ModelError(f"{place}: is not the description of a longtail model.")
    number = content.get("format")
    if type(number) is not int or number < 1:
        raise ModelError(f"{place}: has no valid format number; the file was altered.")
    if number > FORMAT:
        raise ModelError(
            f"{folder}: was written by a newer longtail (format {number}; this one reads up to "
            f"{FORMAT}): upgrade longtail."
        )
    head = _HEAD.match(data)
    if head is None or head[1].decode() != hashlib.sha256(data[head.end() :]).hexdigest():
        raise ModelError(f"{place}: does not match its checksum; the file was altered.")
    return content


def _read_bytes(folder: Path) -> bytes:
    place = folder / NAME
    with explained(folder, "read"):
        if not os.path.lexists(folder):
            raise ModelError(f"{folder}: there is no such folder.")
        if not folder.is_dir():
            raise ModelError(f"{folder}: is a file, not a model folder.")
        if not os.path.lexists(place):
            raise ModelError(f"{folder}: holds no {NAME}, so it is not a longtail model folder.")
    with open_plain(place) as file, explained(place, "read"):
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise ModelError(f"{place}: is {size} bytes long, more than the {MAX_BYTES} allowed.")
        return file.read(size)


def _described(folder: Path, content: dict[str, Any]) -> Description:
    """The content of `model.json` for people to look at."""
    place = folder / NAME
    tables = {}
    for key in ("meta", "versions"):
        with _placed(place):
            tables[key] = unpack(content.get(key), {})
        if not isinstance(tables[key], dict):
            raise ModelError(f"{place}: its {key} are not a table.")
    if not isinstance(content.get("stored_as"), str | None):
        raise ModelError(f"{place}: does not say what it holds.")
    return Description(format=content["format"], stored_as=content.get("stored_as"), **tables)


def _why_not_replaced(folder: Path) -> str | None:
    """Why a folder with something in it is no model folder that `write` may replace, or None.

    A model whose arrays are damaged, or whose format is newer, is still one; files that do not
    belong to it would be lost with it, so they count against it.
    """
    try:
        content = loads(_read_bytes(folder))
    except (ModelError, JsonError):
        content = None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        return "it is not empty and not a longtail model"
    strangers = sorted(e.name for e in folder.iterdir() if e.name not in (NAME, ARRAYS))
    if strangers:
        return f"it holds {shortened(strangers[0])!r} beside the model"
    return None


def library_versions() -> dict[str, str]:
    """The versions of what takes part in writing a model.

    Examples
    --------
    >>> list(library_versions())
    ['longtail', 'python', 'numpy', 'scipy', 'scikit-learn', 'safetensors']
    """
    libraries = ("numpy", "scipy", "scikit-learn", "safetensors")
    return {
        "longtail": _version_of("longtail"),
        "python": python_version(),
        **{name: _version_of(name) for name in libraries},
    }


@cache
def _version_of(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


@contextmanager
def _placed(place: Path) -> Iterator[None]:
    """Name the file in an error that so far only names the place in the value."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from error
