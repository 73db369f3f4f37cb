"""The tagger: features and classifier as one, with what it remembers of its training."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import longtail
from longtail import BinaryRelevance, DiSMEC, Tagger, store
from longtail.errors import InputError, ModelError, ParameterError
from longtail.features import RowScaler, TextFeatures

TEXTS = ["waves and sand", "deep snow", "sand castles", "snow and ice"]
LABELS = [["sea"], ["winter"], ["sea", "fun"], ["winter"]]
CLASSES = ["sea", "winter", "sea", "winter"]
X = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    "Y",
    [
        LABELS,
        [tuple(labels) for labels in LABELS],
        (labels for labels in LABELS),
        sp.csr_array([[0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]]),
        np.array([[0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]]),
    ],
    ids=["lists", "tuples", "generator", "sparse", "dense"],
)
def test_training_counts(Y):
    tagger = Tagger().fit(TEXTS, Y)
    assert tagger.label_counts_.tolist() == [1, 2, 2]
    assert tagger.n_points_ == 4


def test_training_counts_of_classes():
    tagger = Tagger().fit(TEXTS, ["sea", "winter", "sea", "winter"])
    assert tagger.label_counts_.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("inputs", "features"),
    [
        (TEXTS, None),
        (TEXTS, TextFeatures(ngram_range=(1, 2), stop_words={"and"})),
        (X, None),
        (X, RowScaler(damping="sqrt", idf=True)),
    ],
)
def test_saved_and_loaded(tmp_path, inputs, features):
    tagger = Tagger(features=features, classifier=BinaryRelevance(C=5)).fit(inputs, LABELS)
    tagger.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert loaded.tag(inputs) == tagger.tag(inputs)
    assert loaded.label_counts_.tolist() == [1, 2, 2]
    assert loaded.n_points_ == 4
    assert loaded.classifier.C == 5
    assert (loaded.features is None) == (features is None)
    # it can be trained again as it was
    again = loaded.fit(inputs, LABELS)
    assert again.tag(inputs) == tagger.tag(inputs)


@store.register
class Letters:
    """A transformer that is no estimator of ours, with all that a tagger asks of one."""

    stored_as = "letters-of-a-test"

    def __init__(self, letters="aeiou"):
        self.letters = letters

    def get_params(self, deep=False):
        return {"letters": self.letters}

    def fit_transform(self, texts):
        self.fitted = True
        return self.transform(texts)

    def transform(self, texts):
        return np.array([[text.count(letter) for letter in self.letters] for text in texts])

    def to_state(self):
        return {"letters": self.letters}

    @classmethod
    def from_state(cls, state):
        return cls(state["letters"])


def test_a_transformer_of_another_kind_is_taken_and_stored(tmp_path):
    tagger = Tagger(features=Letters("sandw")).fit(TEXTS, CLASSES)
    assert tagger.takes_text
    tagger.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    assert isinstance(loaded.features, Letters)
    assert loaded.features.letters == "sandw"
    assert loaded.tag(TEXTS) == tagger.tag(TEXTS)
    with pytest.raises(InputError, match="trained on texts"):
        loaded.predict(X)


@pytest.mark.parametrize(
    "change",
    [
        {"classifier_": RowScaler().fit(X)},
        {"features_": 3},
        {"takes_text_": 1},
        {"features_": {"a": 1}},
    ],
)
def test_altered_parts_are_refused(tmp_path, change):
    tagger = Tagger().fit(TEXTS, LABELS)
    tagger.__dict__.update(change)
    tagger.save(tmp_path / "model")
    with pytest.raises(ModelError, match="parts of the tagger"):
        longtail.load(tmp_path / "model")


def test_unfitted_is_said():
    for ask in ("predict", "predict_topk", "tag", "transform"):
        with pytest.raises(NotFittedError):
            getattr(Tagger(), ask)(TEXTS)
    with pytest.raises(NotFittedError):
        Tagger().score(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        Tagger().explain(TEXTS[0], "sea")
    with pytest.raises(NotFittedError):
        Tagger(classifier=BinaryRelevance()).predict_proba(TEXTS)
    half = Tagger(classifier=BinaryRelevance(C=-1))
    with pytest.raises(ParameterError):
        half.fit(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        half.predict(TEXTS)


def test_score_with_weights():
    tagger = Tagger().fit(TEXTS, LABELS)
    wrong = [["sea"], ["sea"], LABELS[2], LABELS[3]]
    right = [set(a) == set(b) for a, b in zip(tagger.predict(TEXTS), wrong, strict=True)]
    assert 0 < sum(right) < 4
    assert tagger.score(TEXTS, wrong) == np.mean(right)
    weights = [0.1, 0.2, 0.3, 0.4]
    wanted = np.average(right, weights=weights)
    assert tagger.score(TEXTS, wrong, sample_weight=weights) == pytest.approx(wanted)


def test_tail_weights_are_passed_on():
    tagger = Tagger().fit(TEXTS, LABELS)
    rows = tagger.transform(TEXTS)
    wanted = tagger.classifier_.predict_topk(rows, 2, tail=3.0)
    assert np.array_equal(tagger.predict_topk(TEXTS, 2, tail=3.0).data, wanted.data)
    assert all(row[0][0] == "fun" for row in tagger.tag(TEXTS, 2, tail=50.0))
    flat = {"tail": 50.0, "propensities": np.ones(3)}
    names = [[name for name, _ in row] for row in tagger.tag(TEXTS, 2)]
    assert [[name for name, _ in row] for row in tagger.tag(TEXTS, 2, **flat)] == names


def test_feature_names(tmp_path):
    tagger = Tagger().fit(X, LABELS, feature_names=["sand", "snow", "castle"])
    tagger.save(tmp_path / "model")
    for each in (tagger, longtail.load(tmp_path / "model")):
        reason = each.explain(X[[0]], "sea")
        assert set(reason.parts["feature"]) <= {"sand", "castle"}
    assert not hasattr(tagger.fit(X, LABELS), "feature_names_")
    with pytest.raises(InputError, match="2 feature names for 3 features"):
        Tagger().fit(X, LABELS, feature_names=["sand", "snow"])
    with pytest.raises(InputError, match="texts bring their own"):
        Tagger().fit(TEXTS, LABELS, feature_names=["sand"])


class TestRefusals:
    def test_a_failed_fit_leaves_the_old_model(self):
        tagger = Tagger(classifier=DiSMEC()).fit(TEXTS, CLASSES)
        before = tagger.predict_topk(TEXTS).toarray()
        tagger.classifier.C = -1.0
        with pytest.raises(ParameterError, match="C must"):
            tagger.fit(["quite", "another", "vocabulary"], ["a", "b", "a"])
        np.testing.assert_array_equal(tagger.predict_topk(TEXTS).toarray(), before)

    @pytest.mark.parametrize(
        ("parts", "says"),
        [
            ({"classifier": "dismec"}, "classifier must be a classifier of longtail"),
            ({"classifier": DiSMEC}, "classifier must be a classifier of longtail"),
            ({"classifier": LogisticRegression()}, "classifier must be a classifier of longtail"),
            ({"features": "tfidf"}, "features must be TextFeatures"),
            ({"features": TfidfVectorizer()}, "features must be TextFeatures"),
        ],
        ids=repr,
    )
    def test_parts_of_another_kind_are_refused_before_any_work(self, parts, says):
        with pytest.raises(ParameterError, match=says):
            Tagger(**parts).fit(TEXTS, CLASSES)
        with pytest.raises(ParameterError, match=says):
            Tagger(**parts).estimate(TEXTS, CLASSES)

    def test_parameters_of_a_part_that_is_not_there(self):
        with pytest.raises(ParameterError, match="while classifier is None"):
            Tagger().set_params(classifier__C=2.0)
        tagger = Tagger().set_params(classifier=DiSMEC(), classifier__C=2.0)
        assert tagger.classifier.C == 2.0

    def test_texts_that_are_missing_are_named(self):
        for place in range(2):
            texts = [None if i == place else text for i, text in enumerate(TEXTS)]
            with pytest.raises(InputError, match=f"Text {place} is missing"):
                Tagger().fit(texts, CLASSES)
        with pytest.raises(InputError, match="Text 0"):
            Tagger().fit(TEXTS, CLASSES).predict([None])
        with pytest.raises(InputError, match="Text 0"):
            Tagger().fit([1, 2, 3, 4], CLASSES)

    def test_a_table_of_texts_is_no_matrix(self):
        table = pd.DataFrame({"text": TEXTS})
        with pytest.raises(InputError, match="one column"):
            Tagger().fit(table, CLASSES)
        assert Tagger().fit(table["text"], CLASSES).predict(["snow"]).tolist() == ["winter"]
