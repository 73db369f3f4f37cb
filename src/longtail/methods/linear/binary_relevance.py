"""Binary relevance: one l2-regularised logistic regression per label, with probabilities."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

from longtail.methods._independent import IndependentLabels, RidgeProblem
from longtail.methods._linear import LinearClassifier
from longtail.methods._probabilities import ProbabilityClassifier
from longtail.methods._weights import WeightedFit


class BinaryRelevance(
    WeightedFit, RidgeProblem, IndependentLabels, ProbabilityClassifier, LinearClassifier
):
    """One-vs-rest logistic regression.

    For each label, ½‖w‖² + C Σ log(1 + exp(-s_i⟨w, x_i⟩)) is minimised to a proven relative gap,
    with a constant feature for the bias.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last.
    objective_, gap_, n_iter_ : arrays of shape (L,)
        Objective before pruning, proven relative gap, and Newton steps of each label.

    Notes
    -----
    Training costs O(nnz(X)) per pass, 10 to 40 passes per label with ``C=1`` and about twice as
    many with ``C=10``. The logistic loss gives every feature some weight for every label: with
    ``prune=0`` the model has D·L weights. The scores of `predict_topk` are log-odds: labels with at
    least 0 are predicted.

    Examples
    --------
    >>> from longtail import BinaryRelevance
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

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _probabilities(self, X: sp.csr_array, threshold: float) -> sp.csr_array:
        lowest = -np.inf if threshold == 0 else float(logit(threshold))
        scores = self._index().scores_above(X, lowest, n_jobs=self.n_jobs)
        return sp.csr_array((expit(scores.data), scores.indices, scores.indptr), shape=scores.shape)
