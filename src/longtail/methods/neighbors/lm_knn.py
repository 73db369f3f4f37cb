"""LM-kNN: nearest neighbours in a space of predicted labels with a learned metric.

Liu & Tsang, Large Margin Metric Learning for Multi-Label Prediction, AAAI 2015.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from longtail.errors import ModelError
from longtail.methods._soundness import is_array, is_label_matrix
from longtail.methods._voting import VotingClassifier
from longtail.methods.neighbors._lazy import VoteShare, folds_of, sizes_to_try
from longtail.methods.neighbors.metric import LearnedMetric, MarginProblem, learn_metric, losses_of
from longtail.parameters import Count, Jobs, MemoryLimit, Positive, Seed, Share, at_least
from longtail.runtime.estimates import PRODUCT, Estimate, matrix_bytes, refuse_beyond
from longtail.runtime.kept import kept_for
from longtail.runtime.libraries import one_thread
from longtail.runtime.run import Run
from longtail.search import FOLDS, THRESHOLD, Neighbours, vote_in_parts
from longtail.search.neighbours import (
    NeighbourIndex,
    find_others,
    is_better_dense,
    search_estimate,
)
from longtail.solvers import fit_ridge, ridge_values
from longtail.solvers.costs import ridge_estimate

DIMENSIONS = 256  # coordinates of label vectors by default
STEPS = 20  # of the metric per training, usually
DENSE = 1000  # labels or points up to which label vectors are decomposed by a dense matrix
FACTORED = 6000  # features up to which the regressions are solved by a factor, not by steps


class LMKNN(VotingClassifier):
    """Large-margin nearest neighbours: predicted labels under a learned metric.

    Ridge regressions W of the label vectors on the features take a point x to an output u = W'x. A
    metric Q of the space of labels is learned such that the output of a training point is nearer to
    its own label vector than to those of its neighbours, by as many labels as they differ in. A
    new point gets the labels that at least half of the nearest training points have, nearest by
    their outputs under Q.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : float32 array of shape (D + 1, rank)
        From features, and a one, to the space in which distances are Euclidean.
    embedded_ : float32 array of shape (n, rank)
        Where the training points, or their label vectors, are in it.
    labels_ : csr_array of shape (n, L)
        Labels of the training points.
    metric_ : array of shape (r, r)
        Q, in the coordinates of `directions_`.
    directions_ : array of shape (L, r)
        The coordinates of the label space; orthonormal columns.
    objective_ : array
        The objective at the start and after every step; it never rises.
    n_iter_ : int
        Steps.
    n_neighbors_, threshold_, tried_neighbors_, tried_f1_
        See `KNN`.

    Notes
    -----
    With d_Q(u, y) = (u - y)'Q(u - y), N(i) the nearest other training points of x_i by features,
    and Δ(y, y') the number of labels that y and y' do not share, Q minimises

        ½ tr Q + C/n · Σ_i Σ_{j ∈ N(i)} max(0, Δ(y_i, y_j) + d_Q(u_i, y_i) - d_Q(u_i, y_j))²

    over the positive semidefinite matrices, by a monotone accelerated proximal gradient method that
    starts from the identity. Q = VV' with V of as few columns as it has positive eigenvalues; ½ tr
    Q is ½‖V‖², the penalty of maximum margin output coding, whose constraints against all label
    vectors are replaced by those against neighbours.

    This follows the paper's abstract and what later papers say about it; its full text was not
    available. They fix the regression, the constraints against the label vectors of neighbours, the
    squared hinge, the accelerated proximal gradient, C = 10 and eta = 0.4. They leave open: how the
    sum is scaled (here C/n), how many neighbours are constraints, whether there is one slack per
    point or per pair (here per pair, which keeps the sum smooth), what replaces a neighbour with
    exactly the same labels (here a point drawn at random), the penalty of the regressions, where
    the method starts and stops, what eta is (here the factor of the line search), and whether the
    neighbours of a new point are sought among outputs or label vectors (`among`; the former is how
    Shen et al. 2018 describe it). Restricting Q to the span of some principal directions is ours:
    with as many as there are labels it is the whole problem.

    Training costs a search of the n training points, r regressions, and several times O(n·r² +
    n·n_constraints·r + r³) per step; memory about 48·n·r + 4·D·r + 64·r² bytes. Prediction costs
    O(nnz(x)·rank + n·rank) per point. The model has (n + D)·rank numbers of float32.

    Examples
    --------
    >>> from longtail import LMKNN
    >>> X = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 2]] * 3
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["snow"]] * 3
    >>> tagger = LMKNN(n_neighbors=2).fit(X, Y)
    >>> tagger.predict([[1, 1, 0], [0, 0, 3]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "lm-knn"
    paper: ClassVar[str] = "Liu & Tsang 2015"
    kept_data: ClassVar[tuple[str, ...]] = ("embedded_", "labels_")

    weights_: NDArray[np.float32]
    embedded_: NDArray[np.float32]
    labels_: sp.csr_array
    metric_: NDArray[np.float64]
    directions_: NDArray[np.float64]
    objective_: NDArray[np.float64]
    n_iter_: int

    def __init__(
        self,
        *,
        n_neighbors: Annotated[
            Count | None,
            "How many training points vote. None: chosen, whichever of 1, 5, 10 and 20 has the "
            "best example-F1 on held-out folds, without which regressions and metric are learned "
            "anew.",
        ] = None,
        threshold: VoteShare = THRESHOLD,
        C: Annotated[Positive, "Weight of the constraints."] = 10.0,
        eta: Annotated[
            Share, "Share by which step sizes of the gradient method shrink, between 0 and 1."
        ] = 0.4,
        n_constraints: Annotated[
            Count,
            "Neighbours, by features, whose label vectors the output of a point is held apart "
            "from.",
        ] = 10,
        n_dimensions: Annotated[
            Count | None,
            "Coordinates of the space of labels: the first principal directions of the label "
            "vectors. As many as there are labels make it the whole space. By default 256, or all "
            "if there are fewer.",
        ] = None,
        strength: Annotated[Positive, "Weight of the penalty ½‖w‖² of the regressions."] = 1.0,
        among: Annotated[
            Literal["points", "labels"],
            "Whether the neighbours of an output are sought among the outputs of the training "
            "points, or among their label vectors.",
        ] = "points",
        validation_folds: Annotated[
            int,
            at_least(1, FOLDS),
            "How many of the five folds are held out in turn for choosing; each is a training of "
            "its own.",
        ] = 1,
        tol: Annotated[
            Positive,
            "Stop once the objective falls by no more than this share of itself in three steps "
            "running.",
        ] = 1e-3,
        max_iter: Annotated[Count, "Limit on steps."] = 100,
        random_state: Annotated[
            Seed, "Seed of the folds, of the Lanczos method, and of drawn constraints."
        ] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.C = C
        self.eta = eta
        self.n_constraints = n_constraints
        self.n_dimensions = n_dimensions
        self.strength = strength
        self.among = among
        self.validation_folds = validation_folds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    # ---- training ----------------------------------------------------------------------------

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        n = X.shape[0]
        less = "give a smaller n_dimensions, or fewer points or features"
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, less)
        labels = Y.astype(np.int8)
        rows = X.toarray() if is_better_dense(X) else X
        others = find_others(
            NeighbourIndex(rows), rows, min(self.n_constraints, max(n - 1, 1)),
            n_jobs=self.n_jobs, run=run.part("neighbours"),
        )  # fmt: skip
        sizes = sizes_to_try(self.n_neighbors, n)
        if self._is_open(n, sizes):
            self._choose(X, labels, others.indices, sizes, run)
        self.labels_ = labels
        self.directions_, metric, self.weights_, self.embedded_ = self._learn(
            X, labels, others.indices, run, "metric"
        )
        self.metric_, self.objective_ = metric.Q, metric.objective
        self.n_iter_ = len(metric.objective) - 1

    def _learn(
        self,
        X: sp.csr_array,
        Y: sp.csr_array,
        neighbours: NDArray[np.int64],
        run: Run,
        name: str,
    ) -> tuple[NDArray[np.float64], LearnedMetric, NDArray[np.float32], NDArray[np.float32]]:
        """Directions, metric, weights into its space and the training points in it."""
        with one_thread():
            directions = label_directions(Y, self._side(Y.shape[1]), self._seed)
            targets = np.asarray(Y @ directions)
        weights = fit_ridge(
            X, targets, strength=self.strength, n_jobs=self.n_jobs, run=run.part(name),
            solver="primal" if X.shape[1] < min(FACTORED, X.shape[0]) else None,
        ).weights  # fmt: skip
        outputs = ridge_values(X, weights)
        neighbours, losses = useful_constraints(Y, neighbours, self._seed)
        with one_thread():
            metric = learn_metric(
                MarginProblem(outputs, targets, neighbours, losses, float(self.C)),
                eta=self.eta, tol=self.tol, max_iter=self.max_iter,
                report=lambda done: run.report(name, done, self.max_iter),
            )  # fmt: skip
            into = (weights.astype(np.float64) @ metric.factor).astype(np.float32)
            voters = targets if self.among == "labels" else outputs
            embedded = (voters @ metric.factor).astype(np.float32)
        return directions, metric, into, embedded

    def _choose(
        self,
        X: sp.csr_array,
        Y: sp.csr_array,
        neighbours: NDArray[np.int64],
        sizes: list[int],
        run: Run,
    ) -> None:
        """Choose on held-out folds, whose points are not used as constraints."""
        fold_of = folds_of(X.shape[0], self._seed)
        found, truth = [], []
        for fold in range(min(self.validation_folds, int(fold_of.max()) + 1)):
            inside, outside = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
            place_of = np.full(X.shape[0], -1, dtype=np.int64)
            place_of[outside] = np.arange(len(outside))
            listed = neighbours[outside]
            among = np.where(listed >= 0, place_of[listed], -1)
            _, _, weights, embedded = self._learn(X[outside], Y[outside], among, run, f"fold{fold}")
            nearest = _search(
                NeighbourIndex(embedded), ridge_values(X[inside], weights), sizes[-1]
            ).indices
            found.append(outside[nearest])
            truth.append(Y[inside])
        width = min(part.shape[1] for part in found)
        lists = np.concatenate([part[:, :width] for part in found])
        held_out = sp.csr_array(sp.vstack(truth, format="csr"))
        self._choose_among(sizes, lambda k: vote_in_parts(Y, lists[:, :k]), held_out)

    def _side(self, n_labels: int) -> int:
        return min(n_labels, DIMENSIONS if self.n_dimensions is None else self.n_dimensions)

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        n, side = X.shape[0], self._side(Y.shape[1])
        search = search_estimate(X, n_jobs=self.n_jobs)
        regressions = ridge_estimate(X, side, n_jobs=self.n_jobs)
        fits = 1 + self.validation_folds
        step = PRODUCT * (8.0 * n * side**2 + 4.0 * n * self.n_constraints * side + 20.0 * side**3)
        memory = (
            (16 * X.shape[1] ** 2 if X.shape[1] < FACTORED else 0)
            + (48 * n + 4 * X.shape[1] + 64 * side + 16 * Y.shape[1]) * side
            + matrix_bytes(X, Y)
        )
        return Estimate(
            int(search.peak_bytes + memory),
            int(4.0 * (n + X.shape[1]) * side),
            search.seconds + fits * (regressions.seconds + STEPS * step),
            f"a metric of {side} dimensions for {n:,} points, learned {fits} times",
        )

    # ---- prediction --------------------------------------------------------------------------

    def _voters(self) -> sp.csr_array:
        return self.labels_

    def _neighbours_of(self, X: sp.csr_array, k: int) -> Neighbours:
        points = self.embedded_
        index = kept_for(self, "index", (points,), lambda: NeighbourIndex(points))
        return _search(index, ridge_values(X, self.weights_), k)

    def _check_state(self) -> None:
        super()._check_state()
        weights, embedded = getattr(self, "weights_", None), getattr(self, "embedded_", None)
        if not is_array(embedded, (self.n_points_, None), np.float32) or not is_array(
            weights, (self.n_features_in_ + 1, embedded.shape[1]), np.float32
        ):
            raise ModelError("The metric of the model does not fit its features; it was altered.")
        shape = self.n_points_, len(self.classes_)
        if not is_label_matrix(getattr(self, "labels_", None), shape):
            raise ModelError("The points of the model do not fit its labels; it was altered.")


def useful_constraints(
    Y: sp.csr_array, neighbours: NDArray[np.int64], random_state: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Neighbours to hold apart and their losses; one with the same labels is no constraint.

    It is replaced by a point drawn at random, if that has other labels.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0], [1, 0], [0, 1]])
    >>> useful_constraints(Y, np.array([[1], [2], [1]]), 0)[1].ravel().tolist()[1:]
    [2.0, 2.0]
    """
    losses = losses_of(Y, neighbours)
    drawn = np.random.RandomState(random_state).randint(0, Y.shape[0], size=neighbours.shape)
    chosen = np.where(losses > 0, neighbours, drawn)
    losses = losses_of(Y, chosen)
    return np.where(losses > 0, chosen, -1), losses


def _search(index: NeighbourIndex, outputs: NDArray[np.float64], k: int) -> Neighbours:
    return index.search(outputs.astype(np.float32), k)


def label_directions(Y: sp.csr_array, side: int, random_state: int) -> NDArray[np.float64]:
    """Orthonormal directions (L, r) in which label vectors are longest: a truncated SVD of Y.

    The axes of all labels if there are to be as many directions as labels. Fewer if Y has a smaller
    rank, but at least one. O(min(n, L)³) up to 1,000, otherwise several times O(r·nnz(Y) + r²(n +
    L)), by the Lanczos method.

    Examples
    --------
    >>> label_directions(sp.csr_array([[1, 1, 0], [1, 1, 0]]), 2, 0).round(3).tolist()
    [[0.707], [0.707], [0.0]]
    """
    n, n_labels = Y.shape
    if side >= n_labels:
        return np.eye(n_labels)
    matrix = Y.astype(np.float64)
    side = min(side, n)
    if min(n, n_labels) <= DENSE or side >= min(n, n_labels) - 1:
        square = (matrix.T @ matrix if n_labels <= n else matrix @ matrix.T).toarray()
        last = len(square) - 1
        squares, vectors = scipy.linalg.eigh(square, subset_by_index=(last - side + 1, last))
        values = np.sqrt(np.maximum(squares, 0.0))
        directions = vectors if n_labels <= n else np.asarray(matrix.T @ vectors)
    else:
        start = np.random.RandomState(random_state).standard_normal(min(n, n_labels))
        _, values, turned = svds(matrix, k=side, v0=start, return_singular_vectors="vh")
        directions = turned.T
    order = np.argsort(-values, kind="stable")
    kept = order[values[order] > 1e-6 * max(values.max(), 1.0)]
    if not len(kept):  # no point has a label; any direction is right
        return np.eye(n_labels)[:, :1]
    directions = directions[:, kept]
    directions = directions / np.linalg.norm(directions, axis=0)
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(len(kept))]
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))
