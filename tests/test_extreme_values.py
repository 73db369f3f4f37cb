"""Features of any finite size are refused in one sentence, or used without a numeric warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from longtail import RowScaler
from longtail._sparse import LARGEST
from longtail.data import Dataset
from longtail.errors import InputError, LongtailWarning
from longtail.solvers import fit_linear
from longtail.testing.problem import small_problem
from tests.forging import ask
from tests.instances import instances


def largest(X):
    """X, with its largest value at the limit."""
    return X / X.max() * LARGEST


def mixed(X):
    """X, with columns of all sizes."""
    sizes = np.logspace(-320, np.log10(LARGEST / X.max()), X.shape[1])
    return X * sizes


def one_far_off(X):
    """X, with one value at the limit and its negative below it."""
    changed = X.copy()
    changed[3, 2], changed[4, 2] = LARGEST, -LARGEST
    return changed


FORMS = {
    "largest": largest,
    "negative": lambda X: -largest(X),
    "large": lambda X: X * 1e9,
    "small": lambda X: X * 1e-30,
    "tiny": lambda X: X * 1e-200,
    "subnormal": lambda X: X * 1e-315,
    "mixed": mixed,
    "one far off": one_far_off,
}
COUNTED = {
    "largest": lambda X: np.floor(X / X.max() * 2.0**40),
    "one far off": lambda X: np.minimum(abs(one_far_off(X)), 2.0**40),
}
"""Those for methods that take counts only, which have a limit of their own."""


@pytest.mark.base_decides
@pytest.mark.parametrize("classifier", instances(), ids=lambda c: c.method)
def test_what_would_overflow_is_refused_at_the_door(classifier):
    X, Y = small_problem(classifier)
    model = clone(classifier).fit(X, Y)
    for bad in (X * 1e200, -X * 1e16, sp.csr_array(X * 1e200), sp.csr_array(X, dtype="f4") * 1e30):
        for attempt in (
            lambda: clone(classifier).fit(bad, Y),  # noqa: B023 (called at once)
            lambda: clone(classifier).fit(Dataset(bad, Y)),  # noqa: B023
            lambda: model.predict(bad),  # noqa: B023
            lambda: model.predict_topk(bad, 2),  # noqa: B023
            lambda: model.explain(bad[:1]),  # noqa: B023
        ):
            with pytest.raises(InputError, match=r"^[^\n]*\.$"):
                attempt()


@pytest.mark.base_decides
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classifier", instances(), ids=lambda c: c.method)
def test_what_is_accepted_gives_finite_answers_without_a_numeric_warning(classifier, form):
    X, Y = small_problem(classifier)
    counts = classifier.feature_kind == "counts"
    if counts and form not in COUNTED:
        pytest.skip("it takes counts, which are neither negative nor small")
    changed = (COUNTED if counts else FORMS)[form](X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", LongtailWarning)
        ask(clone(classifier).fit(changed, Y), changed)
        ask(clone(classifier).fit(X, Y), changed)


def test_rows_of_any_size_can_be_scaled():
    X = np.array([[1e200, 2e200], [3e-200, 4e-200], [1e280, 0.0]])
    scaled = RowScaler(idf=False).fit_transform(X).toarray()
    assert np.allclose((scaled**2).sum(axis=1), 1)
    with pytest.raises(InputError, match="beyond"):
        RowScaler().fit([[1e300]])


def test_the_solvers_look_too():
    with pytest.raises(InputError, match="overflow"):
        fit_linear(np.array([[1e200], [0.0]]), np.array([[1], [0]]))
