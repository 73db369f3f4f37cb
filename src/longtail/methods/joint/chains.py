"""Classifier chains: each label is regressed on X and on the labels before it.

Read, Pfahringer, Holmes & Frank, Classifier chains for multi-label classification, Machine Learning
85, 2011. Probabilistic: Cheng, Hüllermeier & Dembczyński, Bayes optimal multilabel classification
via probabilistic classifier chains, ICML 2010, with the beam search of Kumar, Vembu, Menon & Elkan,
Beam search algorithms for multilabel learning, Machine Learning 92, 2013.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.errors import InputError
from longtail.labels import as_predicted, encode_labels, names_to_matrix
from longtail.methods.joint._chain import Beam, ChainClassifier, Order, chain_order
from longtail.methods.joint._chain_kernels import log_joint
from longtail.parameters import (
    ErrorWeight,
    Jobs,
    MemoryLimit,
    NewtonSteps,
    Prune,
    RelativeGap,
    Seed,
)
from longtail.runtime.run import Run


class ClassifierChain(ChainClassifier):
    """Classifier chain, decided greedily label by label.

    Label l is a logistic regression on X and on the labels before it in the chain: in training on
    their true values, in prediction on the predicted ones. ½‖w‖² + C Σ log(1 + exp(-s_i⟨w, x_i⟩))
    is minimised to a proven relative gap, with a constant feature for the bias.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    order_ : int array of shape (L,)
        The label columns in the order of the chain.
    weights_ : csr_array of shape (D + 1, L)
        Weights of the features, the bias last.
    label_weights_ : csc_array of shape (L, L)
        Entry (j, l) is the weight of label j in the regression of label l.
    gap_, n_iter_ : arrays of shape (L,)
        Proven relative gap and Newton steps of each label.
    empty_sets_ : bool
        Whether the training set has points without labels.

    Notes
    -----
    Training costs L problems of O(nnz(X) + nnz(Y)) per pass over the points, about 10 to 100 passes
    each. Unlike the problems of `BinaryRelevance`, they do not share their passes, since each has
    its own columns. If the columns are dense and at most 512, a Newton step costs O(N·(D + L)²)
    instead. There are up to L²/2 weights between labels; with thousands of labels training takes
    hours (see `estimate`). Prediction costs O(weights of its features + L·labels found) per point.

    The score of `predict_topk` is the log-odds of a label given the labels predicted before it;
    `predict_proba` turns it into a probability. Labels with at least 0 are predicted. A point may
    get no label, even if that does not occur in training.

    Examples
    --------
    >>> from longtail import ClassifierChain
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]] * 3
    >>> Y = [["sea", "sun"], ["snow"], ["sea", "sun"], ["snow", "sun"]] * 3
    >>> ClassifierChain(C=10).fit(X, Y).predict([[1, 0, 1], [0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "cc"
    paper: ClassVar[str] = "Read et al. 2011"

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        order: Order = "random",
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[Seed, "Seed of a random order."] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(
            C=C, prune=prune, tol=tol, max_iter=max_iter, random_state=random_state,
            memory_limit=memory_limit, n_jobs=n_jobs,
        )  # fmt: skip
        self.order = order

    @property
    def order_(self) -> NDArray[np.int64]:
        """The label columns in the order of the chain."""
        return self.orders_[0]

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        rng = np.random.RandomState(self._seed)
        self._fit_chains([(chain_order(self.order, Y.shape[1], rng), None)], X, Y, run)

    def joint_log_proba(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Logarithm of the probability that the chain gives to whole label sets.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        Y : as in `fit`
            One label set per row, in the form that Y had in `fit`.

        Returns
        -------
        array of shape (n,)
            The sum of the logarithms of the conditional probabilities along the chain; over all
            2^L sets of a row, the probabilities add up to one.

        Notes
        -----
        O(L + label weights) per row.

        Examples
        --------
        >>> from longtail import ClassifierChain
        >>> X = [[1, 0], [0, 1], [1, 1]]
        >>> chain = ClassifierChain().fit(X, [[1, 0], [0, 1], [1, 1]])
        >>> sets = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> float(np.exp(chain.joint_log_proba([[1, 0]] * 4, sets)).sum().round(6))
        1.0
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        names = self.classes_.tolist()
        Y = as_predicted(Y, names, self.label_kind_)  # type: ignore[arg-type]
        if self.label_kind_ in ("dense", "sparse"):
            given = encode_labels(Y).matrix
        else:
            sets = [[name] for name in Y] if self.label_kind_ == "multiclass" else list(Y)
            given, _ = names_to_matrix(sets, classes=names)
        if given.shape != (rows.shape[0], len(names)):
            raise InputError(
                f"Y has shape {given.shape}, but there are {rows.shape[0]} rows and {len(names)} "
                "labels."
            )

        def work(x: sp.csr_array, sets: sp.csr_array) -> NDArray[np.float64]:
            odds = self._odds(x)
            log_p = np.empty(len(odds))
            log_joint(odds, *self._tables(0), sets.toarray().astype(np.bool_), log_p)
            return log_p

        return np.concatenate(self._in_blocks(work, rows, given))


class ProbabilisticClassifierChain(ClassifierChain):
    """Classifier chain whose most probable label set is looked for by beam search.

    Trained like `ClassifierChain`. The probability of a label set is the product of the conditional
    probabilities along the chain; a beam search keeps the most probable beginnings of label sets,
    label by label. A beam of 1 is the greedy chain; a beam of 2^L always finds the best set.

    Attributes
    ----------
    classes_, order_, weights_, label_weights_, gap_, n_iter_, empty_sets_
        As in `ClassifierChain`.

    Notes
    -----
    Training costs what `ClassifierChain` costs; prediction O(beam·L·(labels found + beam)) per
    point.

    The set without labels is predicted only if the training set has such points; otherwise the best
    set with labels in the beam is taken (there is one in every beam of at least 2).

    `predict_sets` lists the sets in the beam, at most `beam`, first the one that `predict` returns;
    their probabilities are exact.

    The probability of a label, which `predict_proba` gives and whose log-odds `predict_topk` gives,
    is its conditional probability averaged over the beginnings in the beam at its turn, weighted by
    their probabilities: the exact marginal if the beam holds all of them.

    Examples
    --------
    >>> from longtail import ProbabilisticClassifierChain
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]] * 3
    >>> Y = [["sea", "sun"], ["snow"], ["sea", "sun"], ["snow", "sun"]] * 3
    >>> chain = ProbabilisticClassifierChain(C=10).fit(X, Y)
    >>> chain.predict([[1, 0, 1]])
    [('sea', 'sun')]
    >>> for names, probability in chain.predict_sets([[1, 0, 1]], 2)[0]:
    ...     print(names, round(probability, 2))
    ('sea', 'sun') 0.91
    ('sea', 'snow', 'sun') 0.04
    """

    method: ClassVar[str] = "pcc"
    paper: ClassVar[str] = "Cheng et al. 2010, Kumar et al. 2013"

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        beam: Annotated[
            Beam, "Beginnings of label sets that are kept in the search; 1 is greedy."
        ] = 15,
        order: Order = "random",
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[Seed, "Seed of a random order."] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(
            C=C, order=order, prune=prune, tol=tol, max_iter=max_iter, random_state=random_state,
            memory_limit=memory_limit, n_jobs=n_jobs,
        )  # fmt: skip
        self.beam = beam

    def _likely_sets(
        self, X: sp.csr_array, n_sets: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        return self._searched(self._odds(X), n_sets=min(n_sets, int(self.beam)))[1:]
