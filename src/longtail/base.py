"""The contract of every classifier: what a user may rely on, and what a method has to supply.

A method derives from `ExtremeClassifier`, stores its parameters in a keyword-only constructor and
writes `_fit`, `_topk`, `_commit` and `_explain`; everything else, from checking the input and
keeping the label names to saving the model, is done here, once.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import from_ranked, ranked
from longtail.errors import InputError, memory_needed
from longtail.explanation import Explanation
from longtail.labels import (
    EncodedLabels,
    TailRanking,
    check_tail,
    columns_of,
    decode_labels,
    in_columns_of,
    tail_ranking,
)
from longtail.labels.learned import check_learned
from longtail.labels.points import (
    as_row,
    check_feature_names,
    checked_rows,
    shares_memory,
    training_points,
    weighted_points,
)
from longtail.parameters import check, check_count, documented
from longtail.runtime.estimates import Estimate, matrix_bytes, refuse_dense, unknown
from longtail.runtime.kept import kept_for, on_one_model
from longtail.runtime.run import Progress, Run, progress_bar
from longtail.runtime.seeds import drawn_seed
from longtail.store import StoredEstimator

__all__ = ["Explanation", "ExtremeClassifier"]

BLOCK_CELLS = 2**22  # scores of `decision_function` that are made at a time


class ExtremeClassifier(ClassifierMixin, StoredEstimator):
    """Base of every classifier in longtail.

    Subclasses set `method`, the name at the command line and in model folders, and `paper`, where
    the method comes from, and implement the four methods that raise `NotImplementedError`.
    `feature_kind` says what X should hold where longtail makes it: "scaled" values, that is, tf-idf
    or rows of unit length, or "counts", raw term counts. `kept_data` names the learned attributes
    that are training data themselves, which are not counted as parameters. `scores_all_labels` says
    that the method has a score for every label of every point, and so a `decision_function`.

    After `fit`, `classes_` holds the label names in the order of the columns of every matrix, and
    `label_counts_` and `n_points_` the training points of each label and in all, which is what
    propensities are made of. `calibration_`, where `longtail.decisions` has set it, holds the scale
    and the shift that make log-odds of scores. `random_state_`, where `random_state` is None, holds
    the seed that was drawn; methods read either as `_seed`.
    """

    method: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    feature_kind: ClassVar[Literal["scaled", "counts"]] = "scaled"
    kept_data: ClassVar[tuple[str, ...]] = ()
    scores_all_labels: ClassVar[bool] = False
    any_numbers: ClassVar[tuple[str, ...]] = ("objective_", "gap_", "violation_", "cv_results_")

    classes_: NDArray[Any]
    label_kind_: str
    label_counts_: NDArray[np.int64]
    n_points_: int
    n_features_in_: int
    calibration_: NDArray[np.float64]
    random_state_: int

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "method" in vars(cls):
            cls.stored_as = cls.method
        super().__init_subclass__(**kwargs)
        documented(cls)

    # ---- what a method supplies -------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise `ParameterError` for values that do not fit each other; before any work.

        Each value by itself was checked already, by what the constructor declares; see
        `longtail.parameters`. It must not depend on this machine, since loading calls it too.
        """

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        """Train on checked data: X (n, D) of floats, Y (n, L) of ones."""
        raise NotImplementedError

    def _topk(self, X: sp.csr_array, k: int) -> sp.csr_array:
        """Scores (n, L) of the k best labels of each row, 1 <= k <= L."""
        raise NotImplementedError

    def _commit(self, X: sp.csr_array) -> sp.csr_array:
        """The label set of each row, as the stored entries of a matrix (n, L)."""
        raise NotImplementedError

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """Why the one row of x got its score for label `column`."""
        raise NotImplementedError

    # ---- what a method may supply ------------------------------------------------------------

    def _topk_ranked(self, X: sp.csr_array, k: int, ranking: TailRanking) -> sp.csr_array:
        """The k labels of each row that rank highest, with their ranks' values.

        Here they come from a longer list of the best scores, of max(100, 10k) labels: a label that
        scores below it is not considered. A method that can rank all labels overrides this.
        """
        longer = self._topk(X, min(max(100, 10 * k), len(self.classes_)))
        return from_ranked(*ranked(ranking.of(longer), k), len(self.classes_))

    def _all_scores(self, X: sp.csr_array) -> NDArray[np.float64]:
        """The scores (n, L) of a block of points, -inf for labels that are never listed."""
        listed = self._topk(X, len(self.classes_)).tocoo()
        out = np.full(listed.shape, -np.inf)
        out[listed.row, listed.col] = listed.data
        return out

    def _usual_scale(self) -> tuple[float, float]:
        """Scale and shift that make log-odds of a score, as far as known without calibration.

        The scale of 2 suits margins; a method whose scores are log-odds gives (1, 0).
        """
        return 2.0, 0.0

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        """What `_fit` will need on the same data, in O(nnz); see `longtail.runtime.estimates`.

        Without one of its own, a method gets a guess.
        """
        return unknown(X, Y)

    # ---- what a user calls -------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Refuse, with `ParameterError`, parameters that make no sense; `fit` begins with it."""
        check(self)
        self._check_parameters()

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        label_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D), or Dataset
            Features; or a data set with its features and labels.
        y : sparse or dense 0/1 matrix of shape (n, L), sequence of label collections, or 1-d array
            The labels of each row. A 1-d array means one class per row. A table of pandas or polars
            is a 0/1 matrix whose columns have names. A data set has its own.
        label_names : sequence, optional
            Names of the columns of a label matrix; for a table that has them already, those that
            may occur, in the order wanted.
        checkpoint : path, optional
            Folder for finished pieces of work. The same call with the same folder goes on where a
            killed one stopped and gives the same model.
        progress : bool or callable, optional
            None: a bar on stderr, if that is a terminal and the work takes long. True, False: at
            once, never. A callable is called with `(what, done, total)`.

        Returns
        -------
        self
            In the end the model is replaced in one step: other threads may predict meanwhile, and a
            training that fails or is interrupted leaves what was there before.
        """
        with memory_needed("to train"):
            return self._fit_points(X, y, label_names, checkpoint, progress)

    def _fit_points(
        self, X: Any, y: Any, names: Any, checkpoint: Any, progress: Any, sample_weight: Any = None
    ) -> Self:
        """`fit`, with weights of the rows for methods whose `_fit` takes them."""
        self.check_parameters()
        model = copy.copy(self)  # who predicts meanwhile has the old model
        model._forget()
        rows, encoded = model._training_data(X, y, names)
        given: dict[str, Any] = {}
        seen, Y = rows, encoded.matrix
        if sample_weight is not None:
            seen, Y, given["sample_weight"] = weighted_points(rows, Y, sample_weight)
        folder = None if checkpoint is None else Path(checkpoint)
        if getattr(self, "random_state", 0) is None:
            model.random_state_, folder = drawn_seed(folder)
        with progress_bar(progress) as bar, config_context(assume_finite=True):
            model._fit(seen, Y, Run(bar, folder, encoded.classes.tolist()), **given)
        model.label_kind_ = encoded.kind
        model.label_counts_ = np.bincount(encoded.matrix.indices, minlength=len(encoded.classes))
        model.n_points_ = int(rows.shape[0])
        model.classes_ = encoded.classes
        self.__dict__ = model.__dict__
        return self

    def estimate(self, X: Any, y: Any = None) -> Estimate:
        """Memory and time that `fit` on the same data will need; nothing is trained or changed.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        Estimate
            `peak_bytes` is meant to be right within a factor of 2, `seconds` to the order of
            magnitude. O(nnz).

        Examples
        --------
        >>> from longtail.data import make_longtail
        >>> from longtail import DiSMEC
        >>> data = make_longtail(200, 300, 50, random_state=0)
        >>> DiSMEC().estimate(data).peak_bytes < 50e6
        True
        """
        self.check_parameters()
        trial = copy.copy(self)
        trial._forget()
        rows, encoded = trial._training_data(X, y, None)
        new = [part for part in (rows, encoded.matrix) if not shares_memory(part, X)]
        return trial._estimate(rows, encoded.matrix).plus(matrix_bytes(*new))

    @on_one_model
    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        tail: float = 0.0,
        propensities: ArrayLike | None = None,
    ) -> sp.csr_array:
        """The k best labels of every row with their scores.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        k : int
            Labels per row, at most; a method may have fewer to offer.
        tail : float
            How much rare labels are favoured. 0: labels are ranked by their scores. Above 0: by
            log σ(scale·score + shift) + tail·log(1 / propensity); see Notes.
        propensities : array of shape (L,), optional
            The propensity of each label for `tail`; by default `labels.propensities` of the
            training counts, with the usual constants.

        Returns
        -------
        csr_array of shape (n, L)
            Columns in the order of `classes_`. An entry that is not stored was not predicted;
            stored values may be negative. They are the scores if `tail` is 0, and what the labels
            are ranked by otherwise. `longtail.ranked(scores, k)` gives them best first.

        Notes
        -----
        σ(scale·score + shift) is the probability that the label is right, as `longtail.decisions`
        calibrates it; without calibration scale and shift are those that the kind of score
        suggests. Linear methods rank all labels so; others the max(100, 10k) that score highest.
        A label without a training point gets no bonus, since nothing is known about it.
        """
        check_is_fitted(self)
        check_count(k=k)
        ranking = self._ranking(tail, propensities)
        rows, k = self._checked(X, reset=False), min(int(k), len(self.classes_))
        return self._topk(rows, k) if ranking is None else self._topk_ranked(rows, k, ranking)

    @property
    def score_scale(self) -> tuple[float, float]:
        """Scale and shift that make log-odds of scores: the calibrated ones where there are."""
        scale, shift = getattr(self, "calibration_", self._usual_scale())
        return float(scale), float(shift)

    @on_one_model
    def top_labels(
        self,
        X: Any,
        k: int = 5,
        *,
        tail: float = 0.0,
        propensities: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The names of the k best labels of every row, best first, and their scores.

        Parameters
        ----------
        X, k, tail, propensities
            As in `predict_topk`.

        Returns
        -------
        names : object array of shape (n, k)
            None where a row has fewer labels.
        scores : array of shape (n, k)
            As in `predict_topk`; NaN where a row has fewer labels.

        Examples
        --------
        >>> from longtail import DiSMEC
        >>> tagger = DiSMEC().fit([[1, 0], [0, 1]], [["sea", "sun"], ["snow"]])
        >>> names, scores = tagger.top_labels([[1, 0]], 2)
        >>> names.tolist(), scores.round(1).tolist()
        ([['sea', 'sun']], [[0.7, 0.7]])
        """
        top = self.predict_topk(X, k, tail=tail, propensities=propensities)
        columns, scores = ranked(top, int(k))
        names = np.fromiter((*self.classes_.tolist(), None), object)
        return names[columns], scores  # -1, where there is no label, is the last

    @available_if(lambda self: self.scores_all_labels)
    @on_one_model
    def decision_function(self, X: Any, *, memory_limit: float | None = None) -> Any:
        """The scores of all labels as a dense array, those of `predict_topk`.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        memory_limit : float, optional
            GB that the array may take; beyond it, the call is refused. By default what the machine
            has left.

        Returns
        -------
        array of shape (n, L)
            Columns in the order of `classes_`; -inf for a label that the method never lists.
        array of shape (n,)
            If there are two classes and y was one class per row, as in scikit-learn: by how much
            the second scores higher than the first.
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        shape = (rows.shape[0], len(self.classes_))
        refuse_dense(self, shape, memory_limit)
        out, size = np.empty(shape), max(1, BLOCK_CELLS // shape[1])
        for first in range(0, shape[0], size):
            out[first : first + size] = self._all_scores(rows[first : first + size])
        is_pair = self.label_kind_ == "multiclass" and shape[1] == 2
        return out[:, 1] - out[:, 0] if is_pair else out

    @on_one_model
    def predict(self, X: Any) -> Any:
        """The label set that the method commits to, in the form that y had in `fit`.

        Returns
        -------
        1-d array of names, dense 0/1 array, CSR 0/1 array, or list of tuples of names
        """
        return decode_labels(self.predict_matrix(X), self.classes_, self.label_kind_)  # type: ignore[arg-type]

    @on_one_model
    def predict_matrix(self, X: Any) -> sp.csr_array:
        """The label sets of `predict` as a matrix, whatever form y had in `fit`.

        Returns
        -------
        csr_array of shape (n, L)
            Ones, columns in the order of `classes_`. If y was one class per row, one in each row.

        Examples
        --------
        >>> from longtail import DiSMEC
        >>> tagger = DiSMEC().fit([[1, 0], [0, 1]], [["sea", "sun"], ["snow"]])
        >>> tagger.predict_matrix([[1, 0]]).toarray().tolist()
        [[1, 0, 1]]
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        if self.label_kind_ == "multiclass":
            best = ranked(self._topk(rows, 1), 1)[0]
            best[best < 0] = int(np.argmax(self.label_counts_))
            found = from_ranked(best, np.ones(best.shape), len(self.classes_))
        else:
            found = self._commit(rows)
        ones = np.ones(found.nnz, dtype=np.int64)
        return sp.csr_array((ones, found.indices, found.indptr), shape=found.shape)

    @on_one_model
    def explain(
        self, x: Any, label: Any = None, *, n: int = 10, feature_names: Any = None
    ) -> Explanation:
        """Why a label got its score for one point; `Explanation` says which score that is.

        Parameters
        ----------
        x : row of shape (1, D) or (D,)
        label : object, optional
            A name from `classes_`; by default the label that scores highest.
        n : int
            How many features to show.
        feature_names : sequence, optional
            Names of the D features; by default those seen in `fit`, or their numbers.
        """
        check_is_fitted(self)
        check_count(n=n)
        row = self._checked(as_row(x), reset=False)
        if row.shape[0] != 1:
            raise InputError(f"explain takes one row, not {row.shape[0]}; call it row by row.")
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", np.arange(row.shape[1]))
        check_feature_names(feature_names, row.shape[1])
        best = label is None and None not in self.classes_.tolist()  # None may be a name
        column = self._best_column(row) if best else int(columns_of([label], self.classes_)[0])
        return self._explain(row, column, n, np.asarray(feature_names))

    @on_one_model
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose label set is predicted exactly, as in scikit-learn."""
        predicted = self.predict_matrix(X)
        true = in_columns_of(y, self.classes_, all_of_table=True).matrix
        n, given = predicted.shape[0], true.shape[0]
        if given != n:
            raise InputError(f"X has {n} rows, y has {given}; give the labels of every row.")
        predicted.resize(true.shape)
        wrong = abs(true - predicted).sum(axis=1)
        return float(np.average(np.asarray(wrong).ravel() == 0, weights=sample_weight))

    # ---- the machinery -----------------------------------------------------------------------

    def _ranking(self, tail: float, propensities: ArrayLike | None) -> TailRanking | None:
        """How `predict_topk` ranks labels; None by their scores."""
        tail, scale, counts = check_tail(tail), self.score_scale, self.label_counts_
        if propensities is not None:
            return tail_ranking(tail, scale, counts, propensities=propensities)
        about = (tail, scale, counts, self.n_points_)  # it costs more than to predict a point
        return kept_for(self, "ranking", about, lambda: tail_ranking(*about))

    def _training_data(
        self, X: Any, y: Any, label_names: Any
    ) -> tuple[sp.csr_array, EncodedLabels]:
        """Training data as `_fit` takes it, refused in one sentence if it cannot be used."""
        return training_points(self, X, y, label_names)

    @property
    def _seed(self) -> int:
        """`random_state`, or the seed that `fit` drew where that is None; 0 before that."""
        given = self.random_state  # type: ignore[attr-defined]
        return getattr(self, "random_state_", 0) if given is None else int(given)

    def _replace(self, **learned: Any) -> None:
        """Set attributes, all in one step: who predicts meanwhile has the old ones."""
        self.__dict__ = vars(self) | learned

    def _forget(self) -> None:
        """Drop what an earlier fit learned."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    def _check_state(self) -> None:
        check_learned(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _name_of(self, column: int) -> Any:
        """The name of a label, as Python has it."""
        return self.classes_[[column]].tolist()[0]

    def _best_column(self, row: sp.csr_array) -> int:
        """The label that scores highest for one point."""
        best = int(ranked(self._topk(row, 1), 1)[0][0, 0])
        if best < 0:
            raise InputError("No label scores anything for this row; name the label to explain.")
        return best

    def _checked(self, X: Any, *, reset: bool) -> sp.csr_array:
        """X as canonical CSR of floats, refused in one sentence if it cannot be used."""
        return checked_rows(self, X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        """scikit-learn's description of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
