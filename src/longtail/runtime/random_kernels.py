"""Kernels for random numbers that depend on a point alone, not on where it stands or on threads.

A stream is a state that GOLDEN is added to; `mixed` makes a random number of each state
(splitmix64: Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from longtail._numba import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def mixed(x: Any) -> Any:
    """Bits of x thoroughly mixed."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def uniform(state: Any) -> Any:
    """A number from 0 to below 1 for a state."""
    return np.float64(mixed(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def seeds_of_rows(indptr: Any, indices: Any, bits: Any, seed: Any, out: Any) -> None:
    """A seed for each row from its entries; `bits` are their values as unsigned numbers. O(nnz)."""
    for i in range(out.shape[0]):
        state = mixed(np.uint64(seed) + GOLDEN)
        for p in range(indptr[i], indptr[i + 1]):
            state = mixed((state ^ np.uint64(indices[p])) + GOLDEN)
            state = mixed((state ^ bits[p]) + GOLDEN)
        out[i] = state
