"""What all linear classifiers share: a sparse weight matrix, predictions and explanations.

The weights are trained elsewhere: `methods._independent` does it for classifiers with one
independent problem per label.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import ModelError
from longtail.labels import TailRanking
from longtail.methods._soundness import is_csr
from longtail.search import LinearIndex, index_for


class LinearClassifier(ExtremeClassifier):
    """One weight vector per label; a score is its product with a point.

    Subclasses set `weights_` in `_fit` and store `n_jobs`. A subclass that predicts only some
    labels returns them in `_offered`.
    """

    threshold: ClassVar[float] = 0.0  # labels with at least this score are predicted
    scores_all_labels: ClassVar[bool] = True

    n_jobs: int | None

    weights_: sp.csr_array

    def _offered(self) -> NDArray[np.int64] | None:
        """The columns that may be predicted, in ascending order; None for all."""
        return None

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        return self._spread(self._index().topk(X, k, n_jobs=self.n_jobs))

    def _topk_ranked(self, X: sp.csr_array, k: int, ranking: TailRanking) -> sp.csr_array:
        offered = self._offered()
        if offered is not None:
            offsets = np.asarray(ranking.offsets)[offered]
            ranking = TailRanking(ranking.scale, ranking.shift, offsets)
        return self._spread(self._index().topk(X, k, ranking=ranking, n_jobs=self.n_jobs))

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._spread(self._index().scores_above(X, self.threshold, n_jobs=self.n_jobs))

    def _all_scores(self, X: sp.csr_array) -> NDArray[np.float64]:
        scores = self._index().all_scores(X, n_jobs=self.n_jobs)
        offered = self._offered()
        if offered is None:
            return scores
        out = np.full((X.shape[0], len(self.classes_)), -np.inf)
        out[:, offered] = scores
        return out

    def _index(self) -> LinearIndex:
        """The weights, prepared for prediction; kept until the weights change."""

        def make(weights: sp.csr_array) -> LinearIndex:
            offered = self._offered()
            return LinearIndex(weights if offered is None else sp.csr_array(weights[:, offered]))

        return index_for(self, self.weights_, make)

    def _spread(self, scores: sp.csr_array) -> sp.csr_array:
        """Scores of the offered columns as scores of all."""
        offered = self._offered()
        if offered is None:
            return scores
        return sp.csr_array(
            (scores.data, offered[scores.indices], scores.indptr),
            shape=(scores.shape[0], len(self.classes_)),
        )

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        weights = self.weights_[:, [column]].toarray().ravel().astype(np.float64)
        return Explanation.by_features(
            self._name_of(column), x, weights[x.indices], names, n, bias=weights[-1]
        )

    def _check_state(self) -> None:
        super()._check_state()
        check_weights(self, len(self.classes_))


def check_weights(model: Any, n_columns: int) -> None:
    """Raise `ModelError` if the weights of the model are not those of so many problems."""
    shape = model.n_features_in_ + 1, n_columns
    weights = getattr(model, "weights_", None)
    if not is_csr(weights, shape, np.float32, np.float64):
        raise ModelError("The weights of the model do not fit its labels; it was altered.")
