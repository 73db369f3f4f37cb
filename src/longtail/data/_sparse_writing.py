"""From sparse matrices to lines of `l1,l2 f:v f:v`: the common part of XMC text and svmlight."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.data._names import FEATURE_NAMES, LABEL_NAMES, write_names_beside
from longtail.data._source import written_whole
from longtail.data.dataset import Dataset
from longtail.errors import InputError


def features_of(dataset: Dataset, format: str, *, least: int = 0) -> sp.csr_array:
    """The features to write, `least` columns or more; a data set without them is refused."""
    if dataset.X is None or dataset.n_features < least:
        raise InputError(f"{format} holds features, and the data set has none; save it as JSONL.")
    return dataset.X


def write_labelled(dataset: Dataset, path: Path, header: bytes, format: str) -> None:
    """Write a header with the three sizes, a line per point, and the names beside the file."""
    X = features_of(dataset, format, least=1)
    with written_whole(path) as file:
        write_names(dataset, path)
        file.write(header % (len(dataset), dataset.n_features, dataset.n_labels))
        for begin, end in row_ranges(X):
            file.write(labelled_lines(X, dataset.Y, begin, end))


def write_names(dataset: Dataset, path: Path) -> None:
    """Write the names of features and labels beside a file."""
    write_names_beside(path, dataset.feature_names, FEATURE_NAMES)
    write_names_beside(path, dataset.label_names, LABEL_NAMES)


def labelled_lines(X: sp.csr_array, Y: sp.csr_array, begin: int, end: int) -> bytes:
    """Rows as lines; one without labels and features as ` 0:0`, for a blank line would be none."""
    rows = zip(label_tokens(Y, begin, end), feature_tokens(X, begin, end), strict=True)
    lines = (
        f"{labels} {features}\n" if labels or features else " 0:0\n" for labels, features in rows
    )
    return "".join(lines).encode("ascii")


def label_tokens(Y: sp.csr_array, begin: int, end: int) -> list[str]:
    """Rows of labels as `l1,l2`."""
    ends = Y.indptr[begin : end + 1].tolist()
    ids = list(map(str, Y.indices[ends[0] : ends[-1]].tolist()))
    first = ends[0]
    return [",".join(ids[a - first : b - first]) for a, b in pairwise(ends)]


def feature_tokens(
    X: sp.csr_array, begin: int, end: int, *, form: str = "{}:{}", joint: str = " "
) -> list[str]:
    """Rows as `f:v f:v`, or in that form, in the shortest digits that read back the same."""
    ends = X.indptr[begin : end + 1].tolist()
    ids = X.indices[ends[0] : ends[-1]].tolist()
    values = number_texts(X.data[ends[0] : ends[-1]])
    tokens = list(map(form.format, ids, values))
    first = ends[0]
    return [joint.join(tokens[a - first : b - first]) for a, b in pairwise(ends)]


def number_texts(values: NDArray[Any]) -> list[str]:
    """Numbers in the shortest digits that read back as the same number of the same type.

    Examples
    --------
    >>> number_texts(np.array([1, 0.1, -2.5e-8], dtype=np.float32))
    ['1', '0.1', '-2.5e-08']
    """
    if values.dtype == np.float32:
        short = values.astype("S32")
        # Reading rounds to float64 first, which could tip a number that lies between two float32.
        safe = short.astype(np.float64).astype(np.float32) == values
        texts = short.astype("U32").tolist()
        for i in np.flatnonzero(~safe).tolist():
            texts[i] = repr(float(values[i]))
    else:
        texts = list(map(repr, values.astype(np.float64).tolist()))
    return [text.removesuffix(".0") for text in texts]


def row_ranges(matrix: sp.csr_array, *, entries: int = 200_000) -> Iterator[tuple[int, int]]:
    """Consecutive ranges of rows that hold about that many entries each."""
    n = matrix.shape[0]
    begin = 0
    while begin < n:
        wanted = int(matrix.indptr[begin]) + entries
        end = int(np.searchsorted(matrix.indptr, wanted, side="right")) - 1
        end = min(max(end, begin + 1), begin + entries, n)
        yield begin, end
        begin = end
