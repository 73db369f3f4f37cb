"""What chains and dependency networks share: the regressions, scores, probabilities and reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from longtail._checks import check_count, check_not_negative, check_positive
from longtail._sparse import ranked
from longtail.base import Explanation, ExtremeClassifier
from longtail.engine import index_for
from longtail.engine.executor import run_threads, thread_count
from longtail.errors import ModelError, ParameterError

BLOCK_BYTES = 2**22  # bound on the log-odds of a block of points
SMALLEST = 64  # points a block, if there is more than one thread and no need for less

Result = TypeVar("Result")


@dataclass(frozen=True)
class JointExplanation(Explanation):
    """An explanation with the part of the other labels.

    The score is the log-odds of the label given the features and given those other labels that the
    method predicts and the label's regression sees; features, other labels and bias add up to it.

    Attributes
    ----------
    labels : list
        Names of these other labels, the largest contribution first.
    label_contributions : array
        What each of them adds to the score.
    """

    labels: list[Any]
    label_contributions: NDArray[np.float64]

    def label_table(self) -> pl.DataFrame:
        """One row a label, the largest contribution first."""
        return pl.DataFrame(
            {
                "label": [str(label) for label in self.labels],
                "contribution": self.label_contributions,
            }
        )

    def __str__(self) -> str:
        parts = [
            f"{label} {part:+.3f}"
            for label, part in zip(self.labels, self.label_contributions, strict=True)
        ]
        return "\n".join([super().__str__(), f"labels: {', '.join(parts) or 'none'}"])


class ConditionalClassifier(ExtremeClassifier):
    """Base of the methods with one logistic regression a label on X and on other labels.

    Subclasses set `weights_` and `label_weights_` in `_fit`, decode a block of log-odds in
    `_decode`, and store `C`, `prune`, `tol`, `max_iter` and `n_jobs`.
    """

    C: float
    prune: float
    tol: float
    max_iter: int
    n_jobs: int | None

    weights_: sp.csr_array
    label_weights_: sp.csr_array | sp.csc_array
    gap_: NDArray[np.float64]
    n_iter_: NDArray[np.int64]
    empty_sets_: bool

    # ---- what a method supplies --------------------------------------------------------------

    def _decode(
        self, X: sp.csr_array, odds: NDArray[np.float64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Sets and scores, (n, L) each, of a block of points by the log-odds of all regressions."""
        raise NotImplementedError

    # ---- the contract ------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_positive(C=self.C, tol=self.tol)
        check_not_negative(prune=self.prune)
        check_count(max_iter=self.max_iter)
        thread_count(self.n_jobs)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        n_labels = len(self.classes_)

        def work(rows: slice, odds: NDArray[np.float64]) -> sp.csr_array:
            sets, _ = self._decode(X[rows], odds)
            return sp.csr_array(sets.astype(np.float64))

        return _stacked(self._mapped(X, work), n_labels)

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        n_labels = len(self.classes_)

        def work(rows: slice, odds: NDArray[np.float64]) -> sp.csr_array:
            labels, values = ranked(self._decode(X[rows], odds)[1], k)
            order = np.argsort(labels, axis=1)
            ends = np.arange(0, labels.size + 1, k)
            return sp.csr_array(
                (
                    np.take_along_axis(values, order, axis=1).ravel(),
                    np.take_along_axis(labels, order, axis=1).ravel(),
                    ends,
                ),
                shape=(len(labels), n_labels),
            )

        return _stacked(self._mapped(X, work), n_labels)

    def _usual_scale(self) -> tuple[float, float]:
        return 1.0, 0.0

    def predict_proba(self, X: Any, *, threshold: float = 0.01) -> Any:
        """The marginal probability of each label; the class says how it is found.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        threshold : float
            Smaller probabilities are left out of a sparse answer.

        Returns
        -------
        csr_array of shape (n, L)
            If Y was sparse or names: the probabilities of at least `threshold`.
        array of shape (n, L)
            If Y was dense: all probabilities. If Y was one class a row: likewise, scaled so that
            each row adds up to one.
        """
        check_is_fitted(self)
        if not 0 <= threshold < 1:
            raise ParameterError(f"threshold must lie between 0 and 1, not {threshold!r}.")
        points = self._checked(X, reset=False)
        if self.label_kind_ in ("dense", "multiclass"):
            proba = np.concatenate(
                self._mapped(points, lambda rows, odds: expit(self._decode(points[rows], odds)[1]))
            )
            if self.label_kind_ == "multiclass":
                total = proba.sum(axis=1, keepdims=True)
                proba /= np.where(total > 0, total, 1.0)
            return proba
        lowest = -np.inf if threshold == 0 else float(logit(threshold))

        def work(rows: slice, odds: NDArray[np.float64]) -> sp.csr_array:
            scores = self._decode(points[rows], odds)[1]
            where = np.nonzero(scores >= lowest)
            return sp.csr_array((expit(scores[where]), where), shape=scores.shape)

        return _stacked(self._mapped(points, work), len(self.classes_))

    def _explain(
        self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]
    ) -> JointExplanation:
        weights, label_parts = self._reasons(x, column)
        values = x.data.astype(np.float64)
        parts = values * weights[x.indices]
        order = np.argsort(-np.abs(parts), kind="stable")
        order = order[parts[order] != 0][:n]
        others = np.argsort(-np.abs(label_parts), kind="stable")
        others = others[label_parts[others] != 0]
        return JointExplanation(
            label=self.classes_[column : column + 1].tolist()[0],
            score=float(parts.sum() + label_parts.sum() + weights[-1]),
            bias=float(weights[-1]),
            features=names[x.indices[order]],
            values=values[order],
            weights=weights[x.indices[order]],
            contributions=parts[order],
            labels=self.classes_[others].tolist(),
            label_contributions=label_parts[others],
        )

    def _reasons(
        self, x: sp.csr_array, column: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights of the features, bias last, and what the other labels add, for one point."""
        has = self._commit(x).toarray().ravel()
        weights = self.weights_[:, [column]].toarray().ravel().astype(np.float64)
        others = self.label_weights_[:, [column]].toarray().ravel().astype(np.float64)
        return weights, others * has

    def _check_state(self) -> None:
        super()._check_state()
        L = len(self.classes_)
        weights, between = getattr(self, "weights_", None), getattr(self, "label_weights_", None)
        if (
            not isinstance(weights, sp.csr_array)
            or not isinstance(between, sp.csr_array | sp.csc_array)
            or weights.shape[0] != self.n_features_in_ + 1
            or weights.shape[1] % L
            or between.shape != (L, weights.shape[1])
            or not all(
                part.dtype in (np.float32, np.float64) and np.isfinite(part.data).all()
                for part in (weights, between)
            )
            or not isinstance(getattr(self, "empty_sets_", None), bool)
        ):
            raise ModelError("The weights of the model do not fit its labels; it was altered.")

    # ---- blocks of points --------------------------------------------------------------------

    def _mapped(
        self, X: sp.csr_array, work: Callable[[slice, NDArray[np.float64]], Result]
    ) -> list[Result]:
        """What `work` makes of each block of rows and its log-odds, on threads, in order."""
        n, width = X.shape[0], self.weights_.shape[1]
        threads = thread_count(self.n_jobs)
        size = max(1, BLOCK_BYTES // (8 * width))
        size = max(min(size, -(-n // (4 * threads))), min(size, SMALLEST))
        index = index_for(self, self.weights_)
        found: dict[int, Result] = {}

        def of_block(first: int, stop: NDArray[np.int8] | None = None) -> Result:
            rows = slice(first, min(first + size, n))
            odds = index.scores_above(X[rows], -np.inf).data.reshape(-1, width)
            return work(rows, odds)

        if threads == 1 or n <= size:
            return [of_block(first) for first in range(0, n, size)]
        run_threads(
            of_block, range(0, n, size), n_jobs=self.n_jobs, done=found.__setitem__,
            limit_blas=False,
        )  # fmt: skip
        return [found[first] for first in sorted(found)]


def read_only(array: NDArray[Any], kind: Any) -> NDArray[Any]:
    """The same memory where possible, in one form, so that the kernels are compiled once."""
    view = np.ascontiguousarray(array, dtype=kind).view()
    view.flags.writeable = False
    return view


def _stacked(parts: list[sp.csr_array], n_labels: int) -> sp.csr_array:
    if len(parts) == 1:
        return parts[0]
    return sp.csr_array(sp.vstack(parts, format="csr"))
