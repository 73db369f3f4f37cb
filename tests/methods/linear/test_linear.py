"""What the one-vs-rest classifiers add to the engine: C, objective, threshold, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from longtail.errors import ParameterError
from longtail.methods.linear import BinaryRelevance, DiSMEC


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    return X, (X @ rng.normal(size=(6, 3)) + rng.normal(size=(80, 3)) > 0).astype(int)


@pytest.mark.parametrize("estimator", [DiSMEC, BinaryRelevance])
def test_objective_is_that_of_liblinear(estimator, data):
    X, Y = data
    model = estimator(C=3.0, prune=0.0, tol=1e-8).fit(X, Y)
    W = model.weights_.toarray().astype(float)
    for label in range(3):
        margin = (2 * Y[:, label] - 1) * (X @ W[:-1, label] + W[-1, label])
        cost = np.maximum(0, 1 - margin) ** 2 if estimator is DiSMEC else np.logaddexp(0, -margin)
        value = 0.5 * W[:, label] @ W[:, label] + 3.0 * cost.sum()
        assert model.objective_[label] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("estimator", [DiSMEC, BinaryRelevance])
def test_labels_with_a_positive_score_are_predicted(estimator, data):
    X, Y = data
    model = estimator().fit(X, Y)
    assert np.array_equal(model.predict(X), model.predict_topk(X, 3).toarray() >= 0)


@pytest.mark.parametrize("estimator", [DiSMEC, BinaryRelevance])
@pytest.mark.parametrize(
    "settings",
    [{"C": 0}, {"C": -1}, {"C": np.inf}, {"C": "1"}, {"tol": 0}, {"prune": -1}, {"n_jobs": 0}],
)
def test_senseless_parameters_are_refused(estimator, settings, data):
    with pytest.raises(ParameterError):
        estimator(**settings).fit(*data)


def test_probability_threshold_is_checked(data):
    model = BinaryRelevance().fit(*data)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        model.predict_proba(data[0], threshold=1.5)


@pytest.mark.parametrize("estimator", [DiSMEC, BinaryRelevance])
def test_explanation_is_the_largest_parts_of_the_score(estimator, data):
    X, Y = data
    model = estimator(prune=0.0).fit(X, Y)
    w = model.weights_.toarray().astype(float)[:, 1]
    parts = X[4] * w[:-1]
    order = np.argsort(-np.abs(parts))
    why = model.explain(X[4], 1, n=3)
    assert why.parts["feature"].to_list() == order[:3].tolist()
    assert why.parts["contribution"].to_numpy() == pytest.approx(parts[order[:3]])
    assert why.parts["value"].to_numpy() == pytest.approx(X[4][order[:3]])
    assert why.parts["weight"].to_numpy() == pytest.approx(w[order[:3]])
    assert why.bias == pytest.approx(w[-1])
    assert why.score == pytest.approx(parts.sum() + w[-1])
