"""Published accuracy on the real benchmark sets."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.data import read_dataset
from longtail.features import RowScaler
from longtail.labels import propensities
from longtail.methods.linear import BinaryRelevance, DiSMEC, ProXML
from longtail.metrics import evaluate

pytestmark = pytest.mark.published


@pytest.mark.exhaustive
def test_dismec_on_eurlex(data_folder):
    """Published: P 82.51 / 69.48 / 57.94, PSP@5 49.3."""
    train, test = (read_dataset(data_folder / "eurlex-4k", part=part) for part in ("train", "test"))
    scaler = RowScaler(damping="sqrt").fit(train.X)
    model = DiSMEC(n_jobs=2).fit(scaler.transform(train.X), train.Y)
    assert np.nanmax(model.gap_) <= 1e-4
    found = evaluate(
        test.Y,
        Y_score=model.predict_topk(scaler.transform(test.X), 5),
        propensities=propensities(train.Y, propensity_constants="eurlex-4k"),
    )
    assert found["P@1"] >= 0.815
    assert found["P@3"] >= 0.690
    assert found["P@5"] >= 0.575
    assert found["PSP@5"] >= 0.475


@pytest.mark.exhaustive
def test_proxml_on_eurlex(data_folder):
    """Published: P 83.4 / 70.9 / 59.1, PSP 45.2 / 48.5 / 51.0 (which takes a tail weight)."""
    train, test = (read_dataset(data_folder / "eurlex-4k", part=part) for part in ("train", "test"))
    scaler = RowScaler(damping="sqrt").fit(train.X)
    model = ProXML(n_jobs=2).fit(scaler.transform(train.X), train.Y)
    assert np.nanmax(model.violation_) <= 0.01
    assert model.weights_.nnz < 50 * train.n_labels
    chances = propensities(train.Y, propensity_constants="eurlex-4k")
    rows = scaler.transform(test.X)
    found = evaluate(test.Y, Y_score=model.predict_topk(rows, 5), propensities=chances)
    assert found["P@1"] >= 0.830
    assert found["P@3"] >= 0.709
    assert found["P@5"] >= 0.590
    assert found["PSP@5"] >= 0.495
    tail = evaluate(test.Y, Y_score=model.predict_topk(rows, 5, tail=0.5), propensities=chances)
    assert tail["PSP@1"] >= 0.44
    assert tail["C@5"] > found["C@5"]


def test_binary_relevance_on_bibtex(data_folder):
    """Published for one-vs-all: P@1 62.62."""
    train, test = (read_dataset(data_folder / "bibtex", part=part) for part in ("train", "test"))
    model = BinaryRelevance(n_jobs=2).fit(train.X, train.Y)
    assert evaluate(test.Y, Y_score=model.predict_topk(test.X, 5))["P@1"] >= 0.62


def test_explanation_adds_up_and_names_the_features(data_folder):
    train = read_dataset(data_folder / "bibtex", part="train")
    model = DiSMEC(prune=0.0, n_jobs=2).fit(train.X, train.Y, label_names=train.classes.tolist())
    row = train.X[[0]]
    scores = model.predict_topk(row, len(model.classes_)).toarray().ravel()
    best = int(np.argmax(scores))
    why = model.explain(
        row, train.classes[best], n=row.nnz, feature_names=train.feature_names.tolist()
    )
    assert why.parts["contribution"].sum() + why.bias == pytest.approx(why.score, abs=1e-5)
    assert why.score == pytest.approx(scores[best], abs=1e-5)
    assert set(why.parts["feature"]) <= set(train.feature_names[row.indices])
