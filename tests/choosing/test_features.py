"""Features by kind: every method gets what it wants, made once, and what is asked for wins."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import DiSMEC, Tagger
from longtail.choosing import Setup, compare, prepare
from longtail.choosing.comparison_rows import kinds_of
from longtail.data import Dataset
from longtail.features import RowScaler, TextFeatures
from tests.counting import CountsOnly

TEXTS = ["sea sea sun", "sun sun sun sea", "snow ice", "ice ice ice snow", "sea sun", "snow"]
LABELS = [("warm",), ("warm",), ("cold",), ("cold",), ("warm",), ("cold",)]
MATRIX = np.array([[2.0, 1, 0], [1, 3, 0], [0, 0, 2], [0, 1, 3], [1, 1, 0], [0, 0, 1]])


@pytest.fixture
def texts():
    data = Dataset(None, LABELS, texts=TEXTS)
    return data.subset([0, 1, 2, 3]), data.subset([4, 5])


@pytest.fixture
def matrices():
    data = Dataset(MATRIX, LABELS)
    return data.subset([0, 1, 2, 3]), data.subset([4, 5])


class TestTagger:
    def test_texts_become_counts(self):
        tagger = Tagger(classifier=CountsOnly()).fit(TEXTS, LABELS)
        names = tagger.features_.get_feature_names_out().tolist()
        row = dict(zip(names, tagger.classifier_.seen_[1].tolist(), strict=True))
        assert row == {"ice": 0, "sea": 1, "snow": 0, "sun": 3}
        assert tagger.transform(["sun sun"]).data.tolist() == [2]

    def test_matrices_stay_as_they_are(self):
        tagger = Tagger(classifier=CountsOnly()).fit(sp.csr_array(MATRIX), LABELS)
        assert np.array_equal(tagger.classifier_.seen_, MATRIX)

    def test_other_classifiers_get_scaled_rows(self):
        tagger = Tagger(classifier=DiSMEC()).fit(MATRIX, LABELS)
        assert np.allclose(np.linalg.norm(tagger.transform(MATRIX).toarray(), axis=1), 1)
        assert Tagger().fit(TEXTS, LABELS).features_.idf

    def test_what_is_given_wins(self):
        with pytest.raises(ValueError, match="whole numbers"):
            Tagger(features=TextFeatures(), classifier=CountsOnly()).fit(TEXTS, LABELS)
        with pytest.raises(ValueError, match="whole numbers"):
            Tagger(features=RowScaler(), classifier=CountsOnly()).fit(MATRIX, LABELS)


class TestProblem:
    def test_each_kind_is_made_once_when_asked_for(self, texts, monkeypatch):
        made = []
        fit = TextFeatures.fit_transform

        def counted(self, texts, y=None):
            made.append(self.idf)
            return fit(self, texts)

        monkeypatch.setattr(TextFeatures, "fit_transform", counted)
        problem = prepare(*texts)
        assert made == []
        assert problem.features("counts").X.max() == 3
        assert made == [False]
        problem.features("counts")
        problem.features("scaled")
        problem.features("scaled")
        assert made == [False, True]
        found = compare(*texts, ["dismec", "br", CountsOnly()], k=[1])
        assert [each.failure for each in found.results] == [None] * 3
        assert made == [False, True, True, False]

    def test_a_comparison_of_counts_alone_makes_nothing_else(self, matrices):
        problem = prepare(*matrices)
        kinds = kinds_of([CountsOnly(), CountsOnly])
        setup = Setup.of(problem, k=[1], kinds=kinds)
        assert (kinds, list(problem.made), setup.features) == (("counts",), ["counts"], 3)
        assert np.array_equal(problem.features("counts").X_test.toarray(), MATRIX[4:])

    def test_one_transformer_is_for_all(self, matrices):
        problem = prepare(*matrices, features=RowScaler(norm="max"))
        assert problem.features("counts") is problem.features("scaled")
        assert problem.features("counts").X.max() == 1
        found = compare(*matrices, [CountsOnly(), "dismec"], features=RowScaler())
        assert "whole numbers" in found["counts-only"].failure
        assert found["dismec"].failure is None

    def test_a_mapping_is_by_kind(self, matrices):
        scaler = RowScaler(norm="max")
        problem = prepare(*matrices, features={"scaled": scaler})
        assert problem.features().X.max() == 1
        assert problem.features("counts").X.max() == 3

    def test_kept_models_make_their_own_features(self, texts, tmp_path):
        import longtail

        compare(*texts, [CountsOnly()], keep=tmp_path)
        tagger = longtail.load(tmp_path / "counts-only")
        assert tagger.transform(["sun sun ice"]).data.tolist() == [1, 2]


class Fractions(CountsOnly):
    """The same under another name, which a second class needs for the store."""

    method: ClassVar[str] = "fractions"
    feature_kind: ClassVar = "scaled"


def test_a_subclass_may_want_something_else(matrices):
    found = compare(*matrices, [Fractions()])
    assert "whole numbers" in found["fractions"].failure
