"""Classifiers with one independent linear problem per label: how these are declared and solved.

Since no label depends on another, labels can be added and dropped without training the others.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from longtail.errors import InputError, memory_needed
from longtail.labels import LabelledPoints, columns_without
from longtail.methods._by_count import ByCount, l2_strength
from longtail.methods._new_labels import encode_new_labels, joined_names
from longtail.methods._weights import ClassWeight
from longtail.parameters import Jobs, NewtonSteps, Positive, Prune, RelativeGap
from longtail.runtime.estimates import Estimate
from longtail.runtime.run import Progress, Run, progress_bar
from longtail.solvers import LinearFit, fit_linear
from longtail.solvers.costs import linear_estimate

if TYPE_CHECKING:
    from longtail.methods._linear import LinearClassifier as Classifier
else:
    Classifier = object

ErrorWeights = Annotated[
    Positive | ByCount,
    "Weight of the errors against the penalty; larger fits closer. A pair (a, b), ours, gives a "
    "label with n points C = a / n**b, divided by the mean square length of a row.",
]


class IndependentLabels(Classifier):
    """Mixin of linear classifiers whose labels are independent problems.

    Subclasses declare the problem in `_problem`. If they learn further arrays with one entry per
    label, they add their names to `per_label`.
    """

    per_label: ClassVar[tuple[str, ...]] = (
        "label_counts_", "objective_", "gap_", "violation_", "n_iter_",
    )  # fmt: skip

    def _problem(self, X: sp.csr_array, counts: NDArray[Any]) -> dict[str, Any]:
        """Loss, penalty, strength and the other arguments of `fit_linear`, for labels with so many
        points each."""
        raise NotImplementedError

    def _weights_of(self, Y: sp.csr_array, run: Run, sample_weight: Any) -> dict[str, Any]:
        """The weights of the points in each problem, as `fit_linear` takes them."""
        return {}

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any) -> LinearFit:
        """Solve one problem per column of Y."""
        weights = self._weights_of(Y, run, sample_weight)
        problem = self._problem(X, points_of_labels(Y, sample_weight))
        return fit_linear(X, Y, **problem, **weights, n_jobs=self.n_jobs, run=run)

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        counts = points_of_labels(Y)
        return linear_estimate(X, counts, n_jobs=self.n_jobs, **self._problem(X, counts))

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any = None) -> None:
        fit = self._train(X, Y, run, sample_weight)
        self.weights_ = read_only(fit.weights)
        self.objective_ = fit.objective
        self.gap_ = fit.gap
        self.n_iter_ = fit.iterations

    def _fit_more(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        """Train the columns of Y for a model that is already fitted."""
        self._fit(X, Y, run)

    @memory_needed("to train")
    def add_labels(
        self,
        X: Any,
        y_new: Any = None,
        *,
        label_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """Learn more labels; the weights of the existing labels stay the same, bit for bit.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D), or Dataset
            Points with the features that the model was trained on: the training points again, or
            others. The points without a new label are its negative examples, so give many of them,
            of all kinds.
        y_new : sparse or dense 0/1 matrix of shape (n, M), sequence of label collections, 1-d array
            The new labels of each row, and none of the old ones. If the model was fitted on label
            collections: such collections, many of them empty. If on a matrix: a matrix of the new
            columns. If on one class per row: the class of each row, where rows of a class that the
            model knows serve as negatives. A matrix with `label_names` always works. A data set
            brings its own labels.
        label_names : sequence, optional
            Names of the columns of a label matrix. Without it, the columns get the next numbers, if
            the labels of the model are numbered.
        checkpoint, progress
            As in `fit`.

        Returns
        -------
        self

        Notes
        -----
        The new weights are those that `fit` would have learned for these columns on this X. The
        cost is that of such a `fit`, plus O(weights) to join them. `classes_`, `label_counts_` and
        all arrays with one entry per label grow at the end. `n_points_` becomes the number of rows
        of X if that is larger, since propensities need at least as many points as any label has. If
        anything fails or is interrupted, the model is unchanged.

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
        if isinstance(X, LabelledPoints):
            X, y_new = X.X, X.encoded
        rows = self._checked(X, reset=False)
        Y, names = encode_new_labels(y_new, label_names, known=self.classes_, kind=self.label_kind_)
        if Y.shape[0] != rows.shape[0]:
            raise InputError(
                f"X has {rows.shape[0]} rows, y_new has {Y.shape[0]}; give both for the same "
                "points."
            )
        folder = None if checkpoint is None else Path(checkpoint)
        more = copy.copy(self)
        with progress_bar(progress) as bar, config_context(assume_finite=True):
            more._fit_more(rows, Y, Run(bar, folder, names.tolist()))
        more.label_counts_ = np.bincount(Y.indices, minlength=len(names))
        weights = sp.hstack([self.weights_, more.weights_], format="csr")
        learned = {
            name: np.concatenate([getattr(self, name), getattr(more, name)])
            for name in self._learned_per_label()
        }
        self._replace(
            **learned,
            weights_=read_only(sp.csr_array(weights)),
            classes_=joined_names(self.classes_, names),
            n_points_=max(int(self.n_points_), int(rows.shape[0])),
        )
        return self

    def drop_labels(self, names: Any) -> Self:
        """Forget labels; the others and `n_points_` stay the same. O(weights).

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
            weights_=read_only(sp.csr_array(self.weights_[:, kept])),
            classes_=self.classes_[kept],
        )
        return self

    def _learned_per_label(self) -> list[str]:
        return [name for name in self.per_label if hasattr(self, name)]


class RidgeProblem(Classifier):
    """The problem ½‖w‖² + C Σ loss, small weights dropped.

    Subclasses name the loss; one with parameters of its own has its own constructor.
    """

    loss: ClassVar[str]

    def __init__(
        self,
        *,
        C: ErrorWeights = 1.0,
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        class_weight: ClassWeight = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.C = C
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _problem(self, X: sp.csr_array, counts: NDArray[Any]) -> dict[str, Any]:
        return {
            "loss": self.loss, "strength": l2_strength(X, counts, self.C), "tol": self.tol,
            "max_iter": self.max_iter, "prune": self.prune,
        }  # fmt: skip

    def _train(self, X: sp.csr_array, Y: sp.csr_array, run: Run, sample_weight: Any) -> LinearFit:
        fit = super()._train(X, Y, run, sample_weight)  # type: ignore[misc]
        strength = l2_strength(X, points_of_labels(Y, sample_weight), self.C)
        return replace(fit, objective=fit.objective / strength)


def points_of_labels(Y: sp.csr_array, sample_weight: Any = None) -> NDArray[Any]:
    """How many points each label has, each counted by its weight.

    Examples
    --------
    >>> points_of_labels(sp.csr_array([[1, 0], [1, 1]])).tolist()
    [2, 1]
    """
    weights = None if sample_weight is None else np.repeat(sample_weight, np.diff(Y.indptr))
    return np.bincount(Y.indices, weights=weights, minlength=Y.shape[1])


def read_only(weights: sp.csr_array) -> sp.csr_array:
    """The same matrix, made read-only, because an index of it is kept."""
    for part in (weights.data, weights.indices, weights.indptr):
        part.flags.writeable = False
    return weights
