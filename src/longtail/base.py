"""The contract of every classifier: what a user may rely on, and what a method has to supply.

A method derives from `ExtremeClassifier`, stores its parameters in a keyword-only constructor and
writes `_fit`, `_topk`, `_commit` and `_explain`; everything else, from checking the input and
keeping the label names to saving the model, is done here, once.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from longtail import store
from longtail._run import Progress, Run, progress_bar
from longtail._sparse import as_csr, ranked
from longtail.errors import InputError, ModelError, ParameterError
from longtail.labels import Kind, decode_labels, encode_labels


@dataclass(frozen=True)
class Explanation:
    """Why a label got its score: the parts that add up to it, largest first.

    Attributes
    ----------
    label : object
        The name of the label.
    score : float
        Its score; the contributions of all features and the bias add up to it.
    bias : float
        The part that no feature brings.
    features : array
        Names (or numbers) of the features that carried the decision.
    values, weights, contributions : arrays
        Value in x, weight in the model, and their product.
    """

    label: Any
    score: float
    bias: float
    features: NDArray[Any]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    contributions: NDArray[np.float64]

    def table(self) -> pl.DataFrame:
        """One row a feature, the largest contribution first."""
        return pl.DataFrame(
            {
                "feature": [str(feature) for feature in self.features],
                "value": self.values,
                "weight": self.weights,
                "contribution": self.contributions,
            }
        )

    def __str__(self) -> str:
        parts = [
            f"{feature} {part:+.3f}"
            for feature, part in zip(self.features, self.contributions, strict=True)
        ]
        return f"{self.label}: {self.score:+.3f} = bias {self.bias:+.3f}, " + ", ".join(parts)


class StoredEstimator(BaseEstimator):
    """An estimator that the store can write and read: its parameters and what it learned."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        store.register(cls)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, whole or not at all; see `longtail.load`."""
        check_is_fitted(self)
        store.write(path, self)

    def _to_state(self) -> dict[str, Any]:
        """Parameters and everything learned, for the store."""
        learned = {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }
        return {"parameters": self.get_params(deep=False), "learned": learned}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """The inverse of `_to_state`; unknown parameters are refused."""
        unknown = set(state["parameters"]) - set(inspect.signature(cls).parameters)
        if unknown:
            raise ModelError(
                f"The model has a parameter {min(unknown)!r} that this version of "
                f"{cls.__name__} does not know; use the version of longtail that wrote it."
            )
        self = cls(**state["parameters"])
        for name, value in state["learned"].items():
            if not name.isidentifier() or not name.endswith("_") or name.startswith("_"):
                raise ModelError(f"The model holds an attribute {name!r}, which none should have.")
            setattr(self, name, value)
        if state["learned"]:
            self._check_state()
        return self

    def _check_state(self) -> None:
        """Refuse, with `ModelError`, learned parts that do not fit each other."""


class ExtremeClassifier(ClassifierMixin, StoredEstimator):
    """Base of every classifier in longtail.

    Subclasses set `method`, the name at the command line, and `paper`, where the method comes
    from, and implement the four methods with a leading underscore that raise `NotImplementedError`.

    After `fit`, `classes_` holds the label names in the order of the columns of every matrix, and
    `label_counts_` and `n_points_` the training points of each label and in all, which is what
    propensities are made of.
    """

    method: ClassVar[str] = ""
    paper: ClassVar[str] = ""

    classes_: NDArray[Any]
    label_kind_: str
    label_counts_: NDArray[np.int64]
    n_points_: int
    n_features_in_: int

    # ---- what a method supplies -------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise `ParameterError` for values that make no sense; before any work."""

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

    # ---- what a user calls -------------------------------------------------------------------

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
            The labels of each row. A 1-d array means one class a row.
        label_names : sequence, optional
            Names of the columns of a label matrix.
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
        self._check_parameters()
        self._forget()
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
                f"{rows.shape[0]} rows, Y has {encoded.matrix.shape[0]}."
            )
        if encoded.matrix.shape[1] == 0:
            raise InputError("Y has no labels at all; at least one label is needed to train.")
        folder = None if checkpoint is None else Path(checkpoint)
        with progress_bar(progress) as bar:
            self._fit(rows, encoded.matrix, Run(bar, folder))
        self.label_kind_ = encoded.kind
        self.label_counts_ = np.bincount(encoded.matrix.indices, minlength=len(encoded.classes))
        self.n_points_ = int(rows.shape[0])
        self.classes_ = encoded.classes
        return self

    def predict_topk(self, X: Any, k: int = 5) -> sp.csr_array:
        """The k best labels of every row with their scores.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, D)
        k : int
            Labels a row, at most; a method may have fewer to offer.

        Returns
        -------
        csr_array of shape (n, L)
            Columns in the order of `classes_`. An entry that is not stored was not predicted;
            stored scores may be negative. `longtail.ranked(scores, k)` gives them best first.
        """
        check_is_fitted(self)
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ParameterError(f"k must be a whole number of at least 1, not {k!r}.")
        return self._topk(self._checked(X, reset=False), min(int(k), len(self.classes_)))

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

    def explain(self, x: Any, label: Any, *, n: int = 10, feature_names: Any = None) -> Explanation:
        """Why a label got its score for one point.

        Parameters
        ----------
        x : row of shape (1, D) or (D,)
        label : object
            A name from `classes_`.
        n : int
            How many features to show.
        feature_names : sequence, optional
            Names of the D features; by default those seen in `fit`, or their numbers.
        """
        check_is_fitted(self)
        if sp.issparse(x) and x.ndim == 1:
            x = x.reshape(1, -1)
        elif not sp.issparse(x) and getattr(x, "ndim", None) != 2:
            x = np.atleast_2d(np.asarray(x))
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ParameterError(f"n must be a whole number of at least 1, not {n!r}.")
        row = self._checked(x, reset=False)
        if row.shape[0] != 1:
            raise InputError(f"explain takes one row, not {row.shape[0]}; call it row by row.")
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", np.arange(row.shape[1]))
        if len(feature_names) != row.shape[1]:
            raise InputError(
                f"There are {len(feature_names)} feature names for {row.shape[1]} features."
            )
        return self._explain(row, self._column(label), n, np.asarray(feature_names))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows whose label set is predicted exactly, as in scikit-learn."""
        predicted = self.predict(X)
        if self.label_kind_ == "names":
            right = [set(a) == set(b) for a, b in zip(predicted, y, strict=True)]
        elif self.label_kind_ == "multiclass":
            right = [a == b for a, b in zip(predicted.tolist(), _plain(y), strict=True)]
        else:
            true = encode_labels(y).matrix
            if true.shape != predicted.shape:
                raise InputError(f"y has shape {true.shape}, the predictions {predicted.shape}.")
            wrong = abs(true - as_csr(predicted, dtype=true.dtype)).sum(axis=1)
            right = np.asarray(wrong).ravel() == 0
        return float(np.average(right, weights=sample_weight))

    # ---- the machinery -----------------------------------------------------------------------

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _column(self, label: Any) -> int:
        found = np.flatnonzero(
            np.fromiter((c == label for c in self.classes_.tolist()), dtype=bool)
        )
        if not len(found):
            raise InputError(f"The model knows no label {label!r}; see its classes_.")
        return int(found[0])

    def _checked(self, X: Any, *, reset: bool) -> sp.csr_array:
        """X as canonical CSR of floats, refused in one sentence if it cannot be used."""
        try:
            checked = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32)
            )
        except ValueError as error:
            raise InputError(_one_sentence(str(error))) from None
        return as_csr(checked)

    def __sklearn_tags__(self) -> Tags:
        """scikit-learn's description of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _one_sentence(message: str) -> str:
    """scikit-learn's complaint about X, shortened to the cause and the remedy."""
    first = message.splitlines()[0].rstrip(".:")
    if first.startswith("Input X contains"):
        return f"{first}; replace these values first."
    if "Reshape your data" in message:
        return f"{first}. Reshape your data: one row a point, one column a feature."
    return f"{first}."


def load(path: str | Path, *, verify: bool = True) -> Any:
    """Read a model that `save` wrote; its arrays stay on disk until they are used.

    Parameters
    ----------
    path : path-like
        The model folder.
    verify : bool
        Whether to compare all checksums, which reads every file once.

    Returns
    -------
    estimator
        As it was when saved: same predictions, same label names.

    Raises
    ------
    ModelError
        If the folder is damaged, altered, not a model, or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> from longtail.one_vs_rest import DiSMEC
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> DiSMEC().fit([[0, 1], [1, 0]], ["sea", "snow"]).save(folder)
    >>> load(folder).predict([[1, 0]]).tolist()
    ['snow']
    """
    model = store.read(path, verify=verify)
    if not isinstance(model, StoredEstimator):
        raise ModelError(f"{path}: holds a {type(model).__name__}, which is not a model.")
    return model
