"""X̃W as a map from weights to scores, dense or sparse, and what preconditions its Hessian.

X̃ is X with a last column of a constant, the feature of the bias.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.runtime.libraries import one_thread
from longtail.solvers._product_kernels import add_transposed, scores_of_rows
from longtail.solvers.softmax._rounded_kernels import (
    add_kept,
    scores_of_kept,
    sparse_add_kept,
    sparse_scores_of_kept,
)
from longtail.solvers.softmax.rounded import Rounded

DENSE_SHARE = 0.3  # of stored entries, from which on X is multiplied as a dense array
DENSE_BYTES = 10**9  # beyond which it is not
DIAGONAL = 0.01  # share of the diagonal in the preconditioner for many features
FACTORED = 2000  # features up to which their inner products are decomposed

_Array = NDArray[Any]


def score_map(
    rows: sp.csr_array, bias: float, n_classes: int, dtype: Any
) -> DenseRows | SparseRows:
    """X̃W as a map from weights to scores, dense where X nearly is."""
    stored = rows.nnz / max(rows.shape[0] * rows.shape[1], 1)
    size = rows.shape[0] * (rows.shape[1] + 1) * np.dtype(dtype).itemsize
    if stored > DENSE_SHARE and size <= DENSE_BYTES:
        return DenseRows(rows, bias, n_classes, dtype)
    return SparseRows(rows, bias, n_classes, dtype)


class _Rows:
    """What both maps share: `parts`, X̃ as the kernels of what is kept read it."""

    parts: Any
    scores_of_kept: Callable[..., None]
    add_kept: Callable[..., None]

    def __init__(self, n_classes: int, dtype: Any, *parts: Any) -> None:
        self.n_classes = n_classes
        self.dtype = np.dtype(dtype)
        self.parts = parts

    def prepared(self, parameters: NDArray[np.float64]) -> _Array:
        """The weights in the precision of the scores."""
        return np.ascontiguousarray(parameters, dtype=self.dtype)

    def prepared_at(self, parameters: NDArray[np.float64]) -> _Array:
        """The weights in the precision of the scores, one row per class."""
        return np.ascontiguousarray(parameters.T, dtype=self.dtype)

    def scores_at(self, prepared: _Array, kept: Rounded) -> _Array:
        """X̃W of what is kept."""
        out = np.empty(len(kept.points), dtype=self.dtype)
        self.scores_of_kept(*self.parts, kept.rows, kept.starts, kept.points, prepared, out)
        return out

    def add_back_at(self, by_score: _Array, kept: Rounded, out: NDArray[np.float64]) -> None:
        """out += X̃'R of what is kept."""
        turned = np.zeros(out.shape[::-1])
        self.add_kept(*self.parts, kept.rows, kept.starts, kept.points, by_score, turned)
        out += turned.T


class DenseRows(_Rows):
    """X̃W by BLAS, on a dense copy of X. O(N·D·K)."""

    scores_of_kept = staticmethod(scores_of_kept)
    add_kept = staticmethod(add_kept)

    def __init__(self, rows: sp.csr_array, bias: float, n_classes: int, dtype: Any) -> None:
        self.X = np.empty((rows.shape[0], rows.shape[1] + 1), dtype=dtype)
        self.X[:, :-1] = rows.toarray()
        self.X[:, -1] = bias
        super().__init__(n_classes, dtype, self.X)

    def scores(self, prepared: _Array, rows: slice) -> _Array:
        """X̃W of a block."""
        return self.X[rows] @ prepared

    def add_back(self, by_score: _Array, rows: slice, out: NDArray[np.float64]) -> None:
        """out += X̃'R of a block."""
        out += self.X[rows].T @ by_score


class SparseRows(_Rows):
    """X̃W by a loop over what is stored. O(nnz·K)."""

    parts: tuple[Any, Any, Any, Any]
    scores_of_kept = staticmethod(sparse_scores_of_kept)
    add_kept = staticmethod(sparse_add_kept)

    def __init__(self, rows: sp.csr_array, bias: float, n_classes: int, dtype: Any) -> None:
        super().__init__(
            n_classes, dtype, rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32, copy=False), rows.data.astype(dtype, copy=False),
            np.dtype(dtype).type(bias),
        )  # fmt: skip

    def scores(self, prepared: _Array, rows: slice) -> _Array:
        """X̃W of a block."""
        out = np.empty((rows.stop - rows.start, self.n_classes), dtype=self.dtype)
        scores_of_rows(*self.parts, prepared, rows.start, out)
        return out

    def add_back(self, by_score: _Array, rows: slice, out: NDArray[np.float64]) -> None:
        """out += X̃'R of a block."""
        add_transposed(*self.parts, by_score, rows.start, out)


def preconditioner(
    rows: sp.csr_array, weights: NDArray[np.float64], bias: float, strength: float
) -> Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """Take points and classes as independent: class k has the Hessian strength + s_k·X̃'X̃/N.

    s_k is the spread of the class. Where there are few features the inner products are decomposed,
    once, which undoes all correlation between features. Otherwise only the diagonal is taken, and a
    hundredth of that, as rare features would else make steps that are far too long.
    """
    total = max(float(weights.sum()), np.finfo(float).tiny)
    side = rows.shape[1] + 1
    squares = np.append(
        np.bincount(
            rows.indices,
            (rows.data.astype(np.float64) ** 2)
            * np.repeat(weights, np.diff(rows.indptr)),
            minlength=rows.shape[1],
        ),
        bias**2 * total,
    )  # fmt: skip
    if side > FACTORED or side * side > rows.nnz + 10_000:

        def by_diagonal(residual: NDArray[np.float64], spread: NDArray[np.float64]) -> Any:
            diagonal = np.outer(squares / total, spread) + strength
            diagonal *= DIAGONAL / diagonal.mean()
            diagonal += 1 - DIAGONAL
            return np.divide(residual, diagonal, out=diagonal)

        return by_diagonal
    weighted = sp.csr_array(rows.astype(np.float64).multiply(np.sqrt(weights)[:, None]))
    square = np.empty((side, side))
    with one_thread():
        if rows.nnz > DENSE_SHARE * rows.shape[0] * rows.shape[1]:
            dense = weighted.toarray()
            square[:-1, :-1] = dense.T @ dense
        else:
            square[:-1, :-1] = (weighted.T @ weighted).toarray()
        square[-1, :-1] = square[:-1, -1] = bias * (weights @ rows.astype(np.float64))
        square[-1, -1] = bias**2 * total
        values, vectors = scipy.linalg.eigh(square, check_finite=False)
    values = np.maximum(values, 0.0) / total

    def by_factor(residual: NDArray[np.float64], spread: NDArray[np.float64]) -> Any:
        return vectors @ ((vectors.T @ residual) / (strength + np.outer(values, spread)))

    return by_factor
