"""Binary codes of prototypes: their start, the B step (11) to (13), the Z step (14).

Codes are kept with one row per prototype and one column per bit, (m, d), the paper's B transposed,
as int8 of -1 and 1. Equation numbers are those of Shen et al., Deep Binary Prototype Multi-label
Learning, IJCAI 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from longtail.runtime.libraries import one_thread

DENSE = 4000  # prototypes up to which the principal directions come from a dense m×m matrix
NEGLIGIBLE = 1e-6  # singular values below this share of the norm of V are rounding errors

_Codes = NDArray[np.int8]
_Floats = NDArray[np.floating[Any]]


def sign(values: _Floats, previous: NDArray[Any] | None = None) -> _Codes:
    """sgn(C(x, y)): the sign of x, and where x is zero that of y, of which the default is 1.

    Examples
    --------
    >>> sign(np.array([-2.0, 0.0, 0.0]), np.array([1, -1, 1])).tolist()
    [-1, -1, 1]
    """
    kept = np.ones(1, dtype=np.int8) if previous is None else previous
    return np.where(values > 0, 1, np.where(values < 0, -1, kept)).astype(np.int8)


def weighted_labels(means: sp.csr_array, sizes: NDArray[np.int64], rarity: float) -> sp.csr_array:
    """V with each label divided by the points that have it, to the power of `rarity`. O(nnz).

    Codes made from it are further apart if rare labels differ.

    Examples
    --------
    >>> V = sp.csr_array([[1.0, 0.0], [1.0, 1.0]])
    >>> weighted_labels(V, np.array([12, 4]), 0.5).toarray().tolist()
    [[0.25, 0.0], [0.25, 0.5]]
    """
    if not rarity:
        return means
    counts = np.maximum(means.T @ sizes, 1.0)
    weighted = sp.csr_array(means, dtype=np.float64, copy=True)
    weighted.data *= counts[weighted.indices] ** -rarity
    return weighted


def principal_targets(means: sp.csr_array, n_bits: int, *, random_state: int = 0) -> _Floats:
    """Step 2 of Algorithm 2: Z by a principal component analysis of the prototypes' labels.

    The coordinates (m, d) of the prototypes in the d directions in which their labels vary most,
    each scaled to length √m, so that Z'Z = m·I. Where the labels vary in fewer directions, random
    ones orthogonal to these follow; beyond m they can no longer be orthogonal and are random.
    Neither V nor the centred matrix is made dense.

    Notes
    -----
    O(m³) and a dense m×m matrix up to 4,000 prototypes, else several times O(d·nnz(V) + d²·m).

    Examples
    --------
    >>> Z = principal_targets(sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), 3)
    >>> np.abs(Z.T @ Z).round(6).tolist()
    [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]
    """
    m = means.shape[0]
    rng = np.random.default_rng(random_state)
    with one_thread():
        found = _left_vectors(sp.csr_array(means, dtype=np.float64), min(n_bits, m), rng)
        largest = found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])]
        found = found * np.where(largest < 0, -1.0, 1.0)
        more = rng.standard_normal((m, n_bits - found.shape[1]))
        room = m - found.shape[1]
        orthogonal = more[:, :room]
        for _ in range(2):  # twice is enough to be orthogonal up to rounding
            orthogonal = orthogonal - found @ (found.T @ orthogonal)
            orthogonal = np.linalg.qr(orthogonal)[0]
        rest = more[:, room:]
        rest = rest / np.maximum(np.linalg.norm(rest, axis=0), 1e-300)
    return np.sqrt(m) * np.hstack([found, orthogonal, rest])


def projected_targets(means: sp.csr_array, n_bits: int, *, random_state: int = 0) -> _Floats:
    """A start whose bits have equal weight: random directions of the prototypes' labels.

    The sign of a principal component ignores the component's variance. So in codes made from
    components, a direction in which hardly any two prototypes differ counts as much as the first.
    Random directions mix all components by their variances, and the share of bits in which two
    codes differ is, in expectation, the angle between the two label means, over π.

    Projections (m, d) of V less its mean row, each scaled to length √m. O(d·nnz(V) + d·L).

    Examples
    --------
    >>> V = sp.csr_array([[1.0, 0.0], [0.9, 0.0], [0.0, 1.0]])
    >>> codes = sign(projected_targets(V, 200))
    >>> bool((codes[0] != codes[1]).mean() < (codes[0] != codes[2]).mean())
    True
    """
    V = sp.csr_array(means, dtype=np.float64)
    mean = np.asarray(V.mean(axis=0), dtype=np.float64).ravel()
    rng = np.random.default_rng(random_state)
    targets = np.empty((V.shape[0], n_bits))
    for bit in range(n_bits):  # one at a time, so that no L×d array is made
        direction = rng.standard_normal(V.shape[1])
        targets[:, bit] = V @ direction - mean @ direction
    flat = np.abs(targets).max(axis=0) <= NEGLIGIBLE  # the labels do not vary
    targets[:, flat] = rng.standard_normal((len(targets), int(flat.sum())))
    return np.sqrt(len(targets)) * targets / np.linalg.norm(targets, axis=0)


def _left_vectors(V: sp.csr_array, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Left singular vectors of V less its mean row, of the largest singular values."""
    m, n_labels = V.shape
    mean = np.asarray(V.mean(axis=0), dtype=np.float64).ravel()
    if m <= DENSE or size >= min(m, n_labels) - 1:
        products = np.asarray(V @ mean).ravel()
        square = (V @ V.T).toarray() - products[:, None] - products + mean @ mean
        values, vectors = scipy.linalg.eigh(
            square, subset_by_index=(m - size, m - 1), overwrite_a=True, check_finite=False
        )
        values, vectors = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]
    else:
        turned = sp.csr_array(V.T)
        centred = LinearOperator(
            V.shape,
            matvec=lambda v: V @ v.ravel() - mean @ v.ravel(),
            rmatvec=lambda u: turned @ u.ravel() - mean * u.sum(),
            dtype=np.float64,
        )
        start = rng.standard_normal(min(m, n_labels))
        vectors, values, _ = svds(centred, k=size, v0=start, return_singular_vectors="u")
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], vectors[:, order]
    return vectors[:, values > NEGLIGIBLE * np.sqrt(max(V.multiply(V).sum(), 1e-300))]


# ---- the B step ------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodeStep:
    """The result of a B step.

    The codes (m, d), how many of their bits differ from the initial ones, how many codes of (13)
    were tried, and whether (13) no longer changes anything.
    """

    codes: _Codes
    flipped: int
    iterations: int
    settled: bool


Decoding = Callable[[_Codes], tuple[_Floats, _Floats]]
"""The decoder's share of (11), Tr(½G'G - Y'G), of each prototype (m,), and its gradient ∇₁H'."""


def linear_part(sums: _Floats, targets: _Floats, *, mu: float, alpha: float) -> NDArray[np.float64]:
    """The constant part of the gradient of (11), -μFH' - αZ; `sums` is FH' transposed, (m, d).

    Examples
    --------
    >>> linear_part(np.array([[2.0]]), np.array([[1.0]]), mu=0.5, alpha=0.1).tolist()
    [[-1.1]]
    """
    return -mu * np.asarray(sums, dtype=np.float64) - alpha * np.asarray(targets, dtype=np.float64)


def proximal_codes(codes: _Codes, gradient: _Floats, tau: float | _Floats) -> _Codes:
    """(13): the codes that minimise the surrogate (12), sgn(C(τB - ∇ℒ(B), B)).

    A bit flips if its gradient times the bit exceeds τ: one number, or one per prototype, (m, 1).

    Examples
    --------
    >>> proximal_codes(np.array([[1, 1, 1]]), np.array([[0.5, 1.0, 2.0]]), tau=1.0).tolist()
    [[1, 1, -1]]
    """
    return sign(tau * codes - gradient, codes)


def code_step(
    codes: _Codes,
    decoding: Decoding | None,
    linear: NDArray[np.float64],
    *,
    tau: float,
    max_iter: int = 20,
) -> CodeStep:
    """The B step: repeat (13) until nothing changes; (11) never rises.

    (11) is a sum over prototypes, and (12) is an upper bound only if τ is at least the curvature of
    the decoder. A prototype whose part of (11) would rise keeps its code and tries (13) again with
    its τ doubled, as usual for proximal gradients, which flips fewer of its bits, those that gain
    most.

    `tau` is how much a bit must gain to flip, at the start; `max_iter` the limit on the codes that
    are tried. Without a decoder, `decoding` is None. `linear` is that of `linear_part`.

    Examples
    --------
    >>> step = code_step(np.array([[1, -1]], dtype=np.int8), None, np.array([[2.0, 0.5]]), tau=1.0)
    >>> step.codes.tolist(), step.flipped, step.settled
    ([[-1, -1]], 1, True)
    """
    current = codes
    losses, gradient = _losses(current, decoding, linear)
    steepness = np.full((len(codes), 1), tau)
    iteration = 0
    settled = False
    while iteration < max_iter:
        following = proximal_codes(current, gradient, steepness)
        settled = bool((following == current).all())
        if settled:
            break
        iteration += 1
        losses_there, gradient_there = _losses(following, decoding, linear)
        better = losses_there <= losses
        losses = np.where(better, losses_there, losses)
        current = np.where(better[:, None], following, current)
        gradient = np.where(better[:, None], gradient_there, gradient)
        steepness[~better] *= 2.0
    return CodeStep(current, int((current != codes).sum()), iteration, settled)


def _losses(
    codes: _Codes, decoding: Decoding | None, linear: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(11), prototype by prototype, and its gradient."""
    values, gradient = (0.0, 0.0) if decoding is None else decoding(codes)
    return values + (linear * codes).sum(axis=1), gradient + linear


# ---- the Z step ------------------------------------------------------------------------------


def orthogonal_targets(codes: _Codes) -> NDArray[np.float64]:
    """The Z step, Theorem 1: the Z in Ω nearest to the codes, √m·PQ' of B = PΣQ'. O(m·d²).

    Where there are fewer prototypes than bits no Z has d orthogonal columns, and this is the
    nearest with orthogonal rows instead.

    Examples
    --------
    >>> Z = orthogonal_targets(np.array([[1, 1], [1, 1], [1, -1]], dtype=np.int8))
    >>> np.abs(Z.T @ Z).round(6).tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    with one_thread():
        left, _, right = np.linalg.svd(codes.astype(np.float64), full_matrices=False)
        return np.sqrt(len(codes)) * (left @ right)


def dead_bits(codes: _Codes) -> NDArray[np.int64]:
    """The bits that are the same in all prototypes, and so carry no information.

    Examples
    --------
    >>> dead_bits(np.array([[1, 1], [-1, 1]], dtype=np.int8)).tolist()
    [1]
    """
    return np.flatnonzero((codes == codes[0]).all(axis=0))


def packed(codes: NDArray[Any]) -> NDArray[np.uint64]:
    """Codes as 64-bit words, (rows, ⌈d / 64⌉): bit 1 for 1, 0 for -1, zeros as padding.

    Examples
    --------
    >>> packed(np.array([[1, -1, 1]])).tolist()
    [[5]]
    """
    bits = np.packbits(np.asarray(codes) > 0, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    return words.view("<u8").astype(np.uint64, copy=False)


def unpacked(words: NDArray[np.uint64], n_bits: int) -> _Codes:
    """The inverse of `packed`.

    Examples
    --------
    >>> unpacked(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[1, -1, 1]]
    """
    bits = np.unpackbits(
        np.ascontiguousarray(words, dtype="<u8").view(np.uint8), axis=1, bitorder="little"
    )
    return np.where(bits[:, :n_bits] > 0, 1, -1).astype(np.int8)
