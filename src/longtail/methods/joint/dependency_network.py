"""Conditional dependency network: each label is regressed on X and all other labels.

Guo & Gu, Multi-label Classification Using Conditional Dependency Networks, IJCAI 2011.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import read_only
from longtail.errors import ModelError
from longtail.methods.joint._conditional_classifier import ConditionalClassifier
from longtail.methods.joint._conditionals import Task, fit_conditionals
from longtail.methods.joint._gibbs_kernels import gibbs
from longtail.parameters import (
    ErrorWeight,
    Jobs,
    MemoryLimit,
    NewtonSteps,
    Prune,
    RelativeGap,
    Seed,
    at_least,
)
from longtail.runtime.run import Run
from longtail.runtime.seeds import row_seeds


class DependencyNetwork(ConditionalClassifier):
    """Conditional dependency network, decoded by Gibbs sampling.

    Each label is a logistic regression on X and on all other labels. To predict, the labels of a
    point are drawn in turn, each given the present state of the others; the label set that comes up
    most often is predicted.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    weights_ : csr_array of shape (D + 1, L)
        Weights of the features, the bias last.
    label_weights_ : csr_array of shape (L, L)
        Entry (j, l) is the weight of label j in the regression of label l.
    gap_, n_iter_ : arrays of shape (L,)
        Proven relative gap and Newton steps of each label.
    empty_sets_ : bool
        Whether the training set has points without labels.

    Notes
    -----
    Training costs L problems, as for `ClassifierChain`, with up to L² weights between labels.
    Prediction costs O(L) per sweep and point, and O(label weights) per label that changes.

    A point's random numbers depend only on `random_state` and the point itself, so it gets the same
    labels alone and among others. The probability of a label, which `predict_proba` gives and whose
    log-odds `predict_topk` gives, is the mean over the samples of its probability given the others.
    Of sets sampled equally often, the one whose labels support each other best is predicted: the
    largest sum of log-probabilities, each label given the others. With `target="subset"` the set
    without labels is predicted only if the training set has such points.

    The method fails for labels that determine each other: if exactly one of two labels always
    occurs, each is best regressed on the other alone, and X is ignored. The sampler then stays
    where it starts.

    Examples
    --------
    >>> from longtail import DependencyNetwork
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]] * 3
    >>> Y = [["sea", "sun"], ["snow"], ["sea", "sun"], ["snow", "sun"]] * 3
    >>> DependencyNetwork(n_samples=100).fit(X, Y).predict([[1, 0, 1], [0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "cdn"
    paper: ClassVar[str] = "Guo & Gu 2011"

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        n_burn_in: Annotated[
            int, at_least(0, 10**5), "Sweeps through all labels before samples are counted."
        ] = 100,
        n_samples: Annotated[
            int, at_least(1, 10**6), "Sweeps after that, each of which is a sample."
        ] = 1000,
        target: Annotated[
            Literal["subset", "hamming"],
            "What to predict: the label set sampled most often, or the labels with a probability "
            "of at least one half, which makes fewest errors label by label.",
        ] = "subset",
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[Seed, "Seed of the sampling."] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(
            C=C, prune=prune, tol=tol, max_iter=max_iter, random_state=random_state,
            memory_limit=memory_limit, n_jobs=n_jobs,
        )  # fmt: skip
        self.n_burn_in = n_burn_in
        self.n_samples = n_samples
        self.target = target

    def _regressions(self) -> dict[str, Any]:
        return {"share": 1.0}

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        self._refuse_beyond_memory(X, Y)
        task = Task(X, Y, None, self.C, self.tol, self.max_iter, self.prune)
        fit = fit_conditionals(task, n_jobs=self.n_jobs, run=run)
        self.weights_ = sp.csr_array(fit.weights)
        self.label_weights_ = sp.csr_array(fit.label_weights)
        self.gap_ = fit.gap
        self.n_iter_ = np.maximum(fit.iterations, 1)
        self.empty_sets_ = bool((np.diff(Y.indptr) == 0).any())

    def _decode(
        self, X: sp.csr_array, odds: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        scores = np.empty_like(odds)
        sets = np.zeros(odds.shape, dtype=np.uint8)
        between = self.label_weights_
        gibbs(
            odds, read_only(between.indptr, np.int64), read_only(between.indices, np.int32),
            read_only(between.data, np.float32), row_seeds(X, self._seed),
            int(self.n_burn_in), int(self.n_samples), self.empty_sets_, scores, sets,
            np.empty(len(odds)),
        )  # fmt: skip
        return sets if self.target == "subset" else (scores >= 0).astype(np.uint8), scores

    def _check_state(self) -> None:
        super()._check_state()
        if (
            not isinstance(self.label_weights_, sp.csr_array)
            or self.weights_.shape[1] != len(self.classes_)
            or self.label_weights_.diagonal().any()
        ):
            raise ModelError("The weights of the model do not fit its labels; it was altered.")
