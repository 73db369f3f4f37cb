"""k-means on label sets: against brute force, and that its objective falls."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import LongtailWarning
from longtail.methods.prototypes.label_groups import _assign, group_label_sets


def label_sets(seed, n=40, n_labels=8, share=0.3):
    rng = np.random.default_rng(seed)
    return sp.csr_array((rng.random((n, n_labels)) < share).astype(float))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 12), share=st.floats(0.05, 0.7))
def test_objective_falls_and_groups_are_means(seed, m, share):
    Y = label_sets(seed, share=share)
    distinct = len(np.unique(Y.toarray(), axis=0))
    m = min(m, distinct)
    groups = group_label_sets(Y, m, random_state=seed)
    dense = Y.toarray()
    assert (np.diff(groups.objective) <= 1e-9).all()
    assert groups.sizes.sum() == 40
    assert (groups.sizes > 0).all()
    for c in range(m):
        mean = dense[groups.members == c].mean(axis=0)
        assert np.allclose(groups.means[[c]].toarray()[0], mean, atol=1e-6)
    apart = dense - groups.means.toarray()[groups.members]
    assert np.allclose(groups.distances, (apart**2).sum(axis=1), atol=1e-5)
    assert groups.objective[-1] == pytest.approx((apart**2).sum(), abs=1e-3)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 9))
def test_the_nearest_mean_is_the_nearest(seed, m):
    Y = label_sets(seed)
    rng = np.random.default_rng(seed)
    means = sp.csr_array(np.round(rng.random((m, 8)) * (rng.random((m, 8)) < 0.4), 1))
    nearest, distances = _assign(Y, means, None)
    all_distances = ((Y.toarray()[:, None] - means.toarray()[None]) ** 2).sum(axis=2)
    assert np.allclose(distances, all_distances.min(axis=1))
    assert np.allclose(all_distances[np.arange(40), nearest], all_distances.min(axis=1))


def test_as_many_sets_as_groups_are_kept_exactly_and_fewer_are_said():
    Y = sp.csr_array(np.array([[1, 0], [0, 1], [0, 0], [1, 0]], dtype=float))
    exact = group_label_sets(Y, 3)
    assert exact.members.tolist() == [0, 1, 2, 0]
    assert exact.objective[-1] == 0
    with pytest.warns(LongtailWarning, match=r"3 distinct label sets, fewer than the 4"):
        assert group_label_sets(Y, 4).means.shape == (3, 2)


def test_threads_and_seeds():
    Y = label_sets(1, n=5000, n_labels=30)
    one, two = (group_label_sets(Y, 50, random_state=3, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.members, two.members)
    other = group_label_sets(Y, 50, random_state=4)
    assert not np.array_equal(one.members, other.members)


def test_closest_rows_are_the_members_nearest_to_the_mean():
    Y = label_sets(2)
    groups = group_label_sets(Y, 5)
    rows = groups.closest_rows(4)
    for c, found in enumerate(rows):
        members = np.flatnonzero(groups.members == c)
        wanted = members[np.argsort(groups.distances[members], kind="stable")][:4]
        assert found[found >= 0].tolist() == wanted.tolist()
