"""svmlight text with several labels per line: XMC text without the header.

Lines read `l1,l2 f:v f:v # remark`; lines that start with `#` are remarks. How many features and
labels there are is not in the format, so a file may lack the last columns of its neighbour: name
the numbers, or keep the remark that `write_svmlight` puts into the first line.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from longtail.data._budget import Budget
from longtail.data._names import dataset_with_names
from longtail.data._source import MAX_LINE_BYTES, LineBlocks, PathLike, Source
from longtail.data._sparse_lines import (
    Duplicates,
    LineOptions,
    MissingValue,
    read_sparse_lines,
)
from longtail.data._sparse_writing import write_labelled
from longtail.data._text_kernels import LARGEST_ID
from longtail.data.dataset import Dataset
from longtail.errors import DataError, ParameterError

_SIZES = re.compile(rb"^# (\d{1,10}) points, (\d{1,10}) features, (\d{1,10}) labels\s*$", re.M)
_BASE = re.compile(rb"^# ?Column indices are (zero|one)-based", re.M)
_REMARK_BYTES = 4096
_LARGEST_CLAIM = LARGEST_ID + 1


def read_svmlight(
    path: PathLike,
    *,
    n_features: int | None = None,
    n_labels: int | None = None,
    zero_based: bool | None = None,
    missing_value: MissingValue = "error",
    duplicates: Duplicates = "error",
    dtype: DTypeLike = np.float32,
    max_line_bytes: int = MAX_LINE_BYTES,
    memory_limit: float | None = None,
) -> Dataset:
    """Read svmlight text with several labels per line, gzipped or not.

    Names are taken from `feature_names.txt` and `label_names.txt` beside the file. Label ids are
    column numbers from zero.

    Parameters
    ----------
    path : path-like
        The file.
    n_features, n_labels : int, optional
        How many there are. By default: what a remark at the start says, else what the names beside
        the file say, else one more than the largest id.
    zero_based : bool, optional
        Whether feature ids start at zero. By default what a remark of scikit-learn's
        `dump_svmlight_file` says, else True: in a file that starts at one this leaves an empty
        first column, which does no harm, while a guess from the ids of one file could shift it
        against another.
    missing_value, duplicates, dtype, max_line_bytes, memory_limit
        As in `read_xmc`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.svm")
    ...     _ = file.write_text("0,1 0:0.5 2:1\\n 1:2\\n")
    ...     data = read_svmlight(file, n_labels=3)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    """
    for name, number in (("n_features", n_features), ("n_labels", n_labels)):
        if number is not None and not 0 <= number <= _LARGEST_CLAIM:
            raise ParameterError(f"{name} must be from 0 to 2^31 - 1, not {number}.")
    options = LineOptions(missing_value=missing_value, duplicates=duplicates, dtype=dtype)
    with Source(path) as source:
        remarks = source.read(_REMARK_BYTES)
    sizes = _SIZES.match(remarks)
    base = _BASE.search(remarks)
    if zero_based is None:
        zero_based = base is None or base[1] == b"zero"
    budget = Budget(path, memory_limit)
    with LineBlocks(path, max_line_bytes=max_line_bytes, budget=budget) as blocks:
        path = blocks.path
        if blocks.is_empty:
            raise blocks.error("the file is empty; expected lines such as '0,3 1:0.5 7:1'")
        labels, features = read_sparse_lines(blocks, options)
    if not features.n_rows and sizes is None:
        raise DataError("there are no points; expected lines such as '0,3 1:0.5 7:1'", path=path)
    if not zero_based:
        if any(len(part) and part.min() == 0 for part in features.ids):
            raise DataError("a feature has the id 0, but ids start at 1 here", path=path)
        for part in features.ids:
            part -= 1
        features.width = max(0, features.width - 1)
    claimed_features, claimed_labels = (int(sizes[2]), int(sizes[3])) if sizes else (0, 0)
    if max(claimed_features, claimed_labels) > _LARGEST_CLAIM:
        raise DataError(
            "the remark claims more features or labels than the 2^31 - 1 allowed; correct it",
            path=path,
            line=1,
        )
    width = _width("features", n_features, claimed_features, features.width, path)
    n_columns = _width("labels", n_labels, claimed_labels, labels.width, path)
    merge = duplicates == "merge"
    return dataset_with_names(
        path,
        features.matrix(width, merge=merge),
        labels.matrix(n_columns, merge=merge),
        budget,
        features_told=sizes is not None or n_features is not None,
        labels_told=sizes is not None or n_labels is not None,
    )


def write_svmlight(dataset: Dataset, path: PathLike) -> None:
    """Write svmlight text with several labels per line, ids from zero.

    The sizes stand in a remark on the first line, which `read_svmlight` understands and other
    programs skip. Names as by `write_xmc`; texts are not written.

    Parameters
    ----------
    dataset : Dataset
        With features.
    path : path-like
        The file, replaced at once when all is written; packed if its name ends in `.gz`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.svm")
    ...     write_svmlight(Dataset([[0.5, 0], [0, 2]], [[1, 1], [0, 0]]), file)
    ...     print(file.read_text(), end="")
    # 2 points, 2 features, 2 labels
    0,1 0:0.5
     1:2
    """
    header = b"# %d points, %d features, %d labels\n"
    write_labelled(dataset, Path(path), header, "svmlight")


def _width(what: str, wanted: int | None, claimed: int, found: int, path: Path) -> int:
    if wanted is not None:
        if found > wanted:
            raise DataError(
                f"ids of {what} go up to {found - 1}, but n_{what}={wanted} was asked for",
                path=path,
            )
        return wanted
    return max(claimed, found)
