"""The model folder: models on disk, safe to read, whole or not there at all, without pickle."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longtail.store.atomic import atomic_file, atomic_folder
    from longtail.store.description import Description, library_versions
    from longtail.store.estimator import StoredEstimator
    from longtail.store.folder import FORMAT, check_target, is_model, read, read_meta, write
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

_HOMES = {
    "Description": "description",
    "FORMAT": "folder",
    "Storable": "protocol",
    "StoredEstimator": "estimator",
    "add_finder": "protocol",
    "atomic_file": "atomic",
    "atomic_folder": "atomic",
    "check_target": "folder",
    "find_class": "protocol",
    "is_model": "folder",
    "library_versions": "description",
    "output_file": "output",
    "pack": "packing",
    "read": "folder",
    "read_arrays": "tensors",
    "read_meta": "folder",
    "register": "protocol",
    "state_of": "protocol",
    "unpack": "unpacking",
    "write": "folder",
    "write_arrays": "tensors",
}
"""Names and the files they are in, imported when they are used: the registries need little."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'longtail.store' has no attribute {name!r}")
    return getattr(importlib.import_module(f"longtail.store.{_HOMES[name]}"), name)
