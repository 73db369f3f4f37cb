"""What classifiers with a joint distribution of a point's labels share.

Such a classifier computes the predicted set and the probability of each label for a block of
points. This module adds top-k lists, probabilities and threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import from_ranked, ranked
from longtail.methods._probabilities import ProbabilityClassifier
from longtail.parameters import check_count

LARGEST = 40.0
"""Log-odds beyond which a label counts as certain, so that sums of them stay exact."""

SET_CELLS = 2**24  # cells (sets × labels) of the sets listed at a time


class MarginalClassifier(ProbabilityClassifier):
    """Base of the classifiers that model the labels of a point together.

    Subclasses return the label sets of a block of points in `_sets_of`, the log-odds of each
    label's marginal probability in `_scores_of`, and the number of points per block in
    `_block_rows`. They store `n_jobs`. Labels without a training point are not in top-k lists.

    A subclass that can list several sets of a point also has
    `_likely_sets(X, n_sets) -> (sets, log_probabilities)`: of a block of points, the most probable
    sets first, a bool array (n, B, L) and the logarithms of their probabilities (n, B), -inf where
    a point has fewer; B is `n_sets`, or less if no point has more. `predict_sets` then works.
    """

    scores_all_labels: ClassVar[bool] = True

    n_jobs: int | None
    _likely_sets: Callable[[sp.csr_array, int], tuple[NDArray[Any], NDArray[np.float64]]]

    def _sets_of(self, X: sp.csr_array) -> NDArray[np.bool_]:
        """The label sets (n, L) of a block."""
        raise NotImplementedError

    def _scores_of(self, X: sp.csr_array) -> NDArray[np.float64]:
        """The log-odds (n, L) of the labels of a block, finite."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._stacked(X, lambda x: sp.csr_array(self._sets_of(x), dtype=float))

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        seen = np.flatnonzero(self.label_counts_)
        if not len(seen):
            return sp.csr_array((X.shape[0], len(self.classes_)))

        def best(x: sp.csr_array) -> sp.csr_array:
            places, scores = ranked(self._scores_of(x)[:, seen], k)
            labels = np.where(places >= 0, seen[places], -1)
            return from_ranked(labels, scores, len(self.classes_))

        return self._stacked(X, best)

    def _all_scores(self, X: sp.csr_array) -> NDArray[np.float64]:
        scores = np.concatenate(self._in_blocks(self._scores_of, X))
        scores[:, self.label_counts_ == 0] = -np.inf
        return scores

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _probabilities(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        lowest = -np.inf if threshold == 0 else float(logit(threshold))

        def likely(x: sp.csr_array) -> sp.csr_array:
            scores = self._scores_of(x)
            where = np.nonzero(scores >= lowest)
            return sp.csr_array((expit(scores[where]), where), shape=scores.shape)

        return self._stacked(X, likely)

    @available_if(lambda self: hasattr(self, "_likely_sets"))
    def predict_sets(self, X: Any, n_sets: int = 5) -> list[list[tuple[tuple[Any, ...], float]]]:
        """The most probable label sets of every row, with their probabilities.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        n_sets : int
            Largest number of sets per row; the class says which sets it can list.

        Returns
        -------
        list of lists of (tuple of label names, probability)
            One list per row, the most probable set first. The probabilities are those of the model;
            they are not scaled to add up to one.

        Examples
        --------
        >>> from longtail import ProbabilisticClassifierChain
        >>> chain = ProbabilisticClassifierChain().fit([[1.0], [0.0]] * 9, ["sea", "snow"] * 9)
        >>> [(names, round(p, 2)) for names, p in chain.predict_sets([[1.0]], 1)[0]]
        [(('sea',), 0.64)]
        """
        check_is_fitted(self)
        check_count(n_sets=n_sets)
        rows = self._checked(X, reset=False)
        n_labels = len(self.classes_)
        wanted = int(min(n_sets, 2 ** min(n_labels, 62)))
        size = max(1, SET_CELLS // (wanted * n_labels))

        def listed(x: sp.csr_array) -> list[list[tuple[tuple[Any, ...], float]]]:
            found = []
            for at in range(0, x.shape[0], size):
                sets, logs = self._likely_sets(x[at : at + size], wanted)
                found += [
                    self._named(*point) for point in zip(sets > 0, logs.tolist(), strict=True)
                ]
            return found

        return [point for block in self._in_blocks(listed, rows) for point in block]

    def _named(
        self, sets: NDArray[np.bool_], logs: list[float]
    ) -> list[tuple[tuple[Any, ...], float]]:
        """One point's sets (B, L) by the names of their labels, with their probabilities."""
        return [
            (tuple(self.classes_[members].tolist()), float(np.exp(log)))
            for members, log in zip(sets, logs, strict=True)
            if log > -np.inf
        ]


def log_odds_of(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of probabilities, within ±40.

    Examples
    --------
    >>> log_odds_of(np.array([0.5, 1.0])).tolist()
    [0.0, 40.0]
    """
    least = 1.0 / (1.0 + np.exp(LARGEST))
    on, off = np.maximum(probabilities, least), np.maximum(1.0 - probabilities, least)
    return np.clip(np.log(on) - np.log(off), -LARGEST, LARGEST)
