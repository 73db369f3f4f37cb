"""B step and Z step: what the equations promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.methods.prototypes import codes as c


def random_codes(rng, m, d):
    return rng.choice(np.array([-1, 1], dtype=np.int8), (m, d))


def surrogate(codes, at, gradient, tau):
    """(12) without its constant ℒ(B⁽ⁱ⁾): ⟨∇ℒ, B - B⁽ⁱ⁾⟩ + ½τ‖B - B⁽ⁱ⁾‖²."""
    step = codes.astype(np.float64) - at
    return (gradient * step).sum() + 0.5 * tau * (step * step).sum()


def test_zero_takes_the_sign_it_had():
    """C(x, y) of (13)."""
    values = np.array([-0.5, 0.0, 0.0, 0.2])
    assert c.sign(values, np.array([1, -1, 1, -1])).tolist() == [-1, -1, 1, 1]
    assert c.sign(values).tolist() == [-1, 1, 1, 1]
    assert set(np.unique(c.sign(np.zeros((3, 3))))) == {1}


@given(seed=st.integers(0, 10_000), tau=st.floats(0.01, 10))
def test_no_codes_have_a_smaller_surrogate_than_those_of_13(seed, tau):
    """(13) minimises (12): against all codes, and it never raises it."""
    rng = np.random.default_rng(seed)
    before = random_codes(rng, 2, 3)
    gradient = 5 * rng.standard_normal((2, 3))
    gradient[rng.random((2, 3)) < 0.2] = 0
    after = c.proximal_codes(before, gradient, tau)
    least = min(
        surrogate(np.array(other, dtype=np.int8).reshape(2, 3), before, gradient, tau)
        for other in itertools.product((-1, 1), repeat=6)
    )
    assert surrogate(after, before, gradient, tau) == pytest.approx(least, abs=1e-9)
    assert surrogate(after, before, gradient, tau) <= 0.0


@given(seed=st.integers(0, 10_000), tau=st.floats(0.01, 10))
def test_the_whole_step_never_raises_11(seed, tau):
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, 6, 4)
    curve, linear = rng.standard_normal((4, 4)), rng.standard_normal((6, 4))

    def decoding(b):
        out = np.tanh(b @ curve)
        return 0.5 * (out**2).sum(axis=1), (out * (1 - out**2)) @ curve.T

    def loss(b):
        return decoding(b)[0] + (linear * b).sum(axis=1)

    step = c.code_step(codes, decoding, linear, tau=tau, max_iter=5)
    assert (loss(step.codes) <= loss(codes) + 1e-9).all()
    assert step.flipped == (step.codes != codes).sum()
    assert step.iterations <= 5
    if step.settled and step.flipped == 0:
        _, gradient = decoding(codes)
        assert np.array_equal(c.proximal_codes(codes, gradient + linear, tau), codes)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(4, 12))
def test_z_beats_random_orthogonal_competitors(seed, m):
    """Theorem 1: Z maximises Tr(B'Z) over Ω."""
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, m, 4)
    Z = c.orthogonal_targets(codes)
    assert np.allclose(Z.T @ Z, m * np.eye(4))
    for _ in range(20):
        other = np.sqrt(m) * np.linalg.qr(rng.standard_normal((m, 4)))[0]
        assert (codes * Z).sum() >= (codes * other).sum() - 1e-9


@pytest.mark.parametrize(("m", "n_labels", "d"), [(30, 10, 6), (30, 4, 10), (5, 8, 9), (1, 3, 4)])
def test_targets_are_orthogonal_as_far_as_possible(m, n_labels, d):
    rng = np.random.default_rng(0)
    V = sp.csr_array(rng.random((m, n_labels)) * (rng.random((m, n_labels)) < 0.5))
    Z = c.principal_targets(V, d)
    assert Z.shape == (m, d)
    assert np.isfinite(Z).all()
    assert np.allclose((Z**2).sum(axis=0), m)
    if d <= m:
        assert np.allclose(Z.T @ Z, m * np.eye(d), atol=1e-6)
    assert np.array_equal(Z, c.principal_targets(V, d))


@pytest.mark.parametrize(("m", "n_labels", "d"), [(30, 10, 6), (5, 8, 9), (1, 3, 4)])
def test_projections_have_length_and_no_zeros(m, n_labels, d):
    rng = np.random.default_rng(0)
    V = sp.csr_array(rng.random((m, n_labels)) * (rng.random((m, n_labels)) < 0.5))
    Z = c.projected_targets(V, d)
    assert Z.shape == (m, d)
    assert np.allclose((Z**2).sum(axis=0), m)
    assert np.array_equal(Z, c.projected_targets(V, d))
    assert not np.array_equal(Z, c.projected_targets(V, d, random_state=1))


def test_projected_codes_differ_by_the_angle():
    rng = np.random.default_rng(0)
    V = sp.csr_array(rng.random((6, 10)))
    centred = V.toarray() - V.toarray().mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    codes = c.sign(c.projected_targets(V, 8000))
    apart = (codes[:, None] != codes[None]).mean(axis=2)
    assert np.allclose(apart, np.arccos(np.clip(unit @ unit.T, -1, 1)) / np.pi, atol=0.03)


def test_targets_span_the_principal_components(monkeypatch):
    rng = np.random.default_rng(1)
    V = sp.csr_array(rng.random((40, 12)) * (rng.random((40, 12)) < 0.5))
    centred = V.toarray() - V.toarray().mean(axis=0)
    left = np.linalg.svd(centred)[0][:, :5]
    by_square = c.principal_targets(V, 5)
    monkeypatch.setattr(c, "DENSE", 10)
    by_lanczos = c.principal_targets(V, 5)
    for Z in (by_square, by_lanczos):
        assert np.allclose(np.abs(left.T @ Z), np.sqrt(40) * np.eye(5), atol=1e-6)


@given(seed=st.integers(0, 1000), d=st.integers(1, 140))
def test_packing_and_back(seed, d):
    codes = random_codes(np.random.default_rng(seed), 5, d)
    words = c.packed(codes)
    assert words.dtype == np.uint64
    assert words.shape == (5, -(-d // 64))
    assert np.array_equal(c.unpacked(words, d), codes)


def test_dead_bits_are_named():
    codes = np.array([[1, -1, 1], [1, -1, -1]], dtype=np.int8)
    assert c.dead_bits(codes).tolist() == [0, 1]
