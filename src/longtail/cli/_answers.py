"""Which labels of a point are answered: the committed set, the k best, all from a score on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context

from longtail._sparse import as_csr
from longtail.base import ExtremeClassifier

_DEPTH = 64
"""Labels that are looked at first for those above a threshold; more where all of them are."""
_MOST_SCORES = 2**22
"""Scores that are held at a time while labels above a threshold are collected."""

Answer = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Columns of labels and their scores, best first."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of a classifier.

    Attributes
    ----------
    k : int or None
        The k best labels; with a threshold, at most k.
    threshold : float or None
        All labels that score at least so much. Without k and threshold: the label set that the
        classifier commits to.
    proba : bool
        Probabilities as scores.
    tail : float
        Tail weight of the ranking.
    propensities : array or None
        For the tail weight.
    """

    k: int | None = None
    threshold: float | None = None
    proba: bool = False
    tail: float = 0.0
    propensities: NDArray[np.float64] | None = None

    def answers(self, classifier: ExtremeClassifier, X: sp.csr_array) -> Iterator[Answer]:
        """The labels of each row with their scores."""
        if self.k is None and self.threshold is None:
            return self._committed(classifier, X)
        if self.threshold is not None and not self.proba:
            return iter(self._above(classifier, X))
        k = len(classifier.classes_) if self.k is None else self.k
        least = -np.inf if self.threshold is None else self.threshold
        scores = self._scores(classifier, X, k, least)
        return (_cut(answer, k, least) for answer in best_first(scores))

    def _scores(
        self, classifier: Any, X: sp.csr_array, k: int, least: float | None = None
    ) -> sp.csr_array:
        """Scores of at least the k best labels; of probabilities those from `least` on."""
        if self.proba:
            given = {} if least is None or least < 0 else {"threshold": least}
            return as_csr(classifier.predict_proba(X, **given))
        return as_csr(classifier.predict_topk(X, k, tail=self.tail, propensities=self.propensities))

    def _committed(self, classifier: Any, X: sp.csr_array) -> Iterator[Answer]:
        """The committed sets; a label whose score the method does not tell gets nan."""
        committed = classifier.predict_matrix(X)
        sizes = np.diff(committed.indptr)
        rows = np.repeat(np.arange(X.shape[0]), sizes)
        values = np.full(committed.nnz, np.nan)
        k = max(1, int(sizes.max(initial=0)))
        n_labels = committed.shape[1]
        open_ = rows
        while len(open_):
            asked = np.unique(open_)
            with config_context(assume_finite=True):  # X was looked at for the sets
                scores = self._scores(classifier, X[asked], k, None if k < n_labels else 0.0)
            for number, row in enumerate(asked.tolist()):
                here = slice(*committed.indptr[row : row + 2])
                found = slice(*scores.indptr[number : number + 2])
                known = dict(zip(scores.indices[found], scores.data[found], strict=True))
                values[here] = [known.get(c, np.nan) for c in committed.indices[here]]
            open_ = rows[np.isnan(values)] if k < n_labels else rows[:0]
            k = min(n_labels, 8 * k)
        return best_first(
            sp.csr_array((values, committed.indices, committed.indptr), shape=committed.shape)
        )

    def _above(self, classifier: Any, X: sp.csr_array) -> list[Answer]:
        """All labels from the threshold on, k at most; deeper only where it is needed."""
        assert self.threshold is not None
        most = min(len(classifier.classes_), self.k or len(classifier.classes_))
        found: dict[int, Answer] = {}
        open_ = np.arange(X.shape[0])
        depth = min(_DEPTH, most)
        while len(open_):
            deeper: list[int] = []
            step = max(1, _MOST_SCORES // depth)
            for first in range(0, len(open_), step):
                rows = open_[first : first + step]
                scores = self._scores(classifier, X[rows], depth)
                for row, answer in zip(rows.tolist(), best_first(scores), strict=True):
                    full = depth < most and len(answer[1]) == depth
                    if full and answer[1][-1] >= self.threshold:
                        deeper.append(row)
                    else:
                        found[row] = _cut(answer, most, self.threshold)
            open_ = np.array(deeper, dtype=np.int64)
            depth = min(most, 8 * depth)
        return [found[row] for row in range(X.shape[0])]


def best_first(scores: sp.csr_array) -> Iterator[Answer]:
    """The stored entries of each row, the largest first; of equal ones the smaller column.

    Examples
    --------
    >>> [(columns.tolist(), values.tolist())
    ...  for columns, values in best_first(sp.csr_array([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]))]
    [([2, 0], [2.0, 0.5]), ([1], [1.0])]
    """
    rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, rows))
    columns, values = scores.indices[order], scores.data[order].astype(np.float64)
    for first, last in zip(scores.indptr[:-1], scores.indptr[1:], strict=True):
        yield columns[first:last], values[first:last]


def _cut(answer: Answer, k: int, least: float) -> Answer:
    columns, values = answer
    kept = values[:k] >= least
    return columns[:k][kept], values[:k][kept]
