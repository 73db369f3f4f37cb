"""Binary relevance: one l2-regularised logistic regression a label, with probabilities."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from longtail.errors import ParameterError
from longtail.one_vs_rest._linear import RidgeOneVsRest


class BinaryRelevance(RidgeOneVsRest):
    """One-vs-rest logistic regression.

    For each label, ½‖w‖² + C Σ log(1 + exp(-s_i⟨w, x_i⟩)) is minimised to a proven relative gap,
    with a constant feature for the bias.

    Parameters
    ----------
    C : float
        Weight of the errors against the penalty.
    prune : float
        Weights of smaller magnitude are dropped after training; 0 keeps all. The logistic loss
        gives every feature some weight for every label: unpruned, the model has D·L weights.
    tol : float
        Relative distance to the optimal objective at which a label counts as solved.
    max_iter : int
        Limit on Newton steps a label.
    n_jobs : int, optional
        Threads, as in scikit-learn; the model does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row a feature, the bias last.
    objective_, gap_, n_iter_ : arrays of shape (L,)
        Objective before pruning, proven relative gap, and Newton steps of each label.

    Notes
    -----
    Training costs O(nnz(X)) a conjugate-gradient step, some 10 to 40 of them a label. The scores of
    `predict_topk` are log-odds: labels from 0 on are predicted.

    Examples
    --------
    >>> from longtail.one_vs_rest import BinaryRelevance
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tagger = BinaryRelevance(C=10).fit(X, [["sea"], ["snow"], ["sea"], ["snow"]])
    >>> tagger.predict([[1, 0, 1]])
    [('sea',)]
    >>> tagger.predict_proba([[1, 0, 1]]).toarray().round(2).tolist()
    [[0.89, 0.11]]
    """

    method: ClassVar[str] = "br"
    paper: ClassVar[str] = "baseline of most papers"
    loss: ClassVar[str] = "logistic"

    def __init__(
        self,
        *,
        C: float = 1.0,
        prune: float = 0.01,
        tol: float = 1e-4,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def predict_proba(self, X: Any, *, threshold: float = 0.01) -> Any:
        """The probability of each label, each by its own logistic regression.

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
            If Y was dense: all probabilities. If Y was one class a row: likewise, scaled so that
            each row adds up to one.
        """
        check_is_fitted(self)
        if not 0 <= threshold < 1:
            raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}.")
        rows = self._checked(X, reset=False)
        dense = self.label_kind_ in ("dense", "multiclass")
        lowest = -np.inf if dense or threshold == 0 else float(logit(threshold))
        scores = self._index().scores_above(rows, lowest, n_jobs=self.n_jobs)
        if not dense:
            return sp.csr_array(
                (expit(scores.data), scores.indices, scores.indptr), shape=scores.shape
            )
        proba = expit(scores.data).reshape(scores.shape)
        if self.label_kind_ == "multiclass":
            total = proba.sum(axis=1, keepdims=True)
            proba /= np.where(total > 0, total, 1.0)
        return proba
