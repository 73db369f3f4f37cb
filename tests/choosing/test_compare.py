"""The comparison as a function: same data for all, nothing lost, nothing changed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from longtail import BinaryRelevance, Dataset, DiSMEC, Tagger
from longtail.choosing import Comparison, Result, Setup, compare, prepare
from longtail.choosing.comparison_rows import named_classifiers
from longtail.data import make_longtail
from longtail.errors import InputError, ParameterError
from longtail.features import RowScaler
from longtail.labels import label_counts, propensities, tail_statistics
from longtail.metrics import Evaluation, by_frequency, evaluate


@pytest.fixture(scope="module")
def parts():
    return make_longtail(300, 200, 30, random_state=0).split(random_state=0)


class TestCompare:
    def test_results_are_those_of_taggers(self, parts):
        train, test = parts
        scaler = RowScaler(damping="sqrt")
        methods = {"usual": DiSMEC(), "strong": DiSMEC(C=0.1), "br": "br"}
        found = compare(
            train, test, methods, features=scaler, k=(1, 2), propensity_constants="Amazon-670K"
        )
        for name, classifier in named_classifiers(methods).items():
            tagger = Tagger(features=scaler, classifier=classifier).fit(train.X, train.Y)
            wanted = evaluate(
                test.Y,
                Y_score=tagger.predict_topk(test.X, 2),
                Y_pred=tagger.predict(test.X),
                k=(1, 2),
                propensities=propensities(train.Y, propensity_constants="Amazon-670K"),
            )
            assert found[name].evaluation.to_dict() == wanted.to_dict()
        table = found.table()
        assert table["name"].to_list() == list(methods)
        assert table["method"].to_list() == ["dismec", "dismec", "br"]
        assert table["P@2"].to_list() == [found[name].evaluation["P@2"] for name in methods]
        assert table["failure"].null_count() == 3
        assert (table["train_seconds"] > 0).all()

    def test_bins_and_curves(self, parts):
        """Both are those of a tagger on the same parts, with the propensities of the comparison."""
        train, test = parts
        methods = {"dismec": DiSMEC(), "ova": "ova"}
        options = {"features": RowScaler(), "k": (1, 2), "propensity_constants": "Amazon-670K"}
        found = compare(train, test, methods, curves=True, **options)
        assert compare(train, test, ["dismec"], **options)["dismec"].tail_curve is None
        chances = propensities(train.Y, propensity_constants="Amazon-670K")
        for name, classifier in named_classifiers(methods).items():
            tagger = Tagger(features=RowScaler(), classifier=classifier).fit(train.X, train.Y)
            wanted = by_frequency(test.Y, tagger.predict_topk(test.X, 2), train.Y, k=(1, 2))
            assert found[name].by_frequency.equals(wanted)
            for weight in (0.0, 1.0):
                scores = tagger.predict_topk(test.X, 2, tail=weight, propensities=chances)
                wanted = evaluate(test.Y, Y_score=scores, k=(1, 2), propensities=chances)
                curve = found[name].tail_curve.filter(pl.col("tail") == weight)
                for measure in ("P@1", "P@2", "PSP@1", "PSP@2"):
                    assert curve[measure][0] == pytest.approx(wanted[measure])
        assert found.to_dict()["results"][0]["tail_curve"][0]["tail"] == 0

    def test_labels_are_described(self, parts):
        train, test = parts
        common = compare(train, test, ["dismec"]).common
        assert common.label_tail == tail_statistics(train.Y)
        assert common.label_counts.tolist() == label_counts(train.Y).tolist()
        assert common.labels_per_point.sum() == train.Y.nnz
        assert common.to_dict()["label_tail"]["labels"] == 30
        assert "label_counts" not in common.to_dict()

    def test_one_label_a_point_cannot_be_ranked_again(self, parts, monkeypatch):
        first = DiSMEC._topk
        monkeypatch.setattr(DiSMEC, "_topk", lambda self, X, k: first(self, X, 1))
        assert compare(*parts, ["dismec"], curves=True)["dismec"].tail_curve is None

    def test_classifiers_are_not_changed(self, parts):
        classifier = BinaryRelevance()
        compare(*parts, [classifier], n_jobs=1)
        assert classifier.n_jobs is None
        assert not hasattr(classifier, "weights_")

    def test_names_and_numbers_of_labels(self):
        """Labels that only the test part has count as missed, in whatever order names come."""
        train = Dataset(np.eye(4), [("sea",), ("sun",), ("sea",), ("sun",)])
        test = Dataset(np.eye(4)[:3], [("sun",), ("sun",), ("snow",)])
        problem = prepare(train, test)
        assert (problem.train.n_labels, problem.unknown_labels, problem.unlabelled) == (2, 1, 0)
        assert problem.test.Y.toarray().tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 1]]
        found = compare(train, test, ["dismec"], k=[1])
        assert found["dismec"].evaluation["P@1"] == pytest.approx(1 / 3)
        by_number = compare(Dataset(train.X, train.Y), Dataset(test.X, [[0, 1]] * 3), ["dismec"])
        assert by_number["dismec"].evaluation["P@1"] == pytest.approx(1 / 3)

    def test_features_are_matched(self):
        X = np.array([[1.0, 0, 2], [0, 1, 0], [3, 0, 1]])
        labels = [("sea",), ("sun",), ("sea",)]
        train = Dataset(X, labels, feature_names=["a", "b", "c"])
        shuffled = Dataset(X[:, [2, 0, 1]], labels, feature_names=["c", "a", "b"])
        problem = prepare(train, shuffled)
        assert abs(problem.features().X - problem.features().X_test).max() == 0
        narrow = prepare(Dataset(X, labels), Dataset(X[:, :2], labels))
        assert narrow.features().X_test.shape == (3, 3)

    def test_points_without_labels_are_counted(self, parts):
        train, test = parts
        Y = test.Y.tolil()
        Y[:7] = 0
        problem = prepare(train, Dataset(test.X, sp.csr_array(Y)))
        assert problem.unlabelled == 7

    def test_texts_and_matrices_do_not_mix(self, parts):
        texts = Dataset(None, [("a",)], texts=["sea"])
        with pytest.raises(InputError, match="only texts"):
            prepare(parts[0], Dataset(None, [[1] + [0] * 29], texts=["sea"]))
        with pytest.raises(InputError, match="test part has none"):
            prepare(texts, Dataset([[1.0]], [("a",)]))
        with pytest.raises(InputError, match="The test part has no points"):
            prepare(parts[0], parts[1].subset([]))

    def test_bad_requests_are_refused_before_any_work(self, parts, tmp_path):
        for methods, message in (
            ([], "no method to compare"),
            ([DiSMEC(), DiSMEC()], "Two methods are called 'dismec'"),
            ([3], "not 3"),
            ([DiSMEC(C=-1)], "C must be"),
            ("magic", "no method 'magic'"),
        ):
            with pytest.raises(ParameterError, match=message):
                compare(None, None, methods)
        with pytest.raises(ParameterError, match="tail"):
            compare(None, None, ["dismec"], tail=-1)
        for name in ("a/b", "..", ""):
            with pytest.raises(ParameterError, match="names no folder"):
                compare(None, None, {name: "dismec"}, keep=tmp_path)

    def test_a_name_alone_is_a_method(self, parts):
        assert list(named_classifiers("dismec")) == ["dismec"]
        assert named_classifiers([DiSMEC(n_jobs=2)], n_jobs=1)["dismec"].n_jobs == 2


class TestResults:
    COMMON = Setup("tiny", 60, 20, 8, 30, 0, 0.1, (1,))

    def test_best(self):
        values = Evaluation({"P@1": 0.5, "hamming_loss": 0.2, "PSP@1": float("nan")})
        other = Evaluation({"P@1": 0.5, "hamming_loss": 0.1, "PSP@1": float("nan")})
        found = Comparison(
            self.COMMON,
            [
                Result("a", "br", {}, values, 1.0, 2.0, 20, 10, None, 50),
                Result("b", "br", {}, other, 2.0, 1.0, 20, None, None, 40, 7),
                Result("c", "br", {}, failure="no luck"),
            ],
        )
        assert found.best() == {
            "train_seconds": ["a"],
            "predict_seconds": ["b"],
            "points_per_second": ["b"],
            "milliseconds_per_point": ["b"],
            "megabytes": ["a"],
            "peak_megabytes": ["b"],
            "n_parameters": ["b"],
            "P@1": ["a", "b"],
            "hamming_loss": ["b"],
        }
        assert [result.name for result in found.finished] == ["a", "b"]
        assert found.table().row(2, named=True)["failure"] == "no luck"
        assert found.table().schema["megabytes"] == pl.Float64
        with pytest.raises(KeyError):
            found["d"]

    def test_nothing_at_all(self):
        empty = Comparison(self.COMMON)
        assert (empty.best(), empty.table().height) == ({}, 0)
        assert empty.to_dict()["results"] == []
