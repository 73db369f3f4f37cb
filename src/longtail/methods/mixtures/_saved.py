"""Gates and experts as plain arrays for a checkpoint, and back, to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ModelError

LEARNED = ("weights", "column", "sign", "base", "forest", "forests")
"""What M steps change in a gate or in experts of any kind; all else is settings and caches."""

SPARSE = ("data", "indices", "indptr", "shape")

Part = TypeVar("Part")


def settings_of(part: Any) -> str:
    """What determines M steps besides the learned values: the kind and its settings.

    Examples
    --------
    >>> from longtail.methods.mixtures.logistic import LogisticGate
    >>> settings_of(LogisticGate(2, n_jobs=1))
    "LogisticGate [('C', 1.0), ('max_iter', 10), ('n_components', 2), ('tol', 0.001)]"
    """
    settings = [
        item
        for item in sorted(vars(part).items())
        if item[0] not in (*LEARNED, "n_jobs") and not item[0].startswith("_")
    ]
    return f"{type(part).__name__} {settings}"


def packed(name: str, part: Any) -> dict[str, NDArray[Any]]:
    """What a gate or experts have learned, as arrays that start with a name; none at the start."""
    if not any(hasattr(part, learned) for learned in LEARNED):
        return {}
    found: dict[str, NDArray[Any]] = {}
    for key, value in part.to_arrays().items():
        if sp.issparse(value):
            of_matrix = (value.data, value.indices, value.indptr, np.array(value.shape))
            found |= {
                f"{name}.{key}.{field}": array
                for field, array in zip(SPARSE, of_matrix, strict=True)
            }
        else:
            found[f"{name}.{key}"] = value
    return found


def unpacked(name: str, arrays: Mapping[str, NDArray[Any]], like: Part) -> Part:
    """The inverse of `packed`, with the settings of a gate or of experts of the same kind.

    Arrays that are not such a part raise `ModelError`. The result shares no memory with them.
    """
    found = {
        key.removeprefix(f"{name}."): np.array(array)
        for key, array in arrays.items()
        if key.startswith(f"{name}.")
    }
    for key in {key.split(".")[0] for key in found if "." in key}:
        found[key] = _matrix([found.pop(f"{key}.{field}", None) for field in SPARSE])
    learned = type(like).from_arrays(found)  # type: ignore[attr-defined]
    part = copy(like)
    for size in ("n_components", "n_labels"):
        if getattr(learned, size, None) != getattr(part, size, None):
            raise ModelError("The checkpoint is of a mixture of another size.")
    for attribute in LEARNED:
        if hasattr(learned, attribute):
            setattr(part, attribute, getattr(learned, attribute))
    return part


def _matrix(parts: list[NDArray[Any] | None]) -> sp.csr_array:
    try:
        data, indices, indptr, shape = parts
        matrix = sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))  # type: ignore[union-attr]
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelError("A matrix of the checkpoint is none.") from error
    return matrix
