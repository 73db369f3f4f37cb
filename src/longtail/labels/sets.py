"""The distinct label sets of a label matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


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
