"""A training and a test part such that, where it can be, every label has a training example."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import kernel
from longtail._sparse import as_csr
from longtail.data.dataset import Dataset
from longtail.errors import DataWarning, InputError, ParameterError, warn
from longtail.labels import encode_labels
from longtail.parameters import generator_of, is_count


def train_test_split(
    dataset: Dataset,
    *,
    test_size: float | int = 0.25,
    random_state: int | np.random.RandomState = 0,
) -> tuple[Dataset, Dataset]:
    """Split a data set at random so that every label stays in the training part.

    Parameters
    ----------
    dataset : Dataset
        What to split.
    test_size : float or int, default 0.25
        Share (float) or number (int) of the rows to test on.
    random_state : int or RandomState, default 0
        Seed.

    Returns
    -------
    train, test : Dataset
        Their rows keep their order.

    See Also
    --------
    split_rows : The same for a plain label matrix, with the rule in detail.

    Examples
    --------
    >>> from longtail.data import make_longtail, train_test_split
    >>> train, test = train_test_split(make_longtail(100, 50, 20, random_state=0), random_state=0)
    >>> train.Y.shape, test.Y.shape, int(train.Y.sum(axis=0).min())
    ((75, 20), (25, 20), 5)
    """
    train, test = split_rows(dataset.Y, test_size=test_size, random_state=random_state)
    return dataset.subset(train), dataset.subset(test)


def split_rows(
    Y: Any, *, test_size: float | int = 0.25, random_state: int | np.random.RandomState = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of a training and a test part of Y.

    The rows are gone through once in random order. A row goes to the test part if each of its
    labels has another row left for training, until the test part is full. So a label that occurs at
    all occurs in the training part. Where too many rows hold the last example of a label, the test
    part comes out smaller than asked for, with a `DataWarning`.

    Parameters
    ----------
    Y : sparse or dense 0/1 matrix, 1-d array of classes, or sequence of label collections
        The labels of each row.
    test_size : float or int, default 0.25
        Share (float, rounded to whole rows) or number (int) of the rows to test on.
    random_state : int or RandomState, default 0
        Seed.

    Returns
    -------
    train_rows, test_rows : int64 arrays
        Each in ascending order; together, every row once.

    Notes
    -----
    O(n + nnz log nnz) time, O(n + nnz) memory, however many labels there are.

    Examples
    --------
    >>> from longtail.data.split import split_rows
    >>> train, test = split_rows([["a"], ["a"], ["b"], ["b"]], test_size=0.5, random_state=0)
    >>> train.tolist(), test.tolist()
    ([0, 3], [1, 2])
    """
    matrix = _label_matrix(Y)
    n = matrix.shape[0]
    wanted = rows_to_test(test_size, n)
    order = generator_of(random_state).permutation(n).astype(np.int64)
    _, labels, counts = np.unique(matrix.indices, return_inverse=True, return_counts=True)
    in_test = np.zeros(n, dtype=np.bool_)
    found = _choose_test_rows(matrix.indptr, labels, order, counts, wanted, in_test)
    if found == 0:
        raise InputError(
            "Every row has a label that no other row has, so none can be spared for testing; leave "
            "out rare labels first or split by hand."
        )
    if found < wanted:
        warn(
            f"The test part has {found} rows instead of {wanted}: each other row holds the last "
            "training example of some label.",
            DataWarning,
        )
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def _label_matrix(Y: Any) -> sp.csr_array:
    """Y as CSR without stored zeros; of a sparse Y, nothing grows with the number of columns."""
    if not sp.issparse(Y):
        return encode_labels(Y).matrix
    matrix = as_csr(Y)
    present = matrix.data == 1
    if not (present | (matrix.data == 0)).all():
        raise InputError("Y as a matrix may hold only 0 and 1; for classes give a 1-d array.")
    if not present.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def rows_to_test(test_size: Any, n: int) -> int:
    """The number of test rows that a share or a number stands for, between 1 and n - 1."""
    if n < 2:
        raise InputError(f"A split needs at least 2 rows, but the data set has {n}.")
    if is_count(test_size) and test_size < n:
        return int(test_size)
    if isinstance(test_size, float | np.floating) and 0 < test_size < 1:
        return min(max(round(n * float(test_size)), 1), n - 1)
    raise ParameterError(
        f"test_size must be a share between 0 and 1 or a number of rows from 1 to {n - 1}, not "
        f"{test_size!r}."
    )


@kernel
def _choose_test_rows(
    indptr: NDArray[Any],
    labels: NDArray[Any],
    order: NDArray[Any],
    counts: NDArray[Any],
    wanted: int,
    in_test: NDArray[Any],
) -> int:
    """Mark test rows, greedily in the given order; how many. O(n + nnz)."""
    found = 0
    for row in order:
        if found == wanted:
            break
        spare = True
        for p in range(indptr[row], indptr[row + 1]):
            if counts[labels[p]] < 2:
                spare = False
                break
        if spare:
            for p in range(indptr[row], indptr[row + 1]):
                counts[labels[p]] -= 1
            in_test[row] = True
            found += 1
    return found
