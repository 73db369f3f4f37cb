"""What chains and dependency networks share: regressions, scores and explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ModelError
from longtail.explanation import Explanation, as_column
from longtail.methods._marginal import MarginalClassifier
from longtail.methods.joint._conditionals import conditional_estimate
from longtail.runtime.estimates import Estimate, refuse_beyond
from longtail.search import index_for

BLOCK_BYTES = 2**21  # bound on the log-odds of a block of points
MOST_ROWS = 256  # points per block, small enough to share among threads


class ConditionalClassifier(MarginalClassifier):
    """Base of the methods with one logistic regression per label on X and on other labels.

    Subclasses set `weights_` and `label_weights_` in `_fit` and decode a block of log-odds in
    `_decode`.
    """

    weights_: sp.csr_array
    label_weights_: sp.csr_array | sp.csc_array
    gap_: NDArray[np.float64]
    n_iter_: NDArray[np.int64]
    empty_sets_: bool

    def __init__(
        self, *, C: float, prune: float, tol: float, max_iter: int, random_state: int | None,
        memory_limit: float, n_jobs: int | None,
    ) -> None:  # fmt: skip
        self.C = C
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    # ---- what a method supplies --------------------------------------------------------------

    def _decode(
        self, X: sp.csr_array, odds: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Sets and scores, (n, L) each, of a block, from log-odds of all regressions."""
        raise NotImplementedError

    def _regressions(self) -> dict[str, Any]:
        """How many chains of regressions there are, and the share of the others a label sees."""
        return {}

    # ---- the contract ------------------------------------------------------------------------

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        return conditional_estimate(
            X, Y, C=self.C, prune=self.prune, n_jobs=self.n_jobs, **self._regressions()
        )

    def _refuse_beyond_memory(self, X: sp.csr_array, Y: sp.csr_array) -> None:
        remedy = "use a method without weights between labels, such as br or proxml"
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, remedy)

    def _block_rows(self) -> int:
        return max(1, min(MOST_ROWS, BLOCK_BYTES // (8 * self.weights_.shape[1])))

    def _sets_of(self, X: sp.csr_array) -> NDArray[np.bool_]:
        return self._decode(X, self._odds(X))[0] > 0

    def _scores_of(self, X: sp.csr_array) -> NDArray[np.float64]:
        return self._decode(X, self._odds(X))[1]

    def _odds(self, X: sp.csr_array) -> NDArray[np.float64]:
        """Log-odds of all regressions by the features alone, of a block of points."""
        return index_for(self, self.weights_).all_scores(X)

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """The log-odds given the features and the predicted labels that the regression sees.

        What these labels add is part of the bias, since it comes from no feature. The table
        "labels" lists it per label, and "constant" in the summary is the bias without it.
        """
        weights, label_parts = self._reasons(x, column)
        others = np.argsort(-np.abs(label_parts), kind="stable")
        others = others[label_parts[others] != 0]
        table = pl.DataFrame(
            {"label": as_column(self.classes_[others]), "contribution": label_parts[others]}
        )
        return Explanation.by_features(
            self._name_of(column), x, weights[x.indices], names, n,
            bias=label_parts.sum() + weights[-1],
            summary={"constant": float(weights[-1])}, details={"labels": table},
        )  # fmt: skip

    def _reasons(
        self, x: sp.csr_array, column: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights of the features, bias last, and what the other labels add, for one point."""
        has = self._commit(x).toarray().ravel()
        weights = self.weights_[:, [column]].toarray().ravel().astype(np.float64)
        others = self.label_weights_[:, [column]].toarray().ravel().astype(np.float64)
        return weights, others * has

    def _check_state(self) -> None:
        super()._check_state()
        L = len(self.classes_)
        weights, between = getattr(self, "weights_", None), getattr(self, "label_weights_", None)
        if (
            not isinstance(weights, sp.csr_array)
            or not isinstance(between, sp.csr_array | sp.csc_array)
            or weights.shape[0] != self.n_features_in_ + 1
            or weights.shape[1] % L
            or between.shape != (L, weights.shape[1])
            or not all(
                part.dtype in (np.float32, np.float64) and np.isfinite(part.data).all()
                for part in (weights, between)
            )
            or not isinstance(getattr(self, "empty_sets_", None), bool)
        ):
            raise ModelError("The weights of the model do not fit its labels; it was altered.")
