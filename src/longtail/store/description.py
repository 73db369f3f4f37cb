"""`model.json`: what a model folder says about itself, and the seal that shows it unaltered.

The file begins with the checksum of every byte behind the checksum. Nothing in it is believed
before the seal is checked, except the format number, which tells whether this longtail knows how.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

from longtail.errors import ModelError
from longtail.store.files import explained, open_plain
from longtail.store.jsontext import MAX_BYTES, JsonError, dumps, loads, shortened
from longtail.store.unpacking import unpack

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


def read_content(folder: Path, newest: int) -> dict[str, Any]:
    """The content of a folder's `model.json`, after all checks that do not depend on the format.

    Parameters
    ----------
    folder : Path
        The model folder.
    newest : int
        The newest format that can be read.
    """
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
    if number > newest:
        raise ModelError(
            f"{folder}: was written by a newer longtail (format {number}; this one reads up to "
            f"{newest}): upgrade longtail."
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


def described(folder: Path, content: dict[str, Any]) -> Description:
    """The content of `model.json` for people to look at.

    Examples
    --------
    >>> content = {"format": 1, "stored_as": "x", "meta": {"rows": 3}, "versions": {}}
    >>> described(Path("model"), content).meta
    {'rows': 3}
    """
    place = folder / NAME
    tables = {}
    for key in ("meta", "versions"):
        with placed(place):
            tables[key] = unpack(content.get(key), {})
        if not isinstance(tables[key], dict):
            raise ModelError(f"{place}: its {key} are not a table.")
    if not isinstance(content.get("stored_as"), str | None):
        raise ModelError(f"{place}: does not say what it holds.")
    return Description(format=content["format"], stored_as=content.get("stored_as"), **tables)


def why_not_replaced(folder: Path) -> str | None:
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
def placed(place: Path) -> Iterator[None]:
    """Name the file in an error that so far only names the place in the value.

    Examples
    --------
    >>> with placed(Path("model.json")):
    ...     raise ModelError("weights: is missing.")
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: model.json: weights: is missing.
    """
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from error
