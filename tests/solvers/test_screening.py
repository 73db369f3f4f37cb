"""Screening of the dual solver: no violator is skipped, however the bounds are made."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.solvers import fit_linear
from longtail.solvers.linear import dual
from longtail.solvers.linear._look_kernels import largest, open_rows
from longtail.solvers.linear.task import make_task


def task_of(X, T, bias=1.0):
    return make_task(
        X, T, loss="squared_hinge", penalty="l2", strength=1.0, bias=bias, penalize_bias=True,
        sample_weight=None, warm_start=None, tol=None, max_iter=100, max_seconds=None,
    )  # fmt: skip


@st.composite
def looks(draw):
    """Rows of all scales, weights, and scores that lie on the margin up to rounding."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 80)), draw(st.integers(1, 30))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.05, 0.4, 1.0])))
    X *= 10.0 ** rng.uniform(-draw(st.sampled_from([0, 3])), draw(st.sampled_from([0, 6])), (n, 1))
    if draw(st.booleans()):
        X = np.abs(X)
    w = rng.normal(size=d + 1) * 10.0 ** draw(st.sampled_from([-3, 0, 3, 35]))
    bias = draw(st.sampled_from([0.0, 1.0, 2.5]))
    if draw(st.booleans()) and bias:
        z = X @ w[:-1]
        w[-1] = (
            (-1.0 - z[rng.integers(n)]) / bias * (1.0 + draw(st.sampled_from([0.0, 1e-9, 1e-7])))
        )
    return X.astype(draw(st.sampled_from([np.float32, np.float64]))), w, bias


@settings(max_examples=200, deadline=None)
@given(look=looks(), columns=st.booleans())
def test_no_row_that_violates_its_margin_is_screened(look, columns):
    X, w, bias = look
    task = task_of(sp.csr_array(X), np.ones((len(X), 1)), bias)
    memory = dual._Memory(task, 1)
    problem = dual._problem(task, 0, w)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual, "MANY_POINTS", 0)
        patch.setattr(dual, "FEW", 10**9)
        [(_, bounds)] = dual._bounds(task, [problem], memory, exact=not columns)
    count = open_rows(bounds, dual._limit(task, problem, memory), memory.rows)
    scores = X.astype(np.float64) @ w[:-1] + bias * w[-1]
    assert set(np.flatnonzero(scores > -1.0)) <= set(memory.rows[:count].tolist())
    assert (np.diff(memory.rows[:count]) > 0).all()


def test_rows_far_from_their_margin_are_screened():
    rng = np.random.default_rng(0)
    X = abs(sp.random_array((5000, 200), density=0.05, rng=rng, format="csr"))
    task = task_of(X, np.ones((5000, 1)))
    memory = dual._Memory(task, 1)
    w = np.append(rng.normal(size=200) * (rng.random(200) < 0.02), -1.01)
    problem = dual._problem(task, 0, w)
    scores = X @ w[:-1] + w[-1]
    for exact in (False, True):
        [(_, bounds)] = dual._bounds(task, [problem], memory, exact)
        count = open_rows(bounds, dual._limit(task, problem, memory), memory.rows)
        assert (scores > -1.0).sum() <= count < 0.5 * len(scores)


def test_bounds_by_columns_and_by_rows_give_the_same_optimum(monkeypatch):
    """Both within the proven gap, and the same objective as one problem at a time."""
    rng = np.random.default_rng(1)
    X = abs(sp.random_array((3000, 300), density=0.03, rng=rng, format="csr"))
    T = sp.csr_array((rng.random((3000, 12)) < np.linspace(0.001, 0.3, 12)).astype(float))
    by_rows = fit_linear(X, T, dtype=np.float64)
    monkeypatch.setattr(dual, "MANY_POINTS", 0)
    by_columns = fit_linear(X, T, dtype=np.float64)
    alone = fit_linear(X, T, dtype=np.float64, block_size=1, n_jobs=2)
    assert by_rows.converged.all()
    assert by_columns.converged.all()
    assert np.allclose(by_columns.objective, by_rows.objective, rtol=1e-4)
    assert (alone.weights != by_columns.weights).nnz == 0
    assert np.array_equal(alone.objective, by_columns.objective)


def test_signed_data_is_not_bounded_by_columns():
    """A negative entry under a negative weight raises a score."""
    X = sp.csr_array(np.array([[-1.0, 0.0], [0.0, 1.0]] * 3000))
    task = task_of(X, np.ones((6000, 1)))
    assert not task.non_negative
    problem = dual._problem(task, 0, np.array([-1.0, 0.0, -1.5]))
    assert not dual._few(task, problem, np.inf)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, 7.0]), max_size=40),
    wanted=st.integers(0, 12),
)
def test_largest_are_those_of_a_stable_sort(values, wanted):
    values = np.array(values, dtype=np.float64)
    places = np.empty(max(wanted, 1), dtype=np.int64)
    count = largest(values, wanted, places)
    order = np.argsort(-values, kind="stable")
    expected = [i for i in order if values[i] > -np.inf][:wanted]
    assert sorted(places[:count]) == sorted(expected)
