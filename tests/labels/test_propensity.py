"""Propensities: the formula, the constants, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, ParameterError
from longtail.labels import (
    PROPENSITY_CONSTANTS,
    inverse_propensities,
    propensities,
    propensity_constants,
)


def formula(count, n, a, b):
    c = (math.log(n) - 1) * (b + 1) ** a
    return 1 / (1 + c * math.exp(-a * math.log(count + b)))


@settings(deadline=None)
@given(
    st.integers(3, 10**7).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1, max_size=8))
    ),
    st.floats(0.05, 2),
    st.floats(0.05, 5),
)
def test_formula(problem, a, b):
    n, counts = problem
    expected = [formula(count, n, a, b) for count in counts]
    p = propensities(counts, n, propensity_constants=(a, b))
    np.testing.assert_allclose(p, expected, rtol=1e-9)
    np.testing.assert_allclose(
        p * inverse_propensities(counts, n, propensity_constants=(a, b)), 1.0
    )
    assert ((p > 0) & (p <= 1)).all()


def test_by_hand():
    # C = (ln 1000 - 1) 2.5^0.55 = 9.7787, 1 + C (10 + 1.5)^-0.55 = 3.5519
    assert inverse_propensities([10], 1000)[0] == pytest.approx(3.5519, abs=1e-3)


def test_labels_and_counts_agree():
    Y = sp.csr_array((np.random.default_rng(0).random((50, 7)) < 0.3).astype(float))
    counts = np.bincount(Y.indices, minlength=7)
    np.testing.assert_array_equal(propensities(Y), propensities(counts, n=50))
    np.testing.assert_array_equal(propensities(Y.toarray()), propensities(counts, n=50))


def test_names_follow_the_classes():
    rows = [("a",), ("a", "b"), ("a",), ()]
    np.testing.assert_array_equal(
        propensities(rows, classes=["b", "z", "a"]), propensities([1, 0, 3], n=4)
    )


def test_rarer_labels_have_smaller_propensities():
    assert (np.diff(propensities(np.arange(100), n=1000)) > 0).all()


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_sets_have_propensity_one(n):
    assert propensities([0, 1], n).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("WikiLSHTC-325K", (0.5, 0.4)),
        ("wikilshtc325k", (0.5, 0.4)),
        ("Wikipedia-500K", (0.5, 0.4)),
        ("Wiki-500K", (0.5, 0.4)),
        ("Amazon-670K", (0.6, 2.6)),
        ("amazon670k", (0.6, 2.6)),
        ("AMAZON_3M", (0.6, 2.6)),
        ("AmazonCat-13K", (0.55, 1.5)),
        ("eurlex-4k", (0.55, 1.5)),
        ("Mediamill", (0.55, 1.5)),
    ],
)
def test_constants(name, constants):
    assert propensity_constants(name) == constants
    np.testing.assert_array_equal(
        propensities([1, 5], 10, propensity_constants=name),
        propensities([1, 5], 10, propensity_constants=constants),
    )


def test_every_name_finds_itself():
    for name, constants in PROPENSITY_CONSTANTS.items():
        assert propensity_constants(name.lower().replace("-", " ")) == constants


@pytest.mark.parametrize(
    ("arguments", "options", "error", "says"),
    [
        (([1], 10), {"propensity_constants": "Amazon-67K"}, ParameterError, "Amazon-670K"),
        (([1], 10), {"propensity_constants": (0, 1.5)}, ParameterError, "two positive numbers"),
        (([1], 10), {"propensity_constants": (0.5, -1)}, ParameterError, "two positive numbers"),
        (([1], 10), {"propensity_constants": (0.5, math.nan)}, ParameterError, "two positive"),
        (([1], 10), {"propensity_constants": (0.5,)}, ParameterError, "two positive numbers"),
        (([1], 10), {"propensity_constants": 0.5}, ParameterError, "two positive numbers"),
        (([1], 0), {}, ParameterError, "at least 1, not 0"),
        (([11], 10), {}, InputError, "11 points, more than the 10"),
        (([-1], 10), {}, InputError, "at least 0"),
        (([0.5], 10), {}, InputError, "whole numbers"),
        ((np.zeros((0, 2)),), {}, InputError, "no rows"),
        ((np.array([[3, 0]]),), {}, InputError, "0 and 1"),
    ],
)
def test_bad_input(arguments, options, error, says):
    with pytest.raises(error, match=says):
        propensities(*arguments, **options)
