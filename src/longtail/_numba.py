"""How every kernel is compiled: no GIL, cached on disk, plain IEEE arithmetic.

`fastmath` stays off on purpose: without it LLVM neither reorders nor fuses operations, so a result
does not depend on how wide a loop was vectorised, nor on how the work was cut into blocks. One
kernel fuses products and sums, because it stands in for one of torch's that does.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

kernel = numba.njit(nogil=True, cache=True, error_model="numpy")
"""Decorator of every kernel: arrays in, arrays out, callable from threads."""

fused_kernel = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
"""The same with a·b + c rounded once, where the processor can, and nothing else changed."""

unsigned = np.uint64
"""Type of subscripts in hot loops: numba spares the test for negative ones, and LLVM vectorises.

The caller guarantees that they are in range; matrices are checked before they reach a kernel.
"""


def read_only(array: NDArray[Any], kind: Any = None) -> NDArray[Any]:
    """The same memory where possible, in one form, so that the kernels are compiled once.

    Examples
    --------
    >>> read_only(np.arange(3), np.float64).flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=kind).view()
    view.flags.writeable = False
    return view


def csr_arrays(
    matrix: Any, kind: Any = np.float64
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The arrays of a CSR matrix in the types of the kernels, not copied if possible."""
    return (
        read_only(matrix.indptr, np.int64),
        read_only(matrix.indices, np.int32),
        read_only(matrix.data, kind),
    )
