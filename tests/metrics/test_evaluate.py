"""The evaluation table: the same numbers as the single metrics, by name, readable."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from longtail import metrics
from longtail.errors import InputError, ParameterError
from longtail.labels import propensities
from longtail.metrics import Evaluation, evaluate
from tests.metrics.problems import label_matrix, random_problem, score_matrix

RANKING = {
    "P": metrics.precision_at_k,
    "nDCG": metrics.ndcg_at_k,
    "R": metrics.recall_at_k,
    "C": metrics.coverage_at_k,
}


@pytest.fixture
def problem():
    truth, scores, p = random_problem(1)
    train, _, _ = random_problem(2)
    L = len(p)
    return label_matrix(truth, L), score_matrix(scores, L), label_matrix(train, L), p


def test_everything_equals_the_single_metrics(problem):
    Y, S, _, p = problem
    predicted = (S > 0.5).astype(int)
    result = evaluate(Y, Y_score=S, Y_pred=predicted, propensities=p, k=(1, 3, 5))
    for k in (1, 3, 5):
        for name, metric in RANKING.items():
            assert result[f"{name}@{k}"] == metric(Y, S, k)
        assert result[f"PSP@{k}"] == metrics.psp_at_k(Y, S, k, propensities=p)
        assert result[f"PSnDCG@{k}"] == metrics.psndcg_at_k(Y, S, k, propensities=p)
    assert result["hamming_loss"] == metrics.hamming_loss(Y, predicted)
    assert result["subset_accuracy"] == metrics.subset_accuracy(Y, predicted)
    assert result["jaccard"] == metrics.jaccard(Y, predicted)
    for average in ("micro", "macro", "example"):
        assert result[f"f1_{average}"] == metrics.f1(Y, predicted, average=average)
    assert len(result) == 6 * 3 + 6
    assert all(type(value) is float for value in result.values())


def test_only_what_can_be_computed(problem):
    Y, S, _, _ = problem
    assert list(evaluate(Y, Y_score=S, k=2)) == ["P@2", "nDCG@2", "R@2", "C@2"]
    assert "P@1" not in evaluate(Y, Y_pred=Y)
    with pytest.raises(ParameterError, match="Give Y_score"):
        evaluate(Y)


def test_training_labels_give_propensities(problem):
    Y, S, train, _ = problem
    assert evaluate(Y, Y_score=S, Y_train=train)["PSP@3"] == pytest.approx(
        metrics.psp_at_k(Y, S, 3, propensities=propensities(train)), abs=1e-12
    )


def test_names_everywhere():
    train = [("sea",), ("sun", "sea"), ("sun",), ("snow",), ("fog", "sun")]
    classes = np.array(["fog", "sea", "snow", "sun"])
    truth = [("sun", "hail"), ("sea",)]
    scores = np.array([[0.1, 0.2, 0.3, 0.9], [0.9, 0.2, 0.1, 0.0]])
    result = evaluate(
        truth, Y_score=scores, Y_pred=[("sun",), ()], Y_train=train, classes=classes, k=1
    )
    p_sun, p_sea, p_hail = propensities([3, 2, 0], n=5)
    assert result["PSP@1"] == pytest.approx((1 / p_sun) / (1 / p_hail + 1 / p_sea))
    assert result["R@1"] == 0.25
    assert result["subset_accuracy"] == 0.0
    assert result["hamming_loss"] == pytest.approx(2 / (2 * 5))


def test_single_classes():
    truth, scores = ["b", "a", "b"], np.array([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]])
    result = evaluate(truth, Y_score=scores, Y_pred=["b", "a", "a"], k=1, classes=["a", "b"])
    assert list(result) == ["P@1", "nDCG@1", "R@1", "C@1", "accuracy", "maf1", "covered_classes"]
    assert result["P@1"] == result["accuracy"] == pytest.approx(2 / 3)
    assert result["covered_classes"] == 1.0
    assert result["maf1"] == pytest.approx(metrics.maf1(truth, ["b", "a", "a"]))


def test_names_in_training_need_names_in_the_columns():
    with pytest.raises(InputError, match="give classes="):
        evaluate(np.eye(2), Y_score=np.eye(2), Y_train=[("a",), ("b",)])
    assert evaluate(
        np.eye(2), Y_score=np.eye(2), Y_train=[("a",), ("b",)], classes=["a", "b"], k=1
    )["PSP@1"] == pytest.approx(1.0)
    with pytest.raises(InputError, match="Y_train has 3"):
        evaluate(np.eye(2), Y_score=np.eye(2), Y_train=np.eye(3))


class TestEvaluation:
    result = Evaluation({"P@1": 0.75, "P@10": 0.5, "R@10": 0.25, "jaccard": 1.0})

    def test_is_a_mapping(self):
        assert dict(self.result) == self.result.to_dict()
        assert self.result["R@10"] == 0.25
        assert "R@1" not in self.result
        json.dumps(self.result.to_dict())

    def test_table(self):
        table = self.result.table()
        assert isinstance(table, pl.DataFrame)
        assert table.rows() == list(self.result.items())
        assert Evaluation({}).table().shape == (0, 2)

    def test_text(self):
        lines = str(self.result).splitlines()
        assert lines[0].split() == ["@1", "@10"]
        assert lines[1].split() == ["P", "0.7500", "0.5000"]
        assert lines[2].split() == ["R", "0.2500"]
        assert lines[2].index("0.2500") == lines[1].index("0.5000")
        assert lines[-1].split() == ["jaccard", "1.0000"]
        assert repr(Evaluation({"P@1": 1.0})) == "Evaluation(P@1=1.0000)"
