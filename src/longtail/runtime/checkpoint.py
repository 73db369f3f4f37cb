"""Finished blocks on disk, so that a run that was killed goes on where it stopped.

A checkpoint folder holds `run.json`, which names the work by a fingerprint of everything that
decides the result, and one checked file a finished block. Blocks do not depend on each other, so a
resumed run gives the same weights, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import CheckpointError, ModelError
from longtail.store import atomic_file, read_arrays, write_arrays

FORMAT = 1


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


class Checkpoint:
    """The folder of one run.

    Parameters
    ----------
    folder : Path
        Made if it is not there. If it holds another run, `CheckpointError`.
    identity : str
        Fingerprint of the work.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.identity = identity
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise CheckpointError(f"{folder} is no folder; name another for checkpoints.") from None
        note = folder / "run.json"
        if note.exists():
            try:
                found = json.loads(note.read_bytes())
                same = found["format"] == FORMAT and found["fingerprint"] == identity
            except (ValueError, KeyError, TypeError):
                same = False
            if not same:
                raise CheckpointError(
                    f"{folder} holds the checkpoints of other work (other data, parameters or "
                    "version); delete that folder or name another one."
                )
        else:
            # A run that was killed while it wrote the note leaves the store's workplace behind.
            if any(not entry.name.startswith(".longtail-") for entry in folder.iterdir()):
                raise CheckpointError(
                    f"{folder} is not empty and holds no checkpoints; name another folder."
                )
            with atomic_file(note) as path:
                path.write_text(json.dumps({"format": FORMAT, "fingerprint": identity}))

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


COLUMNS = ("features", "values", "ends")
"""Arrays of a block of sparse columns: features with a weight, weights, where each column ends."""


def holds_columns(
    arrays: Mapping[str, NDArray[Any]], kinds: Mapping[str, Any], size: int, n_features: int
) -> bool:
    """Whether arrays that were read are the block of `size` sparse columns they claim to be.

    `kinds` are the types of `COLUMNS` and of the arrays with an entry a column. Feature
    `n_features` is the bias.

    Examples
    --------
    >>> block = {"features": np.array([0, 2]), "values": np.ones(2), "ends": np.array([0, 1, 2])}
    >>> kinds = {name: array.dtype for name, array in block.items()}
    >>> holds_columns(block, kinds, 2, 2), holds_columns(block, kinds, 2, 1)
    (True, False)
    """
    if set(arrays) != set(kinds):
        return False
    if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in kinds.items()):
        return False
    ends, features = arrays["ends"], arrays["features"]
    return bool(
        all(len(arrays[name]) == size for name in kinds if name not in COLUMNS)
        and len(ends) == size + 1
        and ends[0] == 0
        and (np.diff(ends) >= 0).all()
        and len(features) == len(arrays["values"]) == ends[-1]
        and ((features >= 0) & (features <= n_features)).all()
    )
