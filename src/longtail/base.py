"""The contract of every classifier: what a user may rely on, and what a method has to supply.

A method derives from `ExtremeClassifier`, stores its parameters in a keyword-only constructor and
writes `_fit`, `_topk`, `_commit` and `_explain`; everything else, from checking the input and
keeping the label names to saving the model, is done here, once.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from longtail._sparse import as_csr, from_ranked, ranked
from longtail.errors import InputError, ModelError, ParameterError
from longtail.explanation import Explanation
from longtail.labels import (
    EncodedLabels,
    Kind,
    TailRanking,
    as_predicted,
    columns_of,
    decode_labels,
    encode_labels,
    inverse_propensities,
    listed,
)
from longtail.parameters import check, check_count
from longtail.runtime.estimates import Estimate, matrix_bytes, unknown
from longtail.runtime.kept import kept_for
from longtail.runtime.run import Progress, Run, progress_bar
from longtail.store import StoredEstimator

__all__ = ["Explanation", "ExtremeClassifier", "check_tail", "rarity"]


class ExtremeClassifier(ClassifierMixin, StoredEstimator):
    """Base of every classifier in longtail.

    Subclasses set `method`, the name at the command line and in model folders, and `paper`, where
    the method comes from, and implement the four methods with a leading underscore that raise
    `NotImplementedError`.
    `features` says what X should hold where longtail makes it: "scaled" values, that is, tf-idf or
    rows of unit length, or "counts", raw term counts. `kept_data` names the learned attributes that
    are training data themselves, which are not counted as parameters.

    After `fit`, `classes_` holds the label names in the order of the columns of every matrix, and
    `label_counts_` and `n_points_` the training points of each label and in all, which is what
    propensities are made of. `calibration_`, where `longtail.decisions` has set it, holds the scale
    and the shift that make log-odds of scores.
    """

    method: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    features: ClassVar[Literal["scaled", "counts"]] = "scaled"
    kept_data: ClassVar[tuple[str, ...]] = ()

    classes_: NDArray[Any]
    label_kind_: str
    label_counts_: NDArray[np.int64]
    n_points_: int
    n_features_in_: int
    calibration_: NDArray[np.float64]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "method" in vars(cls):
            cls.stored_as = cls.method
        super().__init_subclass__(**kwargs)

    # ---- what a method supplies -------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise `ParameterError` for values that do not fit each other; before any work.

        Each value by itself was checked already, by what the constructor declares; see
        `longtail.parameters`. It must not matter what this machine has, since loading asks as well.
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
        return _best(ranking.of(longer), k)

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
        Y: Any,
        *,
        label_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
            Features.
        Y : sparse or dense 0/1 matrix of shape (n, L), sequence of label collections, or 1-d array
            The labels of each row. A 1-d array means one class a row. A table of pandas or polars
            is a 0/1 matrix whose columns have names.
        label_names : sequence, optional
            Names of the columns of a label matrix; for a table that has them already, those that
            may occur, in the order wanted.
        checkpoint : path, optional
            Folder for finished pieces of work. The same call with the same folder goes on where a
            killed one stopped and gives the same model.
        progress : bool or callable, optional
            None: a bar on stderr, if that is a terminal and the work takes long. True, False: at
            once, never. A callable is told `(what, done, total)`.

        Returns
        -------
        self
        """
        self.check_parameters()
        self._forget()
        rows, encoded = self._encoded(X, Y, label_names)
        folder = None if checkpoint is None else Path(checkpoint)
        with progress_bar(progress) as bar:
            self._fit(rows, encoded.matrix, Run(bar, folder, encoded.classes.tolist()))
        self.label_kind_ = encoded.kind
        self.label_counts_ = np.bincount(encoded.matrix.indices, minlength=len(encoded.classes))
        self.n_points_ = int(rows.shape[0])
        self.classes_ = encoded.classes
        return self

    def estimate(self, X: Any, Y: Any) -> Estimate:
        """Memory and time that `fit` on the same data will need; nothing is trained or changed.

        Parameters
        ----------
        X, Y
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
        >>> DiSMEC().estimate(data.X, data.Y).peak_bytes < 50e6
        True
        """
        self.check_parameters()
        trial = copy.copy(self)
        trial._forget()
        rows, encoded = trial._encoded(X, Y, None)
        own = [encoded.matrix, *([] if _shares_memory(rows, X) else [rows])]
        return trial._estimate(rows, encoded.matrix).plus(matrix_bytes(*own))

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
            Labels a row, at most; a method may have fewer to offer.
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
        A label without a training point gets nothing on top, since nothing is known of it.
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

    def predict(self, X: Any) -> Any:
        """The label set that the method commits to, in the form that Y had in `fit`.

        Returns
        -------
        1-d array of names, dense 0/1 array, CSR 0/1 array, or list of tuples of names
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        if self.label_kind_ == "multiclass":
            best, _ = ranked(self._topk(rows, 1), 1)
            return self.classes_[best[:, 0]]
        return decode_labels(self._commit(rows), self.classes_, self.label_kind_)  # type: ignore[arg-type]

    def _one_row(self, x: Any) -> sp.csr_array:
        """One checked point, (1, D)."""
        if sp.issparse(x) and x.ndim == 1:
            x = x.reshape(1, -1)
        elif not sp.issparse(x) and getattr(x, "ndim", None) != 2:
            x = np.atleast_2d(np.asarray(x))
        row = self._checked(x, reset=False)
        if row.shape[0] != 1:
            raise InputError(f"explain takes one row, not {row.shape[0]}; call it row by row.")
        return row

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
        row = self._one_row(x)
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", np.arange(row.shape[1]))
        if len(feature_names) != row.shape[1]:
            raise InputError(
                f"There are {len(feature_names)} feature names for {row.shape[1]} features; give "
                "one name a column."
            )
        best = label is None and None not in self.classes_.tolist()  # None may be a name
        column = self._best_column(row) if best else int(columns_of([label], self.classes_)[0])
        return self._explain(row, column, n, np.asarray(feature_names))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose label set is predicted exactly, as in scikit-learn."""
        predicted = self.predict(X)
        y = as_predicted(y, self.classes_, self.label_kind_)  # type: ignore[arg-type]
        if self.label_kind_ == "names":
            right = [set(a) == set(b) for a, b in zip(predicted, y, strict=True)]
        elif self.label_kind_ == "multiclass":
            right = [a == b for a, b in zip(predicted.tolist(), listed(y), strict=True)]
        else:
            true = encode_labels(y).matrix
            if true.shape != predicted.shape:
                raise InputError(
                    f"y has shape {true.shape}, the predictions {predicted.shape}; give y one row "
                    "for each row of X, and the columns that `fit` had."
                )
            wrong = abs(true - as_csr(predicted, dtype=true.dtype)).sum(axis=1)
            right = np.asarray(wrong).ravel() == 0
        return float(np.average(right, weights=sample_weight))

    # ---- the machinery -----------------------------------------------------------------------

    def _ranking(self, tail: float, propensities: ArrayLike | None) -> TailRanking | None:
        """How `predict_topk` ranks labels; None by their scores."""
        tail = check_tail(tail)
        if propensities is not None:
            inverse = 1 / _checked_propensities(propensities, len(self.classes_))
        if tail == 0:
            return None
        if propensities is not None:
            return TailRanking(*self.score_scale, tail * rarity(self.label_counts_, inverse))
        counts, n_points, scale = self.label_counts_, self.n_points_, self.score_scale

        def make() -> TailRanking:  # which costs more than to predict a point
            inverse = inverse_propensities(counts, n_points)
            return TailRanking(*scale, tail * rarity(counts, inverse))

        return kept_for(self, "ranking", (tail, scale, counts, n_points), make)

    def _encoded(self, X: Any, Y: Any, label_names: Any) -> tuple[sp.csr_array, EncodedLabels]:
        """Training data as `_fit` takes it, refused in one sentence if it cannot be used."""
        if Y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "give the labels of every row."
            )
        rows = self._checked(X, reset=True)
        encoded = encode_labels(Y, label_names=label_names)
        if encoded.matrix.shape[0] != rows.shape[0]:
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: X has "
                f"{rows.shape[0]} rows, Y has {encoded.matrix.shape[0]}; give the labels of every "
                "row."
            )
        if encoded.matrix.shape[1] == 0:
            raise InputError("Y has no labels at all; at least one label is needed to train.")
        return rows, encoded

    def _forget(self) -> None:
        """Drop what an earlier fit learned, so that one that fails leaves nothing behind."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    def _check_state(self) -> None:
        for name in ("classes_", "label_kind_", "label_counts_", "n_points_", "n_features_in_"):
            if not hasattr(self, name):
                raise ModelError(f"The model has no {name}; it was not saved by longtail.")
        if (
            self.label_kind_ not in get_args(Kind)
            or not isinstance(self.classes_, np.ndarray)
            or self.classes_.ndim != 1
            or np.shape(self.label_counts_) != self.classes_.shape
            or not isinstance(self.n_features_in_, int)
        ):
            raise ModelError("The labels of the model do not fit each other; it was altered.")
        if hasattr(self, "calibration_") and not _is_calibration(self.calibration_):
            raise ModelError("The model's calibration is not a scale and a shift; it was altered.")
        try:
            self.check_parameters()
        except ParameterError as error:
            raise ModelError(f"The model's parameters make no sense: {error}") from error

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _name_of(self, column: int) -> Any:
        """The name of a label, as Python has it."""
        return self.classes_[column : column + 1].tolist()[0]

    def _best_column(self, row: sp.csr_array) -> int:
        """The label that scores highest for one point."""
        best = int(ranked(self._topk(row, 1), 1)[0][0, 0])
        if best < 0:
            raise InputError("No label scores anything for this row; name the label to explain.")
        return best

    def _checked(self, X: Any, *, reset: bool) -> sp.csr_array:
        """X as canonical CSR of floats, refused in one sentence if it cannot be used."""
        if not reset and self._is_plain(X):
            return as_csr(X)
        try:
            checked = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
            )
        except ValueError as error:
            raise InputError(_one_sentence(str(error))) from None
        return as_csr(checked)

    def _is_plain(self, X: Any) -> bool:
        """Whether X needs none of scikit-learn's checks, which cost a row more than its scores."""
        return (
            isinstance(X, sp.csr_array | sp.csr_matrix)
            and X.ndim == 2
            and X.dtype in (np.float64, np.float32)
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X.data).all())
        )

    def __sklearn_tags__(self) -> Tags:
        """scikit-learn's description of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def check_tail(tail: Any) -> float:
    """A tail weight as a float, refused unless it is zero or a positive, finite number.

    Examples
    --------
    >>> check_tail(-1)
    Traceback (most recent call last):
        ...
    longtail.errors.ParameterError: tail must be zero or a positive, finite number, not -1.
    """
    if isinstance(tail, bool) or not (
        isinstance(tail, int | float | np.number) and 0 <= tail < math.inf
    ):
        raise ParameterError(f"tail must be zero or a positive, finite number, not {tail!r}.")
    return float(tail)


def rarity(label_counts: ArrayLike, inverse: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a tail weight of 1 adds to the labels: log(1 / p), and 0 to those without a point.

    Examples
    --------
    >>> rarity([0, 1, 100], np.exp([3.0, 2.0, 0.5])).tolist()
    [0.0, 2.0, 0.5]
    """
    return np.where(np.asarray(label_counts) > 0, np.log(inverse), 0.0)


def _best(values: sp.csr_array, k: int) -> sp.csr_array:
    """The k largest stored entries of each row; of equal ones those of smaller column."""
    return from_ranked(*ranked(values, k), values.shape[1])


def _checked_propensities(given: ArrayLike, n_labels: int) -> NDArray[np.float64]:
    p = np.asarray(given, dtype=np.float64)
    if p.shape != (n_labels,) or not ((p > 0) & (p <= 1)).all():
        raise InputError(
            f"Propensities are {n_labels} numbers above 0 and at most 1, one a label; see "
            "labels.propensities."
        )
    return p


def _shares_memory(rows: sp.csr_array, X: Any) -> bool:
    """Whether the checked rows are the memory of X itself."""
    return sp.issparse(X) and hasattr(X, "data") and np.may_share_memory(rows.data, X.data)


def _is_calibration(value: Any) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.shape == (2,)
        and value.dtype.kind == "f"
        and bool(np.isfinite(value).all())
        and value[0] > 0
    )


def _one_sentence(message: str) -> str:
    """scikit-learn's complaint about X, shortened to the cause and the remedy."""
    first = message.splitlines()[0].rstrip(".:")
    if "could not convert string to float" in first:
        return "X holds texts; make features of them, as TextFeatures and Tagger do."
    if first.startswith("The feature names should match"):
        names = " ".join(message.split()[11:]).replace("Feature", "feature")
        return f"{first}: {names}; give the columns that fit had."
    if first.startswith("Input X contains"):
        return f"{first}; replace these values first."
    if "Reshape your data" in message:
        return f"{first}. Reshape your data: one row a point, one column a feature."
    return f"{first}."
