"""`check_classifier` finds what breaks the contract, and says which part of it."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from longtail import DiSMEC
from longtail.testing import CHECKS, check_classifier, names_of, small_problem

NUMBERS = itertools.count()


class Named(DiSMEC):
    """A classifier that keeps the contract, under a name of its own."""

    method: ClassVar[str] = "named-in-a-test"


class Nameless(DiSMEC):
    pass


class Changing(DiSMEC):
    method: ClassVar[str] = "changing"

    def __init__(self, *, C=1.0, n_jobs=None):
        super().__init__(C=float(C) + 1, n_jobs=n_jobs)


class Positional(DiSMEC):
    method: ClassVar[str] = "positional"

    def __init__(self, C=1.0):
        super().__init__(C=C)


class Silent(DiSMEC):
    method: ClassVar[str] = "silent"

    def fit(self, *words, **options):
        super().fit(*words, **options)


class Writing(DiSMEC):
    method: ClassVar[str] = "writing"

    def _fit(self, X, Y, run):
        super()._fit(X, Y, run)
        X.data[:1] += 1


class Restless(DiSMEC):
    method: ClassVar[str] = "restless"

    def _fit(self, X, Y, run):
        super()._fit(X, Y, run)
        self.noise_ = next(NUMBERS)


class Greedy(DiSMEC):
    method: ClassVar[str] = "greedy"

    def _topk(self, X, k):
        return super()._topk(X, len(self.classes_))


class Bragging(DiSMEC):
    method: ClassVar[str] = "bragging"

    def _commit(self, X):
        return sp.csr_array(np.ones((X.shape[0], len(self.classes_))))


class Forgetful(DiSMEC):
    method: ClassVar[str] = "forgetful"

    def to_state(self):
        state = super().to_state()
        state["parameters"]["C"] = 2.0
        return state


class Trusting(DiSMEC):
    method: ClassVar[str] = "trusting"

    def _check_state(self):
        pass


class Failing(DiSMEC):
    method: ClassVar[str] = "failing"

    def _commit(self, X):
        raise KeyError("weights")


def test_a_classifier_that_keeps_the_contract_passes():
    check_classifier(Named())


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (LogisticRegression(), "check_can_be_stored: .* is not an ExtremeClassifier"),
        (DiSMEC, "check_can_be_stored: .* is not an ExtremeClassifier"),
        (Nameless(), "check_can_be_stored: Nameless is not what the name 'dismec' leads to"),
        (Changing(), "check_constructor_only_stores: the constructor changes 'C'"),
        (Positional(), "check_constructor_only_stores: the parameter 'C' can be given by position"),
        (Silent(), "check_methods_are_called_alike: fit takes"),
        (Writing(), "check_fit_returns_self: fit or predict changes X"),
        (Restless(), "check_the_same_again: a second fit, or a second thread, gives another model"),
        (Greedy(), "check_topk: a row of predict_topk has 6 scores for k=1"),
        (Bragging(), "check_odd_label_matrices: predict gives a label that no training point has"),
        (Forgetful(), "check_saved_model: what get_params gives after loading is"),
        (
            Trusting(),
            "check_altered_models: a model whose n_features_in_ was altered is not",
        ),
        (Failing(), "KeyError where none should be: 'weights'"),
    ],
    ids=lambda value: "" if isinstance(value, str) else getattr(value, "method", "other"),
)
def test_what_breaks_the_contract_is_said_in_a_sentence(estimator, says):
    with pytest.raises(AssertionError, match=says):
        check_classifier(estimator)


def test_every_check_has_a_sentence_of_its_own():
    names = [check.__name__ for check in CHECKS]
    assert len(names) == len(set(names)) >= 20
    assert all(check.__doc__ for check in CHECKS)


def test_the_problem_is_the_same_every_time():
    (X, Y), (again, _) = small_problem(Named()), small_problem(Named())
    assert np.array_equal(X, again)
    assert len(names_of(Y)) == len(X) == 60
