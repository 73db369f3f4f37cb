"""A conditional random field over labels with a potential for every pair of them.

Ghamrawi & McCallum, Collective Multi-Label Classification, CIKM 2005.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import log_softmax

from longtail._sparse import as_csr
from longtail.errors import ModelError
from longtail.labels import distinct_sets
from longtail.methods._soundness import is_array
from longtail.methods.joint._pair_scores import FACTORED, PairFeatures, PairScores, set_scores
from longtail.methods.joint._support import SetClassifier
from longtail.runtime.checkpoint import LatestState, fingerprint
from longtail.runtime.estimates import SPARSE_PRODUCT, WORKSPACE, Estimate
from longtail.runtime.executor import thread_count
from longtail.runtime.run import Run
from longtail.solvers.costs import HESSIANS, softmax_bytes, used_features
from longtail.solvers.ridge.fit import ridge_values
from longtail.solvers.softmax.fit import solve, warn_of
from longtail.solvers.softmax.loss import KEPT_BYTES, SoftmaxLoss, working_type
from longtail.solvers.softmax.rounded import floors
from longtail.solvers.softmax.score_maps import preconditioner, score_map

SQUARES = 5  # arrays of the covariances of labels and pairs


class PairwiseCRF(SetClassifier):
    """Log-linear model of label sets with weights of labels and of pairs of labels.

    The score of a label set y for a point x is Σ_l y_l⟨w_l, x⟩ + Σ_{l<m} θ_lm(y_l, y_m): a linear
    function of x for each label, and for each pair of labels four weights, one for each of the
    values (0, 0), (0, 1), (1, 0), (1, 1) that it can take. Pairs that no training point has
    together have no weights. The probability of a set is the softmax of the scores over the
    distinct label sets of the training data ("support inference"), so only these are predicted, the
    empty one if it is among them. ½‖w‖² + ½‖θ‖² + C Σ_i -log p(y_i | x_i) is minimised.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    sets_ : csr_array of shape (S, L)
        The label sets, in the order in which they appeared.
    weights_ : float32 array of shape (D + 1, L)
        Weights of each label, the bias last.
    pairs_ : int array of shape (P, 2)
        The pairs of labels, as columns, the smaller first.
    pair_weights_ : float64 array of shape (P, 4)
        θ of each pair: for neither label, only the second, only the first, both.
    set_offsets_ : float64 array of shape (S,)
        What the pairs add to the score of each set.
    objective_ : float
        Value of the objective.
    n_iter_ : int
        Newton steps.

    Notes
    -----
    Together with the labels' biases, one weight per pair, for both labels, would express the same
    distributions. The penalty makes the two forms differ; this is the published one. Training costs
    O(nnz(X)·L + N·S·A) per product with the Hessian, with A the mean size of a set, about 50 to 200
    products; with more than about 2,000 sets O(nnz(X)·L + 200·N·A), see `solvers.softmax.rounded`.
    Memory: twelve arrays of (D + 1)·L + 4P numbers, and five of (L + P)² if L + P ≤ 4,000; if that
    exceeds `memory_limit`, `fit` raises an error. Prediction costs O(nnz(X)·L + n·S·A). The scores
    of `predict_topk` are the log-odds of the marginal probabilities over the sets; labels without a
    training point have none. `explain` compares the most probable set with the label to the most
    probable set without it (table "sets"): the bias there is the part of the difference that comes
    from the labels' biases and the pairs.

    Examples
    --------
    >>> from longtail import PairwiseCRF
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> tagger = PairwiseCRF(C=10).fit(X, [["sea", "sun"], ["snow"], ["sea"], ["snow"]])
    >>> tagger.predict([[1, 0, 1], [0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    >>> tagger.classes_[tagger.pairs_].tolist()
    [['sea', 'sun']]
    """

    method: ClassVar[str] = "pair-crf"
    paper: ClassVar[str] = "Ghamrawi & McCallum 2005"

    weights_: NDArray[np.float32]
    pairs_: NDArray[np.int64]
    pair_weights_: NDArray[np.float64]
    set_offsets_: NDArray[np.float64]

    def _needed(self, X: sp.csr_array, sets: sp.csr_array) -> Estimate:
        (n, n_features), (n_sets, n_labels) = X.shape, sets.shape
        used = used_features(X) + 1
        sizes = np.diff(sets.indptr).astype(np.float64)
        pairs = float((sizes * (sizes - 1) / 2).sum())
        parameters = used * n_labels + min(4 * pairs, 2.0 * n_labels**2)
        scores = float(n) * (n_sets + n_labels)
        memory = softmax_bytes(int(parameters)) + 24 * pairs + min(8 * scores, KEPT_BYTES)
        memory += 8.0 * SQUARES * min(n_labels + min(pairs, n_labels**2 / 2), FACTORED) ** 2
        products = float(X.nnz + n) * n_labels + n * float(sizes.sum())
        return Estimate(
            int(memory + 12.0 * X.nnz + WORKSPACE),
            int(4.0 * (n_features + 1) * n_labels + 56 * pairs),
            2 * HESSIANS * SPARSE_PRODUCT * products / thread_count(self.n_jobs),
            f"the weights of {used:,} features × {n_labels:,} labels, {int(pairs):,} pairs of them "
            f"and {n_sets:,} distinct label sets",
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        self._refuse_untrainable(X)
        sets, which = distinct_sets(Y)
        n, (n_sets, n_labels) = len(which), sets.shape
        used = np.unique(X.indices)
        shape = (len(used) + 1, n_labels)
        self._refuse_beyond_memory(X, sets, "select features")
        rows = as_csr(X[:, used]) if len(used) < X.shape[1] else X
        features = PairFeatures(sets)
        strength, ones = 1.0 / self.C, np.ones(n)
        kind = working_type(n * n_sets, self.tol, float(np.abs(rows.data).max(initial=1.0)))
        counts = np.bincount(which, minlength=n_sets).astype(np.float64)
        scores = PairScores(score_map(rows, 1.0, n_labels, kind), features, shape[0], kind)
        loss = SoftmaxLoss(
            scores,
            sp.csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, n_sets)),
            ones,
            strength=strength,
            dtype=kind,
            n_parameters=scores.n_parameters,
            precondition=scores.precondition(preconditioner(rows, ones, 1.0, strength), strength),
            floors=floors(counts, n, 0.0) if kind == np.float32 else None,
            n_jobs=self.n_jobs,
        )
        settings = (type(self).__name__, self.C, self.tol, self.max_iter)
        states = LatestState(run, lambda: fingerprint(X=X, Y=Y, settings=settings))
        with loss.running():
            minimum, scale = solve(
                loss, (scores.n_parameters,), None, np.empty(0), self.tol, self.max_iter, states,
                run,
            )  # fmt: skip
        found, theta = scores.split(minimum.point)
        self.sets_ = sets
        self.weights_ = np.zeros((X.shape[1] + 1, n_labels), dtype=np.float32)
        self.weights_[np.append(used, X.shape[1])] = found
        self.pairs_ = features.pairs
        self.pair_weights_ = theta.copy()
        self.set_offsets_ = features.times(theta)
        self.objective_ = self.C * minimum.value
        self.n_iter_ = minimum.steps
        if not minimum.converged:
            warn_of("The pairwise random field", minimum, scale)

    def _log_probabilities(self, X: sp.csr_array) -> NDArray[np.float64]:
        by_label = ridge_values(X, self.weights_)
        return log_softmax(set_scores(by_label, self.sets_, self.set_offsets_), axis=1)

    def _between(self, x: sp.csr_array, one: int, other: int) -> tuple[NDArray[np.float64], float]:
        difference = np.zeros(len(self.weights_))
        for number, sign in ((one, 1.0), (other, -1.0)):
            labels = self.sets_.indices[self.sets_.indptr[number] : self.sets_.indptr[number + 1]]
            difference += sign * self.weights_[:, labels].sum(axis=1, dtype=np.float64)
        bias = difference[-1] + self.set_offsets_[one] - self.set_offsets_[other]
        return difference[x.indices], float(bias)

    def _check_state(self) -> None:
        super()._check_state()
        n_sets, n_labels = self.sets_.shape
        pairs = getattr(self, "pairs_", None)
        if (
            not is_array(pairs, (None, 2), np.int64)
            or not ((pairs >= 0) & (pairs < n_labels)).all()
        ):
            raise ModelError("The pairs of the model do not fit its labels; it was altered.")
        shapes = {
            "weights_": ((self.n_features_in_ + 1, n_labels), np.float32),
            "pair_weights_": ((len(pairs), 4), np.float64),
            "set_offsets_": ((n_sets,), np.float64),
        }
        for name, (shape, kind) in shapes.items():
            if not is_array(getattr(self, name, None), shape, kind):
                raise ModelError(f"The model's {name} does not fit its label sets; it was altered.")
