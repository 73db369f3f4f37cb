"""How every kernel of the house is compiled: no GIL, cached on disk, plain IEEE arithmetic.

`fastmath` stays off on purpose: without it LLVM neither reorders nor fuses operations, so a result
does not depend on how wide a loop was vectorised, nor on how the work was cut into blocks.
"""

from __future__ import annotations

import numba
import numpy as np

kernel = numba.njit(nogil=True, cache=True, error_model="numpy")
"""Decorator of every kernel: arrays in, arrays out, callable from threads."""

unsigned = np.uint64
"""Type of subscripts in hot loops: numba spares the test for negative ones, and LLVM vectorises.

The caller vouches that they are in range; matrices are checked before they reach a kernel.
"""
