"""The check of X that every solver makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from longtail._sparse import all_finite, as_csr
from longtail.errors import InputError


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
    return rows
