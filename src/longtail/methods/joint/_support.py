"""What methods that choose among the label sets of the training data share.

Such a method gives each of these sets a probability for a point. The most probable one is the
prediction; the marginal probability of a label is the sum over the sets that hold it.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError, ModelError
from longtail.explanation import Explanation, as_column
from longtail.labels import distinct_sets
from longtail.methods._marginal import LARGEST, MarginalClassifier, log_odds_of
from longtail.methods._soundness import is_label_matrix
from longtail.parameters import Count, ErrorWeight, Jobs, MemoryLimit, Positive
from longtail.runtime.estimates import Estimate, refuse_beyond

GradientNorm = Annotated[
    Positive,
    "Norm of the gradient, relative to that at zero, at which the problem counts as solved.",
]
BLOCK_BYTES = 2**25  # probabilities of one block of points
LARGEST_KNOWN = 1e50  # largest feature value with finite linear scores, whatever the weights
LARGEST_TRAINED = 1e15  # largest value whose square does not round away a penalty of 1


class SetClassifier(MarginalClassifier):
    """A distribution over the label sets of the training data.

    Subclasses set `sets_` in `_fit` and compute the probability of each set.
    """

    sets_: sp.csr_array
    objective_: float
    n_iter_: int

    def __init__(
        self,
        *,
        C: ErrorWeight = 1.0,
        tol: GradientNorm = 1e-4,
        max_iter: Annotated[Count, "Limit on Newton steps."] = 200,
        memory_limit: MemoryLimit = 4.0,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    def _log_probabilities(self, X: sp.csr_array) -> NDArray[np.float64]:
        """Logarithms (n, S) of the probabilities of the sets; n is small."""
        raise NotImplementedError

    def _between(self, x: sp.csr_array, one: int, other: int) -> tuple[NDArray[np.float64], float]:
        """Weights of the stored features of x, and a bias, that favour one set over another."""
        raise NotImplementedError

    def _needed(self, X: sp.csr_array, sets: sp.csr_array) -> Estimate:
        """Memory and time of training, given the distinct label sets."""
        raise NotImplementedError

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        return self._needed(X, distinct_sets(Y)[0])

    def _is_linear(self) -> bool:
        """Whether the scores of the fitted model are linear in the features."""
        return True

    def _checked(self, X: Any, *, reset: bool) -> sp.csr_array:
        rows = super()._checked(X, reset=reset)
        if not reset and self._is_linear():
            _refuse_beyond(LARGEST_KNOWN, rows, "their scores may overflow")
        return rows

    def _refuse_untrainable(self, X: sp.csr_array) -> None:
        """Raise an error for values whose squares would round away the penalty, 1 / C."""
        limit = LARGEST_TRAINED / max(1.0, float(self.C) ** 0.5)
        _refuse_beyond(limit, X, "the penalty is lost in rounding beside them")

    def _refuse_beyond_memory(self, X: sp.csr_array, sets: sp.csr_array, less: str) -> None:
        """Raise an error beyond `memory_limit`; `less` names an option that needs less."""
        remedy = f"use a method that does not list label sets, such as br, or {less}"
        refuse_beyond(self, self._needed(X, sets), self.memory_limit, remedy)

    def _block_rows(self) -> int:
        return max(1, BLOCK_BYTES // (8 * max(sum(self.sets_.shape), 1)))

    def _sets_of(self, X: sp.csr_array) -> NDArray[np.bool_]:
        best = self._log_probabilities(X).argmax(axis=1)
        return self.sets_[best].toarray() > 0

    def _scores_of(self, X: sp.csr_array) -> NDArray[np.float64]:
        p = np.exp(self._log_probabilities(X)) @ self.sets_.astype(np.float64)
        return log_odds_of(np.clip(np.asarray(p), 0.0, 1.0))

    def _likely_sets(
        self, X: sp.csr_array, n_sets: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        logs = self._log_probabilities(X)
        best = np.argsort(-logs, axis=1, kind="stable")[:, :n_sets]
        sets = self.sets_.astype(np.bool_)[best.ravel()].toarray()
        return sets.reshape(*best.shape, -1), np.take_along_axis(logs, best, axis=1)

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """The log-odds of the most probable set with the label against the best without it.

        If they are linear in the features, contributions and bias add up to them; if they come from
        trees, all is bias. The table "sets" has the two sets, without one that no training point
        has.
        """
        logs = self._log_probabilities(x)[0]
        holds = np.zeros(len(logs), dtype=bool)
        holds[self.sets_[:, [column]].nonzero()[0]] = True
        sides = [np.flatnonzero(holds), np.flatnonzero(~holds)]
        best = [int(side[logs[side].argmax()]) if len(side) else None for side in sides]
        one, other = best
        if one is None or other is None:
            ours, bias = np.zeros(x.nnz), -LARGEST if one is None else LARGEST
        else:
            ours, bias = self._between(x, one, other)
        table = pl.DataFrame(
            {
                "label": ["with it", "without it"],
                "set": [
                    None if s is None else as_column(self.classes_[self.sets_[[s]].indices])
                    for s in best
                ],
                "probability": [0.0 if s is None else float(np.exp(logs[s])) for s in best],
            }
        )
        return Explanation.by_features(
            self._name_of(column), x, ours, names, n, bias=bias, details={"sets": table}
        )

    def _check_state(self) -> None:
        super()._check_state()
        sets = getattr(self, "sets_", None)
        if not is_label_matrix(sets, (None, len(self.classes_))) or sets.shape[0] < 1:
            raise ModelError("The label sets of the model do not fit its labels; it was altered.")


def _refuse_beyond(limit: float, X: sp.csr_array, why: str) -> None:
    largest = float(np.abs(X.data).max(initial=0.0))
    if largest > limit:
        raise InputError(
            f"X has a value of magnitude {largest:.3g}, beyond {limit:.3g}, where {why}; scale the "
            "features or clip such values."
        )
