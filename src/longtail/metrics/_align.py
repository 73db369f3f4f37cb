"""Truth and prediction brought to the same rows and columns, whatever form they came in.

Names that the prediction cannot know (a label that occurs in the test set only) get columns of
their own after the known ones: they count as missed, not as an error.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longtail._sparse import NO_MATRIX, as_csr, ranked
from longtail.errors import InputError, ParameterError
from longtail.labels import EncodedLabels, distinct_names, encode_like, place_columns

_BLOCK = 1 << 20
"""Score entries that are ranked at a time."""


@dataclass(frozen=True)
class LabelSpace:
    """The columns of a truth matrix.

    Attributes
    ----------
    names : list or None
        Their names, if the truth came with names or `classes` were given.
    known : int
        How many of them, the first ones, a prediction has; the others occur in the truth alone.
    """

    names: list[Any] | None
    known: int


def by_name(encoded: EncodedLabels) -> bool:
    """Whether the columns were made from names, so that they have no order of their own."""
    return encoded.kind in ("names", "multiclass")


def _positions(classes: Sequence[Hashable]) -> dict[Any, int]:
    return {name: column for column, name in enumerate(distinct_names(classes))}


def _check_rows(truth: sp.csr_array, n: int, others: str) -> None:
    if truth.shape[0] != n:
        raise InputError(
            f"Y_true has {truth.shape[0]} rows and the {others} {n}; give both for the same points."
        )
    if not n:
        raise InputError("Y_true has no rows; a metric needs at least one point.")


def align_truth(
    Y_true: Any, width: int, classes: Sequence[Hashable] | None
) -> tuple[sp.csr_array, LabelSpace]:
    """Y_true as a 0/1 matrix whose first `width` columns are those of the scores."""
    encoded = encode_like(Y_true, classes)
    if classes is not None and len(classes) != width:
        raise InputError(
            f"There are {len(classes)} classes for {width} columns of scores; give one name "
            "per column, in order."
        )
    if by_name(encoded) and classes is not None:
        position = _positions(classes)
        matrix = place_columns(encoded, position)
        return matrix, LabelSpace(list(position), width)
    if encoded.matrix.shape[1] != width:
        raise InputError(
            f"Y_true has {encoded.matrix.shape[1]} labels and the scores have {width} columns; "
            + (
                "give classes=, the names of the columns of the scores."
                if by_name(encoded)
                else "give both the same columns."
            )
        )
    names = None
    if classes is not None:
        names = list(_positions(classes))
    elif encoded.named:
        names = encoded.classes.tolist()
    return encoded.matrix, LabelSpace(names, width)


def align_scores(
    Y_true: Any, Y_score: Any, classes: Sequence[Hashable] | None
) -> tuple[sp.csr_array, sp.csr_array | NDArray[Any], LabelSpace]:
    """Truth and scores with the same rows, the columns of the truth starting with the scores'."""
    if sp.issparse(Y_score):
        scores = as_csr(Y_score)
    else:
        try:
            scores = np.asarray(Y_score)
        except (TypeError, ValueError, OverflowError):
            raise InputError(NO_MATRIX) from None
        if scores.ndim != 2:
            raise InputError(
                f"The scores have {scores.ndim} dimension{'s' * (scores.ndim != 1)}; give a matrix "
                "with one row per point and one column per label."
            )
    if scores.dtype.kind not in "buif":
        raise InputError(f"Scores are real numbers, not {scores.dtype}.")
    truth, space = align_truth(Y_true, scores.shape[1], classes)
    _check_rows(truth, scores.shape[0], "scores have")
    return truth, scores, space


def align_sets(
    Y_true: Any, Y_pred: Any, classes: Sequence[Hashable] | None
) -> tuple[sp.csr_array, sp.csr_array, bool]:
    """Two label matrices of the same shape, and whether both came as one class per row."""
    true, pred = encode_like(Y_true, classes), encode_like(Y_pred, classes)
    names = [set(encoded.classes.tolist()) for encoded in (true, pred) if encoded.named]
    if classes is None and len(names) == 2 and names[0] & names[1]:
        true, pred = (
            encoded if by_name(encoded) else replace(encoded, kind="names")
            for encoded in (true, pred)
        )
    _check_rows(true.matrix, pred.matrix.shape[0], "prediction has")
    multiclass = true.kind == "multiclass" and pred.kind == "multiclass"
    if not by_name(true) and not by_name(pred):
        if true.matrix.shape[1] != pred.matrix.shape[1]:
            raise InputError(
                f"Y_true has {true.matrix.shape[1]} label columns and the prediction has "
                f"{pred.matrix.shape[1]}; give both the same columns."
            )
        return true.matrix, pred.matrix, multiclass
    if classes is None:
        if not (by_name(true) and by_name(pred)):
            raise InputError(
                "One of Y_true and the prediction holds names and the other is a matrix; give "
                "classes=, the names of the matrix's columns."
            )
        position: dict[Any, int] = {}
    else:
        position = _positions(classes)
    matrices = []
    for encoded in (true, pred):
        if by_name(encoded):
            matrices.append(place_columns(encoded, position))
        elif encoded.matrix.shape[1] == len(classes or ()):
            matrices.append(encoded.matrix)
        else:
            raise InputError(
                f"There are {len(classes or ())} classes for {encoded.matrix.shape[1]} label "
                "columns; give one name per column, in order."
            )
    for matrix in matrices:
        matrix.resize((matrix.shape[0], len(position)))
    return matrices[0], matrices[1], multiclass


def ranked_blocks(
    truth: sp.csr_array, scores: sp.csr_array | NDArray[Any], depth: int
) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.bool_]]]:
    """The `depth` best labels of every row, -1 for none, and which of them are right.

    A block of rows at a time: working memory is bounded by it, or by one row if that is larger.
    """
    n, width = scores.shape
    step = max(1, _BLOCK // max(depth, 1 if sp.issparse(scores) else width))
    first = 0
    while first < n:
        last = min(first + step, n)
        if isinstance(scores, sp.csr_array):
            ends = scores.indptr
            within = int(np.searchsorted(ends, int(ends[first]) + _BLOCK, side="right")) - 1
            last = min(last, max(within, first + 1))
        rows, block = slice(first, last), scores[first:last]
        if np.isnan(block.data if sp.issparse(block) else block).any():
            raise InputError("The scores hold NaN; give every predicted label a number.")
        labels, _ = ranked(block, depth)
        true = truth[rows]
        starts = np.arange(last - first) * truth.shape[1]
        cells = np.repeat(starts, np.diff(true.indptr)) + true.indices
        yield rows, labels, np.isin(starts[:, None] + labels, cells) & (labels >= 0)
        first = last


def check_k(k: int | Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """`k` as an array of whole numbers of at least 1."""
    given = np.atleast_1d(np.asarray(k))
    if given.ndim != 1 or not given.size or given.dtype.kind not in "ui" or (given < 1).any():
        raise ParameterError(f"k is a whole number of at least 1, or several of them, not {k!r}.")
    return given.astype(np.int64)


def inverse_by_column(
    propensities: ArrayLike | Mapping[Any, float], space: LabelSpace, columns: int
) -> NDArray[np.float64]:
    """1 / p of every column of the truth, from the propensities p that a user gave."""
    if isinstance(propensities, Mapping):
        names = range(columns) if space.names is None else space.names
        try:
            p = np.array([propensities[name] for name in names], dtype=np.float64)
        except KeyError as error:
            raise InputError(f"There is no propensity for the label {error.args[0]!r}.") from None
    else:
        p = np.asarray(propensities, dtype=np.float64)
    if p.ndim != 1 or len(p) not in (space.known, columns):
        raise InputError(
            f"There are {p.shape[0] if p.ndim == 1 else p.shape} propensities for {space.known} "
            "labels; give a 1-d array with one value per label, or a dict by label name."
        )
    if not ((p > 0) & (p <= 1)).all():
        raise InputError(
            "Propensities lie above 0 and are at most 1; if these are inverse propensities, give "
            "1 / them."
        )
    if len(p) < columns:
        unknown = (space.names or [])[space.known]
        raise InputError(
            f"Y_true holds the label {unknown!r}, which is not among the classes and so has no "
            "propensity; give the propensities as a dict by label name that has it."
        )
    return 1 / p


def training_counts(Y_train: Any, space: LabelSpace, columns: int) -> tuple[NDArray[np.int64], int]:
    """Training points of every column of the truth, and training points in all."""
    encoded = encode_like(Y_train, space.names)
    n, width = encoded.matrix.shape
    counts = np.bincount(encoded.matrix.indices, minlength=width)
    out = np.zeros(columns, dtype=np.int64)
    if by_name(encoded):
        if space.names is None:
            raise InputError(
                "Y_train holds names, but the other labels are a matrix; give classes=, the names "
                "of its columns."
            )
        position = {name: column for column, name in enumerate(space.names)}
        for name, count in zip(encoded.classes.tolist(), counts.tolist(), strict=True):
            if name in position:
                out[position[name]] = count
    elif width == space.known:
        out[:width] = counts
    else:
        raise InputError(
            f"Y_train has {width} label columns and the scores have {space.known}; give both the "
            "same columns."
        )
    return out, n
