"""The label sets of a label matrix: the distinct ones, and as one class per row."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError


def distinct_sets(Y: sp.csr_array) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """The label sets that occur, in order of appearance, and which of them each row has.

    Costs O(nnz(Y) + n). The empty set is one like any other.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
        Ones, their columns in ascending order within a row.

    Returns
    -------
    sets : csr_array of shape (S, L)
    which : int64 array of shape (n,)

    Examples
    --------
    >>> sets, which = distinct_sets(sp.csr_array([[1, 0], [1, 1], [1, 0], [0, 0]]))
    >>> sets.toarray().tolist(), which.tolist()
    ([[1, 0], [1, 1], [0, 0]], [0, 1, 0, 2])
    """
    numbers: dict[bytes, int] = {}
    which = np.empty(Y.shape[0], dtype=np.int64)
    firsts: list[int] = []
    labels = Y.indices.astype(np.int64)
    for i, (begin, end) in enumerate(zip(Y.indptr[:-1], Y.indptr[1:], strict=True)):
        which[i] = numbers.setdefault(labels[begin:end].tobytes(), len(numbers))
        if which[i] == len(firsts):
            firsts.append(i)
    return sp.csr_array(Y[firsts]), which


def one_class_per_row(
    X: sp.csr_array, Y: sp.csr_array, method: str
) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Rows and their classes: those with several labels once for each, those without left out.

    The repeats of a row are in an order that does not depend on that of the columns of Y: labels
    are compared by the rows that have them.

    Examples
    --------
    >>> X, Y = sp.csr_array([[1.0], [2.0], [3.0]]), sp.csr_array([[0, 1], [0, 0], [1, 1]])
    >>> rows, classes = one_class_per_row(X, Y, "MSVM")
    >>> rows.toarray().ravel().tolist(), classes.tolist()
    ([1.0, 3.0, 3.0], [1, 1, 0])
    """
    sizes = np.diff(Y.indptr)
    if not sizes.any():
        raise InputError(f"No row of Y has a label; {method} needs the class of each row.")
    if (sizes <= 1).all():
        return (X if sizes.all() else X[np.flatnonzero(sizes)]), Y.indices.astype(np.int64)
    by_label = sp.csc_array(Y)
    having = np.split(by_label.indices, by_label.indptr[1:-1])
    order = sorted(range(len(having)), key=lambda label: having[label].tolist())
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    return X[rows], Y.indices[np.lexsort((rank[Y.indices], rows))].astype(np.int64)
