"""Folds for cross-validation in which no label loses its last training example."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import kernel
from longtail.errors import InputError
from longtail.parameters import generator_of


def fold_of_rows(Y: sp.csr_array, folds: int, random_state: int = 0) -> NDArray[np.int64]:
    """The fold in which each row is held out; -1 for rows that always stay in training.

    The rule is that of `longtail.data.split_rows`, for several test parts that do not overlap: the
    rows are gone through once in random order, and each goes to the smallest fold outside of which
    every one of its labels has another row. So a label with two rows or more can be learned while
    any fold is held out, and the only row of a label is never held out.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
        Ones.
    folds : int
        At least 2.
    random_state : int
        Seed.

    Raises
    ------
    InputError
        If some fold would be empty.

    Notes
    -----
    O(folds · (n + nnz + L)).

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    >>> fold_of_rows(Y, 2, random_state=0).tolist()
    [1, 0, 0, 1, -1]
    """
    n, n_labels = Y.shape
    if n < folds:
        raise InputError(
            f"{folds} folds need at least {folds} rows, but there are n_samples={n}; give fewer "
            "folds, or use the method without cross-validation, with settings of your own."
        )
    order = generator_of(random_state).permutation(n).astype(np.int64)
    counts = np.bincount(Y.indices, minlength=n_labels).astype(np.int64)
    fold_of = np.full(n, -1, dtype=np.int64)
    sizes = np.zeros(folds, dtype=np.int64)
    _assign(
        Y.indptr.astype(np.int64),
        Y.indices.astype(np.int64),
        order,
        counts,
        np.zeros((folds, n_labels), dtype=np.int64),
        sizes,
        fold_of,
    )
    if not sizes.all():
        raise InputError(
            f"Only {int((fold_of >= 0).sum())} of {n} rows can be held out, too few for {folds} "
            "folds: each other row is the last with some label; use the method without "
            "cross-validation, with settings of your own."
        )
    return fold_of


@kernel
def _assign(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    order: NDArray[Any],
    counts: NDArray[Any],
    inside: NDArray[Any],
    sizes: NDArray[Any],
    fold_of: NDArray[Any],
) -> None:
    """Give every row in turn the smallest fold that may have it, if any may."""
    for row in order:
        best = -1
        for fold in range(sizes.shape[0]):
            if best >= 0 and sizes[fold] >= sizes[best]:
                continue
            allowed = True
            for p in range(indptr[row], indptr[row + 1]):
                label = indices[p]
                if counts[label] - inside[fold, label] < 2:
                    allowed = False
                    break
            if allowed:
                best = fold
        if best >= 0:
            for p in range(indptr[row], indptr[row + 1]):
                inside[best, indices[p]] += 1
            sizes[best] += 1
            fold_of[row] = best
