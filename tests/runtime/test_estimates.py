"""`estimate`: an account of training before it, of every classifier and of any form of input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from longtail.choosing.peak_memory import PeakMemory
from longtail.data import make_longtail
from longtail.errors import InputError
from longtail.methods.linear import DiSMEC
from longtail.methods.registry import find_method
from longtail.runtime.estimates import Estimate
from tests.forking import answer_of
from tests.instances import instances, mostly_exhaustive


@pytest.fixture(params=instances(), ids=lambda estimator: estimator.method)
def classifier(request):
    return clone(request.param)


def data():
    found = make_longtail(120, 80, 12, random_state=0)
    return found.X, found.Y


class TestEveryClassifier:
    def test_says_what_training_needs_and_stays_as_it_was(self, classifier):
        X, Y = data()
        before = dict(vars(classifier))
        estimate = classifier.estimate(X, Y)
        assert vars(classifier) == before
        assert isinstance(estimate, Estimate)
        assert estimate.peak_bytes > 0
        assert estimate.seconds > 0
        assert str(estimate).startswith("about ")

    def test_gives_an_account_of_its_own(self, classifier, monkeypatch):
        """Not the guess for methods that say nothing."""

        def guess(X, Y):
            raise AssertionError(f"{classifier.method} gives no account of itself")

        monkeypatch.setattr("longtail.base.unknown", guess)
        assert classifier.estimate(*data()).reason

    def test_takes_whatever_fit_takes(self, classifier):
        X, Y = data()
        names = [[f"label {j}" for j in row.indices] for row in Y]
        seconds = {
            classifier.estimate(*given).seconds
            for given in ((X, Y), (X.toarray(), Y.toarray()), (sp.csc_matrix(X), names))
        }
        assert len(seconds) == 1

    def test_refuses_what_fit_refuses(self, classifier):
        X, Y = data()
        with pytest.raises(InputError, match="inconsistent numbers of samples"):
            classifier.estimate(X, Y[:-1])


USUAL = (2000, 3000, 300)
MEASURED = {  # few rounds, since the first one needs as much memory as the last
    "br": ({"max_iter": 2}, (4000, 40_000, 200)),
    "cbm": ({"max_rounds": 1, "n_components": 5}, USUAL),
    "cc": ({"prune": 0.0, "tol": 0.5, "max_iter": 1}, (1000, 5000, 700)),
    "cdn": ({"prune": 0.0, "tol": 0.5, "max_iter": 1}, (1500, 1000, 1000)),
    "dbpc": ({"max_rounds": 1}, USUAL),
    "ova": ({"max_iter": 2}, (4000, 8000, 1500)),
    "plst": ({}, USUAL),
    "powerset": ({"max_iter": 1}, USUAL),
}
"""method -> settings; points, features and labels that make the estimate exceed the allowance."""
ALLOWANCE = 32e6


def said_and_taken(method, settings, shape):
    """Bytes that `estimate` names, and that training takes in this process."""
    warnings.simplefilter("ignore")
    estimator = find_method(method).estimator
    small = make_longtail(200, 100, 20, random_state=0)
    estimator(**settings).fit(small.X, small.Y)  # kernels compiled, libraries loaded
    data = make_longtail(*shape, random_state=0)
    said = estimator(**settings).estimate(data.X, data.Y).peak_bytes
    with PeakMemory() as memory:
        estimator(**settings).fit(data.X, data.Y)
    return said, memory.peak_bytes


@pytest.mark.parametrize("method", mostly_exhaustive(MEASURED, ("br", "cc", "plst")))
def test_memory_is_right_within_a_factor_of_two(method):
    if method == "dbpc":
        pytest.importorskip("torch")
    said, taken = answer_of(said_and_taken, method, *MEASURED[method])
    if taken is None:
        pytest.skip("the system does not tell how much memory is held")
    assert said > 2 * ALLOWANCE, "the test could hardly fail"
    assert taken / 2 - ALLOWANCE <= said <= 2 * taken + ALLOWANCE


def test_a_trained_model_stays_trained():
    X, Y = data()
    classifier = DiSMEC().fit(X, Y)
    before = classifier.predict_topk(X, 3)
    classifier.estimate(X[:50, :40], Y[:50])
    assert np.array_equal(before.data, classifier.predict_topk(X, 3).data)
