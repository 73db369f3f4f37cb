"""The model folder: models on disk, safe to read, whole or not there at all, without pickle."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longtail.store.atomic import atomic_file, atomic_folder
    from longtail.store.estimator import StoredEstimator
    from longtail.store.folder import (
        FORMAT,
        Description,
        check_target,
        is_model,
        library_versions,
        read,
        read_meta,
        write,
    )
    from longtail.store.output import output_file
    from longtail.store.packing import pack
    from longtail.store.protocol import Storable, add_finder, find_class, register, state_of
    from longtail.store.tensors import read_arrays, write_arrays
    from longtail.store.unpacking import unpack

__all__ = [
    "FORMAT",
    "Description",
    "Storable",
    "StoredEstimator",
    "add_finder",
    "atomic_file",
    "atomic_folder",
    "check_target",
    "find_class",
    "is_model",
    "library_versions",
    "output_file",
    "pack",
    "read",
    "read_arrays",
    "read_meta",
    "register",
    "state_of",
    "unpack",
    "write",
    "write_arrays",
]

_NAMES = {
    "atomic": "atomic_file atomic_folder",
    "estimator": "StoredEstimator",
    "folder": "FORMAT Description check_target is_model library_versions read read_meta write",
    "output": "output_file",
    "packing": "pack",
    "protocol": "Storable add_finder find_class register state_of",
    "tensors": "read_arrays write_arrays",
    "unpacking": "unpack",
}
"""Files and the names in them, imported when they are used: the registries need little."""


def __getattr__(name: str) -> Any:
    for file, names in _NAMES.items():
        if name in names.split():
            return getattr(importlib.import_module(f"longtail.store.{file}"), name)
    raise AttributeError(f"module 'longtail.store' has no attribute {name!r}")
