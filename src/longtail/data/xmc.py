"""XMC text, the old layout of the extreme classification benchmarks.

A first line `N D L`, then one line per point: its labels with commas, then `feature:value` pairs,
all ids from zero. A point without labels starts with a space::

    3 5 2
    0,1 0:0.5 4:1
     2:1.25
    1 1:3

Blank lines and lines that start with `#` are skipped. The small sets come as one such file with
split files beside it, one split per column.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

from longtail.data._budget import Budget
from longtail.data._names import dataset_with_names
from longtail.data._source import MAX_LINE_BYTES, LineBlocks, PathLike, shown
from longtail.data._sparse_lines import (
    Duplicates,
    LineOptions,
    MissingValue,
    agreed,
    check_row_count,
    read_header,
    read_sparse_lines,
)
from longtail.data._sparse_writing import write_labelled
from longtail.data.dataset import Dataset
from longtail.errors import DataError

_HEADER = ("points", "features", "labels")


def read_xmc(
    path: PathLike,
    *,
    missing_value: MissingValue = "error",
    duplicates: Duplicates = "error",
    dtype: DTypeLike = np.float32,
    max_line_bytes: int = MAX_LINE_BYTES,
    memory_limit: float | None = None,
) -> Dataset:
    """Read XMC text in the old layout, gzipped or not.

    Names are taken from `feature_names.txt` and `label_names.txt` beside the file. Where the header
    claims fewer features or labels than the lines hold, the lines count, with a `DataWarning`; the
    number of points is that of the lines in any case. Values of zero are not stored. Time O(bytes);
    memory about twice the matrices returned.

    Parameters
    ----------
    path : path-like
        The file.
    missing_value : "error" or float
        What a feature without a value (`7` instead of `7:1`) means; 1 in the dialect that has it.
    duplicates : {"error", "merge"}
        Whether a line that repeats an id is refused, or its values added and its labels united.
    dtype : float32 or float64
        Type of the values, each the one nearest to its decimal digits (for float32 by way of
        float64).
    max_line_bytes : int
        A longer line is refused.
    memory_limit : float, optional
        GB that reading may take; by default all that is left here. A file that needs more is
        refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.txt")
    ...     _ = file.write_text("2 3 2\\n0,1 0:0.5 2:1\\n 1:2\\n")
    ...     data = read_xmc(file)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]])
    """
    options = LineOptions(missing_value=missing_value, duplicates=duplicates, dtype=dtype)
    budget = Budget(path, memory_limit)
    with LineBlocks(path, max_line_bytes=max_line_bytes, budget=budget) as blocks:
        n_points, n_features, n_labels = read_header(
            blocks,
            _HEADER,
            skip_blank=True,
            remedy="if the file has no header, read it with format='svmlight'",
        )
        labels, features = read_sparse_lines(blocks, options)
        check_row_count(blocks, n_points, features.n_rows)
        n_features = agreed(blocks, "features", n_features, features.width)
        n_labels = agreed(blocks, "labels", n_labels, labels.width)
    merge = duplicates == "merge"
    X, Y = features.matrix(n_features, merge=merge), labels.matrix(n_labels, merge=merge)
    return dataset_with_names(blocks.path, X, Y, budget)


def write_xmc(dataset: Dataset, path: PathLike) -> None:
    """Write XMC text in the old layout; a name that ends in `.gz` is packed.

    Feature and label names go to `feature_names.txt` and `label_names.txt` in the same folder,
    which must not hold others. Texts are not written. A point without labels and features is
    written as ` 0:0`, which reads back as such and which other programs can read as well.

    Parameters
    ----------
    dataset : Dataset
        With features.
    path : path-like
        The file, replaced at once when all is written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.txt")
    ...     write_xmc(Dataset([[0.5, 0], [0, 2]], [[1, 1], [0, 0]]), file)
    ...     print(file.read_text(), end="")
    2 2 2
    0,1 0:0.5
     1:2
    """
    write_labelled(dataset, Path(path), b"%d %d %d\n", "XMC text")


def read_split(path: PathLike, *, n_points: int | None = None) -> NDArray[np.int64]:
    """Read a split file: one split per column, the row numbers of its points counted from one.

    Parameters
    ----------
    path : path-like
        The file, gzipped or not.
    n_points : int, optional
        Size of the data set, to check the numbers against.

    Returns
    -------
    rows : int64 array of shape (points of the part, splits)
        Row numbers counted from zero; `data.subset(rows[:, 0])` is the part in the first split.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny_trSplit.txt")
    ...     _ = file.write_text("1 3\\n2 1\\n")
    ...     read_split(file)
    array([[0, 2],
           [1, 0]])
    """
    rows, width = array("q"), 0
    with LineBlocks(path) as blocks:
        largest = 2**31 - 1 if n_points is None else n_points
        for number, line in blocks.lines():
            tokens = line.split()
            if not tokens:
                continue
            if rows and len(tokens) != width:
                raise blocks.error(
                    f"expected {width} row numbers as in the first line, found {len(tokens)}",
                    line=number,
                )
            width = len(tokens)
            blocks.budget.take(3 * rows.itemsize * width)
            for token in tokens:
                if not token.isdigit() or len(token) > 10 or not 1 <= int(token) <= largest:
                    raise blocks.error(
                        f"expected row numbers from 1 to {largest}, found {shown(token)}",
                        line=number,
                    )
            rows.extend([int(token) - 1 for token in tokens])
        if not rows:
            raise blocks.error("the file is empty; expected one column of row numbers per split")
        table = np.asarray(rows).view(np.int64).reshape(-1, width)
        ordered = np.sort(table, axis=0)
        twice = np.argwhere(ordered[1:] == ordered[:-1])
        if len(twice):
            row, column = twice[0]
            raise DataError(
                f"split {column + 1} holds row {ordered[row, column] + 1} twice", path=blocks.path
            )
    return table
