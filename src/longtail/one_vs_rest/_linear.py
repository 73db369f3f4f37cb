"""What all one-vs-rest classifiers share: a sparse weight matrix, its predictions and reasons."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._run import Run
from longtail.base import Explanation, ExtremeClassifier
from longtail.engine import fit_linear, linear_scores_above, linear_topk
from longtail.errors import ModelError, ParameterError


class LinearOneVsRest(ExtremeClassifier):
    """One independent linear problem a label, all on the engine.

    Subclasses name the loss and store `C`, `prune`, `tol`, `max_iter` and `n_jobs`.
    """

    loss: ClassVar[str]
    threshold: ClassVar[float] = 0.0  # the score from which on a label is predicted

    C: float
    prune: float
    tol: float
    max_iter: int
    n_jobs: int | None

    weights_: sp.csr_array
    objective_: NDArray[np.float64]
    gap_: NDArray[np.float64]
    n_iter_: NDArray[np.int64]

    def _check_parameters(self) -> None:
        for name in ("C", "tol"):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and 0 < value < math.inf):
                raise ParameterError(f"{name} must be a positive, finite number, not {value!r}.")
        if not (isinstance(self.prune, int | float | np.number) and 0 <= self.prune < math.inf):
            raise ParameterError(f"prune must be zero or a positive number, not {self.prune!r}.")

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        fit = fit_linear(
            X, Y, loss=self.loss, strength=1.0 / self.C, tol=self.tol, max_iter=self.max_iter,
            prune=self.prune, n_jobs=self.n_jobs, run=run,
        )  # fmt: skip
        self.weights_ = fit.weights
        for part in (fit.weights.data, fit.weights.indices, fit.weights.indptr):
            part.flags.writeable = False
        self.objective_ = fit.objective * self.C
        self.gap_ = fit.gap
        self.n_iter_ = fit.iterations

    def _check_state(self) -> None:
        super()._check_state()
        shape = (self.n_features_in_ + 1, len(self.classes_))
        weights = getattr(self, "weights_", None)
        if not isinstance(weights, sp.csr_array) or weights.shape != shape:
            raise ModelError("The weights of the model do not fit its labels; it was altered.")

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        return linear_topk(X, self.weights_, k, n_jobs=self.n_jobs)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return linear_scores_above(X, self.weights_, self.threshold, n_jobs=self.n_jobs)

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        weights = self.weights_[:, [column]].toarray().ravel().astype(np.float64)
        values = x.data.astype(np.float64)
        ours = weights[x.indices]
        parts = values * ours
        order = np.argsort(-np.abs(parts), kind="stable")
        order = order[parts[order] != 0][:n]
        return Explanation(
            label=self.classes_[column : column + 1].tolist()[0],
            score=float(parts.sum() + weights[-1]),
            bias=float(weights[-1]),
            features=names[x.indices[order]],
            values=values[order],
            weights=ours[order],
            contributions=parts[order],
        )
