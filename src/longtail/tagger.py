"""`Tagger`: features and a classifier as one model, from raw texts to label names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from longtail import store
from longtail.base import Explanation, ExtremeClassifier
from longtail.errors import InputError, ModelError, ParameterError, memory_needed
from longtail.features import TextFeatures
from longtail.features.made import is_matrix, make_features, usual_features
from longtail.labels import LabelledPoints, name_array
from longtail.labels.points import check_feature_names
from longtail.methods import registry  # noqa: F401, for `load`, which finds methods by it
from longtail.methods.linear import DiSMEC
from longtail.parameters import Must, documented
from longtail.runtime.estimates import Estimate
from longtail.runtime.kept import on_one_model
from longtail.runtime.run import Progress
from longtail.store import Storable, StoredEstimator
from longtail.store.estimator import is_trained
from longtail.store.protocol import stored_name


def _if_classifier_has(method: str) -> Any:
    """Offer a method of the tagger only where the classifier, fitted or to be, has it as well."""
    return available_if(
        lambda tagger: hasattr(
            getattr(tagger, "classifier_", None) or tagger.classifier or DiSMEC(), method
        )
    )


@documented
class Tagger(StoredEstimator):
    """A classifier together with the features it needs, saved and loaded as one.

    Attributes
    ----------
    features_, classifier_ : estimators
        The fitted parts.
    feature_names_ : array of shape (D,)
        Names of the columns of the feature matrix, if `fit` was given them.
    takes_text_ : bool
        Whether it was fitted to texts.

    Examples
    --------
    >>> from longtail import Tagger
    >>> texts = ["waves and sand", "deep snow", "sand castles", "snow and ice"]
    >>> tagger = Tagger().fit(texts, [["sea"], ["winter"], ["sea"], ["winter"]])
    >>> tagger.predict(["a castle of sand"])
    [('sea',)]
    >>> [[(name, round(score, 1)) for name, score in row] for row in tagger.tag(["ice"], k=1)]
    [[('winter', 0.5)]]
    """

    stored_as: ClassVar[str] = "tagger"

    features_: Any
    takes_text_: bool
    classifier_: ExtremeClassifier
    feature_names_: NDArray[Any]

    def __init__(
        self,
        *,
        features: Annotated[
            Any,
            Must("a transformer or None"),
            "What makes features of the input: `TextFeatures()`, `RowScaler()` or any other "
            "transformer with `fit`, `transform` and the methods of `longtail.store.Storable`. "
            "None: `TextFeatures()` for texts, `RowScaler()`, which scales rows to unit length, "
            "for matrices; for a classifier that wants counts, the counts of words in texts and "
            "matrices as they are. See `usual_features`.",
        ] = None,
        classifier: Annotated[
            ExtremeClassifier | None, "What is trained on the features; None: `DiSMEC()`."
        ] = None,
    ) -> None:
        self.features = features
        self.classifier = classifier

    def fit(
        self,
        inputs: Any,
        y: Any = None,
        *,
        label_names: Any = None,
        feature_names: Any = None,
        checkpoint: str | Path | None = None,
        progress: bool | Progress | None = None,
    ) -> Self:
        """Fit the features, then the classifier on them.

        Parameters
        ----------
        inputs : sequence of str, sparse matrix or array of shape (n, D), or Dataset
            Texts, or features; or a data set with its labels: of its texts where it has no
            features, or where `features` are those of texts.
        y, label_names, checkpoint, progress
            As in `ExtremeClassifier.fit`.
        feature_names : sequence of length D, optional
            Names of the columns of a feature matrix, for `explain`; a data set has its own.
        """
        inputs, y, feature_names = self._given(inputs, y, label_names, feature_names)
        if feature_names is not None:
            if not is_matrix(inputs):
                raise InputError("Feature names are for a feature matrix; texts bring their own.")
            check_feature_names(feature_names, np.shape(inputs)[1])
        if isinstance(y, Iterator):
            y = list(y)
        features, classifier = (clone(part) for part in self._parts(inputs))
        X = features.fit_transform(inputs)
        classifier.fit(X, y, label_names=label_names, checkpoint=checkpoint, progress=progress)
        return self._with_fitted(features, classifier, not is_matrix(inputs), feature_names)

    @classmethod
    def from_fitted(
        cls,
        features: Any,
        classifier: ExtremeClassifier,
        *,
        takes_text: bool,
        feature_names: Any = None,
    ) -> Self:
        """Put fitted features and a classifier that was fitted on what they make together.

        Parameters
        ----------
        features : transformer
            Fitted.
        classifier : ExtremeClassifier
            Fitted on the matrix that `features` made.
        takes_text : bool
            Whether `features` were fitted to texts, not to a matrix.
        feature_names : sequence of length D, optional
            As in `fit`.

        Examples
        --------
        >>> from longtail import DiSMEC, TextFeatures
        >>> made = make_features(TextFeatures(), ["waves and sand", "deep snow"])
        >>> classifier = DiSMEC().fit(made.X, [["sea"], ["winter"]])
        >>> tagger = Tagger.from_fitted(made.transformer, classifier, takes_text=True)
        >>> tagger.predict(["sand castles"])
        [('sea',)]
        """
        if feature_names is not None:
            check_feature_names(feature_names, features.n_features_in_)
        tagger = cls(features=clone(features), classifier=clone(classifier))
        return tagger._with_fitted(features, classifier, takes_text, feature_names)

    def _with_fitted(
        self, features: Any, classifier: Any, takes_text: bool, feature_names: Any
    ) -> Self:
        learned: dict[str, Any] = {
            "features_": features,
            "takes_text_": takes_text,
            "classifier_": classifier,
        }
        if feature_names is not None:
            learned["feature_names_"] = name_array(list(feature_names))
        before = {name: value for name, value in vars(self).items() if name != "feature_names_"}
        self.__dict__ = before | learned  # in one step: an old model stands until the new one does
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of the parts by names such as `classifier__C`."""
        for part, usual in (("features", "TextFeatures()"), ("classifier", "DiSMEC()")):
            inner = [name for name in params if name.startswith(f"{part}__")]
            if inner and params.get(part, getattr(self, part)) is None:
                raise ParameterError(
                    f"{inner[0]} cannot be set while {part} is None; give the tagger a part of its "
                    f"own first, such as {part}={usual}."
                )
        return super().set_params(**params)

    def estimate(self, inputs: Any, y: Any = None) -> Estimate:
        """Memory and time that `fit` on the same data will need; nothing is trained or changed.

        The features of all inputs are made for that, not of a sample, and thrown away: how many
        there are decides. To make them once for the estimate and for training, see `make_features`
        and `from_fitted`.

        Parameters
        ----------
        inputs, y
            As in `fit`.

        Examples
        --------
        >>> from longtail import Tagger
        >>> Tagger().estimate(["waves and sand", "deep snow"], ["sea", "winter"]).reason
        '2 linear problems on 2 points of 5 features'
        """
        inputs, y, _ = self._given(inputs, y)
        features, classifier = self._parts(inputs)
        return make_features(features, inputs).estimate(classifier, y)

    def _given(
        self, inputs: Any, y: Any, label_names: Any = None, feature_names: Any = None
    ) -> tuple[Any, Any, Any]:
        """Inputs, labels and names of features, those of a data set where that is what came."""
        if not isinstance(inputs, LabelledPoints):
            return inputs, y, feature_names
        if any(given is not None for given in (y, label_names, feature_names)):
            raise InputError("A data set has labels and names of its own; give it alone.")
        texts = getattr(inputs, "texts", None)
        if inputs.X is None or (texts is not None and isinstance(self.features, TextFeatures)):
            return texts, inputs.encoded, None
        return inputs.X, inputs.encoded, getattr(inputs, "feature_names", None)

    def _parts(self, inputs: Any) -> tuple[Any, ExtremeClassifier]:
        """Features and classifier to fit, those that were not given as is usual."""
        classifier = DiSMEC() if self.classifier is None else self.classifier
        if not isinstance(classifier, ExtremeClassifier):
            raise ParameterError(
                f"classifier must be a classifier of longtail, such as DiSMEC(), not "
                f"{classifier!r:.60}."
            )
        features = self.features
        if features is not None and (
            stored_name(type(features)) is None or not hasattr(features, "transform")
        ):
            raise ParameterError(
                "features must be TextFeatures(), RowScaler(), None or another transformer that "
                f"can be stored (see longtail.store.Storable), not {features!r:.60}."
            )
        if features is None:
            features = usual_features(classifier.feature_kind, texts=not is_matrix(inputs))
        return features, classifier

    @property
    def classes_(self) -> NDArray[Any]:
        """Label names, in the order of the columns."""
        return self.classifier_.classes_

    @property
    def label_counts_(self) -> NDArray[np.int64]:
        """Training points of each label; with `n_points_`, what propensities are made of."""
        return self.classifier_.label_counts_

    @property
    def n_points_(self) -> int:
        """Training points."""
        return self.classifier_.n_points_

    @property
    def takes_text(self) -> bool:
        """Whether the fitted model expects texts."""
        return self.takes_text_

    @property
    def score_scale(self) -> tuple[float, float]:
        """Scale and shift that make log-odds of scores; those of the classifier."""
        return self.classifier_.score_scale

    @property
    def calibration_(self) -> NDArray[np.float64]:
        """Scale and shift that the classifier's scores were calibrated to, if they were."""
        return self.classifier_.calibration_

    @calibration_.setter
    def calibration_(self, learned: NDArray[np.float64]) -> None:
        self.classifier_.calibration_ = learned

    @on_one_model
    def transform(self, inputs: Any) -> sp.csr_array:
        """The features that the classifier sees."""
        check_is_fitted(self)
        if is_matrix(inputs) == self.takes_text:
            expected = "texts" if self.takes_text else "a feature matrix"
            raise InputError(f"This model was trained on {expected}; give it the same.")
        return self.features_.transform(inputs)

    @on_one_model
    def predict(self, inputs: Any) -> Any:
        """The label sets, in the form that y had in `fit`."""
        X = self.transform(inputs)
        return self.classifier_.predict(X)

    @on_one_model
    def predict_matrix(self, inputs: Any) -> sp.csr_array:
        """The label sets as a 0/1 matrix; see `ExtremeClassifier.predict_matrix`."""
        X = self.transform(inputs)
        return self.classifier_.predict_matrix(X)

    @on_one_model
    def predict_topk(
        self,
        inputs: Any,
        k: int = 5,
        *,
        tail: float = 0.0,
        propensities: ArrayLike | None = None,
    ) -> sp.csr_array:
        """Scores of the k best labels of each input; see `ExtremeClassifier.predict_topk`."""
        X = self.transform(inputs)
        return self.classifier_.predict_topk(X, k, tail=tail, propensities=propensities)

    @_if_classifier_has("predict_proba")
    @on_one_model
    def predict_proba(self, inputs: Any, **options: Any) -> Any:
        """Probabilities, where the classifier has them."""
        X = self.transform(inputs)
        return self.classifier_.predict_proba(X, **options)  # type: ignore[attr-defined]

    @_if_classifier_has("add_labels")
    def add_labels(self, inputs: Any, y_new: Any, **options: Any) -> Self:
        """Learn more labels with the features as they are; see `IndependentLabels.add_labels`."""
        X = self.transform(inputs)
        self.classifier_.add_labels(X, y_new, **options)  # type: ignore[attr-defined]
        return self

    @_if_classifier_has("drop_labels")
    def drop_labels(self, names: Any) -> Self:
        """Forget labels; see `IndependentLabels.drop_labels`."""
        check_is_fitted(self)
        self.classifier_.drop_labels(names)  # type: ignore[attr-defined]
        return self

    @on_one_model
    def top_labels(
        self,
        inputs: Any,
        k: int = 5,
        *,
        tail: float = 0.0,
        propensities: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The k best label names of each input, best first, and their scores.

        Two arrays (n, k); see `ExtremeClassifier.top_labels`.
        """
        X = self.transform(inputs)
        return self.classifier_.top_labels(X, k, tail=tail, propensities=propensities)

    def tag(
        self,
        inputs: Any,
        k: int = 5,
        *,
        tail: float = 0.0,
        propensities: ArrayLike | None = None,
    ) -> list[list[tuple[Any, float]]]:
        """The k best label names of each input with their scores, best first."""
        names, scores = self.top_labels(inputs, k, tail=tail, propensities=propensities)
        return [
            [pair for pair in zip(*row, strict=True) if pair[1] == pair[1]]  # NaN: no label
            for row in zip(names.tolist(), scores.tolist(), strict=True)
        ]

    @on_one_model
    def explain(self, one: Any, label: Any = None, *, n: int = 10) -> Explanation:
        """Why one input (a text, or one row) got its score for a label, by default the best."""
        row = self.transform([one] if isinstance(one, str) else one)
        names = getattr(self, "feature_names_", None)
        if names is None and hasattr(self.features_, "get_feature_names_out"):
            names = self.features_.get_feature_names_out()
        return self.classifier_.explain(row, label, n=n, feature_names=names)

    @on_one_model
    def score(self, inputs: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Share of the inputs whose label set is predicted exactly."""
        X = self.transform(inputs)
        return self.classifier_.score(X, y, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier_")

    def to_state(self) -> dict[str, Any]:
        """As for every estimator, but the features only once: as they were fitted."""
        state = super().to_state()
        state["parameters"]["features"] = None
        state["features_given"] = self.features is not None
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The inverse of `to_state`; its parts are refused if they are not those of a tagger."""
        tagger = super().from_state(state)
        if state.get("features_given") is True and hasattr(tagger, "features_"):
            tagger.features = clone(tagger.features_)
        return tagger

    def _check_state(self) -> None:
        if (
            not isinstance(getattr(self, "classifier_", None), ExtremeClassifier)
            or not hasattr(getattr(self, "features_", None), "transform")
            or type(getattr(self, "takes_text_", None)) is not bool
            or not (is_trained(self.classifier_) and is_trained(self.features_))
        ):
            raise ModelError("The parts of the tagger are not what they should be.")


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
        If the folder is damaged, altered, not a model, or of a newer format, or if its method is
        not installed.

    Examples
    --------
    >>> import tempfile
    >>> from longtail import DiSMEC
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> DiSMEC().fit([[0, 1], [1, 0]], ["sea", "snow"]).save(folder)
    >>> load(folder).predict([[1, 0]]).tolist()
    ['snow']
    """
    with memory_needed(f"to load {path}"):
        model = store.read(path, verify=verify)
    if not isinstance(model, Storable):
        raise ModelError(f"{path}: holds a {type(model).__name__}, which is not a model.")
    if not is_trained(model):
        raise ModelError(f"{path}: holds a {type(model).__name__} that was not trained.")
    return model
