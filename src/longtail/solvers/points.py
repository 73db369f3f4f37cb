"""The checks of input that several solvers make."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import all_finite, as_csr, refuse_large
from longtail.errors import InputError, ParameterError
from longtail.parameters import is_number


def checked_points(X: Any) -> sp.csr_array:
    """X by rows in single or double precision, finite, with features that 32 bits can number.

    Examples
    --------
    >>> checked_points([[1, 0]]).dtype
    dtype('float64')
    """
    rows = as_csr(X)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if rows.shape[1] >= 2**31 - 1:
        raise InputError("X has more than 2^31 - 2 columns; hash or select features first.")
    if not all_finite(rows.data):
        raise InputError("X contains NaN or infinity; replace these values before training.")
    refuse_large(rows.data)
    return rows


def check_bias(bias: Any) -> None:
    """Refuse a value of the constant feature that is negative or not finite."""
    if not (is_number(bias) and 0 <= bias < math.inf):
        raise ParameterError(
            f"bias must be zero (none) or a positive, finite number, not {bias!r}."
        )


def check_same_rows(X: sp.csr_array, targets: Any) -> None:
    """Refuse targets with more or fewer rows than X."""
    if X.shape[0] != targets.shape[0]:
        raise InputError(
            f"X has {X.shape[0]} rows but the targets have {targets.shape[0]}; they must agree."
        )


def check_start(start: Any, values: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse weights to start from, with these values, of another shape or not finite."""
    if start.shape != shape:
        raise InputError(f"warm_start has shape {start.shape}; it must be {shape}.")
    if not np.isfinite(values).all():
        raise InputError("warm_start contains NaN or infinity; start without it.")


def check_weights(weights: Any, values: NDArray[Any], *shapes: tuple[int, ...]) -> None:
    """Refuse weights of points, with these values, of none of the shapes or that are no weights."""
    if weights.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise InputError(f"sample_weight has shape {weights.shape}; it must be {wanted}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("sample_weight must be finite and not negative.")
