"""The model folder: `model.json`, which describes, and `arrays.safetensors`, which is mapped.

The layout and the procedure for changing it are written down in `docs/model-folder.md`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from longtail.errors import ModelError
from longtail.store.atomic import atomic_folder, refuse_to_lose, standing
from longtail.store.description import (
    ARRAYS,
    KIND,
    NAME,
    Description,
    described,
    library_versions,
    placed,
    read_content,
    sealed,
    why_not_replaced,
)
from longtail.store.files import explained
from longtail.store.jsontext import shortened
from longtail.store.packing import pack, pack_plain
from longtail.store.protocol import full_name, stored_name
from longtail.store.tensors import open_tensors, write_tensors
from longtail.store.unpacking import unpack

FORMAT = 1
"""The format that `write` writes and `read` reads."""

_ATTEMPTS = 50
_PAUSE = 1e-3  # seconds before the second attempt, growing to twenty times that


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
    with atomic_folder(path, objection=why_not_replaced) as folder:
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
            value = _read(folder, read_content(folder, FORMAT), verify)
        except ModelError:
            if _identity(standing(path)) == before:
                raise
            continue
        # A writer may have replaced the model between the reading of its two files.
        if _identity(folder) == before:
            return value
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
    return described(folder, read_content(folder, FORMAT))


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
    refuse_to_lose(target, why_not_replaced)
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


def _read(folder: Path, content: dict[str, Any], verify: bool) -> Any:
    if "state" not in content:
        raise ModelError(f"{folder / NAME}: does not describe a model of format {FORMAT}.")
    _refuse_strangers(folder)
    arrays, _, digest = open_tensors(folder / ARRAYS, verify=verify)
    if digest != content.get("arrays"):
        raise ModelError(f"{folder / ARRAYS}: is not the file that {NAME} was written with.")
    with placed(folder / NAME):
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
