"""Finished work on disk, so that a run that was killed goes on where it stopped.

A folder of unfinished work holds a note, `run.json`, which says what the work is; for a solver that
is a fingerprint of everything that decides the result. Beside it is what was finished: a checked
file per block, or the latest state of work that goes step by step. A resumed run gives the same
weights, bit for bit. Whenever a process is killed, also while it removes the folder, what is left
is either something to go on from or as good as empty.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import CheckpointError, ModelError
from longtail.runtime.run import Run
from longtail.store import atomic_file, read_arrays, write_arrays

FORMAT = 1
NOTE = "run.json"
WORKPLACE = ".longtail-"
"""How the names of files begin that the store is writing, or has left behind."""

Made = TypeVar("Made")


def fingerprint(**parts: Any) -> str:
    """A digest of arrays, sparse matrices, numbers and strings, by name. O(bytes).

    Examples
    --------
    >>> fingerprint(a=np.arange(3)) == fingerprint(a=np.arange(3))
    True
    >>> fingerprint(a=np.arange(3)) == fingerprint(a=np.arange(4))
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(parts):
        digest.update(f"\0{name}\0".encode())
        _feed(digest, parts[name])
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if sp.issparse(value):
        digest.update(f"{value.format}{value.shape}".encode())
        for part in (value.indptr, value.indices, value.data):
            _feed(digest, part)
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    else:
        digest.update(repr(value).encode())


def note_in(folder: Path) -> dict[str, Any] | None:
    """The note of a folder of unfinished work; None if it has none."""
    try:
        found = json.loads((folder / NOTE).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def is_bare(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what a run left that was killed at its first note.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     is_bare(Path(folder))
    True
    """
    return all(entry.name.startswith(WORKPLACE) for entry in folder.iterdir())


def write_note(folder: Path, about: Mapping[str, Any]) -> None:
    """Make the folder, with its note first; a note that is there stays."""
    folder.mkdir(parents=True, exist_ok=True)
    if note_in(folder) is None:
        with atomic_file(folder / NOTE) as path:
            path.write_text(json.dumps({"format": FORMAT, **about}), encoding="utf-8")


def holds_work(folder: Path) -> bool:
    """Whether anything is finished there, or in the folders below."""
    return any(
        name != NOTE and not name.startswith(WORKPLACE)
        for _, _, names in os.walk(folder)
        for name in names
    )


def remove_work(folder: Path) -> None:
    """Delete a folder of unfinished work; the notes, which make sense of the rest, go last."""
    if not folder.is_dir():
        return
    for place, folders, names in os.walk(folder, topdown=False):
        for name in folders:
            if name.startswith(WORKPLACE):
                shutil.rmtree(Path(place, name), ignore_errors=True)
        for name in sorted(names, key=lambda name: name == NOTE):
            Path(place, name).unlink(missing_ok=True)
        Path(place).rmdir()


class Checkpoint:
    """The folder of one piece of work: its note and its blocks.

    Parameters
    ----------
    folder : Path
        Made if it is not there. If it holds other work, `CheckpointError`.
    identity : str
        Fingerprint of the work.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.identity = identity
        about = {"fingerprint": identity}
        if os.path.lexists(folder) and not folder.is_dir():
            raise CheckpointError(f"{folder} is no folder; name another for checkpoints.")
        if (folder / NOTE).exists():
            if note_in(folder) != {"format": FORMAT, **about}:
                raise CheckpointError(
                    f"{folder} holds the checkpoints of other work (other data, parameters or "
                    "version); delete that folder or name another one."
                )
        elif folder.is_dir() and not is_bare(folder):
            raise CheckpointError(
                f"{folder} is not empty and holds no checkpoints; name another folder."
            )
        try:
            write_note(folder, about)
        except (FileExistsError, NotADirectoryError):
            raise CheckpointError(f"{folder} is no folder; name another for checkpoints.") from None

    def load(self, block: int) -> dict[str, NDArray[Any]] | None:
        """The arrays of a finished block; None where it is missing or damaged."""
        path = self._path(block)
        if not path.exists():
            return None
        try:
            arrays, meta = read_arrays(path)
        except ModelError:
            return None
        return dict(arrays) if meta == self._name(block) else None

    def save(self, block: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a finished block, whole or not at all."""
        write_arrays(self._path(block), dict(arrays), self._name(block))

    def _name(self, block: int) -> dict[str, str]:
        return {"run": self.identity, "block": str(block)}

    def _path(self, block: int) -> Path:
        return self.folder / f"block-{block:06d}.safetensors"


def is_like(arrays: Mapping[str, NDArray[Any]], like: Mapping[str, NDArray[Any]]) -> bool:
    """Whether arrays that were read have the names, shapes and types of others.

    Examples
    --------
    >>> is_like({"sum": np.zeros(2)}, {"sum": np.ones(2)}), is_like({}, {"sum": np.ones(2)})
    (True, False)
    """
    return set(arrays) == set(like) and all(
        arrays[name].shape == part.shape and arrays[name].dtype == part.dtype
        for name, part in like.items()
    )


class LatestState:
    """The latest state of work that goes step by step; nothing is kept without a folder.

    Parameters
    ----------
    run : Run
        Where states are kept.
    identity : callable
        Gives the fingerprint of the work, if there is a folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run = Run(checkpoint=Path(folder, "work"))
    ...     LatestState(run, lambda: "sums").write(lambda: {"sum": np.array([3.0])})
    ...     LatestState(run, lambda: "sums").read(lambda arrays: float(arrays["sum"][0]))
    3.0
    """

    def __init__(self, run: Run, identity: Callable[[], str]) -> None:
        self._store = None if run.checkpoint is None else Checkpoint(run.checkpoint, identity())

    def read(self, make: Callable[[dict[str, NDArray[Any]]], Made | None]) -> Made | None:
        """What `make` makes of the last state; None without one, or if it is damaged.

        `make` gives None, or raises `ModelError`, for arrays that are no such state.
        """
        arrays = None if self._store is None else self._store.load(0)
        if arrays is None:
            return None
        try:
            return make(arrays)
        except ModelError:
            return None

    def write(self, make: Callable[[], Mapping[str, NDArray[Any]]]) -> None:
        """Keep the state that `make` gives in place of the one before, if there is a folder."""
        if self._store is not None:
            self._store.save(0, make())
