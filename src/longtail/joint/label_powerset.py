"""Label power-set: every label set of the training data is a class of one multinomial regression.

Tsoumakas & Katakis, Multi-Label Classification: An Overview, 2007.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._run import Run
from longtail.engine.softmax import fit_softmax, softmax_logs
from longtail.errors import ModelError
from longtail.joint._support import SetClassifier
from longtail.labels import distinct_sets

ARRAYS = 12  # of the size of the weights, that training holds at once


class LabelPowerset(SetClassifier):
    """Multinomial logistic regression over the distinct label sets of the training data.

    ½‖W‖² + C Σ_i -log p(y_i | x_i) is minimised, with p the softmax over the S sets and a constant
    feature for the bias. The prediction is the most probable set, hence always one that was seen
    in training, the empty set only if it was. A set that occurs once is a class like any other.

    Parameters
    ----------
    C : float
        Weight of the errors against the penalty.
    tol : float
        Norm of the gradient, relative to that at W = 0, at which the problem counts as solved.
    max_iter : int
        Limit on Newton steps.
    n_jobs : int, optional
        Threads, as in scikit-learn; the model does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    sets_ : csr_array of shape (S, L)
        The label sets, in the order in which they appeared.
    set_counts_ : array of shape (S,)
        Training points of each.
    weights_ : float32 array of shape (D + 1, S)
        Weights of each set, the bias last.
    objective_ : float
        Value of the objective.
    n_iter_ : int
        Newton steps.

    Notes
    -----
    Training costs O(nnz(X)·S) a product with the Hessian, some 50 to 500 of them, and twelve arrays
    of (D + 1)·S numbers, where features that no point has do not count: above `memory_limit` it is
    refused. Prediction costs O(nnz(X)·S). The scores of `predict_topk` are the log-odds of the
    marginal probabilities, the sums over the sets that hold a label; labels without a training
    point have none. `explain` compares the most probable set with the label to the most probable
    set without it, see `SetExplanation`; its score is the log-odds between these two.

    Examples
    --------
    >>> from longtail.joint import LabelPowerset
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tagger = LabelPowerset(C=10).fit(X, [["sea", "sun"], ["snow"], ["sea"], ["snow"]])
    >>> tagger.predict([[1, 0, 1], [0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    >>> tagger.predict_proba([[1, 0, 1]]).toarray().round(2).tolist()
    [[0.92, 0.08, 0.77]]
    """

    method: ClassVar[str] = "powerset"
    paper: ClassVar[str] = "Tsoumakas & Katakis 2007"

    set_counts_: NDArray[np.int64]
    weights_: NDArray[np.float32]

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        sets, which = distinct_sets(Y)
        n, n_sets = len(which), sets.shape[0]
        used = len(np.unique(X.indices)) + 1
        self._refuse_beyond_memory(
            8.0 * ARRAYS * used * n_sets, n_sets, f"{used:,} features × {n_sets:,} sets"
        )
        targets = sp.csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, n_sets))
        fit = fit_softmax(
            X, targets, strength=1.0 / self.C, tol=self.tol, max_iter=self.max_iter,
            n_jobs=self.n_jobs, run=run,
        )  # fmt: skip
        self.sets_ = sets
        self.set_counts_ = np.bincount(which, minlength=n_sets)
        self.weights_ = fit.weights
        self.objective_ = self.C * fit.objective
        self.n_iter_ = fit.iterations

    def _log_probabilities(self, X: sp.csr_array) -> NDArray[np.float64]:
        return softmax_logs(X, self.weights_)

    def _between(self, x: sp.csr_array, one: int, other: int) -> tuple[NDArray[np.float64], float]:
        pair = self.weights_[:, [one, other]].astype(np.float64)
        difference = pair[:, 0] - pair[:, 1]
        return difference[x.indices], float(difference[-1])

    def _check_state(self) -> None:
        super()._check_state()
        weights = getattr(self, "weights_", None)
        if (
            not isinstance(weights, np.ndarray)
            or weights.dtype != np.float32
            or weights.shape != (self.n_features_in_ + 1, self.sets_.shape[0])
            or not np.isfinite(weights).all()
        ):
            raise ModelError("The weights of the model do not fit its label sets; it was altered.")
