"""Kernels of Hamming distances between codes packed in 64-bit words."""

from __future__ import annotations

import numpy as np

from longtail._numba import kernel

_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


@kernel
def ones(word):
    """How many bits of a word are set; LLVM makes one instruction of it."""
    word = word - ((word >> np.uint64(1)) & _PAIRS)
    word = (word & _FOURS) + ((word >> np.uint64(2)) & _FOURS)
    word = (word + (word >> np.uint64(4))) & _BYTES
    return np.int64((word * _SUM) >> np.uint64(56))


@kernel
def nearest_rows(queries, codes, first, last, counts, far, indices, distances):
    """The k nearest codes of queries `first` to `last`, nearest first, ties to the smaller number.

    A counting sort: `far` takes the distances to all codes, `counts` how many there are of each.
    O(codes·words + bits + k log k) per query.
    """
    m, words = codes.shape
    k = indices.shape[1]
    for i in range(first, last):
        counts[:] = 0
        for c in range(m):
            distance = 0
            for w in range(words):
                distance += ones(queries[i, w] ^ codes[c, w])
            far[c] = distance
            counts[distance] += 1
        begin = 0
        for distance in range(counts.shape[0]):
            n = counts[distance]
            counts[distance] = begin
            begin += n
            if begin >= k:
                limit = distance
                break
        for c in range(m):
            distance = far[c]
            if distance <= limit:
                place = counts[distance]
                if place < k:
                    indices[i, place] = c
                    distances[i, place] = distance
                    counts[distance] = place + 1
