"""Rounds of L-BFGS on functions of which the minimum is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from longtail.solvers.softmax import quasi_newton
from longtail.solvers.softmax.quasi_newton import descend


class Valley:
    """Σ exp(w) - 3w + w⁴: convex, but far from quadratic."""

    def __init__(self):
        self.values = []

    def evaluate(self, w):
        self.values.append(float(np.exp(w).sum() - 3 * w.sum() + (w**4).sum()))
        return self.values[-1], np.exp(w) - 3 + 4 * w**3

    def cautious(self, r):
        return r / 100


def test_it_finds_a_minimum():
    found = descend(Valley(), np.array([8.0, -9.0, 1.0]), enough=1e-4)
    assert np.abs(np.exp(found) + 4 * found**3 - 3).max() <= 1e-4


def test_rounds_do_not_raise_the_value():
    valley, seen = Valley(), []
    start = np.array([8.0, -9.0, 1.0])
    descend(valley, start, enough=0.0, rounds=3, after_round=lambda w, _: seen.append(w.copy()))
    values = [valley.evaluate(w)[0] for w in (start, *seen)]
    assert all(after <= before + 1e-12 for before, after in pairwise(values))


def test_from_between_two_rounds_it_goes_on_the_same_way(monkeypatch):
    monkeypatch.setattr(quasi_newton, "ROUND", 3)
    states = []
    start = np.array([8.0, -9.0, 1.0])
    whole = descend(
        Valley(), start, enough=0.0, rounds=4, after_round=lambda w, n: states.append((w.copy(), n))
    )
    point, done = states[1]
    assert done == 2
    assert np.array_equal(descend(Valley(), point, enough=0.0, rounds=4, done=done), whole)


def test_no_way_down_ends_the_search():
    class Wrong(Valley):
        def cautious(self, r):
            return -100 * r

    told = []
    start = np.ones(2)
    found = descend(Wrong(), start, enough=0.0, rounds=5, after_round=lambda _, n: told.append(n))
    assert told == [5]
    assert np.array_equal(found, start)


@pytest.mark.parametrize("enough", [1e9, 1e-3])
def test_near_enough_is_where_it_stays(enough):
    start = np.array([0.1, 0.2])
    found = descend(Valley(), start, enough=enough)
    assert np.array_equal(found, start) == (enough == 1e9)
