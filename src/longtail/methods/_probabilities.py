"""Classifiers whose numbers are probabilities: one `predict_proba` for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import stacked
from longtail.base import ExtremeClassifier
from longtail.errors import ParameterError
from longtail.runtime.executor import in_blocks
from longtail.runtime.kept import on_one_model

Result = TypeVar("Result")


class ProbabilityClassifier(ExtremeClassifier):
    """Base of the classifiers with a probability for each label.

    Subclasses give them in `_probabilities`; their own documentation says what they mean. Those
    that answer by blocks of points say in `_block_rows` how many of them.
    """

    n_jobs: int | None

    def _probabilities(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        """Probabilities of at least `threshold`, (n, L); with 0, of every label that has one."""
        raise NotImplementedError

    @on_one_model
    def predict_proba(self, X: Any, *, threshold: float = 0.01) -> Any:
        """The probability of each label; the class says how it is computed.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        threshold : float
            Smaller probabilities are left out of a sparse answer.

        Returns
        -------
        csr_array of shape (n, L)
            If Y was sparse or names: the probabilities of at least `threshold`.
        array of shape (n, L)
            If Y was dense: all probabilities. If Y was one class per row: likewise, scaled so that
            each row adds up to one.
        """
        check_is_fitted(self)
        if isinstance(threshold, bool) or not 0 <= threshold < 1:
            raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}.")
        rows = self._checked(X, reset=False)
        if self.label_kind_ not in ("dense", "multiclass"):
            return self._probabilities(rows, threshold)
        proba = self._probabilities(rows, 0.0).toarray()
        if self.label_kind_ == "multiclass":
            total = proba.sum(axis=1, keepdims=True)
            proba /= np.where(total > 0, total, 1.0)
        return proba

    # ---- blocks of points --------------------------------------------------------------------

    def _block_rows(self) -> int:
        """Points per block; it must not depend on the number of threads."""
        raise NotImplementedError

    def _stacked(
        self, X: sp.csr_array, work: Callable[[sp.csr_array], sp.csr_array]
    ) -> sp.csr_array:
        """The results of `work` on each block of points, stacked, on threads."""
        return stacked(self._in_blocks(work, X))

    def _in_blocks(self, work: Callable[..., Result], *matrices: sp.csr_array) -> list[Result]:
        """The results of `work` on each block of points; see `runtime.executor.in_blocks`."""
        return in_blocks(work, *matrices, size=self._block_rows(), n_jobs=self.n_jobs)
