"""XMC text, the new layout: features and labels in files of their own, one line per point in each.

`trn_X_Xf.txt` starts with `N D` and holds `feature:value` pairs; `trn_X_Y.txt` starts with `N L`
and holds `label:1` pairs. The test part has the same with `tst`. An empty line is a point without
features or labels. Beside them may lie `lbl_X_Xf.txt`, features of the labels, and
`filter_labels_test.txt`, pairs of test point and label that do not count.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from longtail.data._budget import Budget
from longtail.data._names import FEATURE_NAMES, LABEL_NAMES, dataset_with_names
from longtail.data._source import (
    MAX_LINE_BYTES,
    LineBlocks,
    PathLike,
    shown,
    sibling,
    written_whole,
)
from longtail.data._sparse_lines import (
    Duplicates,
    LineOptions,
    MissingValue,
    agreed,
    check_row_count,
    read_header,
    read_sparse_lines,
)
from longtail.data._sparse_writing import feature_tokens, features_of, row_ranges, write_names
from longtail.data._text_kernels import LARGEST_ID
from longtail.data.dataset import Dataset
from longtail.errors import DataError, ParameterError

_FEATURES_END = "_X_Xf.txt"
_LABELS_END = "_X_Y.txt"


def read_xmc_pair(
    path: PathLike,
    *,
    missing_value: MissingValue = "error",
    duplicates: Duplicates = "error",
    dtype: DTypeLike = np.float32,
    max_line_bytes: int = MAX_LINE_BYTES,
    memory_limit: float | None = None,
) -> Dataset:
    """Read XMC text in the new layout, gzipped or not.

    Names are taken from `feature_names.txt` or `Xf.txt`, and `label_names.txt` or `Y.txt`, in the
    same folder. Headers are treated as by `read_xmc`.

    Parameters
    ----------
    path : path-like
        The file of features or the file of labels, for instance `trn_X_Xf.txt`; the other one is
        found beside it.
    missing_value, duplicates, dtype, max_line_bytes, memory_limit
        As in `read_xmc`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trn_X_Xf.txt")
    ...     _ = file.write_text("2 3\\n0:0.5 2:1\\n1:2\\n")
    ...     _ = file.with_name("trn_X_Y.txt").write_text("2 2\\n0:1 1:1\\n\\n")
    ...     data = read_xmc_pair(file)
    >>> data.X.toarray().tolist(), data.Y.toarray().tolist()
    ([[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]])
    """
    path = Path(path)
    features_file, labels_file = _both_files(path)
    budget = Budget(features_file, memory_limit)
    features = LineOptions(False, True, missing_value, duplicates, dtype)
    X = _read_matrix(features_file, features, max_line_bytes, budget)
    labels = LineOptions(False, True, duplicates=duplicates, thing="label", only_ones=True)
    Y = _read_matrix(labels_file, labels, max_line_bytes, budget)
    Y.data[:] = 1
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"there are {Y.shape[0]} points here, but {X.shape[0]} in {features_file.name}; both "
            "need a line for every point",
            path=labels_file,
        )
    return dataset_with_names(
        features_file,
        X,
        Y,
        budget,
        feature_files=(FEATURE_NAMES, "Xf.txt"),
        label_files=(LABEL_NAMES, "Y.txt"),
    )


def read_xmc_matrix(
    path: PathLike,
    *,
    missing_value: MissingValue = "error",
    duplicates: Duplicates = "error",
    dtype: DTypeLike = np.float32,
    max_line_bytes: int = MAX_LINE_BYTES,
    memory_limit: float | None = None,
) -> sp.csr_array:
    """Read one matrix of the new layout, such as the label features in `lbl_X_Xf.txt`.

    Parameters
    ----------
    path : path-like
        A file that starts with `N D` and holds `column:value` pairs, one line per row.
    missing_value, duplicates, dtype, max_line_bytes, memory_limit
        As in `read_xmc`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "lbl_X_Xf.txt")
    ...     _ = file.write_text("2 3\\n0:0.5 2:1\\n1:2\\n")
    ...     read_xmc_matrix(file).toarray().tolist()
    [[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]]
    """
    options = LineOptions(False, True, missing_value, duplicates, dtype)
    return _read_matrix(Path(path), options, max_line_bytes, Budget(path, memory_limit))


def read_filter_pairs(path: PathLike) -> NDArray[np.int64]:
    """Read `filter_labels_test.txt`: pairs of point and label whose scores are not to count.

    Parameters
    ----------
    path : path-like
        The file; each line holds a row number and a label number, both from zero.

    Returns
    -------
    pairs : int64 array of shape (m, 2)
        Zero the scores at `(pairs[:, 0], pairs[:, 1])` before the best k are taken.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "filter_labels_test.txt")
    ...     _ = file.write_text("0 17\\n3 2\\n")
    ...     read_filter_pairs(file).tolist()
    [[0, 17], [3, 2]]
    """
    pairs = array("q")
    with LineBlocks(path) as blocks:
        for number, line in blocks.lines():
            tokens = line.split()
            if not tokens:
                continue
            if (
                len(tokens) != 2
                or not all(token.isdigit() and len(token) <= 10 for token in tokens)
                or max(map(int, tokens)) > LARGEST_ID
            ):
                raise blocks.error(
                    f"expected the number of a point and of a label, found {shown(line)}",
                    line=number,
                )
            blocks.budget.take(4 * pairs.itemsize)
            pairs.extend(map(int, tokens))
    return np.asarray(pairs).view(np.int64).reshape(-1, 2)


def write_xmc_pair(dataset: Dataset, path: PathLike) -> None:
    """Write XMC text in the new layout.

    Parameters
    ----------
    dataset : Dataset
        With features. Texts are not written; names as by `write_xmc`.
    path : path-like
        The file of features, whose name ends in `_X_Xf.txt`, or that with `.gz`; the labels go to
        the file of the same name with `_X_Y.txt`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "trn_X_Xf.txt")
    ...     write_xmc_pair(Dataset([[0.5, 0], [0, 2]], [[1, 1], [0, 0]]), file)
    ...     print(file.with_name("trn_X_Y.txt").read_text(), end="")
    2 2
    0:1 1:1
    """
    path = Path(path)
    X, Y = features_of(dataset, "XMC text"), dataset.Y
    packed = ".gz" if path.name.endswith(".gz") else ""
    stem = path.name.removesuffix(packed)
    if not stem.endswith(_FEATURES_END):
        raise ParameterError(
            f"The new XMC layout is saved to a name that ends in {_FEATURES_END}, not {path.name}."
        )
    labels_path = path.with_name(stem.removesuffix(_FEATURES_END) + _LABELS_END + packed)
    with written_whole(path) as features_file, written_whole(labels_path) as labels_file:
        write_names(dataset, path)
        for matrix, file in ((X, features_file), (Y, labels_file)):
            file.write(b"%d %d\n" % matrix.shape)
            for begin, end in row_ranges(matrix):
                lines = feature_tokens(matrix, begin, end)
                file.write("".join(f"{line}\n" for line in lines).encode("ascii"))


def _both_files(path: Path) -> tuple[Path, Path]:
    """The file of features and the file of labels, given either."""
    stem = path.name.removesuffix(".gz")
    for end in (_FEATURES_END, _LABELS_END):
        if stem.lower().endswith(end.lower()):
            start = stem[: -len(end)]
            files = sibling(path, start + _FEATURES_END), sibling(path, start + _LABELS_END)
            if files[0] is not None and files[1] is not None:
                return files[0], files[1]
            missing = start + (_FEATURES_END if files[0] is None else _LABELS_END)
            raise DataError(
                f"the new XMC layout needs {missing} in the same folder, which is not there",
                path=path,
            )
    raise DataError(
        f"the new XMC layout has files whose names end in {_FEATURES_END} and {_LABELS_END}; "
        "rename this one or give another format",
        path=path,
    )


def _read_matrix(
    path: Path, options: LineOptions, max_line_bytes: int, budget: Budget
) -> sp.csr_array:
    thing = options.thing
    with LineBlocks(path, max_line_bytes=max_line_bytes, budget=budget) as blocks:
        n_rows, width = read_header(
            blocks,
            ("points", f"{thing}s"),
            skip_blank=False,
            remedy="files of the new XMC layout have no other columns",
        )
        _, rows = read_sparse_lines(blocks, options)
        rows.drop_empty_rows_from(n_rows)
        check_row_count(blocks, n_rows, rows.n_rows)
        width = agreed(blocks, f"{thing}s", width, rows.width)
        matrix = rows.matrix(width, merge=options.duplicates == "merge")
        if not np.isfinite(matrix.data).all():
            raise DataError("the merged values are not finite", path=blocks.path)
    return matrix
