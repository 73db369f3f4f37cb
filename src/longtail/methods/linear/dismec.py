"""DiSMEC: one l2-regularised squared-hinge classifier per label, small weights dropped.

Babbar & Schölkopf, DiSMEC: Distributed Sparse Machines for Extreme Multi-label Classification,
WSDM 2017.
"""

from __future__ import annotations

from typing import ClassVar

from longtail.methods._independent import IndependentLabels, RidgeProblem
from longtail.methods._linear import LinearClassifier
from longtail.methods._weights import WeightedFit


class DiSMEC(WeightedFit, RidgeProblem, IndependentLabels, LinearClassifier):
    """One-vs-rest linear support vector machines with pruned weights.

    For each label, ½‖w‖² + C Σ max(0, 1 - s_i⟨w, x_i⟩)² is minimised to a proven relative gap, with
    a constant feature for the bias; then weights below `prune` in magnitude are dropped. Use
    features of unit length.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights, one row per feature, the bias last.
    objective_, gap_, n_iter_ : arrays of shape (L,)
        Objective before pruning, proven relative gap, and iterations of each label.

    Notes
    -----
    Training costs two or three looks at all points per label, O(nnz(X)) each, and for rare labels
    on text O(N + D + entries of the features with a positive weight) instead; prediction costs
    O(weights of the features of x). A score is a margin: labels with at least 0 are predicted.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tagger = DiSMEC().fit(X, [["sea", "sun"], ["snow"], ["sea"], ["snow", "sun"]])
    >>> tagger.predict([[1, 0, 1]])
    [('sea', 'sun')]
    """

    method: ClassVar[str] = "dismec"
    paper: ClassVar[str] = "Babbar & Schölkopf 2017"
    loss: ClassVar[str] = "squared_hinge"
