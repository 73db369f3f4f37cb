"""ProXML as a classifier: odd input, limits, sparsity, agreement of its solvers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from longtail import Dataset, load
from longtail.data import make_longtail
from longtail.errors import ConvergenceWarning, ParameterError
from longtail.features import RowScaler
from longtail.methods.linear import DiSMEC, ProXML


@pytest.fixture(scope="module")
def data():
    made = make_longtail(400, 300, 40, random_state=0)
    return Dataset(X=RowScaler().fit_transform(made.X), Y=made.Y)


@pytest.mark.parametrize(
    "strength", [0, -0.5, np.inf, np.nan, "much", None, (0.5,), (0, 0.5), (0.5, 2), ("a", 0.1)]
)
def test_strengths_that_make_no_sense_are_refused(strength):
    with pytest.raises(ParameterError, match="strength must be a positive, finite number"):
        ProXML(strength=strength).fit([[1.0], [0.0]], [["a"], ["b"]])


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("penalize_bias", [True, False])
def test_odd_data_is_answered(loss, penalize_bias):
    """A constant feature, an empty row and column, equal rows with opposite labels, a label in all
    rows, one in none."""
    X = np.array(
        [[1, 0, 2, 0], [1, 0, 2, 0], [1, 3, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]], float
    )
    Y = np.array(
        [[1, 1, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 0, 0]]
    )
    model = ProXML(loss=loss, penalize_bias=penalize_bias, strength=0.1, tol=1e-5).fit(X, Y)
    found = model.predict(X)
    assert found.shape == Y.shape
    assert (found[:, 0] == 1).all()
    assert (found[:, 2] == 0).all()
    assert np.isfinite(model.predict_topk(X, 4).data).all()
    assert model.violation_[[0, 1, 3]].max() <= 1e-5


def test_limits_warn_with_the_name_of_the_label():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 40))
    Y = [["ant"] if hit else ["bee"] for hit in rng.random(60) < 0.5]
    with pytest.warns(ConvergenceWarning, match=r"2 of 2 .*label ant, bee\); scale the features"):
        model = ProXML(strength=0.01, tol=1e-8, max_iter=1).fit(X, Y)
    assert (model.violation_ > 1e-8).all()
    with pytest.warns(ConvergenceWarning, match=r"1e-06 seconds.*label ant, bee"):
        ProXML(strength=1e-3, tol=1e-9, max_iter=10**6, max_seconds=1e-6).fit(X, Y)


def test_more_strength_means_fewer_weights(data):
    sizes = [
        ProXML(strength=strength).fit(data.X, data.Y).weights_.nnz for strength in (0.05, 0.5, 5.0)
    ]
    assert sizes[0] > 1.2 * sizes[1] > 3 * sizes[2]
    assert DiSMEC().fit(data.X, data.Y).weights_.nnz > sizes[1]


@pytest.mark.parametrize("solver", ["proximal_gradient", "accelerated"])
def test_the_slow_solvers_find_the_same(data, solver):
    few = sp.csr_array(data.Y[:, np.flatnonzero(np.diff(sp.csc_array(data.Y).indptr))[:5]])
    fast = ProXML(strength=0.5, tol=1e-4).fit(data.X, few)
    slow = ProXML(strength=0.5, tol=1e-3, solver=solver, max_iter=5000).fit(data.X, few)
    np.testing.assert_allclose(slow.objective_, fast.objective_, rtol=1e-4)
    np.testing.assert_allclose(
        slow.weights_.toarray(), fast.weights_.toarray(), atol=0.02 * abs(fast.weights_).max()
    )


def test_a_pair_gives_every_label_the_strength_of_its_count(data):
    counts = np.bincount(data.Y.indices, minlength=data.Y.shape[1])
    model = ProXML(strength=(0.4, 0.3), tol=1e-6).fit(data.X, data.Y)
    for label in np.unique(counts, return_index=True)[1]:
        alone = ProXML(strength=0.4 * max(counts[label], 1) ** 0.3, tol=1e-6)
        alone.fit(data.X, data.Y[:, [label]])
        assert np.allclose(
            alone.weights_.toarray()[:, 0], model.weights_[:, [label]].toarray()[:, 0], atol=1e-6
        )


def test_a_pair_knows_the_length_of_rows_and_the_weight_of_points(data):
    short = ProXML(strength=(0.4, 0.2), tol=1e-6, penalize_bias=False).fit(data.X, data.Y)
    long = ProXML(strength=(0.4, 0.2), tol=1e-6, penalize_bias=False).fit(data.X * 8, data.Y)
    assert np.allclose(long.weights_.toarray()[:-1] * 8, short.weights_.toarray()[:-1], atol=1e-4)
    twice = sp.vstack([data.X, data.X]), sp.vstack([data.Y, data.Y])
    weighted = ProXML(strength=(0.4, 0.2), tol=1e-6)
    weighted.fit(data.X, data.Y, sample_weight=np.full(data.X.shape[0], 2.0))
    repeated = ProXML(strength=(0.4, 0.2), tol=1e-6).fit(*twice)
    assert np.allclose(weighted.weights_.toarray(), repeated.weights_.toarray(), atol=1e-4)


def test_starting_from_dismec_changes_only_the_way(data):
    plain = ProXML(strength=0.3, tol=1e-5).fit(data.X, data.Y)
    warm = ProXML(strength=0.3, tol=1e-5, start_from="dismec").fit(data.X, data.Y)
    np.testing.assert_allclose(warm.objective_, plain.objective_, rtol=1e-6)
    assert not np.array_equal(warm.n_iter_, plain.n_iter_)


def test_saved_and_loaded_it_predicts_the_same_from_disk(data, tmp_path):
    model = ProXML().fit(data.X, data.Y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    ours, theirs = model.predict_topk(data.X, 5, tail=0.5), again.predict_topk(data.X, 5, tail=0.5)
    assert (ours != theirs).nnz == 0
    assert not again.weights_.data.flags.writeable


def test_reasons_are_few_and_add_up(data):
    model = ProXML().fit(data.X, data.Y)
    row = data.X[[0]]
    scores = model.predict_topk(row, 40).toarray().ravel()
    label = int(np.argmax(scores))
    why = model.explain(row, model.classes_[label], n=row.nnz)
    assert why.parts["contribution"].sum() + why.bias == pytest.approx(scores[label], abs=1e-5)
    assert len(why.parts) < row.nnz


def test_no_warning_on_ordinary_data(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ProXML(n_jobs=2).fit(data.X, data.Y)
