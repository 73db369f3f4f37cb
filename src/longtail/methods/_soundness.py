"""Checks of arrays read from a file: shape, kind and values."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from longtail.parameters import is_number
from longtail.store.estimator import LARGEST


def is_array(
    value: Any, shape: tuple[int | None, ...], *dtypes: Any, finite: bool = False
) -> TypeGuard[Any]:
    """Whether a value is a dense array of this shape (None is any length) and of one dtype.

    Examples
    --------
    >>> is_array(np.zeros((2, 3)), (None, 3), np.float32, np.float64, finite=True)
    True
    >>> is_array([0.0], (1,), np.float64), is_array(np.array([np.inf]), (1,), float, finite=True)
    (False, False)
    """
    return isinstance(value, np.ndarray) and _fits(value, value, shape, dtypes, finite)


def is_csr(
    value: Any, shape: tuple[int | None, ...], *dtypes: Any, finite: bool = False
) -> TypeGuard[Any]:
    """The same for a `csr_array`; without dtypes, any dtype is allowed.

    Examples
    --------
    >>> is_csr(sp.csr_array((2, 3)), (2, None)), is_csr(sp.csc_array((2, 3)), (2, 3))
    (True, False)
    """
    return isinstance(value, sp.csr_array) and _fits(value, value.data, shape, dtypes, finite)


def is_label_matrix(value: Any, shape: tuple[int | None, ...]) -> TypeGuard[Any]:
    """Whether a value is a `csr_array` of ones, each row with ascending columns.

    Examples
    --------
    >>> is_label_matrix(sp.csr_array([[0, 1]]), (None, 2)), is_label_matrix(sp.eye(2) * 3, (2, 2))
    (True, False)
    """
    return is_csr(value, shape) and value.has_canonical_format and bool((value.data == 1).all())


def are_columns(*columns: Any) -> bool:
    """Whether values can stand side by side in a table: equally many numbers each, or NaN.

    Examples
    --------
    >>> are_columns([1.0, 2.0], np.zeros(2)), are_columns([1.0], np.zeros(2)), are_columns("ab")
    (True, False, False)
    """
    return len({len(each) for each in columns if isinstance(each, list | np.ndarray)}) <= 1 and all(
        all(map(is_number, each))
        if isinstance(each, list)
        else is_array(each, (None,), np.int64, np.float64) and not (np.abs(each) > LARGEST).any()
        for each in columns
    )


def _fits(value: Any, data: Any, shape: Any, dtypes: tuple[Any, ...], finite: bool) -> bool:
    return (
        len(value.shape) == len(shape)
        and all(wanted in (None, found) for wanted, found in zip(shape, value.shape, strict=True))
        and (not dtypes or value.dtype in dtypes)
        and (not finite or bool(np.isfinite(data).all()))
    )
