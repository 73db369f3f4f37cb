"""Scorers inside scikit-learn's model selection."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from longtail import metrics
from longtail.errors import InputError, ParameterError
from longtail.labels import decode_labels, encode_labels, label_counts
from longtail.metrics import scorer

EVERY = ["neg_hamming_loss", "subset_accuracy", "jaccard", "f1_micro", "f1_macro", "f1_example"]


class Popular(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent labels, shifted by `skip`, for everyone: the whole contract."""

    def __init__(self, skip=0):
        self.skip = skip

    def fit(self, X, Y):
        encoded = encode_labels(Y)
        self.classes_, self.kind_ = encoded.classes, encoded.kind
        self.order_ = np.argsort(-label_counts(Y), kind="stable")[self.skip :]
        return self

    def predict_topk(self, X, k):
        n, best = X.shape[0], self.order_[:k]
        data = np.tile(np.arange(len(best), 0, -1.0), n)
        rows = np.repeat(np.arange(n), len(best))
        return sp.csr_array((data, (rows, np.tile(best, n))), shape=(n, len(self.classes_)))

    def predict(self, X):
        return decode_labels(self.predict_topk(X, 1), self.classes_, self.kind_)


@pytest.fixture(scope="module")
def data():
    return make_multilabel_classification(n_samples=90, n_classes=5, random_state=0)


def names_of(Y):
    return [tuple("abcde"[label] for label in np.flatnonzero(row)) for row in Y]


@pytest.mark.parametrize("form", ["dense", "sparse", "names"])
def test_ranking_score_is_the_metric(data, form):
    X, Y = data
    given = {"dense": Y, "sparse": sp.csr_array(Y), "names": names_of(Y)}[form]
    model = Popular().fit(X, given)
    p = np.linspace(0.2, 1, 5)
    expected = metrics.evaluate(Y, Y_score=model.predict_topk(X, 3), propensities=p, k=3)
    for name, value in expected.items():
        weights = p if name.startswith("PS") else None
        assert scorer(name, propensities=weights)(model, X, given) == value


@pytest.mark.parametrize("form", ["dense", "sparse", "names"])
@pytest.mark.parametrize("name", EVERY)
def test_set_score_is_the_metric(data, form, name):
    X, Y = data
    given = {"dense": Y, "sparse": sp.csr_array(Y), "names": names_of(Y)}[form]
    model = Popular().fit(X, Y)
    expected = metrics.evaluate(Y, Y_pred=model.predict(X))
    value = -expected["hamming_loss"] if name == "neg_hamming_loss" else expected[name]
    assert scorer(name)(Popular().fit(X, given), X, given) == pytest.approx(value)


def test_single_classes():
    X, y = np.zeros((4, 1)), np.array(["a", "b", "b", "c"])
    model = Popular().fit(X, y)
    assert scorer("accuracy")(model, X, y) == scorer("P@1")(model, X, y) == 0.5
    assert scorer("covered_classes")(model, X, y) == pytest.approx(1 / 3)
    assert scorer("maf1")(model, X, y) == metrics.maf1(y, ["b"] * 4)
    assert scorer("R@2")(model, X, np.array(["b", "b", "b", "unheard"])) == 0.75


def test_grid_search_finds_the_best(data):
    X, Y = data
    search = GridSearchCV(Popular(), {"skip": [0, 2]}, scoring=scorer("nDCG@2"), cv=KFold(3))
    search.fit(X, Y)
    assert search.best_params_ == {"skip": 0}
    assert scorer("P@1")(search, X, Y) == scorer("P@1")(search.best_estimator_, X, Y)
    clone(search)


def test_several_at_once(data):
    X, Y = data
    scoring = {"rank": scorer("P@1"), "set": scorer("neg_hamming_loss")}
    search = GridSearchCV(Popular(), {"skip": [0, 2]}, scoring=scoring, cv=3, refit="rank")
    assert search.fit(X, Y).cv_results_["mean_test_set"].max() <= 0


def test_names_with_folds_that_miss_some(data):
    X, Y = data
    names = [*names_of(Y)[:-1], ("rare",)]
    p = dict.fromkeys([*"abcde", "rare"], 0.5)
    values = cross_val_score(
        Popular(), X, names, scoring=scorer("PSP@3", propensities=p), cv=KFold(3)
    )
    assert np.isfinite(values).all()


def test_scikit_learn_estimators(data):
    X, Y = data
    per_column = MultiOutputClassifier(RandomForestClassifier(n_estimators=2)).fit(X, Y)
    linear = OneVsRestClassifier(LinearSVC())
    assert 0.3 < cross_val_score(linear, X, Y, scoring=scorer("P@1"), cv=3).mean() <= 1
    linear.fit(X, Y)
    assert scorer("P@2")(linear, X, Y) == metrics.precision_at_k(Y, linear.decision_function(X), 2)
    with pytest.raises(InputError, match="dimensions"):
        scorer("P@1")(per_column, X, Y)


def test_two_classes_and_probabilities():
    X, y = make_classification(random_state=0)
    names = np.array(["no", "yes"])[y]
    for model in (LinearSVC(), RandomForestClassifier(n_estimators=5, random_state=0)):
        model.fit(X, names)
        assert scorer("P@1")(model, X, names) == pytest.approx(model.score(X, names))


def test_pipelines_pass_the_transformed_rows(data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), Popular()).fit(X, Y)
    assert scorer("P@1")(pipeline, X, Y) == scorer("P@1")(pipeline[-1], X, Y)
    linear = make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC())).fit(X, Y)
    expected = metrics.precision_at_k(Y, linear.decision_function(X), 1)
    assert scorer("P@1")(linear, X, Y) == expected


def test_scorers_can_be_pickled(data):
    X, Y = data
    model = Popular().fit(X, Y)
    for original in (scorer("f1_macro"), scorer("PSP@2", propensities=np.full(5, 0.5))):
        assert pickle.loads(pickle.dumps(original))(model, X, Y) == original(model, X, Y)  # noqa: S301


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("hamming_loss", "neg_hamming_loss"),
        ("PSP@5", "give propensities="),
        ("P@0", "at least 1"),
        ("P@x", "at least 1"),
        ("P@", "at least 1"),
        ("Q@5", "no metric"),
        ("f2", "no metric"),
    ],
)
def test_bad_names(name, says):
    with pytest.raises(ParameterError, match=says):
        scorer(name)


def test_needless_propensities():
    with pytest.raises(ParameterError, match="does not use propensities"):
        scorer("P@5", propensities=[0.5])


def test_an_estimator_that_cannot_rank():
    class Mute:
        pass

    with pytest.raises(InputError, match="Mute has none of predict_topk"):
        scorer("P@1")(Mute(), None, None)
