"""Test parts and folds outside of which, where it can be, every label has a training example."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import kernel
from longtail.data.dataset import Dataset, checked_labels
from longtail.errors import DataWarning, InputError, ParameterError, warn
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
    ((75, 20), (25, 20), 8)
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
    matrix, _ = checked_labels(Y, None)
    wanted = rows_to_test(test_size, matrix.shape[0])
    in_test = _held_out(matrix, 1, wanted, random_state) == 0
    found = int(in_test.sum())
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


def fold_of_rows(Y: sp.csr_array, folds: int, random_state: int = 0) -> NDArray[np.int64]:
    """The fold in which each row is held out; -1 for rows that always stay in training.

    The rule is that of `split_rows`, for several test parts that do not overlap: the
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
    O(nnz log nnz + folds · (n + nnz)), however many labels there are.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    >>> fold_of_rows(Y, 2, random_state=0).tolist()
    [1, 0, 0, 1, -1]
    """
    n = Y.shape[0]
    if n < folds:
        raise InputError(
            f"{folds} folds need at least {folds} rows, but there are n_samples={n}; give fewer "
            "folds, or use the method without cross-validation, with settings of your own."
        )
    fold_of = _held_out(Y, folds, n, random_state)
    if len(np.unique(fold_of[fold_of >= 0])) < folds:
        raise InputError(
            f"Only {int((fold_of >= 0).sum())} of {n} rows can be held out, too few for {folds} "
            "folds: each other row is the last with some label; use the method without "
            "cross-validation, with settings of your own."
        )
    return fold_of


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


def _held_out(
    Y: sp.csr_array, folds: int, wanted: int, random_state: int | np.random.RandomState
) -> NDArray[np.int64]:
    """The fold of each of `wanted` rows, or of as many as there can be; -1 for the others."""
    n = Y.shape[0]
    order = generator_of(random_state).permutation(n).astype(np.int64)
    _, labels, counts = np.unique(Y.indices, return_inverse=True, return_counts=True)
    fold_of = np.full(n, -1, dtype=np.int64)
    inside = np.zeros((folds, len(counts)), dtype=np.int64)
    sizes = np.zeros(folds, dtype=np.int64)
    _assign(Y.indptr.astype(np.int64), labels, order, counts, wanted, inside, sizes, fold_of)
    return fold_of


@kernel
def _assign(
    indptr: NDArray[Any],
    labels: NDArray[Any],
    order: NDArray[Any],
    counts: NDArray[Any],
    wanted: int,
    inside: NDArray[Any],
    sizes: NDArray[Any],
    fold_of: NDArray[Any],
) -> None:
    """Give rows in turn the smallest fold that may have them, if any may, until `wanted` have."""
    found = 0
    for row in order:
        if found == wanted:
            break
        best = -1
        for fold in range(sizes.shape[0]):
            if best >= 0 and sizes[fold] >= sizes[best]:
                continue
            allowed = True
            for p in range(indptr[row], indptr[row + 1]):
                if counts[labels[p]] - inside[fold, labels[p]] < 2:
                    allowed = False
                    break
            if allowed:
                best = fold
        if best >= 0:
            for p in range(indptr[row], indptr[row + 1]):
                inside[best, labels[p]] += 1
            sizes[best] += 1
            fold_of[row] = best
            found += 1
