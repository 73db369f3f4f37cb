"""Why a class and not the runner-up: ten similarities side by side, and the words they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.base import Explanation
from longtail.methods.pairs._similarity_kernels import OF_CLASS, fill_table
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.similarity import (
    ABSENT,
    SIMILARITY_NAMES,
    Similarities,
    arrays_of,
    similarities,
)

SUMS = 8  # of the ten features, those that are sums over shared words
SHOWN = 3  # similarities that a line of text names


@dataclass(frozen=True)
class PairExplanation(Explanation):
    """Why a class got its score, against the runner-up.

    The features of the base class are the words that document and class share, with what each adds
    to the score through the first eight similarities; the bias is the rest: the distances to the
    nearest documents, and where the scales of the features begin.

    Attributes
    ----------
    runner_up : object
        The class that scores highest beside this one; None if there is no other.
    runner_up_score : float
        Its score.
    against : array
        What each word adds to the score of the runner-up.
    raw, normalised : arrays of shape (2, 10)
        The similarities of the class and of the runner-up: as they are, and scaled to the range
        seen in training.
    similarity_weights : array of shape (10,)
        Weights of the normalised similarities: all that the model has learned.
    """

    runner_up: Any
    runner_up_score: float
    against: NDArray[np.float64]
    raw: NDArray[np.float64]
    normalised: NDArray[np.float64]
    similarity_weights: NDArray[np.float64]

    @property
    def parts(self) -> NDArray[np.float64]:
        """What each similarity adds to the scores, (2, 10): rows add up to the two scores."""
        return self.normalised * self.similarity_weights

    def word_table(self) -> pl.DataFrame:
        """One row a shared word, as in `table`, with what it adds to the runner-up's score."""
        return self.table().with_columns(pl.Series("to the runner-up", self.against))

    def similarity_table(self) -> pl.DataFrame:
        """One row a similarity; the column `difference` adds up to the lead over the runner-up."""
        parts = self.parts
        return pl.DataFrame(
            {
                "similarity": list(SIMILARITY_NAMES),
                "raw": self.raw[0],
                "raw of runner-up": self.raw[1],
                "normalised": self.normalised[0],
                "normalised of runner-up": self.normalised[1],
                "weight": self.similarity_weights,
                "contribution": parts[0],
                "contribution to runner-up": parts[1],
                "difference": parts[0] - parts[1],
            }
        )

    def __str__(self) -> str:
        if self.runner_up is None:
            lead = f"{self.label}: {self.score:+.3f}, the only class"
        else:
            lead = (
                f"{self.label}: {self.score:+.3f}, "
                f"{self.score - self.runner_up_score:+.3f} against "
                f"{self.runner_up}: {self.runner_up_score:+.3f}"
            )
        parts = self.parts
        gains = parts[0] - parts[1]
        order = np.argsort(-np.abs(gains), kind="stable")[:SHOWN]
        carried = ", ".join(f"{SIMILARITY_NAMES[j]} {gains[j]:+.3f}" for j in order)
        words = ", ".join(
            f"{word} {part:+.3f} ({other:+.3f})"
            for word, part, other in zip(
                self.features, self.contributions, self.against, strict=True
            )
        )
        return (
            f"{lead}\nlargest differences: {carried}\n"
            f"shared words (what they add to the runner-up): {words or 'none'}"
        )


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
    unit: float = 1.0,
) -> PairExplanation:
    """Why a document scores what it does for a class. O(classes and words).

    Parameters
    ----------
    profiles : ClassProfiles
    counts : csr_array of shape (1, D)
        The document.
    column : int
        The class.
    classes, words : arrays of shape (L,) and (D,)
        Names.
    n : int
        How many words to show.
    weights, lowest, width : arrays of shape (10,)
        Weights of the normalised similarities, and what normalises them.
    unit : float
        What a count of one stands for.
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
    order = np.argsort(-np.abs(ours), kind="stable")
    order = order[(ours[order] != 0) | (theirs[order] != 0)][:n]
    values = counts.data[order] * unit
    return PairExplanation(
        label=_name(classes, column),
        score=float(scores[0]),
        bias=float(scores[0] - ours.sum()),
        features=words[counts.indices[order]],
        values=values,
        weights=ours[order] / values,
        contributions=ours[order],
        runner_up=None if runner_up is None else _name(classes, runner_up),
        runner_up_score=float("nan") if runner_up is None else float(scores[1]),
        against=theirs[order],
        raw=raw,
        normalised=normalised,
        similarity_weights=weights,
    )


def _runner_up(
    found: Similarities, profiles: ClassProfiles, column: int, per_unit: NDArray[np.float64]
) -> int | None:
    """The class that scores highest beside one; the first of those that share no word, if these."""
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
    """What each word adds to features 1 to 8 of a class, (words, 8); zeros where it has it not.

    Summed over the words of a document these are the first eight features of Table 1.

    Examples
    --------
    >>> profiles = ClassProfiles.of([[2, 1, 0], [0, 0, 1]], [[1, 0], [0, 1]])
    >>> word_parts(profiles, np.array([0, 2]), 0).round(2).tolist()
    [[1.1, 1.1, 0.69, 0.46, 0.51, 0.38, 0.85, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    indptr, places, counts = arrays_of(sp.csr_array(profiles.index[words][:, [column]]))
    idf, rarity = profiles.inverse_frequencies[words], profiles.rarities[words]
    of_class = np.empty((len(counts), len(OF_CLASS)))
    length = profiles.lengths[column : column + 1]
    fill_table(indptr, places, counts, profiles.unit, length, idf, rarity, of_class)
    shared = np.flatnonzero(np.diff(indptr))
    parts = np.zeros((len(words), SUMS))
    parts[shared, 1], parts[shared, 2], parts[shared, 7] = np.log1p(rarity)[shared], idf[shared], 1
    parts[shared[:, None], OF_CLASS] = of_class
    return parts
