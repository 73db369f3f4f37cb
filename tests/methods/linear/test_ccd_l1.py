"""CCD-L1: liblinear's answer, label by label, under the contract of the others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from longtail._sparse import for_liblinear
from longtail.data import make_longtail
from longtail.errors import ConvergenceWarning, InputError, ParameterError
from longtail.methods.linear import CCDL1
from longtail.runtime.checkpoint import Checkpoint
from longtail.solvers.liblinear import l1_point


@pytest.fixture(scope="module")
def data():
    return make_longtail(150, 60, 20, power=0.7, random_state=0)


def value_and_violation(X, y, w, strength):
    """By the definition, on dense arrays."""
    A, s = np.hstack([X, np.ones((len(X), 1))]), 2 * y - 1
    slack = np.maximum(0, 1 - s * (A @ w))
    g = -2 * A.T @ (s * slack)
    worst = np.where(w == 0, np.maximum(np.abs(g) - strength, 0), np.abs(g + strength * np.sign(w)))
    return strength * np.abs(w).sum() + (slack**2).sum(), worst.max() / strength


def test_weights_are_those_of_scikit_learn(data):
    model = CCDL1(strength=0.25, tol=0.01, max_iter=5000).fit(data.X, data.Y)
    W = model.weights_.toarray()
    X, Y = data.X.toarray().astype(float), data.Y.toarray()
    for label in range(20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = LinearSVC(
                penalty="l1", dual=False, C=4.0, tol=0.01, max_iter=5000, random_state=0
            ).fit(sp.csr_array(X), Y[:, label])
        assert W[:-1, label] == pytest.approx(peer.coef_.ravel(), abs=1e-6)
        assert W[-1, label] == pytest.approx(peer.intercept_[0], abs=1e-6)
        assert model.n_iter_[label] == peer.n_iter_
        w = np.append(peer.coef_, peer.intercept_)
        value, violation = value_and_violation(X, Y[:, label], w, 0.25)
        assert model.objective_[label] == pytest.approx(value, rel=1e-9)
        assert model.violation_[label] == pytest.approx(violation, rel=1e-6, abs=1e-9)
    assert model.weights_.dtype == np.float32
    assert model.weights_.nnz < W.size


def test_a_tight_tolerance_gives_the_optimum_and_the_gap_is_a_bound(data):
    rough, exact = (
        CCDL1(tol=tol, max_iter=100_000).fit(data.X, data.Y[:, :6]) for tol in (1.0, 1e-7)
    )
    assert (exact.gap_ < 1e-3).all()
    assert (exact.objective_ <= rough.objective_).all()
    assert (rough.objective_ - exact.objective_ <= rough.gap_ * rough.objective_).all()
    assert (rough.gap_ > 1e-3).any()


def test_labels_that_liblinear_refuses():
    """In all rows, in none, and features that are all zero."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    Y = np.array([[1, 0, 1], [1, 0, 0], [1, 0, 1], [1, 0, 0]])
    model = CCDL1().fit(X, Y)
    assert model.predict(X).tolist() == Y.tolist()
    assert np.isnan(model.objective_[1])
    assert model.n_iter_[1] == 0
    w = model.weights_.toarray().astype(float)
    assert model.objective_[0] == pytest.approx(value_and_violation(X, Y[:, 0], w[:, 0], 0.5)[0])
    assert model.violation_[0] <= 1e-4
    empty = CCDL1().fit(np.zeros((4, 2)), Y)
    assert not empty.weights_.toarray()[:-1].any()
    assert empty.predict(np.zeros((1, 2))).tolist() == [[1, 0, 1]]  # a score of 0 is enough


def test_processes_do_not_change_anything(data):
    one, two = (CCDL1(n_jobs=n).fit(data.X, data.Y) for n in (1, 2))
    assert np.array_equal(one.weights_.toarray(), two.weights_.toarray())
    assert np.array_equal(one.objective_, two.objective_)


def test_the_limit_on_sweeps_is_said_with_names(data):
    names = [f"label{j}" for j in range(20)]
    with pytest.warns(ConvergenceWarning, match=r"20 of 20 labels .* \(label label0, label1, "):
        CCDL1(max_iter=1, tol=1e-9).fit(data.X, data.Y, label_names=names)


def test_damaged_checkpoints_are_done_again(data, tmp_path):
    undisturbed = CCDL1().fit(data.X, data.Y)
    CCDL1().fit(data.X, data.Y, checkpoint=tmp_path / "c")
    (block,) = (tmp_path / "c").glob("block-*")
    store = Checkpoint(tmp_path / "c", _identity(tmp_path / "c"))
    arrays = {name: values.copy() for name, values in store.load(0).items()}
    arrays["features"][0] = 10**9
    store.save(0, arrays)
    again = CCDL1().fit(data.X, data.Y, checkpoint=tmp_path / "c")
    assert np.array_equal(again.weights_.toarray(), undisturbed.weights_.toarray())
    block.write_bytes(b"nothing")
    again = CCDL1().fit(data.X, data.Y, checkpoint=tmp_path / "c")
    assert np.array_equal(again.weights_.toarray(), undisturbed.weights_.toarray())


def _identity(folder):
    import json

    return json.loads((folder / "run.json").read_text())["fingerprint"]


@pytest.mark.parametrize(
    "settings",
    [
        {"strength": 0}, {"strength": -1}, {"strength": np.inf}, {"strength": "1"}, {"tol": 0},
        {"max_iter": 0}, {"n_jobs": 0},
    ],
)  # fmt: skip
def test_senseless_parameters_are_refused(settings, data):
    with pytest.raises(ParameterError):
        CCDL1(**settings).fit(data.X, data.Y)


def test_what_liblinear_cannot_count_is_refused():
    class Huge:
        nnz = 2**31
        shape = (10, 10)

    with pytest.raises(InputError, match="32 bits"):
        for_liblinear(Huge())


def test_point_is_what_it_says():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), (rng.random(30) < 0.3).astype(int)
    for w in (np.zeros(6), rng.normal(size=6) * (rng.random(6) < 0.5)):
        found = l1_point(sp.csr_array(X), np.flatnonzero(y), w, 0.7)
        assert found == pytest.approx(value_and_violation(X, y, w, 0.7))
