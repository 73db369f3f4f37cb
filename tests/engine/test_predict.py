"""Predictions against dense arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail._sparse import ranked
from longtail.engine import linear_scores_above, linear_topk


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 40),
    d=st.integers(1, 10),
    labels=st.integers(1, 30),
    k=st.integers(1, 8),
    bias=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_topk_and_threshold_equal_dense_arithmetic(seed, n, d, labels, k, bias):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, d)) * (rng.random((n, d)) < 0.5)
    W = rng.integers(-2, 3, size=(d + 1, labels)) * (rng.random((d + 1, labels)) < 0.5)
    scores = X @ W[:-1] + bias * W[-1]
    top = linear_topk(
        sp.csr_array(X.astype(np.float32)), sp.csr_array(W.astype(np.float32)), k, bias=bias
    )
    assert top.shape == (n, labels)
    assert (np.diff(top.indptr) == min(k, labels)).all()
    assert top.has_sorted_indices
    for i in range(n):
        order = sorted(range(labels), key=lambda label: (-scores[i, label], label))[:k]
        found, values = ranked(top, k)
        assert [label for label in found[i] if label >= 0] == order
        assert np.array_equal(values[i][: len(order)], scores[i, order])
    above = linear_scores_above(
        sp.csr_array(X.astype(float)), sp.csr_array(W.astype(float)), 0.5, bias=bias
    )
    assert np.array_equal(above.toarray(), np.where(scores >= 0.5, scores, 0.0))


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_threads_do_not_change_anything(n_jobs):
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 50), density=0.2, rng=rng, format="csr")
    W = sp.random_array((51, 300), density=0.3, rng=rng, format="csr")
    for one, many in (
        (linear_topk(X, W, 7), linear_topk(X, W, 7, n_jobs=n_jobs)),
        (linear_scores_above(X, W, 0.1), linear_scores_above(X, W, 0.1, n_jobs=n_jobs)),
        (linear_scores_above(X, W, -9.0), linear_scores_above(X, W, -9.0, n_jobs=n_jobs)),
    ):
        assert np.array_equal(one.indptr, many.indptr)
        assert np.array_equal(one.indices, many.indices)
        assert np.array_equal(one.data, many.data)
