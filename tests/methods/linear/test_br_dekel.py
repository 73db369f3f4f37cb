"""BR-Dekel: which labels go, by which count, on which rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail.errors import ModelError, ParameterError
from longtail.methods.linear import BinaryRelevance, BRDekel
from longtail.methods.linear.br_dekel import _chosen, _hits


@pytest.fixture(scope="module")
def data():
    """Labels 0 to 3 follow from the features, 4 to 7 are tossed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 8))
    clear = X[:, :4] > 0.3
    tossed = rng.random((240, 4)) < 0.55
    return X, np.hstack([clear, tossed]).astype(int)


def test_hits_by_counting():
    predicted = sp.csr_array([[0.5, 0.0, 2.0], [0.0, 1.0, 1.0], [3.0, 0.0, 0.0]])
    predicted.data[0] = 0.0  # a stored score of zero is a prediction
    true = sp.csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    right, wrong = _hits(predicted, true)
    assert right.tolist() == [1, 1, 1]
    assert wrong.tolist() == [1, 0, 1]


def test_labels_with_more_false_than_true_positives_go():
    right, wrong = np.array([3, 2, 1, 0, 0]), np.array([1, 2, 2, 0, 4])
    counts = np.array([9, 9, 9, 9, 9])
    assert _chosen(right, wrong, counts, None).tolist() == [True, True, False, True, False]


def test_the_first_by_ratio_stay():
    right, wrong = np.array([3, 2, 1, 0, 0, 5]), np.array([1, 1, 2, 0, 4, 0])
    counts = np.array([9, 9, 9, 9, 9, 9])
    order = [5, 0, 1, 3, 2, 4]  # ratios inf, 3, 2, 0/0 as 1, 1/2, 0
    for n_labels in range(1, 7):
        kept = _chosen(right, wrong, counts, n_labels)
        assert np.flatnonzero(kept).tolist() == sorted(order[:n_labels])


def test_ties_go_to_more_true_positives_then_to_the_more_frequent():
    right, wrong, counts = np.array([1, 2, 2]), np.array([0, 0, 0]), np.array([9, 3, 5])
    assert np.flatnonzero(_chosen(right, wrong, counts, 1)).tolist() == [2]
    assert np.flatnonzero(_chosen(right, wrong, counts, 2)).tolist() == [1, 2]


def test_one_label_stays_even_if_all_are_bad():
    kept = _chosen(np.array([1, 0]), np.array([5, 5]), np.array([3, 3]), None)
    assert kept.tolist() == [True, False]


def test_the_model_is_binary_relevance_on_the_rows_not_held_out(data):
    X, Y = data
    model = BRDekel(random_state=3).fit(X, Y)
    order = np.random.RandomState(3).permutation(240)
    seen, unseen = np.sort(order[80:]), np.sort(order[:80])
    plain = BinaryRelevance().fit(X[seen], Y[seen])
    predicted = plain.predict(X[unseen])
    right = (predicted & Y[unseen]).sum(axis=0)
    assert model.true_positives_.tolist() == right.tolist()
    assert model.false_positives_.tolist() == (predicted.sum(axis=0) - right).tolist()
    kept = model.true_positives_ >= model.false_positives_
    assert model.kept_.tolist() == kept.tolist()
    assert kept[:4].all()
    expected = plain.weights_.toarray() * kept
    assert np.array_equal(model.weights_.toarray(), expected)
    assert np.array_equal(model.predict(X), plain.predict(X) * kept)


@pytest.mark.parametrize(("code_size", "wanted"), [(1, 1), (3, 3), (0.5, 4), (8, 8), (100, 8)])
def test_only_kept_labels_are_ever_predicted(data, code_size, wanted):
    X, Y = data
    model = BRDekel(code_size=code_size).fit(X, Y)
    kept = np.flatnonzero(model.kept_)
    assert len(kept) == wanted
    for k in (1, 5, 8):
        for tail in (0.0, 0.5):
            top = model.predict_topk(X, k, tail=tail)
            assert (np.diff(top.indptr) == min(k, len(kept))).all()
            assert set(top.indices) <= set(kept)
    assert set(np.flatnonzero(model.predict(X).any(axis=0))) <= set(kept)


def test_scores_are_those_of_the_kept_columns(data):
    X, Y = data
    model = BRDekel(code_size=3).fit(X, Y)
    W = model.weights_.toarray().astype(float)
    top = model.predict_topk(X, 8)
    scores = X @ W[:-1] + W[-1]
    rows, columns = top.nonzero()
    assert top.data == pytest.approx(scores[rows, columns], abs=1e-5)


def test_rows_too_few_to_hold_out_keep_all_labels():
    model = BRDekel().fit([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]])
    assert model.kept_.all()
    assert model.true_positives_.tolist() == [0, 0]


def test_labels_can_be_added_and_dropped(data):
    X, Y = data
    model = BRDekel().fit(X, Y[:, :5], label_names=list("abcde"))
    before = model.kept_.copy()
    model.add_labels(X, Y[:, 5:], label_names=list("fgh"))
    assert len(model.kept_) == len(model.true_positives_) == 8
    assert model.kept_[:5].tolist() == before.tolist()
    model.drop_labels(["a"])
    assert model.kept_[:4].tolist() == before[1:].tolist()
    assert model.predict(X).shape == (240, 7)


def test_altered_models_are_refused(data, tmp_path):
    model = BRDekel().fit(*data)
    model.kept_ = model.kept_[:3]
    model.save(tmp_path / "model")
    with pytest.raises(ModelError, match="kept"):
        longtail.load(tmp_path / "model")


@pytest.mark.parametrize(
    "settings",
    [
        {"code_size": 0}, {"code_size": 1.5}, {"validation": 0}, {"validation": 1.0},
        {"validation": "half"}, {"C": -1}, {"tol": 0},
    ],
)  # fmt: skip
def test_senseless_parameters_are_refused(settings, data):
    with pytest.raises(ParameterError):
        BRDekel(**settings).fit(*data)
