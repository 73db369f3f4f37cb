"""The model folder: models on disk, safe to read, whole or not there at all, without pickle."""

from longtail.store.atomic import atomic_file, atomic_folder
from longtail.store.description import Description, library_versions
from longtail.store.estimator import StoredEstimator
from longtail.store.folder import FORMAT, check_target, is_model, read, read_meta, write
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
