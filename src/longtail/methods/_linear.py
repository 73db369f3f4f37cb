"""What all one-vs-rest classifiers share: a sparse weight matrix, its predictions and reasons."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import InputError, ModelError
from longtail.labels import TailRanking, columns_without
from longtail.methods._new_labels import encode_new_labels, joined_names
from longtail.runtime.estimates import Estimate
from longtail.runtime.run import Progress, Run, progress_bar
from longtail.search import LinearIndex, index_for
from longtail.solvers import LinearFit, fit_linear
from longtail.solvers.costs import linear_estimate


class LinearOneVsRest(ExtremeClassifier):
    """One independent linear problem a label, all on the engine.

    Subclasses say in `_train` what the engine is to solve and in `_solved` of which kind that is,
    and store `n_jobs`. One that learns more arrays with one entry a label than `per_label` names,
    names them there.
    """

    threshold: ClassVar[float] = 0.0  # the score from which on a label is predicted
    per_label: ClassVar[tuple[str, ...]] = (
        "label_counts_", "objective_", "gap_", "violation_", "n_iter_",
    )  # fmt: skip

    n_jobs: int | None

    weights_: sp.csr_array
    objective_: NDArray[np.float64]
    gap_: NDArray[np.float64]
    n_iter_: NDArray[np.int64]

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> LinearFit:
        """Solve one problem a column of Y."""
        raise NotImplementedError

    def _solved(self) -> dict[str, Any]:
        """Loss, penalty and what else `linear_estimate` asks of the problems."""
        raise NotImplementedError

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        return linear_estimate(X, counts, n_jobs=self.n_jobs, **self._solved())

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        fit = self._train(X, Y, run)
        self.weights_ = _read_only(fit.weights)
        self.objective_ = fit.objective
        self.gap_ = fit.gap
        self.n_iter_ = fit.iterations

    def _fit_more(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        """Train the columns of Y as those of a model that is fitted already."""
        self._fit(X, Y, run)

    def add_labels(
        self,
        X: Any,
        Y_new: Any,
        *,
        label_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """Learn more labels; the weights of those that are there stay as they are, bit for bit.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
            Points with the features that the model was trained on: the training points again, or
            others. Each new label is told apart from the points here that do not have it, so there
            should be many of them, of all kinds.
        Y_new : sparse or dense 0/1 matrix of shape (n, M), sequence of label collections, 1-d array
            The new labels of each row, and none of the old ones. If the model was fitted on
            label collections: such collections, many of them empty. If on a matrix: a matrix of
            the new columns. If on one class a row: the class of each row, where rows of a class
            that the model knows serve as negatives. A matrix with `label_names` will do for all.
        label_names : sequence, optional
            Names of the columns of a label matrix. Without it they get the next numbers, if the
            labels of the model are numbered.
        checkpoint, progress
            As in `fit`.

        Returns
        -------
        self

        Notes
        -----
        The new weights are those that `fit` would have learned for these columns on this X; the
        cost is that of such a `fit`, and O(weights) to join them. `classes_`, `label_counts_` and
        all that was learned label by label grow at the end. `n_points_` becomes the number of rows
        of X where that is larger, since propensities want no label to have more points than there
        are. If anything fails, or is interrupted, the model is as it was.

        Examples
        --------
        >>> from longtail import DiSMEC
        >>> X = [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
        >>> tagger = DiSMEC().fit(X, [["sea"], ["snow"], ["sea"], ["snow"]])
        >>> tagger.add_labels(X, [["sun"], [], [], ["sun"]]).classes_.tolist()
        ['sea', 'snow', 'sun']
        >>> tagger.predict([[1, 0, 1]])
        [('sea', 'sun')]
        """
        check_is_fitted(self)
        self.check_parameters()
        rows = self._checked(X, reset=False)
        Y, names = encode_new_labels(Y_new, label_names, known=self.classes_, kind=self.label_kind_)
        if Y.shape[0] != rows.shape[0]:
            raise InputError(
                f"X has {rows.shape[0]} rows, Y_new has {Y.shape[0]}; give both for the same "
                "points."
            )
        folder = None if checkpoint is None else Path(checkpoint)
        more = copy.copy(self)
        with progress_bar(progress) as bar:
            more._fit_more(rows, Y, Run(bar, folder, names.tolist()))
        more.label_counts_ = np.bincount(Y.indices, minlength=len(names))
        weights = sp.hstack([self.weights_, more.weights_], format="csr")
        learned = {
            name: np.concatenate([getattr(self, name), getattr(more, name)])
            for name in self._learned_per_label()
        }
        self._replace(
            **learned,
            weights_=_read_only(sp.csr_array(weights)),
            classes_=joined_names(self.classes_, names),
            n_points_=max(int(self.n_points_), int(rows.shape[0])),
        )
        return self

    def drop_labels(self, names: Any) -> Self:
        """Forget labels; the others, and `n_points_`, stay as they are. O(weights).

        Parameters
        ----------
        names : sequence
            Names from `classes_`.

        Returns
        -------
        self

        Examples
        --------
        >>> from longtail import DiSMEC
        >>> tagger = DiSMEC().fit([[1, 0], [0, 1]], [["sea", "sun"], ["snow"]])
        >>> tagger.drop_labels(["sun"]).classes_.tolist()
        ['sea', 'snow']
        """
        check_is_fitted(self)
        kept = columns_without(names, self.classes_)
        learned = {name: getattr(self, name)[kept] for name in self._learned_per_label()}
        self._replace(
            **learned,
            weights_=_read_only(sp.csr_array(self.weights_[:, kept])),
            classes_=self.classes_[kept],
        )
        return self

    def _learned_per_label(self) -> list[str]:
        return [name for name in self.per_label if hasattr(self, name)]

    def _replace(self, **learned: Any) -> None:
        """Set all at once: no interrupt comes between two of them."""
        self.__dict__.update(learned)

    def _check_state(self) -> None:
        super()._check_state()
        shape = (self.n_features_in_ + 1, len(self.classes_))
        weights = getattr(self, "weights_", None)
        if not isinstance(weights, sp.csr_array) or weights.shape != shape:
            raise ModelError("The weights of the model do not fit its labels; it was altered.")

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        return self._index().topk(X, k, n_jobs=self.n_jobs)

    def _topk_ranked(self, X: sp.csr_array, k: int, ranking: TailRanking) -> sp.csr_array:
        return self._index().topk(X, k, ranking=ranking, n_jobs=self.n_jobs)

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        return self._index().scores_above(X, self.threshold, n_jobs=self.n_jobs)

    def _index(self) -> LinearIndex:
        """The weights made ready for prediction; kept as long as they are the same."""
        return index_for(self, self.weights_, self._index_of)

    def _index_of(self, weights: sp.csr_array) -> LinearIndex:
        """An index of the labels that may be predicted."""
        return LinearIndex(weights)

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        weights = self.weights_[:, [column]].toarray().ravel().astype(np.float64)
        return Explanation.by_features(
            self._name_of(column), x, weights[x.indices], names, n, bias=weights[-1]
        )


class RidgeOneVsRest(LinearOneVsRest):
    """One l2-regularised problem a label: ½‖w‖² + C Σ loss, small weights dropped.

    Subclasses name the loss and store `C`, `prune`, `tol`, `max_iter` and `n_jobs`.
    """

    loss: ClassVar[str]

    C: float
    prune: float
    tol: float
    max_iter: int

    def _solved(self) -> dict[str, Any]:
        return {"loss": self.loss, "prune": self.prune, "strength": 1.0 / float(self.C)}

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> LinearFit:
        fit = fit_linear(
            X, Y, loss=self.loss, strength=1.0 / self.C, tol=self.tol, max_iter=self.max_iter,
            prune=self.prune, n_jobs=self.n_jobs, run=run,
        )  # fmt: skip
        return replace(fit, objective=fit.objective * self.C)


def _read_only(weights: sp.csr_array) -> sp.csr_array:
    for part in (weights.data, weights.indices, weights.indptr):
        part.flags.writeable = False
    return weights
