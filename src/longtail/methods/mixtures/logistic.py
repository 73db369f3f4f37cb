"""Logistic gate and experts of a conditional mixture: section 3.1 of the paper.

The gate is a multinomial logistic regression with soft targets, and each component has a binary one
for every label, its points weighted by the component's responsibilities. All have the penalty
½‖w‖²/C; each M step starts from the weights of the last.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ConvergenceWarning, ModelError
from longtail.methods._soundness import is_array, is_csr
from longtail.runtime.run import Run
from longtail.solvers import fit_linear, fit_softmax, softmax_logs

NEGLIGIBLE = 1e-3
"""Responsibility below which a point does not count for a component's experts."""

SPARSE = 0.25  # share of weights that are not zero, below which they are kept as a sparse matrix


class LogisticGate:
    """π_k(x): a multinomial logistic regression.

    `tol` and `max_iter` are those of one M step; see `longtail.solvers.fit_softmax`. `weights`
    (D + 1, K) have the bias last.
    """

    weights: NDArray[Any]

    def __init__(
        self,
        n_components: int,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 10,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def update(self, X: sp.csr_array, responsibilities: NDArray[np.float64]) -> None:
        """An M step: minimise (9) from its weights. O(nnz(X)·K) per product with the Hessian."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next round continues
            fit = fit_softmax(
                X, responsibilities, strength=1.0 / self.C, tol=self.tol, max_iter=self.max_iter,
                warm_start=getattr(self, "weights", None), dtype=np.float64, n_jobs=self.n_jobs,
            )  # fmt: skip
        self.weights = fit.weights

    def log_weights(self, X: sp.csr_array) -> NDArray[np.float64]:
        """log π_k(x) of each row. O(nnz(X)·K)."""
        return np.asarray(softmax_logs(X, self.weights), dtype=np.float64)

    def penalty(self) -> float:
        """½‖W‖²/C."""
        return 0.5 * float(np.sum(np.square(self.weights))) / self.C

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""
        self.weights = np.ascontiguousarray(self.weights[:, components])
        self.n_components = len(components)

    def to_arrays(self) -> dict[str, Any]:
        """The learned arrays, exactly."""
        return {"weights": self.weights}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`."""
        weights = arrays.get("weights")
        kinds = (np.float32, np.float64)
        if not is_array(weights, (None, None), *kinds, finite=True) or not weights.shape[1]:
            raise ModelError("The weights of the model's gate make no sense; it was altered.")
        gate = cls(weights.shape[1])
        gate.weights = weights
        return gate


class LogisticExperts:
    """b_kl(x): a binary logistic regression for every component and label.

    `tol` and `max_iter` are those of one M step; see `longtail.solvers.fit_linear`. Points with a
    responsibility below `negligible` are left out of a component's problems. `weights` (D + 1, P)
    has one column per solved problem, the bias last; the log-odds of a label in a component are
    those of its `column`, times its `sign`, both (K, L). Labels that are
    constant among the points of a component all have the same problem, up to its sign, so it is
    solved once.
    """

    weights: sp.csc_array
    column: NDArray[np.int64]
    sign: NDArray[np.int8]

    def __init__(
        self,
        n_components: int,
        n_labels: int,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 10,
        negligible: float = NEGLIGIBLE,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_labels = n_labels
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.negligible = negligible
        self.n_jobs = n_jobs
        self._dense: tuple[sp.csc_array, NDArray[Any]] | None = None

    def update(
        self, X: sp.csr_array, Y: sp.csr_array, responsibilities: NDArray[np.float64], run: Run
    ) -> None:
        """An M step: minimise (10) for each component and label from the current weights.

        O(nnz of a component's points) per pass and problem.
        """
        columns, places, signs, first = [], [], [], 0
        for k in range(self.n_components):
            found, place, sign = self._component(k, X, Y, responsibilities[:, k])
            columns.append(found)
            places.append(place + first)
            signs.append(sign)
            first += found.shape[1]
            run.report("experts", k + 1, self.n_components)
        self.weights = sp.csc_array(sp.hstack(columns, format="csc"))
        self.column, self.sign = np.stack(places), np.stack(signs)

    def _component(
        self, k: int, X: sp.csr_array, Y: sp.csr_array, shares: NDArray[np.float64]
    ) -> tuple[sp.csc_array, NDArray[np.int64], NDArray[np.int8]]:
        """Weights of one component's problems, and which of them each label has, with its sign."""
        rows = np.flatnonzero(shares > self.negligible)
        sign = np.ones(self.n_labels, dtype=np.int8)
        if not len(rows):  # the component has no points; its predictions no longer matter
            nothing = sp.csc_array((X.shape[1] + 1, 1))
            return nothing, np.zeros(self.n_labels, dtype=np.int64), sign
        mine = sp.csc_array(Y[rows])
        number = np.diff(mine.indptr)
        varying = (number > 0) & (number < len(rows))
        learned, constant = np.flatnonzero(varying), np.flatnonzero(~varying)
        place = np.full(self.n_labels, len(learned), dtype=np.int64)
        place[learned] = np.arange(len(learned))
        sign[number == 0] = -1
        targets, starts = mine[:, learned], learned
        if len(constant):
            always = sp.csc_array(np.ones((len(rows), 1)))
            targets = sp.hstack([targets, always], format="csc")
            starts = np.append(learned, constant[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the next round continues
            fit = fit_linear(
                X[rows], targets, loss="logistic", strength=1.0 / self.C,
                sample_weight=shares[rows], warm_start=self._start(k, starts, sign),
                tol=self.tol, max_iter=self.max_iter, dtype=np.float64, n_jobs=self.n_jobs,
            )  # fmt: skip
        return sp.csc_array(fit.weights), place, sign

    def _start(
        self, k: int, labels: NDArray[np.int64], sign: NDArray[np.int8]
    ) -> sp.csc_array | None:
        """Where the problems of these labels ended in the last round."""
        if not hasattr(self, "weights"):
            return None
        start = sp.csc_array(self.weights[:, self.column[k, labels]])
        turned = (self.sign[k, labels] * sign[labels]).astype(np.float64)
        start.data = start.data * np.repeat(turned, np.diff(start.indptr))
        return start

    def log_odds(self, X: sp.csr_array) -> NDArray[np.float64]:
        """z_kl(x), (n, K, L). O(nnz(X)·P), or the weights that are not zero, and O(n·K·L)."""
        weights = self.weights
        if weights.nnz > SPARSE * weights.shape[0] * weights.shape[1]:
            if self._dense is None or self._dense[0] is not weights:
                self._dense = weights, weights.toarray()
            dense = self._dense[1]
            scores = X @ dense[:-1] + dense[-1]
        else:
            scores = (X @ weights[:-1]).toarray() + weights[[-1]].toarray()
        return np.asarray(scores)[:, self.column] * self.sign

    def average_weights(self, shares: NDArray[np.float64], label: int) -> NDArray[np.float64]:
        """Weights (D + 1,) of a label's log-odds averaged over the components by these shares."""
        signed = shares * self.sign[:, label]
        return np.asarray(self.weights[:, self.column[:, label]] @ signed, dtype=np.float64)

    def penalty(self) -> float:
        """½‖W‖²/C."""
        norms = np.asarray(self.weights.multiply(self.weights).sum(axis=0)).ravel()
        return 0.5 * float(norms[self.column].sum()) / self.C

    def keep(self, components: NDArray[np.int64]) -> None:
        """Forget the other components."""
        kept, column = np.unique(self.column[components], return_inverse=True)
        self.weights = sp.csc_array(self.weights[:, kept])
        self.column = column.reshape(len(components), self.n_labels)
        self.sign = self.sign[components]
        self.n_components = len(components)

    def to_arrays(self) -> dict[str, Any]:
        """The learned arrays, exactly."""
        return {
            "weights": sp.csr_array(self.weights.T),
            "column": self.column,
            "sign": self.sign,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> Self:
        """The inverse of `to_arrays`."""
        weights, column, sign = (arrays.get(name) for name in ("weights", "column", "sign"))
        if (
            not is_csr(weights, (None, None), np.float32, np.float64, finite=True)
            or not is_array(column, (None, None), np.int64)
            or not column.size
            or not is_array(sign, column.shape, np.int8)
            or (np.abs(sign) != 1).any()
            or column.min() < 0
            or column.max() >= weights.shape[0]
        ):
            raise ModelError("The weights of the model's experts make no sense; it was altered.")
        experts = cls(*column.shape)
        experts.weights = sp.csc_array(weights.T)
        experts.column, experts.sign = column, sign
        return experts
