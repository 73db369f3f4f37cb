"""Kernel of the default encoder: sparse rows through two layers, never made dense."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel, unsigned


@kernel
def encode_rows(indptr, indices, data, first, last, tiles, shifts, second, bias, out):
    """out = relu(X W₁ + b₁) W₂ + b₂ for rows `first` to `last`. O(nnz·hidden + rows·hidden·bits).

    `tiles` holds W₁ cut into bands of some hidden units, (bands, D, units), so that a band stays
    in the cache while all rows pass; `shifts` is b₁, (bands, units), `second` W₂ with one row a
    hidden unit. Each sum runs in one order whatever the rows beside, so a row's result is its own.
    """
    n_tiles, units = unsigned(tiles.shape[0]), unsigned(tiles.shape[2])
    bits = unsigned(second.shape[1])
    hidden = np.empty(tiles.shape[2], dtype=np.float32)
    for i in range(unsigned(first), unsigned(last)):
        for c in range(bits):
            out[i, c] = bias[c]
    for t in range(n_tiles):
        for i in range(unsigned(first), unsigned(last)):
            for u in range(units):
                hidden[u] = shifts[t, u]
            for p in range(unsigned(indptr[i]), unsigned(indptr[i + unsigned(1)])):
                x = np.float32(data[p])
                j = unsigned(indices[p])
                for u in range(units):
                    hidden[u] += x * tiles[t, j, u]
            for u in range(units):
                h = hidden[u]
                if h > np.float32(0.0):
                    row = t * units + u
                    for c in range(bits):
                        out[i, c] += h * second[row, c]
