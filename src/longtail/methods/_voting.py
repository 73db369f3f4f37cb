"""The base class of classifiers whose neighbours vote."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import from_ranked, ranked, stacked
from longtail.errors import ModelError
from longtail.explanation import Explanation, as_column
from longtail.methods._probabilities import ProbabilityClassifier
from longtail.methods._soundness import are_columns
from longtail.parameters import is_count, is_number
from longtail.search.vote_settings import THRESHOLD, choose_voting
from longtail.search.votes import (
    BLOCK_ROWS,
    Neighbours,
    kept_from,
    scored_votes,
    vote_spans,
    voted_labels,
)


class VotingClassifier(ProbabilityClassifier):
    """Base of the classifiers whose neighbours vote.

    Subclasses return the voters nearest to a block of points in `_neighbours_of` and the labels of
    each voter in `_voters`; `_fit` sets `n_neighbors_` and `threshold_`, by `choose_voting` where
    the parameters are None. They store `n_neighbors`, `threshold`, `n_jobs` and `random_state`.
    Labels that no neighbour has are not in top-k lists; a score is a share of the votes, to within
    2⁻²⁰, see `scored_votes`.
    """

    n_neighbors: int | None
    threshold: float | None
    n_jobs: int | None
    random_state: int | None

    # ---- what a method supplies --------------------------------------------------------------

    def _neighbours_of(self, X: sp.csr_array, k: int) -> Neighbours:
        """The k nearest voters of a block of points; called from several threads."""
        raise NotImplementedError

    def _voters(self) -> sp.csr_array:
        """The label vectors of the voters, (m, L)."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------

    def _block_rows(self) -> int:
        return BLOCK_ROWS

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        def best(scores: sp.csr_array) -> sp.csr_array:
            return from_ranked(*ranked(scores, k), scores.shape[1])

        return self._stacked(X, lambda x: self._voted(x, best))

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        voters = self._voters()
        k = min(self.n_neighbors_, voters.shape[0])

        def kept(x: sp.csr_array) -> sp.csr_array:
            return voted_labels(voters, self._neighbours_of(x, k).indices, self.threshold_)

        return self._stacked(X, kept)

    def _voted(self, X: sp.csr_array, keep: Callable[[sp.csr_array], sp.csr_array]) -> sp.csr_array:
        """The results of `keep` on the scores of a block of points, some votes at a time."""
        voters = self._voters()
        found = self._neighbours_of(X, min(self.n_neighbors_, voters.shape[0]))

        def scores(span: slice) -> sp.csr_array:
            part = Neighbours(found.indices[span], found.distances[span])
            return scored_votes(voters, part)[1]

        return stacked([keep(scores(span)) for span in vote_spans(voters, found.indices)])

    def _usual_scale(self) -> tuple[float, float]:
        return 4.0, -4.0 * self.threshold_  # the slope of log-odds at one half

    def _probabilities(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        """Shares of the neighbours that have each label, ties broken by distance."""

        def likely(scores: sp.csr_array) -> sp.csr_array:
            found = kept_from(scores, threshold)
            found.data = scores.data[scores.data >= threshold]
            return found

        return self._stacked(X, lambda x: self._voted(x, likely))

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """Who voted. Neighbours decide as a whole, so no feature has a part and all is bias."""
        voters = self._voters()
        found = self._neighbours_of(x, min(self.n_neighbors_, voters.shape[0]))
        shares, scores = scored_votes(voters, found)
        there = found.indices[0] >= 0
        nearest = found.indices[0][there][:n]
        sets, score = voters[nearest], float(scores[0, column])
        table = pl.DataFrame(
            {
                "neighbour": nearest,
                "distance": found.distances[0][there][:n],
                "vote": np.asarray(sets[:, [column]].toarray(), dtype=np.float64).ravel(),
                "labels": [
                    as_column(self.classes_[sets.indices[first:last]])
                    for first, last in pairwise(sets.indptr)
                ],
            }
        )
        summary = {"neighbours": int(there.sum()), "share": float(shares[0, column])}
        return Explanation(
            self._name_of(column), score, score, summary=summary, details={"votes": table}
        )

    def _check_state(self) -> None:
        super()._check_state()
        count, share = getattr(self, "n_neighbors_", None), getattr(self, "threshold_", None)
        tried = [getattr(self, name, []) for name in ("tried_neighbors_", "tried_f1_")]
        if not (
            is_count(count) and is_number(share) and 0 < self.threshold_ <= 1
        ) or not are_columns(*tried):
            raise ModelError(
                "The model's number of neighbours or its threshold makes no sense; it was altered."
            )

    # ---- what was chosen ---------------------------------------------------------------------

    def _is_open(self, n: int, sizes: list[int]) -> bool:
        """Whether to choose among these numbers, or a threshold, on n points; sets the first."""
        self.n_neighbors_ = sizes[0]
        self.threshold_ = THRESHOLD if self.threshold is None else float(self.threshold)
        return n > 1 and (len(sizes) > 1 or self.threshold is None)

    def _choose_among(
        self,
        sizes: list[int],
        scores_of: Callable[[int], Iterable[sp.csr_array]],
        truth: sp.csr_array,
    ) -> None:
        """Choose by held-out points; keep the result of each number at its best threshold."""
        choice = choose_voting(
            scores_of, truth, numbers_of_neighbors=sizes, threshold=self.threshold
        )
        self.n_neighbors_, self.threshold_ = choice.n_neighbors, choice.threshold
        self.tried_neighbors_ = choice.numbers_of_neighbors
        self.tried_f1_ = choice.f1.max(axis=1)

    def choice_table(self) -> pl.DataFrame:
        """One row per number of neighbours that was tried, the chosen one marked.

        With the example-F1 at its best threshold. Empty if there was nothing to choose.
        """
        check_is_fitted(self)
        tried = getattr(self, "tried_neighbors_", np.empty(0, dtype=np.int64))
        f1 = getattr(self, "tried_f1_", np.empty(0))
        return pl.DataFrame({"n_neighbors": tried, "f1": f1, "chosen": tried == self.n_neighbors_})
