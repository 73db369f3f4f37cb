"""Codes: the bits of each label, and label sets as bits.

A code is a sparse 0/1 matrix with one row per label. The set {a, b} has the bits of a and those of
b, as in a Bloom filter.
"""

from __future__ import annotations

from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import ParameterError
from longtail.labels import LabelClusters
from longtail.parameters import check_count


def batch_size(n_clusters: int, n_hashes: int) -> int:
    """The smallest Q that has `n_clusters` subsets of `n_hashes` bits.

    Examples
    --------
    >>> batch_size(15, 2), batch_size(16, 2), batch_size(1, 3)
    (6, 7, 3)
    """
    q = n_hashes
    while comb(q, n_hashes) < n_clusters:
        q += 1
    return q


def robust_code(
    clusters: LabelClusters, n_hashes: int = 2, *, batch: int | None = None
) -> sp.csr_array:
    """The code of Robust Bloom Filters: bits are shared between exclusive clusters only.

    The first labels of all clusters share the first Q bits, the second labels the next Q, and so
    on; within its batch, each cluster has its own `n_hashes` bits, the p-th cluster the
    p-th subset in lexicographic order. O(L·n_hashes).

    Parameters
    ----------
    clusters : LabelClusters
        P clusters of at most R labels.
    n_hashes : int
        Bits of a label, K.
    batch : int, optional
        Bits of a batch, Q; by default the fewest that have P subsets.

    Returns
    -------
    csr_array of shape (L, R·Q), uint8
        Ones. Labels without a cluster have no bits.

    Examples
    --------
    Three clusters of two labels:

    >>> from longtail.labels import LabelClusters
    >>> clusters = LabelClusters(np.array([], dtype=int), np.array([0, 0, 1, 1, 2, 2]))
    >>> robust_code(clusters).toarray().tolist()  # doctest: +NORMALIZE_WHITESPACE
    [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0],
     [1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1],
     [0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]]
    """
    check_count(n_hashes=n_hashes)
    if batch is None:
        batch = batch_size(clusters.number, n_hashes)
    if batch < n_hashes:
        raise ParameterError(
            f"A batch of {batch} bits cannot give a label {n_hashes} bits; take a batch of at "
            f"least {n_hashes}, or fewer bits per label."
        )
    if comb(batch, n_hashes) < clusters.number:
        raise ParameterError(
            f"A batch of {batch} bits has {comb(batch, n_hashes)} subsets of {n_hashes}, too few "
            f"for {clusters.number} clusters; "
            f"{batch_size(clusters.number, n_hashes)} bits would do."
        )
    labels = np.flatnonzero(clusters.of_label >= 0)
    cluster = clusters.of_label[labels]
    order = np.argsort(cluster, kind="stable")
    labels, cluster = labels[order], cluster[order]
    place = np.arange(len(labels)) - np.searchsorted(cluster, cluster)  # r, from 0 on
    subsets = np.array(
        list(islice(combinations(range(batch), n_hashes), clusters.number)), dtype=np.int64
    ).reshape(-1, n_hashes)
    bits = subsets[cluster] + (place * batch)[:, None]
    return _matrix(labels, bits, len(clusters.of_label), clusters.largest * batch)


def random_code(
    labels: NDArray[np.int64], n_labels: int, code_size: int, n_hashes: int, random_state: int
) -> sp.csr_array:
    """The code of a Bloom filter: `n_hashes` bits of each label, drawn uniformly. O(L·n_hashes).

    Returns
    -------
    csr_array of shape (n_labels, code_size), uint8
        Ones; where two hashes fall on one bit the label has fewer bits. The labels that are not
        among `labels` have none.

    Examples
    --------
    >>> random_code(np.arange(3), 4, 8, 2, random_state=0).sum(axis=1).tolist()
    [2, 2, 2, 0]
    """
    draw = np.random.default_rng(random_state)
    return _matrix(
        labels, draw.integers(code_size, size=(len(labels), n_hashes)), n_labels, code_size
    )


def hashed_code(hashes: Any, code_size: int) -> sp.csr_array:
    """A code from a table of hash values, one row per label, counted from 0.

    Examples
    --------
    >>> hashed_code([[0, 2], [1, 1]], 3).toarray().tolist()
    [[1, 0, 1], [0, 1, 0]]
    """
    table = np.asarray(hashes, dtype=np.int64)
    return _matrix(np.arange(len(table)), table, len(table), code_size)


def encode(Y: Any, code: sp.csr_array) -> sp.csr_array:
    """The bits of each label set: those of its members. O(nnz(Y)·K).

    Parameters
    ----------
    Y : sparse 0/1 matrix of shape (n, L)
    code : csr_array of shape (L, B)

    Returns
    -------
    csr_array of shape (n, B), uint8
        Ones.
    """
    bits = sp.csr_array(sp.csr_array(Y).astype(np.int32) @ code.astype(np.int32))
    bits.sort_indices()
    return sp.csr_array(
        (np.ones(bits.nnz, dtype=np.uint8), bits.indices, bits.indptr), shape=bits.shape
    )


def _matrix(
    labels: NDArray[np.int64], bits: NDArray[np.int64], n_labels: int, code_size: int
) -> sp.csr_array:
    rows = np.repeat(labels, bits.shape[1] if bits.size else 0)
    ones = np.ones(len(rows), dtype=np.uint8)
    code = sp.csr_array((ones, (rows, bits.ravel())), shape=(n_labels, code_size))
    code.sum_duplicates()
    code.sort_indices()
    code.data[:] = 1
    return code
