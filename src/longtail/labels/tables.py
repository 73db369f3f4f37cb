"""Tables of pandas and polars as label matrices: the names of their columns and their values.

Neither library is imported; what both have in common is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.labels.names import is_missing

_KEPT = (str, bytes, bool, int, float, type(None), tuple, frozenset)
"""Kinds of names that a model can store."""


def table_columns(Y: Any) -> list[Any] | None:
    """The names of a table's columns; None for what is no table.

    Dates and other names that no model could store are taken as strings.
    """
    if not hasattr(Y, "to_numpy") or len(getattr(Y, "shape", ())) != 2:
        return None
    columns = [
        name.item() if isinstance(name, np.generic) else name for name in getattr(Y, "columns", ())
    ]
    return [name if isinstance(name, _KEPT) else str(name) for name in columns]


def are_numbers(columns: Sequence[Any]) -> bool:
    """Whether names are no more than the numbers of the columns, 0, 1, 2, ..."""
    return all(type(name) is int and name == at for at, name in enumerate(columns))


def table_values(Y: Any) -> Any:
    """The values as a sparse matrix, if all columns are sparse, or an array.

    Truth values of which some are missing are refused.
    """
    if Y.shape[1] > 1 and hasattr(Y, "sparse"):  # pandas, where all columns are sparse
        kinds = list(Y.dtypes)
        if all(kind.fill_value == 0 and np.dtype(kind.subtype).kind in "buif" for kind in kinds):
            return Y.astype(type(kinds[0])(np.float32, 0)).sparse.to_coo()
    values = Y.to_numpy()
    if values.dtype == object and _lacks_truth_values(values):
        raise InputError(
            "y has missing values; a label matrix holds 0 and 1, so fill in 0 where a label does "
            "not apply."
        )
    return values


def _lacks_truth_values(values: NDArray[Any]) -> bool:
    """Whether all are 0, 1 or missing, and some are."""
    some = False
    for value in values.flat:
        try:
            if value is None or is_missing(value):
                some = True
            elif value not in (0, 1):
                return False
        except (TypeError, ValueError):  # a collection
            return False
    return some
