"""Compressed sensing: label sets as random projections, and the sparse set that explains them.

Hsu, Kakade, Langford & Zhang, Multi-Label Prediction via Compressed Sensing, NIPS 2009, with the
size of the label set chosen as by Cissé, Usunier, Artières & Gallinari, Robust Bloom Filters for
Large Multilabel Classification Tasks, NIPS 2013, section 4.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import from_ranked
from longtail.errors import ModelError, ParameterError
from longtail.methods._code_size import CodeSize
from longtail.methods.codes._losses_table import check_losses, losses_table
from longtail.methods.codes._regression import BLOCK_ROWS, ProjectedLabels, RegressionCode
from longtail.methods.codes._sensing_kernels import (
    best_of,
    lasso,
    matching_pursuit,
)
from longtail.parameters import Count, Jobs, Positive, RelativeGap, Seed, Share, is_count
from longtail.runtime.estimates import PRODUCT, SPARSE_PRODUCT, Estimate, matrix_bytes
from longtail.runtime.run import Run

SparseDecoding = Literal["omp", "lasso", "correlation"]
TRIED = 30  # largest size of label sets tried, as in the paper
PRODUCTS_BYTES = 2**29  # bound on the inner products of all labels

Sets = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Labels (rows, sizes, places), -1 for none, and their values."""


class CompressedSensing(RegressionCode):
    """Compressed sensing: one ridge regression per random projection, decoded to few labels.

    Every label is a column of B random signs, divided by √B; a label set is the sum of its columns.
    Each entry of the sum is a ridge regression. To decode, a search finds `set_size` labels whose
    columns add up to the predicted sum.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    code_ : int8 array of shape (L, B)
        The signs of each label; no two labels have the same or opposite ones, if B is large enough.
    set_size_ : int
        Size of the label sets.
    choice_ : dict
        If `set_size` was chosen: the Hamming loss on the held-out rows of every size tried; see
        `choice_table`.
    weights_ : float32 array of shape (D + 1, B)
        Weights of the regressions, the bias last.
    gap_, n_iter_ : arrays of shape (B,)
        Proven relative gap and conjugate-gradient steps of each regression; a direct solution
        counts as one step.

    Notes
    -----
    Projecting costs O(B·nnz(Y)), training B regressions, twice if `set_size` is to be chosen.
    Decoding costs O(B·L) per point for the correlations, which is all for "correlation". For sets
    of k labels, "omp" adds O(k²L + k³), and "lasso" O(L) per change of a coefficient. These two
    need the inner products of all labels: O(B·L²) per call and a matrix of L² numbers. If that
    exceeds 512 MB, or there are few points, only the columns that are needed are computed, in
    O(B·L) each.

    The score of `predict_topk` is the correlation of the label for "correlation". For the others it
    is 1 + coefficient for labels of the set, and for the rest c / (1 + abs(c)) of their correlation
    c, which is below 1. `explain` always explains the correlation, which is linear in the features.
    Labels without a training point are never predicted.

    Examples
    --------
    >>> from longtail import CompressedSensing
    >>> X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] * 5
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["fog"]] * 5
    >>> tagger = CompressedSensing(code_size=4, set_size=1, strength=0.1).fit(X, Y)
    >>> tagger.predict([[1, 0, 0, 0], [0, 0, 1, 0]])
    [('sea',), ('snow',)]
    """

    method: ClassVar[str] = "cs"
    paper: ClassVar[str] = "Hsu et al. 2009"

    def __init__(
        self,
        *,
        code_size: Annotated[
            CodeSize,
            "Projections: a number, or a share of the labels; at most L. By default half the "
            "labels, but at least 64, or all.",
        ] = None,
        decoding: Annotated[
            SparseDecoding,
            'How the set is found. "omp": orthogonal matching pursuit for `set_size` steps. '
            '"lasso": least squares with a penalty on the sum of the coefficients, none of them '
            "negative; the penalty falls by tenths until `set_size` labels have one above zero, "
            'and the largest are taken. "correlation": the labels whose columns have the largest '
            "inner product with the sum.",
        ] = "omp",
        set_size: Annotated[
            Count | None,
            "Size of the label sets. None: chosen, the size from 1 to 30 that has the lowest "
            "Hamming loss on held-out rows. Of these labels only those with a positive "
            "coefficient are predicted.",
        ] = None,
        validation: Annotated[
            Share,
            "Share of the rows held out to choose `set_size`; the model is then trained on all "
            "rows.",
        ] = 1 / 3,
        strength: Annotated[
            Positive, "Weight of the penalty ½‖w‖² against the squared errors."
        ] = 1.0,
        tol: RelativeGap = 1e-4,
        max_iter: Annotated[Count, "Limit on conjugate-gradient steps per regression."] = 1000,
        random_state: Annotated[Seed, "Seed of the projections and the held-out rows."] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.code_size = code_size
        self.decoding = decoding
        self.set_size = set_size
        self.validation = validation
        self.strength = strength
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        need, n_labels = super()._estimate(X, Y), Y.shape[1]
        if self.set_size is not None:
            return need
        held_out, size = self.validation * X.shape[0], self._size(X.shape[1], n_labels)
        products = 4.0 * n_labels**2
        decoder = 9.0 * n_labels * size + (products if products <= PRODUCTS_BYTES else 0.0)
        decoder += 4.0 * n_labels * size + 24.0 * n_labels * min(held_out, BLOCK_ROWS)
        seconds = PRODUCT * (2.0 * held_out + n_labels) * n_labels * size
        seconds += SPARSE_PRODUCT * held_out * n_labels * min(TRIED, n_labels)
        return need.plus(
            matrix_bytes(X, Y) + (need.model_bytes or 0) + decoder,
            seconds + (1 - self.validation) * need.seconds,
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        n_labels = Y.shape[1]
        if self.set_size is not None and self.set_size > n_labels:
            raise ParameterError(
                f"set_size is {self.set_size}, but there are {n_labels} labels; label sets are no "
                "larger than that."
            )
        signs = random_signs(n_labels, self._size(X.shape[1], n_labels), self._seed)
        labels = Y.astype(np.float64)
        self.code_ = np.empty_like(signs)
        self.code_[_order(labels)] = signs
        self.set_size_ = self.set_size or self._chosen(X, labels, run.part("choice"))
        self._keep(self._train(X, self._projected(labels), run.part("all")))

    def _projected(self, Y: sp.csr_array) -> ProjectedLabels:
        size = self.code_.shape[1]
        return ProjectedLabels(Y, self.code_, np.zeros(size), 1.0 / math.sqrt(size))

    def _chosen(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> int:
        """Size of the label sets by the Hamming loss on held-out rows; the smallest of equals.

        Without rows to hold out, the average size, rounded.
        """
        n = X.shape[0]
        held_out = math.floor(self.validation * n)
        if held_out < 1:
            return max(1, round(Y.nnz / n))
        order = np.random.default_rng(self._seed).permutation(n)
        unseen, seen = np.sort(order[:held_out]), np.sort(order[held_out:])
        weights = self._train(X[seen], self._projected(Y[seen]), run).weights
        true = Y[unseen]
        allowed = np.bincount(Y[seen].indices, minlength=Y.shape[1]) > 0
        sizes = np.arange(1, min(TRIED, Y.shape[1]) + 1)
        decoder = SparseDecoder(self.code_, self.decoding, allowed, sizes, n_points=held_out)

        def count(values: NDArray[np.float64], own: sp.csr_array) -> NDArray[np.int64]:
            labels, coefficients = decoder.sets(decoder.correlations(values))
            taken = (labels >= 0) & (coefficients > 0)
            right = taken & (own.toarray()[np.arange(len(labels))[:, None, None], labels] > 0)
            return (taken.astype(np.int64) - 2 * right).sum(axis=(0, 2))

        excess = sum(self._in_blocks(count, weights, X[unseen], true))
        losses = (excess + true.nnz) / math.prod(true.shape)
        self.choice_ = {"set_size": sizes.astype(float).tolist(), "hamming_loss": losses.tolist()}
        return int(sizes[int(np.argmin(losses))])

    def choice_table(self) -> pl.DataFrame:
        """One row per size of the label sets that was tried, the chosen one marked.

        Empty if `set_size` was given, or if there were no rows to hold out.
        """
        check_is_fitted(self)
        return losses_table("set_size", getattr(self, "choice_", None), self.set_size_)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        n_labels = len(self.classes_)
        decoder = self._decoder(X.shape[0], self._seen())

        def decode(values: NDArray[np.float64]) -> sp.csr_array:
            labels, coefficients = decoder.sets(decoder.correlations(values))
            kept = np.where(coefficients > 0, labels, -1)[:, 0]
            return from_ranked(kept, np.ones(kept.shape), n_labels)

        return self._decoded(X, decode)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        n_labels, seen = len(self.classes_), self._seen()
        decoder = self._decoder(X.shape[0], seen)

        def decode(values: NDArray[np.float64]) -> sp.csr_array:
            scores = decoder.correlations(values)
            if self.decoding != "correlation":
                sets, coefficients = decoder.sets(scores)
                rows, _, places = np.nonzero((sets >= 0) & (coefficients > 0))
                scores /= 1.0 + np.abs(scores)
                scores[rows, sets[rows, 0, places]] = 1.0 + coefficients[rows, 0, places]
            labels, best = best_of(scores, seen, k)
            return from_ranked(labels, best, n_labels)

        return self._decoded(X, decode)

    def _decoder(self, n_points: int, allowed: NDArray[np.bool_]) -> SparseDecoder:
        sizes = np.array([self.set_size_], dtype=np.int64)
        return SparseDecoder(self.code_, self.decoding, allowed, sizes, n_points=n_points)

    def _reading(self, column: int) -> tuple[NDArray[np.float64], float]:
        return self.code_[column] / math.sqrt(self.code_.shape[1]), 0.0

    def _usual_scale(self) -> tuple[float, float]:
        return 4.0, -2.0 if self.decoding == "correlation" else -4.0

    def _check_state(self) -> None:
        super()._check_state()
        check_losses(self, "set_size")
        size = getattr(self, "set_size_", None)
        if self.code_.dtype != np.int8 or (np.abs(self.code_) != 1).any():
            raise ModelError("The signs of the model's labels are not signs; it was altered.")
        if not (is_count(size) and self.set_size_ <= len(self.classes_)):
            raise ModelError("The model's size of label sets makes no sense; it was altered.")


class SparseDecoder:
    """From projections to sets of the allowed labels, of all the ascending `sizes` in one run.

    If `n_points`, the number of points to decode, is large, the inner products of all labels are
    computed first.

    Examples
    --------
    >>> code = np.array([[1, 1, 1], [1, -1, 1], [1, 1, -1]], dtype=np.int8)
    >>> decoder = SparseDecoder(code, "omp", np.ones(3, bool), np.array([2]))
    >>> z = (code[[0]] + code[[2]]) / np.sqrt(3)
    >>> labels, values = decoder.sets(decoder.correlations(z))
    >>> labels.tolist(), values.round(3).tolist()
    ([[[0, 2]]], [[[1.0, 1.0]]])
    """

    def __init__(
        self,
        code: NDArray[np.int8],
        decoding: SparseDecoding,
        allowed: NDArray[np.bool_],
        sizes: NDArray[np.int64],
        *,
        n_points: int = 1,
    ) -> None:
        self.code = np.array(code, dtype=np.int8, order="C")
        self.decoding = decoding
        self.allowed = allowed
        self.sizes = sizes
        n_labels = len(code)
        self._turned = np.ascontiguousarray(self.code.T, dtype=np.float64)
        self._products = np.empty((0, 0), dtype=np.float32)
        few = n_points * int(sizes[-1]) < n_labels or 4 * n_labels**2 > PRODUCTS_BYTES
        if decoding != "correlation" and not few:
            signs = self.code.astype(np.float32)  # whole numbers, so sums are exact
            self._products = signs @ signs.T

    def correlations(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner products of projections (n, B) with the columns of all labels. O(n·B·L)."""
        return np.asarray((values / math.sqrt(self.code.shape[1])) @ self._turned)

    def sets(self, correlations: NDArray[np.float64]) -> Sets:
        """For each row and size the labels, -1 in empty places, and their coefficients."""
        shape = (len(correlations), len(self.sizes), int(self.sizes[-1]))
        labels = np.full(shape, -1, dtype=np.int64)
        values = np.zeros(shape)
        given: tuple[Any, ...] = (
            correlations, self.code, self._products, self.allowed, self.sizes, labels, values
        )  # fmt: skip
        if self.decoding == "omp":
            matching_pursuit(*given)
        elif self.decoding == "lasso":
            lasso(*given, np.empty(shape[:2]))  # type: ignore[call-arg]
        else:
            ranks, best = best_of(correlations, self.allowed, shape[2])
            for number, size in enumerate(self.sizes.tolist()):
                labels[:, number, :size] = ranks[:, :size]
                values[:, number, :size] = best[:, :size]
        return labels, values


def random_signs(n_labels: int, size: int, random_state: int) -> NDArray[np.int8]:
    """Random signs for each label; if possible, no two are equal up to a factor of -1.

    Examples
    --------
    >>> signs = random_signs(4, 3, random_state=0)
    >>> sorted((signs * signs[:, :1]).tolist())
    [[1, -1, -1], [1, -1, 1], [1, 1, -1], [1, 1, 1]]
    """
    rng = np.random.RandomState(random_state)
    bits = rng.randint(0, 2, size=(n_labels, size), dtype=np.int8)
    if size < 64 and 2 ** (size - 1) >= n_labels:  # draws might give two labels the same signs
        numbers = sample_without_replacement(2 ** (size - 1), n_labels, random_state=rng)
        bits[:, 1:] = (numbers[:, None] >> np.arange(size - 1)) & 1
        bits[:, 1:] ^= bits[:, :1]
    return 2 * bits - 1


def _order(Y: sp.csr_array) -> NDArray[np.int64]:
    """The labels in an order that depends on which points have them, not on their columns. O(nnz).

    Names are sorted, columns are not; a label gets the same signs in both cases.
    """
    return np.argsort(Y.T @ np.random.RandomState(0).random_sample(Y.shape[0]), kind="stable")
