"""Nearest codes: the kernel against brute force, faiss against the kernel."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, MissingExtraError, ParameterError
from longtail.methods.prototypes.codes import packed
from longtail.search.hamming import nearest_codes


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 10_000), m=st.integers(1, 40), d=st.integers(1, 130), k=st.integers(1, 50)
)
def test_kernel_and_faiss_give_the_nearest_with_ties_to_the_smaller_number(seed, m, d, k):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(seed)
    few = rng.integers(1, 4)  # many equal codes, so that there are ties
    pool = rng.choice([-1, 1], (few, d))
    codes, queries = pool[rng.integers(0, few, m)], rng.choice([-1, 1], (7, d))
    codes = np.where(rng.random(codes.shape) < 0.05, -codes, codes)
    far = (queries[:, None] != codes[None]).sum(axis=2)
    order = np.argsort(far, axis=1, kind="stable")[:, :k]
    for search in ("kernel", "faiss"):
        found = nearest_codes(packed(queries), packed(codes), k, search=search)
        assert np.array_equal(found.indices, order)
        assert np.array_equal(found.distances, np.take_along_axis(far, order, axis=1))


def test_odd_requests_are_refused(monkeypatch):
    codes = packed(np.ones((2, 3)))
    with pytest.raises(ParameterError, match="search must be"):
        nearest_codes(codes, codes, 1, search="magic")
    with pytest.raises(InputError, match="same number of words"):
        nearest_codes(codes, packed(np.ones((2, 70))), 1)
    real = builtins.__import__

    def importing(name, *rest, **more):
        if name == "faiss":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingExtraError, match=r'pip install "longtail\[neighbors\]"'):
        nearest_codes(codes, codes, 1, search="faiss")
    assert nearest_codes(codes, codes, 1).distances.tolist() == [[0.0], [0.0]]
