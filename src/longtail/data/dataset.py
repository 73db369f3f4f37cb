"""`Dataset`: what every reader returns and every method can be trained on.

Points are rows. Features may be a sparse matrix, texts, or both; labels are always a sparse matrix
of ones. Names, where known, stand beside the columns they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import DataError, InputError
from longtail.labels import (
    EncodedLabels,
    Kind,
    distinct_names,
    encode_labels,
    listed,
    matrix_to_names,
    name_array,
    padded_size,
)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Points with features or texts, and their labels.

    Everything is checked on creation: row counts agree, names fit their columns, values are finite.
    A data set is not changed afterwards; methods return new ones that share what they can.

    Parameters
    ----------
    X : sparse matrix or array of shape (n, D), or None
        The features; kept as `csr_array`, float32 or float64 as given, float32 for other types.
    Y : sparse or dense 0/1 matrix of shape (n, L), or sequence of label collections
        The labels; kept as float32 `csr_array` of ones. From label collections the names are taken
        as well.
    feature_names : sequence of length D, optional
        Names of the columns of X.
    label_names : sequence of length L, optional
        Distinct names of the columns of Y.
    texts : sequence of str, optional
        One text per point.
    name : str, optional
        What the data set is called, for instance to look up propensity constants.

    Examples
    --------
    >>> data = Dataset(None, [("sea", "sun"), ("sun",)], texts=["at the beach", "at noon"])
    >>> data
    Dataset: 2 points, texts, 2 labels (1.5 a point), 0.0 MB
    >>> data.label_sets()
    [('sea', 'sun'), ('sun',)]
    """

    X: sp.csr_array | None
    Y: sp.csr_array
    feature_names: NDArray[Any] | None = None
    label_names: NDArray[Any] | None = None
    texts: list[str] | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        Y, label_names = checked_labels(self.Y, self.label_names)
        self._set("Y", Y)
        self._set("label_names", label_names)
        n = len(self)
        if self.X is None and self.texts is None:
            raise InputError("A data set needs features X, texts, or both; give one of them.")
        if self.X is not None:
            self._set("X", _checked_features(self.X))
            if self.X.shape[0] != n:
                raise InputError(
                    f"X has {self.X.shape[0]} rows, but Y has {n}; give the labels of every row."
                )
        if self.feature_names is not None:
            if self.X is None:
                raise InputError(
                    "There are feature names, but no features X; give X, or leave the names out."
                )
            feature_names = name_array(_as_kept(self.feature_names))
            if len(feature_names) != self.n_features:
                raise InputError(
                    f"There are {len(feature_names)} feature names for {self.n_features} features; "
                    "give one name per column."
                )
            self._set("feature_names", feature_names)
        if self.texts is not None:
            texts = list(self.texts)
            if len(texts) != n:
                raise InputError(
                    f"There are {len(texts)} texts, but Y has {n} rows; give the labels of every "
                    "text."
                )
            odd = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
            if odd is not None:
                raise InputError(
                    f"Text {odd} is of type {type(texts[odd]).__name__}; give strings, an empty "
                    "one where there is no text."
                )
            self._set("texts", texts)

    def _set(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of X; zero where there are only texts."""
        return 0 if self.X is None else int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Columns of Y, those without a single point included."""
        return int(self.Y.shape[1])

    @property
    def classes(self) -> NDArray[Any]:
        """The label names; the column numbers where there are no names."""
        return np.arange(self.n_labels) if self.label_names is None else self.label_names

    @property
    def encoded(self) -> EncodedLabels:
        """The labels as `fit` takes them; predictions are label sets by name where there are names.

        Examples
        --------
        >>> Dataset([[1.0], [2.0]], [("sea", "sun"), ("sun",)]).encoded.kind
        'names'
        """
        kind: Kind = "sparse" if self.label_names is None else "names"
        return EncodedLabels(self.Y, self.classes, kind, named=self.label_names is not None)

    def label_sets(self) -> list[tuple[Any, ...]]:
        """The labels of every point by name.

        Examples
        --------
        >>> Dataset([[1.0], [2.0]], [[0, 1], [1, 1]]).label_sets()
        [(1,), (0, 1)]
        """
        if self.label_names is None:
            ids, ends = self.Y.indices.tolist(), self.Y.indptr.tolist()
            return [tuple(ids[a:b]) for a, b in pairwise(ends)]
        return matrix_to_names(self.Y, self.label_names)

    def subset(self, rows: Any) -> Dataset:
        """The given points, in the given order; all columns stay.

        Parameters
        ----------
        rows : slice, boolean mask or array of row numbers
            As in numpy indexing.

        Examples
        --------
        >>> data = Dataset([[1.0], [2.0], [3.0]], [[1], [0], [1]])
        >>> data.subset([2, 0]).X.toarray().tolist()
        [[3.0], [1.0]]
        """
        try:
            rows = np.atleast_1d(np.arange(len(self))[rows])
        except IndexError as error:
            raise InputError(f"The rows asked for are not in the data set: {error}.") from None
        return replace(
            self,
            X=None if self.X is None else self.X[rows],
            Y=self.Y[rows],
            texts=None if self.texts is None else [self.texts[i] for i in rows.tolist()],
        )

    def split(
        self, *, test_size: float = 0.25, random_state: int | np.random.RandomState = 0
    ) -> tuple[Dataset, Dataset]:
        """A training and a test part; every label stays in the training part where it can.

        Parameters
        ----------
        test_size : float or int
            Share or number of test points.
        random_state : int or RandomState
            Seed.

        See Also
        --------
        longtail.data.train_test_split : The same as a function, with all that it does.
        """
        from longtail.data.split import train_test_split

        return train_test_split(self, test_size=test_size, random_state=random_state)

    def aligned_to(
        self,
        *,
        label_names: Sequence[Any] | NDArray[Any] | None = None,
        feature_names: Sequence[Any] | NDArray[Any] | None = None,
        n_features: int | None = None,
    ) -> Dataset:
        """The same points with columns in the order that a model knows.

        Labels: the model's come first, in its order, those that no point has included. Labels of
        the points that the model does not know are *kept*, behind them: the model cannot predict
        them, and recall, subset accuracy or nDCG without them would be too high. So Y may be
        wider than the model's scores; widen those with `scores.resize(data.Y.shape)`.

        Features: those that the model does not know are dropped, since it has no weight for them,
        and those that only the model knows become empty columns.

        Parameters
        ----------
        label_names : sequence, optional
            The labels of the model, such as its `classes_`. A data set without label names goes by
            column number.
        feature_names : sequence, optional
            The features of the model; this data set needs feature names as well.
        n_features : int, optional
            How many features the model knows, where columns go by number.

        Examples
        --------
        >>> data = Dataset([[1.0], [2.0]], [("sun",), ("sea", "sun")])
        >>> aligned = data.aligned_to(label_names=["wind", "sun"])
        >>> aligned.classes.tolist(), aligned.Y.toarray().tolist()
        (['wind', 'sun', 'sea'], [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
        """
        changes: dict[str, Any] = {}
        if label_names is not None:
            changes["Y"], changes["label_names"] = self._aligned_labels(label_names)
        if feature_names is not None:
            changes["X"] = self._aligned_features(feature_names)
            changes["feature_names"] = feature_names
        elif n_features is not None and self.X is not None and n_features != self.n_features:
            changes["X"] = _with_columns(self.X, n_features)
            changes["feature_names"] = None
        return replace(self, **changes)

    def _aligned_labels(self, wanted: Any) -> tuple[sp.csr_array, NDArray[Any]]:
        names = listed(wanted)
        column = {name: number for number, name in enumerate(names)}
        if len(column) != len(names):
            raise InputError("The label names to align to are not distinct.")
        occurring = np.unique(self.Y.indices)
        ours = (occurring if self.label_names is None else self.label_names[occurring]).tolist()
        if ours and names and not any(name in column for name in ours):
            raise InputError(
                f"None of the labels is known: the points have labels such as {ours[0]!r}, the "
                f"model such as {names[0]!r}; name them alike."
            )
        targets = [column.setdefault(name, len(column)) for name in ours]
        place = np.zeros(len(occurring), dtype=np.int64)
        place[:] = targets
        Y = sp.csr_array(
            (self.Y.data, place[np.searchsorted(occurring, self.Y.indices)], self.Y.indptr),
            shape=(len(self), len(column)),
        )
        return as_csr(Y), name_array(list(column))

    def _aligned_features(self, wanted: Any) -> sp.csr_array:
        if self.X is None or self.feature_names is None:
            raise InputError("To align features by name, the data set needs feature names.")
        names = listed(wanted)
        column = {name: number for number, name in enumerate(names)}
        ours = self.feature_names.tolist()
        if len(column) != len(names) or len(set(ours)) != len(ours):
            raise InputError("Feature names are not distinct, so they cannot identify columns.")
        targets = np.array([column.get(name, -1) for name in ours], dtype=np.int64)
        return _with_columns(self.X, len(names), targets)

    def __repr__(self) -> str:
        title = "Dataset" if self.name is None else f"Dataset {self.name!r}"
        arrays = [matrix for matrix in (self.X, self.Y) if matrix is not None]
        size = sum(m.data.nbytes + m.indices.nbytes + m.indptr.nbytes for m in arrays)
        parts = [f"{len(self):,} points"]
        if self.X is not None:
            parts.append(f"{self.n_features:,} features")
        if self.texts is not None:
            parts.append("texts")
            size += sum(map(len, self.texts))
        mean = f" ({self.Y.nnz / len(self):.3g} a point)" if len(self) else ""
        parts.append(f"{self.n_labels:,} labels{mean}")
        return f"{title}: {', '.join(parts)}, {size / 1e6:.1f} MB"


def dataset_from_file(
    path: Path,
    X: sp.csr_array | None,
    Y: sp.csr_array,
    *,
    feature_names: NDArray[Any] | None = None,
    label_names: NDArray[Any] | None = None,
    texts: list[str] | None = None,
    name: str | None = None,
) -> Dataset:
    """A data set whose faults, should any be left, are those of the file it was read from."""
    try:
        return Dataset(X, Y, feature_names, label_names, texts, name)
    except InputError as error:
        raise DataError(str(error), path=path) from None


def concatenate(first: Dataset, second: Dataset) -> Dataset:
    """The points of one data set followed by those of another.

    Labels are matched by name where both have names and by number otherwise; features likewise.
    What only one of the two has beside X and Y is dropped.

    Examples
    --------
    >>> first = Dataset([[1.0]], [("sun",)])
    >>> concatenate(first, Dataset([[2.0]], [("sea",)])).label_sets()
    [('sun',), ('sea',)]
    """
    if (first.X is None) != (second.X is None):
        raise InputError(
            "Only one of the two data sets has features, so they cannot be joined; give X to "
            "both or to neither."
        )
    if (first.label_names is None) != (second.label_names is None):
        raise InputError(
            "Only one of the two data sets has label names, so they cannot be joined; name the "
            "labels of both or of neither."
        )
    if first.label_names is not None:
        both = {**dict.fromkeys(first.classes.tolist()), **dict.fromkeys(second.classes.tolist())}
        names = list(both)
        first_Y, second_Y = (data._aligned_labels(names)[0] for data in (first, second))
    else:
        names = None
        width = max(first.n_labels, second.n_labels)
        first_Y, second_Y = (_with_columns(data.Y, width) for data in (first, second))
    X, feature_names = None, None
    if first.X is not None and second.X is not None:
        if first.feature_names is not None and second.feature_names is not None:
            if first.feature_names.tolist() != second.feature_names.tolist():
                second = second.aligned_to(feature_names=first.feature_names)
            feature_names = first.feature_names
        width = max(first.n_features, second.n_features)
        X = sp.vstack([_with_columns(m, width) for m in (first.X, second.X)], format="csr")
    texts = None
    if first.texts is not None and second.texts is not None:
        texts = first.texts + second.texts
    return Dataset(
        X,
        sp.vstack([first_Y, second_Y], format="csr"),
        feature_names=feature_names,
        label_names=None if names is None else name_array(names),
        texts=texts,
        name=first.name if first.name == second.name else None,
    )


def _with_columns(
    matrix: sp.csr_array, width: int, targets: NDArray[np.int64] | None = None
) -> sp.csr_array:
    """Move column j to `targets[j]`, or leave it; what then lies outside of `width` is dropped."""
    columns = matrix.indices if targets is None else targets[matrix.indices]
    keep = (columns >= 0) & (columns < width)
    ends = np.concatenate([[0], np.cumsum(keep)])
    return as_csr(
        sp.csr_array(
            (matrix.data[keep], columns[keep], ends[matrix.indptr]), shape=(matrix.shape[0], width)
        )
    )


def _compact(matrix: sp.csr_array) -> sp.csr_array:
    """The same with 32-bit indices where they suffice."""
    if matrix.indices.dtype == np.int32 or max(matrix.nnz, *matrix.shape) >= 2**31:
        return matrix
    return sp.csr_array(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
        shape=matrix.shape,
    )


def _checked_features(X: Any) -> sp.csr_array:
    """Canonical CSR of finite floats."""
    try:
        matrix = as_csr(X)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError("X must be a matrix of numbers, sparse or dense.") from None
    if matrix.dtype not in (np.float32, np.float64):
        if matrix.dtype.kind not in "buif":
            raise InputError(f"X must hold numbers, not values of type {matrix.dtype}.")
        matrix = sp.csr_array(matrix, dtype=np.float32)
    if not np.isfinite(matrix.data).all():
        raise InputError("X holds NaN or infinite values; remove or replace them.")
    return _compact(matrix)


def checked_labels(Y: Any, names: Any) -> tuple[sp.csr_array, NDArray[Any] | None]:
    """Y as a matrix of ones, and the label names if there are any.

    Nothing here grows with L unless there are names: a file may claim labels without end.
    """
    names = None if names is None else _as_kept(names)
    if not sp.issparse(Y):
        encoded = encode_labels(Y, label_names=names)
        return _compact(encoded.matrix), encoded.classes if encoded.named else None
    matrix = _compact(as_csr(Y))
    data = matrix.data
    if matrix.dtype != np.float32 or not (data == 1).all():
        if matrix.dtype.kind not in "buif" or not ((data == 0) | (data == 1)).all():
            raise InputError("Y as a matrix may hold only 0 and 1; for classes give a 1-d array.")
        matrix = sp.csr_array(matrix, dtype=np.float32, copy=True)
        matrix.eliminate_zeros()
    if names is not None and len(names) != matrix.shape[1]:
        raise InputError(
            f"There are {len(names)} label names for {matrix.shape[1]} label columns; "
            "give one per column."
        )
    if names is None:
        return matrix, None
    if not (isinstance(names, np.ndarray) and (names[1:] > names[:-1]).all()):
        distinct_names(names)
    return matrix, name_array(names)


def _as_kept(names: Any) -> Any:
    """An array of strings as it is if it is as `name_array` makes it, else a list of the names."""
    is_text = isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype.kind == "U"
    if is_text and names.nbytes == padded_size(np.char.str_len(names)):
        return names
    return listed(names)
