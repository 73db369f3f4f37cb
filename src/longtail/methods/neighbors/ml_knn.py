"""ML-kNN: what the votes of the neighbours say about a label, by Bayes' rule.

Zhang & Zhou, ML-kNN: A lazy learning approach to multi-label learning, Pattern Recognition 40(7),
2007.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit

from longtail._sparse import from_ranked
from longtail.errors import ModelError
from longtail.explanation import Explanation
from longtail.methods._soundness import is_array
from longtail.methods.neighbors._lazy import (
    Distance,
    FoldNeighbours,
    LazyClassifier,
    folds_of,
    sizes_to_try,
)
from longtail.methods.neighbors._posterior_kernels import (
    best_posteriors,
    count_votes,
    posteriors_from,
)
from longtail.parameters import Count, Jobs, MemoryLimit, Positive, Seed, UpToOne
from longtail.runtime.estimates import Estimate, refuse_beyond
from longtail.runtime.run import Run
from longtail.search import THRESHOLD, THRESHOLDS


@dataclass(frozen=True)
class Posteriors:
    """The log-odds of labels by the votes for them: equations (5) to (9) of the paper, in tables.

    Attributes
    ----------
    prior : array of shape (L,)
        log P(H1) - log P(H0).
    odds : array of shape (L, k + 1)
        Log-odds of each label if 0, 1, ... k neighbours have it.
    """

    prior: NDArray[np.float64]
    odds: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        Y: sp.csr_array,
        rows: NDArray[np.int64],
        neighbours: NDArray[np.int64],
        smoothing: float = 1.0,
    ) -> Posteriors:
        """Learn the tables from the labels Y, some points, and their neighbours (n, k).

        O(labels of all neighbours + L·k).

        Examples
        --------
        >>> Y = sp.csr_array([[1], [1], [0]])
        >>> table = Posteriors.of(Y, np.arange(3), np.array([[1], [0], [1]]))
        >>> np.exp(table.prior).round(4).tolist(), np.exp(table.odds).round(4).tolist()
        ([1.5], [[1.125, 1.6875]])
        """
        n_labels, k = Y.shape[1], neighbours.shape[1]
        has = np.zeros((n_labels, k + 1), dtype=np.int64)
        has_not = np.zeros_like(has)
        indptr = Y.indptr.astype(np.int64)
        count_votes(indptr, Y.indices, neighbours, rows, has, has_not)
        positives = np.bincount(Y[rows].indices, minlength=n_labels)
        negatives = len(rows) - positives
        has[:, 0] = positives - has.sum(axis=1)
        has_not[:, 0] = negatives - has_not.sum(axis=1)
        s = smoothing
        prior = np.log(s + positives) - np.log(s + negatives)
        odds = np.log(s + has)
        odds -= np.log(s + has_not)
        odds += (
            prior - np.log(s * (k + 1) + positives) + np.log(s * (k + 1) + negatives)
        )[:, None]  # fmt: skip
        return cls(prior, odds)


class MLKNN(LazyClassifier):
    """ML-kNN: the labels that are likelier than not, given the votes of the nearest points.

    For each label, training counts how often points with and without the label have 0, 1, ... k
    points with it among their nearest other training points. Bayes' rule turns these counts into
    posteriors. So a rare label can win with few votes, and a label unrelated to its neighbourhood
    is decided by its frequency.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    points_, labels_, n_neighbors_, threshold_, tried_neighbors_, tried_f1_
        See `KNN`.
    prior_ : array of shape (L,)
        Prior log-odds of the labels.
    odds_ : array of shape (L, k + 1)
        Posterior log-odds of each label if 0, 1, ... k of the neighbours have it.

    Notes
    -----
    Training costs a search of the n training points and O(n·k·labels per point + L·k) for the
    tables of L·(k + 1) numbers. Prediction costs the search, see `KNN`, and O(k·labels per point):
    of the labels without votes, only those that can matter are considered. The scores of
    `predict_topk` are the posterior log-odds. Labels without a training point are never listed.
    With fewer than k other training points all of them vote.

    Examples
    --------
    >>> from longtail import MLKNN
    >>> X = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 2]] * 3
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["snow"]] * 3
    >>> tagger = MLKNN(n_neighbors=2).fit(X, Y)
    >>> tagger.predict([[1, 1, 0], [0, 0, 3]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "ml-knn"
    paper: ClassVar[str] = "Zhang & Zhou 2007"
    scores_all_labels: ClassVar[bool] = True

    prior_: NDArray[np.float64]
    odds_: NDArray[np.float64]

    def __init__(
        self,
        *,
        n_neighbors: Annotated[
            Count | None,
            "How many training points vote. None: chosen, whichever of 1, 5, 10 and 20 has the "
            "best example-F1 in 5-fold cross-validation, for which the counts are made anew "
            "without each fold.",
        ] = None,
        threshold: Annotated[
            UpToOne | None,
            "Posterior probability that a label needs to be predicted; 0.5 is the maximum a "
            "posteriori. None: chosen along with the number of neighbours among 0.05, 0.10, ... "
            "1.",
        ] = THRESHOLD,
        smoothing: Annotated[Positive, "Added to all counts, the paper's s."] = 1.0,
        metric: Distance = "euclidean",
        random_state: Annotated[Seed, "Seed of the folds, where something is chosen."] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.smoothing = smoothing
        self.metric = metric
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        n, n_labels = Y.shape
        most = min(sizes_to_try(self.n_neighbors, n)[-1], max(n - 1, 1))
        need = super()._estimate(X, Y).plus(4 * 8 * n_labels * (most + 1))
        return replace(need, reason=f"{need.reason} and tables of {n_labels:,} labels")

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        n, n_labels = Y.shape
        sizes = [min(k, max(n - 1, 1)) for k in sizes_to_try(self.n_neighbors, n)]
        less = "give a smaller n_neighbors, or fewer points or labels"
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, less)
        self._keep_points(X, Y)
        fold_of = folds_of(n, self._seed)
        lists = FoldNeighbours(
            self._index(), self.points_, fold_of, sizes[-1],
            n_jobs=self.n_jobs, run=run.part("neighbours"),
        )  # fmt: skip
        if self._is_open(n, sizes):
            order = np.argsort(fold_of, kind="stable")
            self._choose_among(
                sizes, lambda k: self._held_out(lists, fold_of, k), self.labels_[order]
            )
        neighbours = np.ascontiguousarray(lists.all(self.n_neighbors_).indices)
        table = Posteriors.of(self.labels_, np.arange(n), neighbours, self.smoothing)
        self.prior_, self.odds_ = table.prior, table.odds
        run.report("tables", n_labels, n_labels)

    def _held_out(
        self, lists: FoldNeighbours, fold_of: NDArray[np.int64], k: int
    ) -> Iterator[sp.csr_array]:
        """Posteriors of the training points per fold, from counts made without the fold."""
        least = THRESHOLDS[0] if self.threshold is None else float(self.threshold)
        for fold in range(int(fold_of.max()) + 1):
            inside, outside = (np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold))
            table = Posteriors.of(
                self.labels_, outside, lists.without(fold, outside, k).indices, self.smoothing
            )
            order = named_first(table.odds, np.bincount(
                self.labels_[outside].indices, minlength=self.labels_.shape[1]
            ))  # fmt: skip
            found = lists.without(fold, inside, k).indices
            posteriors = likely_labels(self.labels_, found, table.odds, order, float(logit(least)))
            posteriors.data = expit(posteriors.data)
            yield posteriors

    # ---- the contract ------------------------------------------------------------------------

    def _order(self) -> NDArray[np.int64]:
        return named_first(self.odds_, self.label_counts_)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        order = self._order()

        def best(x: sp.csr_array) -> sp.csr_array:
            labels = np.full((x.shape[0], k), -1, dtype=np.int64)
            values = np.full((x.shape[0], k), np.nan)
            best_posteriors(
                self.labels_.indptr.astype(np.int64), self.labels_.indices, self._found(x),
                self.odds_, order, labels, values,
            )  # fmt: skip
            return from_ranked(labels, values, len(self.classes_))

        return self._stacked(X, best)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        likely = self._likely(X, self.threshold_)
        likely.data = np.ones(likely.nnz)
        return likely

    def _likely(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        """The log-odds of the labels whose probability is at least a threshold."""
        order, bound = self._order(), float(logit(threshold))
        return self._stacked(
            X, lambda x: likely_labels(self.labels_, self._found(x), self.odds_, order, bound)
        )

    def _found(self, X: sp.csr_array) -> NDArray[np.int64]:
        return self._neighbours_of(X, self.n_neighbors_).indices

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _probabilities(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        """Posterior probabilities; labels without a training point have none."""
        likely = self._likely(X, threshold)
        likely.data = expit(likely.data)
        return likely

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """Who voted, and the effect of the votes: `prior` and `evidence` add up to the score."""
        why = super()._explain(x, column, n, names)
        votes = round(why.summary["share"] * why.summary["neighbours"])
        score, prior = float(self.odds_[column, votes]), float(self.prior_[column])
        more = {"votes": votes, "prior": prior, "evidence": score - prior}
        return replace(why, score=score, bias=score, summary={**why.summary, **more})

    def _check_state(self) -> None:
        super()._check_state()
        prior, odds = getattr(self, "prior_", None), getattr(self, "odds_", None)
        n_labels = len(self.classes_)
        if not is_array(prior, (n_labels,), np.float64) or not is_array(
            odds, (n_labels, self.n_neighbors_ + 1), np.float64
        ):
            raise ModelError("The tables of the model do not fit its labels; it was altered.")


def named_first(odds: NDArray[np.float64], counts: NDArray[Any]) -> NDArray[np.int64]:
    """The labels with a training point, first those most likely without a vote. O(L log L).

    Examples
    --------
    >>> named_first(np.array([[-3.0], [-1.0], [0.5]]), np.array([2, 1, 0])).tolist()
    [1, 0]
    """
    order = np.argsort(-odds[:, 0], kind="stable")
    return order[np.asarray(counts)[order] > 0]


def likely_labels(
    Y: sp.csr_array,
    neighbours: NDArray[np.int64],
    odds: NDArray[np.float64],
    order: NDArray[np.int64],
    bound: float,
) -> sp.csr_array:
    """The log-odds of the labels of some points that reach a bound, by their neighbours' votes.

    Examples
    --------
    >>> odds = np.array([[-1.0, 2.0], [0.5, 0.1]])
    >>> Y = sp.csr_array([[1, 0], [0, 1]])
    >>> likely_labels(Y, np.array([[0], [1]]), odds, np.array([1, 0]), 0.3).toarray().tolist()
    [[2.0, 0.5], [0.0, 0.0]]
    """
    ends = np.zeros(len(neighbours) + 1, dtype=np.int64)
    given = (Y.indptr.astype(np.int64), Y.indices, np.ascontiguousarray(neighbours), odds, order)
    posteriors_from(*given, bound, ends, np.empty(0, dtype=np.int64), np.empty(0))
    columns, values = np.empty(int(ends[-1]), dtype=np.int64), np.empty(int(ends[-1]))
    if len(columns):
        posteriors_from(*given, bound, ends, columns, values)
    return sp.csr_array((values, columns, ends), shape=(len(neighbours), Y.shape[1]))
