"""The one routine that measures a model: what it gives is what the metrics give."""

from __future__ import annotations

import numpy as np
import pytest

from longtail import DiSMEC, Tagger
from longtail.data import Dataset, make_longtail
from longtail.errors import InputError
from longtail.metrics import evaluate, evaluate_model


@pytest.fixture(scope="module")
def parts():
    return make_longtail(300, 200, 30, random_state=0).split(random_state=0)


@pytest.fixture(scope="module")
def model(parts):
    return DiSMEC().fit(parts[0])


def test_all_metrics_of_scores_and_sets(parts, model):
    train, test = parts
    found = evaluate_model(model, test.X, test.Y, k=(1, 4))
    wanted = evaluate(
        test.Y,
        Y_score=model.predict_topk(test.X, 4),
        Y_pred=model.predict(test.X),
        k=(1, 4),
        Y_train=train.Y,
    )
    assert found.evaluation.to_dict() == pytest.approx(wanted.to_dict(), abs=1e-12)
    assert (found.points, found.unknown_labels) == (len(test), 0)
    assert found.seconds > 0


@pytest.mark.parametrize("tail", [0.0, 0.7])
def test_batches_change_nothing(parts, model, tail):
    _, test = parts
    whole = evaluate_model(model, test.X, test.Y, tail=tail)
    found = evaluate_model(model, test.X, test.Y, tail=tail, batch_size=7)
    assert found.evaluation == whole.evaluation
    assert found.by_frequency.equals(whole.by_frequency)


def test_a_tagger_makes_the_features_of_a_batch_once(monkeypatch):
    texts, labels = ["waves and sand", "deep snow", "sand"] * 5, [["sea"], ["ice"], ["sea"]] * 5
    data = Dataset(None, labels, texts=texts)
    tagger = Tagger().fit(data)
    calls = []
    make = tagger.features_.transform
    monkeypatch.setattr(
        tagger.features_, "transform", lambda batch: calls.append(len(batch)) or make(batch)
    )
    found = evaluate_model(tagger, texts, data.Y, batch_size=10)
    assert calls == [10, 5]
    assert found.evaluation["P@1"] == 1


def test_labels_that_the_model_lacks_count_as_missed(parts, model):
    _, test = parts
    more = Dataset(test.X, [(*row, "new") for row in test.label_sets()]).aligned_to(
        label_names=model.classes_
    )
    found = evaluate_model(model, more.X, more.Y)
    assert found.unknown_labels == 1
    assert found.evaluation["subset_accuracy"] == 0
    with pytest.raises(InputError, match="aligned_to"):
        evaluate_model(model, test.X, test.Y[:, :3])


def test_one_class_is_told_from_the_counts(parts):
    X, Y = parts[0].X, parts[0].Y
    rows = np.flatnonzero(np.diff(Y.indptr))
    first = Y.indices[Y.indptr[rows]]
    model = DiSMEC().fit(X[rows], first)
    columns = np.searchsorted(model.classes_, first)
    truth = Dataset(X[rows], [(name,) for name in columns.tolist()], label_names=None)
    found = evaluate_model(model, X[rows], truth.Y)
    assert found.evaluation["accuracy"] == np.mean(model.predict(X[rows]) == first)
    plain = evaluate_model(model, X[rows], truth.Y, one_class=False)
    assert "accuracy" not in plain.evaluation
