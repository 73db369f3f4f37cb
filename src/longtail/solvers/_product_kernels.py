"""Products of X with many columns at once, which several kinds of solvers need.

X̃ is X with a last column of the constant `bias`, which is never stored.
"""

from __future__ import annotations

from longtail._numba import kernel, unsigned


@kernel
def scores_of_rows(indptr, indices, data, bias, W, first, out):
    """out = X̃W for the points from `first` on, X̃ with a last column of `bias`. O(nnz·K)."""
    constant = unsigned(W.shape[0] - 1)
    width = unsigned(W.shape[1])
    for i in range(unsigned(out.shape[0])):
        for c in range(width):
            out[i, c] = bias * W[constant, c]
        row = unsigned(first) + i
        for p in range(unsigned(indptr[row]), unsigned(indptr[row + unsigned(1)])):
            j = unsigned(indices[p])
            value = data[p]
            for c in range(width):
                out[i, c] += value * W[j, c]


@kernel
def add_transposed(indptr, indices, data, bias, R, first, out):
    """out += X̃'R for the points from `first` on. O(nnz·K)."""
    constant = unsigned(out.shape[0] - 1)
    width = unsigned(R.shape[1])
    for i in range(unsigned(R.shape[0])):
        row = unsigned(first) + i
        for p in range(unsigned(indptr[row]), unsigned(indptr[row + unsigned(1)])):
            j = unsigned(indices[p])
            value = data[p]
            for c in range(width):
                out[j, c] += value * R[i, c]
        for c in range(width):
            out[constant, c] += bias * R[i, c]


@kernel
def column_dots(A, B, out):
    """The inner product of each column of A with that of B."""
    out[:] = 0.0
    for j in range(unsigned(A.shape[0])):
        for c in range(unsigned(A.shape[1])):
            out[c] += A[j, c] * B[j, c]
