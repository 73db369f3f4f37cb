"""What the regression codes share: label sets as a few real numbers, each a ridge regression.

A label set is projected to B numbers, a point's numbers are predicted from its features, and the
labels are decoded from them, a block of points at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import stacked
from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import ModelError, ParameterError
from longtail.methods._code_size import bits_of
from longtail.methods._soundness import is_array
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.executor import in_blocks
from longtail.runtime.run import Run
from longtail.solvers import RidgeFit, fit_ridge, ridge_values
from longtail.solvers.costs import ridge_estimate

BLOCK_BYTES = 2**25  # bound on the scores of all labels for a block of points
BLOCK_ROWS = 1024
LARGEST = 2**31  # entries of the code, and of the weights

Result = TypeVar("Result")


@dataclass(frozen=True)
class ProjectedLabels:
    """The projections Y·code - shift, made a block of columns at a time. O(nnz(Y)) per column.

    Examples
    --------
    >>> code = np.array([[1, -1], [1, 1]], dtype=np.int8)
    >>> ProjectedLabels(sp.csr_array([[1.0, 1.0]]), code, np.zeros(2), 0.5).columns(0, 2).tolist()
    [[1.0, 0.0]]
    """

    labels: sp.csr_array
    code: NDArray[Any]
    shift: NDArray[np.float64]
    scale: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Points and projections."""
        return int(self.labels.shape[0]), int(self.code.shape[1])

    def columns(self, first: int, last: int) -> NDArray[np.float64]:
        """Some of the projections."""
        part = np.ascontiguousarray(self.code[:, first:last], dtype=np.float64)
        return self.scale * (self.labels @ part) - self.shift[first:last]

    def parts(self) -> dict[str, Any]:
        """What determines them, for a checkpoint."""
        return {
            "labels": self.labels, "code": self.code, "shift": self.shift, "scale": self.scale,
        }  # fmt: skip


class RegressionCode(ExtremeClassifier):
    """Base of the regression codes.

    Subclasses set `code_` and `weights_` in `_fit`, decode in `_commit` and `_topk` by `_decoded`,
    and return in `_reading` how the regressions make a label's score. They store `code_size`,
    `strength`, `tol`, `max_iter`, `random_state` and `n_jobs`.
    """

    scores_all_labels: ClassVar[bool] = True

    code_size: int | float | None
    strength: float
    tol: float
    max_iter: int
    random_state: int | None
    n_jobs: int | None

    code_: NDArray[Any]
    weights_: NDArray[np.float32]

    # ---- what a code supplies ----------------------------------------------------------------

    def _reading(self, column: int) -> tuple[NDArray[np.float64], float]:
        """Weights of the B regressions in the score of a label, and a constant."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        n_labels = Y.shape[1]
        size = self._size(X.shape[1], n_labels)
        need = ridge_estimate(X, size, n_jobs=self.n_jobs)
        return need.plus(9.0 * size * n_labels + 2 * matrix_bytes(Y))

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        direction, constant = self._reading(column)
        ours = np.asarray(self.weights_[x.indices] @ direction, dtype=np.float64)
        bias = float(self.weights_[-1] @ direction) + constant
        return Explanation.by_features(self._name_of(column), x, ours, names, n, bias=bias)

    def _check_state(self) -> None:
        super()._check_state()
        code, weights = getattr(self, "code_", None), getattr(self, "weights_", None)
        if not is_array(code, (len(self.classes_), None)) or not is_array(
            weights, (self.n_features_in_ + 1, code.shape[1]), np.float32
        ):
            raise ModelError("The code of the model does not fit its labels; it was altered.")

    # ---- helpers -----------------------------------------------------------------------------

    def _size(self, n_features: int, n_labels: int) -> int:
        """How many regressions to train."""
        size = bits_of(self.code_size, n_labels)
        if self.code_size is None:
            size = min(size, n_labels)
        if size > n_labels:
            raise ParameterError(
                f"code_size is {size}, but there are {n_labels} labels; a code is no larger than "
                "that, so take less, or a method with one problem per label, such as br."
            )
        if size * max(n_labels, n_features + 1) > LARGEST:
            raise ParameterError(
                f"A code of {size} numbers for {n_labels} labels and {n_features} features would "
                f"need more than {LARGEST} of them; take a smaller code_size."
            )
        return size

    def _train(self, X: sp.csr_array, targets: ProjectedLabels, run: Run) -> RidgeFit:
        """One regression per projection. O(nnz(X) + D) per step, about 10 to 100 steps each."""
        return fit_ridge(
            X, targets, strength=self.strength, tol=self.tol, max_iter=self.max_iter,
            n_jobs=self.n_jobs, run=run,
        )  # fmt: skip

    def _keep(self, fit: RidgeFit) -> None:
        self.weights_ = fit.weights
        self.gap_ = fit.gap
        self.n_iter_ = np.maximum(fit.iterations, 1)

    def _seen(self) -> NDArray[np.bool_]:
        """The labels with a training point; only these are predicted."""
        return np.asarray(self.label_counts_) > 0

    def _in_blocks(
        self,
        work: Callable[..., Result],
        weights: NDArray[np.float32],
        X: sp.csr_array,
        *others: sp.csr_array,
    ) -> list[Result]:
        """The results of `work` on the values of each block of points, and the same rows of others.

        Blocks do not depend on the number of threads. The values cost O(nnz(row)·B) per row.
        """
        size = min(max(1, BLOCK_BYTES // (8 * len(self.code_))), BLOCK_ROWS)
        return in_blocks(
            lambda x, *same: work(ridge_values(x, weights), *same), X, *others,
            size=size, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _decoded(
        self, X: sp.csr_array, decode: Callable[[NDArray[np.float64]], sp.csr_array]
    ) -> sp.csr_array:
        """The labels (n, L) that `decode` finds in each block of points."""
        return stacked(self._in_blocks(decode, self.weights_, X))
