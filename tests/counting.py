"""A classifier that wants counts and refuses anything else, for tests of what methods are given."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import from_ranked
from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import InputError
from longtail.runtime.run import Run


class CountsOnly(ExtremeClassifier):
    """Scores labels by the words that they share with a point, in counts."""

    method: ClassVar[str] = "counts-only"
    paper: ClassVar[str] = "none"
    feature_kind: ClassVar[Literal["scaled", "counts"]] = "counts"

    def __init__(self, *, at_least: float = 0.0) -> None:
        self.at_least = at_least

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        if not (X.data == np.round(X.data)).all():
            raise InputError("counts-only takes whole numbers; give counts without a norm.")
        self.seen_ = X.toarray()
        self.weights_ = sp.csr_array(Y.T @ X)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        scores = (X @ self.weights_.T).toarray()
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return from_ranked(best, np.take_along_axis(scores, best, axis=1), scores.shape[1])

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._topk(X, 1)

    def _explain(
        self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]
    ) -> Explanation:  # pragma: no cover
        raise NotImplementedError
