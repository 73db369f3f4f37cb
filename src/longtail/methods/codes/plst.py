"""PLST: label sets as their principal components, one ridge regression each.

Tai & Lin, Multilabel Classification with Principal Label Space Transformation, Neural Computation
24(9), 2012.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from longtail._sparse import from_ranked
from longtail.errors import ModelError, ParameterError
from longtail.methods._code_size import CodeSize
from longtail.methods._soundness import is_array
from longtail.methods.codes._regression import ProjectedLabels, RegressionCode
from longtail.methods.codes._sensing_kernels import best_of
from longtail.parameters import Count, Jobs, Positive, RelativeGap, Seed
from longtail.runtime.estimates import PRODUCT, Estimate
from longtail.runtime.libraries import one_thread
from longtail.runtime.run import Run

HALF = 0.5  # labels with at least this reconstructed value are predicted: rounding
DENSE = 3000  # labels or points up to which their covariances are decomposed as a dense matrix
DECOMPOSING = 1e-9  # seconds, times the third power of the side of the matrix
DENSE_LARGEST = 12_000  # the same if more than a tenth of all directions is wanted
LANCZOS = 2**28  # entries of the vectors of the sparse decomposition
NEGLIGIBLE = 1e-6  # singular values below this share of the norm of Y are rounding errors


class PLST(RegressionCode):
    """Principal label space transformation.

    The label vectors, less their mean, are projected on the directions in which they vary most;
    each of these projections is a ridge regression. To decode, the label vector is reconstructed
    from them, and the labels with at least one half are predicted.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    code_ : float32 array of shape (L, B)
        The principal directions as columns, in order; orthonormal, each with its largest
        entry positive.
    singular_values_ : array of shape (B,)
        How much the labels vary in each.
    means_ : array of shape (L,)
        Share of the training points that have each label.
    weights_ : float32 array of shape (D + 1, B)
        Weights of the regressions, the bias last.
    gap_, n_iter_ : arrays of shape (B,)
        Proven relative gap and conjugate-gradient steps of each regression; a direct solution
        counts as one step.

    Notes
    -----
    Finding the directions costs O(min(n, L)³) and a dense matrix of that side up to 3,000 (12,000
    if more than a tenth of all directions is wanted), otherwise O(B·nnz(Y) + B²(n + L)), several
    times, by the Lanczos method. Training costs B regressions, decoding O(B·L) per point. The score
    of `predict_topk` is the reconstructed value: about 1 for a label, 0 for none; labels with at
    least one half are predicted. It is linear in the features, so its explanation is exact. Labels
    without a training point are never predicted.

    Examples
    --------
    >>> from longtail import PLST
    >>> X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] * 5
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["fog"]] * 5
    >>> tagger = PLST(code_size=3, strength=0.1).fit(X, Y)
    >>> tagger.predict([[1, 1, 0, 0], [0, 0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "plst"
    paper: ClassVar[str] = "Tai & Lin 2012"

    def __init__(
        self,
        *,
        code_size: Annotated[
            CodeSize,
            "Directions: a number, or a share of the labels. No more are used than there are "
            "points, nor than the labels vary in. By default half the labels, but at least 64, or "
            "all.",
        ] = None,
        strength: Annotated[
            Positive, "Weight of the penalty ½‖w‖² against the squared errors."
        ] = 1.0,
        tol: RelativeGap = 1e-4,
        max_iter: Annotated[Count, "Limit on conjugate-gradient steps per regression."] = 1000,
        random_state: Annotated[
            Seed, "Where the iterative decomposition of large label matrices starts."
        ] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.code_size = code_size
        self.strength = strength
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        size = min(self._size(X.shape[1], Y.shape[1]), Y.shape[0])
        side = min(Y.shape)
        if is_dense(side, size):
            memory, seconds = 8.0 * side * (2 * side + size), DECOMPOSING * float(side) ** 3
        else:
            memory = 16.0 * size * sum(Y.shape)
            seconds = PRODUCT * 20.0 * size**2 * sum(Y.shape)
        need = super()._estimate(X, Y)  # in turn, so the larger one counts
        return need.plus(max(memory - need.peak_bytes, 0.0), seconds)

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        size = min(self._size(X.shape[1], Y.shape[1]), Y.shape[0])
        labels = Y.astype(np.float64)
        directions, self.singular_values_ = principal_directions(
            labels, size, random_state=self._seed
        )
        self.means_ = means = _means(labels)
        self.code_ = directions.astype(np.float32)
        code = self.code_.astype(np.float64)
        self._keep(self._train(X, ProjectedLabels(labels, code, means @ code), run))

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        code, seen = self._turned(), self._seen()

        def decode(values: NDArray[np.float64]) -> sp.csr_array:
            rows, labels = np.nonzero(((values @ code + self.means_) >= HALF) & seen)
            ends = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(values)))))
            return sp.csr_array(
                (np.ones(len(labels)), labels, ends), shape=(len(values), len(seen))
            )

        return self._decoded(X, decode)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        code, seen = self._turned(), self._seen()

        def decode(values: NDArray[np.float64]) -> sp.csr_array:
            labels, scores = best_of(values @ code + self.means_, seen, k)
            return from_ranked(labels, scores, len(seen))

        return self._decoded(X, decode)

    def _turned(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.code_.T, dtype=np.float64)

    def _reading(self, column: int) -> tuple[NDArray[np.float64], float]:
        return self.code_[column].astype(np.float64), float(self.means_[column])

    def _usual_scale(self) -> tuple[float, float]:
        return 4.0, -2.0  # the slope of log-odds at one half

    def _check_state(self) -> None:
        super()._check_state()
        means = getattr(self, "means_", None)
        if self.code_.dtype != np.float32 or not is_array(means, self.classes_.shape, np.float64):
            raise ModelError("The directions of the model do not fit its labels; it was altered.")


def principal_directions(
    Y: sp.csr_array, n_directions: int, *, random_state: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Directions in which label vectors vary most: a truncated SVD of Y less its mean.

    Returns orthonormal columns (L, B) of falling singular value, each with its largest entry
    positive, and the values. B is `n_directions`, or less if Y varies in fewer, but at least one.
    Neither Y nor the centred matrix is made dense. See `PLST` for the cost.

    Examples
    --------
    >>> Y = sp.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]] * 8))
    >>> directions, values = principal_directions(Y, 2)
    >>> directions.round(3).tolist(), values.round(3).tolist()
    ([[0.707], [0.707], [0.0]], [2.828])
    """
    n, n_labels = Y.shape
    side = min(n, n_labels)
    if not 1 <= n_directions <= side:
        raise ParameterError(f"There are 1 to {side} directions, not {n_directions}.")
    with one_thread():
        if is_dense(side, n_directions):
            directions, values = _of_dense(Y, n_directions)
        else:
            directions, values = _by_lanczos(Y, n_directions, random_state)
    kept = max(1, int((values > NEGLIGIBLE * np.sqrt(Y.nnz)).sum()))
    directions, values = directions[:, :kept], values[:kept]
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(kept)]
    return directions * np.where(largest < 0, -1.0, 1.0), values


def is_dense(side: int, n_directions: int) -> bool:
    """Whether to make and decompose the smaller matrix of inner products."""
    return side <= DENSE or (side <= DENSE_LARGEST and 10 * n_directions > side)


def _of_dense(Y: sp.csr_array, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By the eigenvectors of the smaller of the two matrices of inner products."""
    n, n_labels = Y.shape
    means = _means(Y)
    if n_labels <= n:
        square = (Y.T @ Y).toarray() - n * np.outer(means, means)
    else:
        products = np.asarray(Y @ means).ravel()
        square = (Y @ Y.T).toarray() - products[:, None] - products + means @ means
    side = len(square)
    values, vectors = scipy.linalg.eigh(
        square, subset_by_index=(side - size, side - 1), overwrite_a=True, check_finite=False
    )
    values, vectors = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]
    if n_labels <= n:
        return vectors, values
    directions = np.asarray(Y.T @ vectors) - np.outer(means, vectors.sum(axis=0))
    lengths = np.linalg.norm(directions, axis=0)
    if lengths[0] == 0:  # the labels do not vary; any direction is right
        directions[0, 0] = lengths[0] = 1.0
    return directions / np.where(lengths > 0, lengths, 1.0), values


def _by_lanczos(
    Y: sp.csr_array, size: int, random_state: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """By the Lanczos method, which only multiplies with the centred matrix."""
    n, n_labels = Y.shape
    if 2 * size * max(n, n_labels) > LANCZOS:
        raise ParameterError(
            f"{size} directions of {n_labels} labels and {n} points would take too much memory; "
            f"take a code_size of at most {LANCZOS // (2 * max(n, n_labels))}."
        )
    means = _means(Y)
    turned = sp.csr_array(Y.T)
    centred = LinearOperator(
        Y.shape,
        matvec=lambda v: Y @ v.ravel() - means @ v.ravel(),
        rmatvec=lambda u: turned @ u.ravel() - means * u.sum(),
        dtype=np.float64,
    )
    start = np.random.RandomState(random_state).standard_normal(min(n, n_labels))
    _, values, directions = svds(centred, k=size, v0=start, return_singular_vectors="vh")
    order = np.argsort(-values, kind="stable")
    return np.ascontiguousarray(directions[order].T), values[order]


def _means(Y: sp.csr_array) -> NDArray[np.float64]:
    return np.asarray(Y.mean(axis=0), dtype=np.float64).ravel()
