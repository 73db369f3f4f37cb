"""Label embeddings and ridge regression, as plain functions on one problem.

An embedding takes the label vectors to the coordinates of a truncated SVD of Y; ridge regression
leads from X to these; a decoder leads back to labels. A predictor here takes a problem (X, Y,
X_test, ridge) and a list of settings, and yields the top five scores of the test points for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.decomposition import TruncatedSVD
from sklearn.neighbors import NearestNeighbors

NEIGHBOURS = 10
CHUNK = 1_024  # points whose scores for all labels are held at once
LABELS_AT_ONCE = 256  # labels whose targets for all points are held at once


class RidgeRegression:
    """Ridge regression of any targets on one X and a constant, solved in the smaller of its shapes.

    Kept from call to call: the Gram matrix, and its factors at each strength.
    """

    def __init__(self, X: sp.csr_array) -> None:
        self.X = with_constant(X)
        n, d = self.X.shape
        self.gram = (self.X.T @ self.X if d <= n else self.X @ self.X.T).toarray()
        self.factors: dict[float, Any] = {}

    def weights(self, targets: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
        if strength not in self.factors:
            shifted = self.gram.copy()
            shifted[np.diag_indices_from(shifted)] += strength
            self.factors[strength] = cho_factor(shifted, overwrite_a=True)
        n, d = self.X.shape
        if d <= n:
            return cho_solve(self.factors[strength], self.X.T @ targets)
        return self.X.T @ cho_solve(self.factors[strength], targets)


def with_constant(X: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))], dtype=np.float64))


def ridge_top(problem: Any, chosen: list[float]) -> Iterable[sp.csr_array]:
    """One-vs-rest by ridge regression, some labels at a time."""
    X_test, Y = with_constant(problem.X_test), problem.Y.tocsc()
    for strength in chosen:
        best: sp.csr_array | None = None
        for at in range(0, Y.shape[1], LABELS_AT_ONCE):
            targets = Y[:, at : at + LABELS_AT_ONCE].toarray().astype(np.float64)
            part = best_of_dense(X_test @ problem.ridge.weights(targets, strength))
            shifted = sp.csr_array(
                (part.data, part.indices + at, part.indptr), shape=problem.Y_test.shape
            )
            best = shifted if best is None else best_stored(best, shifted)
        yield best


def embedded_top(
    problem: Any, chosen: list[tuple[float, int]], decode: Callable[..., sp.csr_array]
) -> Iterable[sp.csr_array]:
    """Settings are strengths of the regression, each with a dimension."""
    # Coordinates of a smaller dimension are the first of those of a larger one.
    svd = TruncatedSVD(max(d for _, d in chosen), random_state=0)
    coordinates = svd.fit_transform(sp.csr_matrix(problem.Y, dtype=np.float64))
    X_test = with_constant(problem.X_test)
    last, here, there = None, None, None
    for strength, d in chosen:
        if strength != last:
            weights = problem.ridge.weights(coordinates, strength)
            last, here, there = strength, problem.ridge.X @ weights, X_test @ weights
        yield decode(problem, here[:, :d], there[:, :d], svd.components_[:d])


def by_transpose(problem: Any, here: Any, there: Any, components: Any) -> sp.csr_array:
    """Z V, a chunk of rows at a time."""
    chunks = (there[at : at + CHUNK] @ components for at in range(0, len(there), CHUNK))
    return sp.csr_array(sp.vstack([best_of_dense(chunk) for chunk in chunks]))


def by_neighbours(problem: Any, here: Any, there: Any, components: Any) -> sp.csr_array:
    """The labels of the nearest training points in the embedding."""
    return labels_nearby(problem.Y, unit_rows(here), unit_rows(there))


def plain_neighbours_top(problem: Any, chosen: list[None]) -> Iterable[sp.csr_array]:
    """The labels of the nearest training points by their features: no embedding, no learning."""
    X, X_test = problem.X, problem.X_test
    if X.nnz > np.prod(X.shape) / 2:
        X, X_test = X.toarray(), X_test.toarray()
    for _ in chosen:
        yield labels_nearby(problem.Y, X, X_test)


def labels_nearby(Y: sp.csr_array, here: Any, there: Any) -> sp.csr_array:
    """How often each label occurs among the nearest rows of `here`, weighted by the cosine.

    All rows have unit length or are zero.
    """
    search = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(here)
    distance, nearest = search.kneighbors(there)
    closeness = sp.csr_array(
        (
            np.maximum(1 - distance.ravel() ** 2 / 2, 0) + 1e-9,
            nearest.ravel(),
            np.arange(0, nearest.size + 1, NEIGHBOURS),
        ),
        shape=(there.shape[0], here.shape[0]),
    )
    return sp.csr_array(closeness @ Y)


def unit_rows(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12)


def best_of_dense(scores: NDArray[np.float64], k: int = 5) -> sp.csr_array:
    n, n_labels = scores.shape
    k = min(k, n_labels)
    best = np.sort(np.argpartition(-scores, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(scores, best, axis=1)
    return sp.csr_array(
        (values.ravel(), best.ravel(), np.arange(0, n * k + 1, k)), shape=scores.shape
    )


def best_stored(a: sp.csr_array, b: sp.csr_array, k: int = 5) -> sp.csr_array:
    """The k best of the stored entries of two matrices with the same number in every row."""
    n = a.shape[0]
    labels = np.hstack([a.indices.reshape(n, -1), b.indices.reshape(n, -1)])
    values = np.hstack([a.data.reshape(n, -1), b.data.reshape(n, -1)])
    order = np.sort(np.argsort(-values, axis=1, kind="stable")[:, :k], axis=1)
    width = order.shape[1]
    return sp.csr_array(
        (
            np.take_along_axis(values, order, axis=1).ravel(),
            np.take_along_axis(labels, order, axis=1).ravel(),
            np.arange(0, n * width + 1, width),
        ),
        shape=a.shape,
    )
