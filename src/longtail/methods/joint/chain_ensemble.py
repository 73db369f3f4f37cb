"""Ensembles of classifier chains that vote, each with its own order.

Read, Pfahringer, Holmes & Frank, Classifier chains for multi-label classification, Machine Learning
85, 2011.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from longtail.methods.joint._chain import Beam, ChainClassifier
from longtail.parameters import (
    Count,
    ErrorWeight,
    Jobs,
    MemoryLimit,
    NewtonSteps,
    Prune,
    RelativeGap,
    Seed,
    Share,
    UpToOne,
)
from longtail.runtime.run import Run


class ChainEnsemble(ChainClassifier):
    """Classifier chains in random orders that vote on labels or on whole label sets.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    orders_ : int array of shape (n_chains, L)
        The label columns in the order of each chain.
    weights_ : csr_array of shape (D + 1, n_chains·L)
        Weights of the features, the bias last; columns c·L to (c + 1)·L are those of chain c.
    label_weights_ : csc_array of shape (L, n_chains·L)
        Entry (j, c·L + l) is the weight of label j in the regression of label l in chain c.
    gap_, n_iter_ : arrays of shape (n_chains·L,)
        Proven relative gap and Newton steps.
    empty_sets_ : bool
        Whether the training set has points without labels.

    Notes
    -----
    `n_chains` times the cost of `ClassifierChain`, in training and in prediction. A chain starts
    from the weights of the previous one.

    The probability of a label, which `predict_proba` gives and whose log-odds `predict_topk` gives,
    is the mean over the chains of the probability that each gives it; `predict` counts votes, so
    the two may differ. With `voting="subset"` the set without labels is predicted only if the
    training set has such points or no chain has another; with `voting="label"` it is predicted
    where no label has enough votes.

    Examples
    --------
    >>> from longtail import ChainEnsemble
    >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]] * 3
    >>> Y = [["sea", "sun"], ["snow"], ["sea", "sun"], ["snow", "sun"]] * 3
    >>> ChainEnsemble(n_chains=3, C=10).fit(X, Y).predict([[1, 0, 1], [0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "ecc"
    paper: ClassVar[str] = "Read et al. 2011"

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        n_chains: Annotated[Count, "How many chains vote."] = 10,
        voting: Annotated[
            Literal["label", "subset"],
            "Whether each label is predicted if enough chains vote for it, or the label set is "
            "that which most chains predict; of equals the one that its voters hold most "
            "probable.",
        ] = "label",
        threshold: Annotated[
            Share, 'Share of the chains that must vote for a label, with `voting="label"`.'
        ] = 0.5,
        share: Annotated[
            UpToOne,
            "Share of the rows that each chain is trained on, drawn without replacement; 1 for "
            "all.",
        ] = 1.0,
        bootstrap: Annotated[bool, "Whether to draw with replacement instead."] = False,
        beam: Annotated[
            Beam,
            "Beam of each chain's search, see `ProbabilisticClassifierChain`; 1 decides greedily.",
        ] = 1,
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[Seed, "Seed of the orders and of the rows."] = 0,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        super().__init__(
            C=C, prune=prune, tol=tol, max_iter=max_iter, random_state=random_state,
            memory_limit=memory_limit, n_jobs=n_jobs,
        )  # fmt: skip
        self.n_chains = n_chains
        self.voting = voting
        self.threshold = threshold
        self.share = share
        self.bootstrap = bootstrap
        self.beam = beam

    def _regressions(self) -> dict[str, Any]:
        return {"n_chains": int(self.n_chains)}

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        n, L = Y.shape
        rng = np.random.RandomState(self._seed)
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64] | None]] = []
        for _ in range(self.n_chains):
            order = rng.permutation(L).astype(np.int64)
            rows = None
            if self.bootstrap or self.share < 1:
                size = max(1, round(self.share * n))
                rows = np.sort(rng.choice(n, size, replace=bool(self.bootstrap))).astype(np.int64)
            parts.append((order, rows))
        self._fit_chains(parts, X, Y, run)

    def _decode(
        self, X: sp.csr_array, odds: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        n, L = len(odds), self.orders_.shape[1]
        n_chains = len(self.orders_)
        on, off = np.zeros((n, L)), np.zeros((n, L))
        votes = np.zeros((n, n_chains, L), dtype=np.uint8)
        log_p = np.empty((n, n_chains))
        for chain in range(n_chains):
            scores, sets, found = self._searched(odds, chain)
            votes[:, chain] = sets[:, 0]
            log_p[:, chain] = found[:, 0]
            on += expit(scores)
            off += expit(-scores)
        tiny = np.finfo(float).tiny
        marginals = np.log(np.maximum(on, tiny)) - np.log(np.maximum(off, tiny))
        if self.voting == "label":
            chosen = votes.mean(axis=1) >= self.threshold
        else:
            chosen = np.stack(
                [
                    self._most_voted(ours, p)
                    for ours, p in zip(votes, np.exp(log_p), strict=True)
                ]
            )  # fmt: skip
        return chosen.astype(np.uint8), marginals

    def _most_voted(
        self, votes: NDArray[np.uint8], probabilities: NDArray[np.float64]
    ) -> NDArray[np.uint8]:
        """The row of `votes` that occurs most often, by the rules of the class."""
        count: dict[bytes, int] = {}
        weight: dict[bytes, float] = {}
        which: dict[bytes, int] = {}
        for chain, (labels, p) in enumerate(zip(votes, probabilities.tolist(), strict=True)):
            if not self.empty_sets_ and not labels.any():
                continue
            key = labels.tobytes()
            count[key] = count.get(key, 0) + 1
            weight[key] = weight.get(key, 0.0) + p
            which.setdefault(key, chain)
        if not count:
            return votes[0]
        best = max(count, key=lambda key: (count[key], weight[key], -which[key]))
        return votes[which[best]]

    def _reasons(
        self, x: sp.csr_array, column: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean over the chains, each given the labels that it predicts itself."""
        L = self.orders_.shape[1]
        odds = self._odds(x)
        weights, others = np.zeros(self.weights_.shape[0]), np.zeros(L)
        for chain in range(len(self.orders_)):
            at = [chain * L + column]
            has = self._searched(odds, chain)[1][0, 0]
            weights += self.weights_[:, at].toarray().ravel()
            others += self.label_weights_[:, at].toarray().ravel() * has
        return weights / len(self.orders_), others / len(self.orders_)
