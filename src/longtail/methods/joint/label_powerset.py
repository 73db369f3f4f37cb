"""Label power-set: every label set of the training data is a class of one multi-class problem.

Tsoumakas & Katakis, Multi-Label Classification: An Overview, 2007. With boosted trees it is a
baseline of Li, Wang, Pavlu & Aslam, Conditional Bernoulli Mixtures for Multi-Label Classification,
ICML 2016.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ModelError
from longtail.labels import distinct_sets
from longtail.methods._soundness import is_array
from longtail.methods.joint._support import SetClassifier
from longtail.parameters import Count, CountFromTwo, Jobs, MemoryLimit, Positive, Seed
from longtail.runtime.estimates import Estimate, matrix_bytes
from longtail.runtime.executor import thread_count
from longtail.runtime.kept import kept_for
from longtail.runtime.run import Run
from longtail.solvers.boosted.boosted_softmax import (
    BoostedSoftmax,
    boosting_bytes,
    fit_boosted_softmax,
)
from longtail.solvers.boosted.growing import Growth
from longtail.solvers.costs import GROWING, softmax_estimate, used_features
from longtail.solvers.softmax.fit import fit_softmax, softmax_logs


class LabelPowerset(SetClassifier):
    """A multi-class problem over the distinct label sets of the training data.

    The probabilities p are a softmax over the S sets, of scores. These are linear in the features
    and a constant one, with ½‖W‖² + C Σ_i -log p(y_i | x_i) minimised, or they are sums of boosted
    trees. The prediction is the most probable set, so it always occurs in the training data; this
    holds for the empty set too. A set that occurs once is a class like any other.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    sets_ : csr_array of shape (S, L)
        The label sets, in the order in which they appeared.
    set_counts_ : array of shape (S,)
        Training points of each.
    learner_ : str
        The learner that it was trained with.
    weights_ : float32 array of shape (D + 1, S)
        Weights of each set, the bias last; of the regression only.
    trees_ : dict of arrays
        The trees of each set; of boosting only.
    objective_ : float
        Value of the objective; of boosting without a penalty and C, -Σ_i log p(y_i | x_i).
    n_iter_ : int
        Newton steps, or steps of boosting, of which each adds a tree to every set that finds a
        split.

    Notes
    -----
    Training the regression costs O(nnz(X)·S) per product with the Hessian, about 50 to 500
    products, and twelve arrays of (D + 1)·S numbers, where features that no point has do not count.
    Prediction costs O(nnz(X)·S).

    A step of boosting costs S trees, each O(N·D) for dense and O(nnz(X)) for sparse X, on three
    tenths of the features, and training takes two arrays of N·S numbers. Prediction costs
    O(n·S·n_trees) for trees of a few leaves. If training would exceed `memory_limit`, `fit` raises
    an error.

    The scores of `predict_topk` are the log-odds of the marginal probabilities, the sums over the
    sets that hold a label; labels without a training point have none. `predict_sets` lists the
    most probable of the S sets. `explain` compares the most probable set with the label to the
    most probable set without it (table "sets"); its score is the log-odds between these two, which
    boosted trees do not divide among the features.

    Examples
    --------
    >>> from longtail import LabelPowerset
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
    learner_: str
    weights_: NDArray[np.float32]
    trees_: dict[str, Any]

    def __init__(
        self,
        *,
        learner: Annotated[
            Literal["logistic", "boosting"],
            "Multinomial logistic regression, or gradient-boosted trees (needs LightGBM to train).",
        ] = "logistic",
        C: Annotated[
            Positive, "Of the regression: weight of the errors against the penalty."
        ] = 1.0,
        tol: Annotated[
            Positive,
            "Of the regression: norm of the gradient, relative to that at W = 0, at which the "
            "problem counts as solved.",
        ] = 1e-4,
        max_iter: Annotated[Count, "Of the regression: limit on Newton steps."] = 200,
        leaves: Annotated[CountFromTwo, "Of the boosted trees: leaves of each."] = 5,
        shrinkage: Annotated[Positive, "Of the boosted trees: factor on what each says."] = 0.1,
        n_trees: Annotated[Count, "Of the boosted trees: how many per label set."] = 100,
        random_state: Annotated[
            Seed, "Of the boosted trees: seed of the features that each may choose from."
        ] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(C=C, tol=tol, max_iter=max_iter, memory_limit=memory_limit, n_jobs=n_jobs)
        self.learner = learner
        self.leaves = leaves
        self.shrinkage = shrinkage
        self.n_trees = n_trees
        self.random_state = random_state

    def _growth(self) -> Growth:
        return Growth(leaves=self.leaves, shrinkage=self.shrinkage, random_state=self._seed)

    def _is_linear(self) -> bool:
        return self.learner_ == "logistic"

    # ---- training ----------------------------------------------------------------------------

    def _needed(self, X: sp.csr_array, sets: sp.csr_array) -> Estimate:
        n, n_sets = X.shape[0], sets.shape[0]
        if self.learner == "logistic":
            need = softmax_estimate(X, n_sets, n_jobs=self.n_jobs).plus(16 * n)
            classes = f"{used_features(X) + 1:,} features × {n_sets:,} distinct label sets"
            return replace(need, reason=f"the weights of {classes}, on {n:,} points")
        growth, threads = self._growth(), thread_count(self.n_jobs)
        memory = boosting_bytes(
            n, n_sets, used_features(X), growth=growth, n_trees=self.n_trees, threads=threads
        )
        looks = growth.feature_share * X.nnz * n_sets * self.n_trees
        return Estimate(
            int(memory + matrix_bytes(X)),
            None,
            GROWING * looks / threads,
            f"{self.n_trees * n_sets:,} trees for {n_sets:,} distinct label sets, on {n:,} points",
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        sets, which = distinct_sets(Y)
        n, n_sets = len(which), sets.shape[0]
        targets = sp.csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, n_sets))
        for name in {"weights_", "trees_"} & set(vars(self)):
            delattr(self, name)
        if self.learner == "logistic":
            self._refuse_untrainable(X)
            self._refuse_beyond_memory(X, sets, "select features")
            self._fit_logistic(X, targets, run)
        else:
            self._refuse_beyond_memory(X, sets, "take fewer points")
            self._fit_boosting(X, targets, run)
        self.sets_ = sets
        self.set_counts_ = np.bincount(which, minlength=n_sets)
        self.learner_ = str(self.learner)

    def _fit_logistic(self, X: sp.csr_array, targets: sp.csr_array, run: Run) -> None:
        fit = fit_softmax(
            X, targets, strength=1.0 / self.C, tol=self.tol, max_iter=self.max_iter,
            n_jobs=self.n_jobs, run=run,
        )  # fmt: skip
        self.weights_ = fit.weights
        self.objective_ = self.C * fit.objective
        self.n_iter_ = fit.iterations

    def _fit_boosting(self, X: sp.csr_array, targets: sp.csr_array, run: Run) -> None:
        fit = fit_boosted_softmax(
            X, targets, growth=self._growth(), n_trees=self.n_trees, n_jobs=self.n_jobs, run=run
        )
        self.trees_ = fit.model.to_arrays()
        self.objective_ = fit.objective
        self.n_iter_ = self.n_trees

    # ---- prediction --------------------------------------------------------------------------

    def _boosted(self) -> BoostedSoftmax:
        trees = self.trees_
        return kept_for(self, "trees", (trees,), lambda: BoostedSoftmax.from_arrays(trees))

    def _log_probabilities(self, X: sp.csr_array) -> NDArray[np.float64]:
        if self.learner_ == "logistic":
            return softmax_logs(X, self.weights_)
        return self._boosted().logs(X)

    def _between(self, x: sp.csr_array, one: int, other: int) -> tuple[NDArray[np.float64], float]:
        if self.learner_ == "boosting":
            logs = self._log_probabilities(x)[0]
            return np.zeros(x.nnz), float(logs[one] - logs[other])
        pair = self.weights_[:, [one, other]].astype(np.float64)
        difference = pair[:, 0] - pair[:, 1]
        return difference[x.indices], float(difference[-1])

    def _check_state(self) -> None:
        super()._check_state()
        n_sets, learner = self.sets_.shape[0], getattr(self, "learner_", None)
        if learner == "boosting" and isinstance(getattr(self, "trees_", None), dict):
            forest = self._boosted().forest
            if (forest.n_outputs, forest.n_features) != (n_sets, self.n_features_in_):
                raise ModelError("The trees of the model do not fit its sets; it was altered.")
            return
        weights, shape = getattr(self, "weights_", None), (self.n_features_in_ + 1, n_sets)
        if learner != "logistic" or not is_array(weights, shape, np.float32):
            raise ModelError("The weights of the model do not fit its label sets; it was altered.")
