"""KNN: the labels that at least half of the nearest training points have."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp

from longtail.methods.neighbors._lazy import (
    Distance,
    FoldNeighbours,
    LazyClassifier,
    VoteShare,
    folds_of,
    sizes_to_try,
)
from longtail.parameters import Count, Jobs, Seed
from longtail.runtime.run import Run
from longtail.search import THRESHOLD, Neighbours, vote_in_parts


class KNN(LazyClassifier):
    """Nearest neighbours: labels that at least half of the nearest training points have.

    The training points are kept as they are. A label's score is its share among the label sets of
    the nearest of them, equation (1) of Shen et al. 2018; of equal shares, the one with nearer
    points comes first.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    points_ : csr_array or array of shape (n, D)
        The training points, dense if a quarter or more of their entries are not zero.
    labels_ : csr_array of shape (n, L)
        Their labels.
    n_neighbors_ : int
        How many vote.
    threshold_ : float
        The share of votes that a label needs.
    tried_neighbors_, tried_f1_ : arrays
        The numbers of neighbours tried and the example-F1 of each; only if something was chosen.
        See `choice_table`.

    Notes
    -----
    Training copies the data and, if something is chosen, searches the n training points. A point
    costs O(Σ over its features of the training points that have it, + n) to search, or O(n·D) if
    the training points are dense, and O(k · labels per point) to vote. The model is as large as the
    training data. Ties in distance go to the training point of smaller number.

    Examples
    --------
    >>> from longtail import KNN
    >>> X = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 2]]
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["snow"]]
    >>> tagger = KNN(n_neighbors=2).fit(X, Y)
    >>> tagger.predict([[1, 1, 0], [0, 0, 3]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "knn"
    paper: ClassVar[str] = "Shen et al. 2018, eq. (1)"

    def __init__(
        self,
        *,
        n_neighbors: Annotated[
            Count | None,
            "How many training points vote. None: chosen, whichever of 1, 5, 10 and 20 has the "
            "best example-F1 in 5-fold cross-validation, which takes one search of the training "
            "points.",
        ] = None,
        threshold: VoteShare = THRESHOLD,
        metric: Distance = "euclidean",
        random_state: Annotated[Seed, "Seed of the folds, where something is chosen."] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        n = X.shape[0]
        self._keep_points(X, Y)
        sizes = sizes_to_try(self.n_neighbors, n)
        if self._is_open(n, sizes):
            found = self._held_out(sizes[-1], run.part("neighbours"))
            self._choose_among(
                sizes, lambda k: vote_in_parts(self.labels_, found.indices[:, :k]), self.labels_
            )
        run.report("points", n, n)

    def _held_out(self, k: int, run: Run) -> Neighbours:
        """The k nearest training points of each training point, outside its own fold."""
        n = self.labels_.shape[0]
        fold_of = folds_of(n, self._seed)
        lists = FoldNeighbours(self._index(), self.points_, fold_of, k, n_jobs=self.n_jobs, run=run)
        found = Neighbours(np.empty((n, k), dtype=np.int64), np.empty((n, k)))
        for fold in range(int(fold_of.max()) + 1):
            rows = np.flatnonzero(fold_of == fold)
            part = lists.without(fold, rows, k)
            found.indices[rows], found.distances[rows] = part
        return found
