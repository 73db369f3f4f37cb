"""What the lazy methods share: they keep the training points and search them.

Also the neighbours for the choice of parameters: each training point's list of nearest others is
found once, long enough to have the wanted neighbours after any one fold is left out.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ModelError
from longtail.methods._soundness import is_array, is_csr, is_label_matrix
from longtail.methods._voting import VotingClassifier
from longtail.parameters import UpToOne
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.kept import kept_for
from longtail.runtime.run import Run
from longtail.search import FOLDS, NUMBERS_OF_NEIGHBORS, Neighbours, random_folds
from longtail.search.neighbours import (
    Metric,
    NeighbourIndex,
    Rows,
    find_others,
    is_better_dense,
    search_estimate,
)

VoteShare = Annotated[
    UpToOne | None,
    "Share of the votes that a label needs to be predicted. None: chosen along with the number of "
    "neighbours among 0.05, 0.10, ... 1.",
]
Distance = Annotated[
    Metric, "Distance of points. For rows of equal length both give the same neighbours."
]


class LazyClassifier(VotingClassifier):
    """Base of the methods whose voters are the training points themselves.

    Subclasses store `n_neighbors`, `threshold`, `metric`, `random_state` and `n_jobs`, and call
    `_keep_points` in `_fit`.
    """

    kept_data: ClassVar[tuple[str, ...]] = ("points_", "labels_")

    metric: Metric

    points_: Rows
    labels_: sp.csr_array

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        n, deepest = X.shape[0], 2 * max(sizes_to_try(self.n_neighbors, X.shape[0])) + 24
        need = search_estimate(X, n_jobs=self.n_jobs)
        lists = 16.0 * n * min(deepest, n)
        return need.plus(2 * matrix_bytes(Y) + 3 * lists, 2e-7 * n * deepest)

    def _keep_points(self, X: sp.csr_array, Y: sp.csr_array) -> None:
        """Keep the training data, as a dense array if it is dense. O(nnz)."""
        self.points_ = X.toarray() if is_better_dense(X) else X.copy()
        self.labels_ = Y.astype(np.int8)

    def _voters(self) -> sp.csr_array:
        return self.labels_

    def _neighbours_of(self, X: sp.csr_array, k: int) -> Neighbours:
        return self._index().search(X, k)

    def _index(self) -> NeighbourIndex:
        points, metric = self.points_, self.metric
        return kept_for(
            self, "index", (points, metric), lambda: NeighbourIndex(points, metric=metric)
        )

    def _check_state(self) -> None:
        super()._check_state()
        points, labels = getattr(self, "points_", None), getattr(self, "labels_", None)
        needed = ((self.n_points_, self.n_features_in_), np.float32, np.float64)
        if not (is_array(points, *needed) or is_csr(points, *needed)):
            raise ModelError("The points of the model do not fit its features; it was altered.")
        if not is_label_matrix(labels, (self.n_points_, len(self.classes_))):
            raise ModelError("The points of the model do not fit its labels; it was altered.")


class FoldNeighbours:
    """Each training point's nearest others, with any one fold left out, by a single search.

    `index` is of these points, `fold_of` has the fold of each, and at most k neighbours will be
    wanted. The lists have 2k + 24 entries. Without a random fifth, nearly always at
    least k are left; for points with fewer, the rest of the data is searched again.
    """

    def __init__(
        self,
        index: NeighbourIndex,
        points: Rows,
        fold_of: NDArray[np.int64],
        k: int,
        *,
        n_jobs: int | None,
        run: Run,
    ) -> None:
        self._points, self._metric = points, index.metric
        self._fold_of = fold_of
        depth = max(1, min(len(fold_of) - 1, 2 * k + 24))
        self._found = find_others(index, points, depth, n_jobs=n_jobs, run=run)
        self._is_whole = depth >= len(fold_of) - 1

    def all(self, k: int) -> Neighbours:
        """The k nearest others of every point."""
        return Neighbours(self._found.indices[:, :k], self._found.distances[:, :k])

    def without(self, fold: int, rows: NDArray[np.int64], k: int) -> Neighbours:
        """The k nearest others of some points among those outside a fold."""
        listed, distances = self._found.indices[rows], self._found.distances[rows]
        allowed = (listed >= 0) & (self._fold_of[listed] != fold)
        place = np.cumsum(allowed, axis=1) - 1
        row, column = np.nonzero(allowed & (place < k))
        indices = np.full((len(rows), k), -1, dtype=np.int64)
        kept = np.full((len(rows), k), np.inf)
        indices[row, place[row, column]] = listed[row, column]
        kept[row, place[row, column]] = distances[row, column]
        short = np.flatnonzero(indices[:, -1] < 0)
        if len(short) and not self._is_whole:
            others = np.flatnonzero(self._fold_of != fold)
            place_of = np.full(len(self._fold_of), -1, dtype=np.int64)
            place_of[others] = np.arange(len(others))
            again = NeighbourIndex(self._points[others], metric=self._metric).search(
                self._points[rows[short]], k, skip=place_of[rows[short]]
            )
            width = again.indices.shape[1]
            indices[short, :width] = np.where(again.indices >= 0, others[again.indices], -1)
            kept[short, :width] = again.distances
        return Neighbours(indices, kept)


def sizes_to_try(n_neighbors: int | None, n: int) -> list[int]:
    """The numbers of neighbours to try: the one given, or those that n points in folds can have.

    Examples
    --------
    >>> sizes_to_try(None, 10), sizes_to_try(7, 10)
    ([1, 5], [7])
    """
    if n_neighbors is not None:
        return [int(n_neighbors)]
    rest = n - -(-n // FOLDS)
    return [k for k in NUMBERS_OF_NEIGHBORS if k <= max(rest, 1)]


def folds_of(n: int, random_state: int) -> NDArray[np.int64]:
    """The fold of each training point: five, or as many as there are points."""
    return random_folds(n, min(FOLDS, n), random_state)
