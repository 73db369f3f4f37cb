"""Why a class and not the runner-up: ten similarities side by side, and the words they share."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import csr_arrays
from longtail.explanation import Explanation, as_column
from longtail.methods.pairs._similarity_kernels import OF_CLASS, fill_table
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.similarity import (
    ABSENT,
    SIMILARITY_NAMES,
    Similarities,
    similarities,
)

SUMS = 8  # of the ten features, those that are sums over shared words


def explain_class(
    profiles: ClassProfiles,
    counts: sp.csr_array,
    column: int,
    *,
    classes: NDArray[Any],
    words: NDArray[Any],
    n: int,
    weights: NDArray[np.float64],
    lowest: NDArray[np.float64],
    width: NDArray[np.float64],
) -> Explanation:
    """Why a document scores what it does for a class, against the runner-up. O(classes and words).

    The parts are the words that document and class share, with what each adds to the score through
    the first eight similarities; the bias is the rest: the distances to the nearest documents, and
    where the scales of the features begin. The table "words" shows what each word adds to either
    score; "similarities" shows the ten similarities of both, raw and scaled to the range seen in
    training. The column "difference" adds up to the lead over the runner-up. `weights` are those of
    the similarities scaled by `lowest` and `width`; `n` words are shown.
    """
    found = similarities(profiles, counts)
    per_unit = weights / width
    runner_up = _runner_up(found, profiles, column, per_unit)
    raw = np.tile(ABSENT, (2, 1))
    for row, label in enumerate((column, runner_up)):
        if label is not None and label in found.classes:
            raw[row] = found.values[np.searchsorted(found.classes, label)]
    normalised = (raw - lowest) / width
    scores = normalised @ weights
    ours = word_parts(profiles, counts.indices, column) @ per_unit[:SUMS]
    theirs = np.zeros_like(ours)
    if runner_up is not None:
        theirs = word_parts(profiles, counts.indices, runner_up) @ per_unit[:SUMS]
    values = counts.data * profiles.unit
    shared = np.flatnonzero((ours != 0) | (theirs != 0))
    shared = shared[np.argsort(-np.abs(ours[shared]), kind="stable")][:n]
    parts = normalised * weights
    details = {
        "words": {
            "feature": as_column(words[counts.indices[shared]]),
            "contribution": ours[shared],
            "to the runner-up": theirs[shared],
        },
        "similarities": {
            "similarity": list(SIMILARITY_NAMES),
            "raw": raw[0],
            "raw of runner-up": raw[1],
            "normalised": normalised[0],
            "normalised of runner-up": normalised[1],
            "weight": weights,
            "contribution": parts[0],
            "contribution to runner-up": parts[1],
            "difference": parts[0] - parts[1],
        },
    }
    rival = {} if runner_up is None else {
        "runner-up": _name(classes, runner_up), "its score": float(scores[1]),
        "lead": float(scores[0] - scores[1]),
    }  # fmt: skip
    return Explanation.by_features(
        _name(classes, column), counts * profiles.unit, ours / values, words, n, score=scores[0],
        summary=rival or {"runner-up": None},
        details={name: pl.DataFrame(columns) for name, columns in details.items()},
    )  # fmt: skip


def _runner_up(
    found: Similarities, profiles: ClassProfiles, column: int, per_unit: NDArray[np.float64]
) -> int | None:
    """The best other class; if it shares no word, the first of those that share none."""
    others = found.classes != column
    scores = found.values[others] @ per_unit
    best = int(found.classes[others][scores.argmax()]) if len(scores) else None
    known = np.unique(profiles.members.indices)
    missing = np.setdiff1d(known, np.append(found.classes, column))
    if len(missing) and (best is None or ABSENT @ per_unit > scores.max()):
        return int(missing[0])
    return best


def _name(classes: NDArray[Any], column: int) -> Any:
    return classes[column : column + 1].tolist()[0]


def word_parts(profiles: ClassProfiles, words: NDArray[Any], column: int) -> NDArray[np.float64]:
    """What each word adds to features 1 to 8 of a class, (words, 8); zeros for words it lacks.

    Summed over the words of a document these are the first eight features of Table 1.

    Examples
    --------
    >>> profiles = ClassProfiles.of([[2, 1, 0], [0, 0, 1]], [[1, 0], [0, 1]])
    >>> word_parts(profiles, np.array([0, 2]), 0).round(2).tolist()
    [[1.1, 1.1, 0.69, 0.46, 0.51, 0.38, 0.85, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    indptr, places, counts = csr_arrays(sp.csr_array(profiles.index[words][:, [column]]))
    idf, rarity = profiles.inverse_frequencies[words], profiles.rarities[words]
    of_class = np.empty((len(counts), len(OF_CLASS)))
    length = profiles.lengths[column : column + 1]
    fill_table(indptr, places, counts, profiles.unit, length, idf, rarity, of_class)
    shared = np.flatnonzero(np.diff(indptr))
    parts = np.zeros((len(words), SUMS))
    parts[shared, 1], parts[shared, 2], parts[shared, 7] = np.log1p(rarity)[shared], idf[shared], 1
    parts[shared[:, None], OF_CLASS] = of_class
    return parts
