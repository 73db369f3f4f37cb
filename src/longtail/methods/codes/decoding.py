"""From bits to labels: the query of a Bloom filter, and the robust decoding in two steps.

Bits are given as log-odds: a bit is on if these are at least 0, and its posterior, which breaks
ties, is 1 / (1 + exp(-z)).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.methods.codes._decode_kernels import (
    NO_CLUSTER,
    identify,
    pick_from_all,
    pick_from_clusters,
)
from longtail.runtime.seeds import point_seeds


class Taking(NamedTuple):
    """When a label is taken, given how many of its bits are on.

    Attributes
    ----------
    threshold : float
        The smallest share of its bits, if not `by_chance`.
    by_chance : bool
        Whether it is taken with the share of its bits as the probability.
    random_state : int
        Of the draws, which depend only on it, the number of the row and the label.
    seeds : uint64 array of shape (n,), optional
        A seed for each row instead, such as `longtail.runtime.seeds.row_seeds` makes of X: a row
        then gets the same labels at any position.
    """

    threshold: float = 1.0
    by_chance: bool = False
    random_state: int = 0
    seeds: NDArray[np.uint64] | None = None


ALL_BITS = Taking()
"""Take labels as a Bloom filter does."""


class CodeTables(NamedTuple):
    """A code in both directions, as the kernels take it."""

    bit_ptr: NDArray[np.int64]
    bit_labels: NDArray[np.int64]
    label_ptr: NDArray[np.int64]
    label_bits: NDArray[np.int64]


def tables_of(code: sp.csr_array) -> CodeTables:
    """The labels of each bit and the bits of each label. O(L·K)."""
    by_bit = sp.csc_array(code)
    return CodeTables(
        *(
            part.astype(np.int64)
            for part in (by_bit.indptr, by_bit.indices, code.indptr, code.indices)
        )
    )


def decode_filter(odds: Any, code: sp.csr_array, taking: Taking = ALL_BITS) -> sp.csr_array:
    """Labels whose bits are on, each judged separately.

    Parameters
    ----------
    odds : array of shape (n, B)
        Log-odds of the bits; further columns, such as those of hubs, are ignored.
    code : csr_array of shape (L, B)
    taking : Taking
        When a label is taken; by default if all its bits are on.

    Returns
    -------
    csr_array of shape (n, L)
        Ones.

    Notes
    -----
    O(B + labels of the bits that are on) per row.

    Examples
    --------
    >>> from longtail.methods.codes import hashed_code
    >>> code = hashed_code([[0, 1], [1, 2], [0, 2]], 3)
    >>> decode_filter([[2.0, 1.0, -3.0]], code).toarray().tolist()
    [[1.0, 0.0, 0.0]]
    """
    odds = _rows(odds, code)
    seeds = _seeds(taking, len(odds))
    tables = tables_of(code)
    given = (
        odds, tables.bit_ptr, tables.bit_labels, tables.label_ptr, float(taking.threshold),
        taking.by_chance, seeds,
    )  # fmt: skip
    return _picked(pick_from_all, given, len(odds), code.shape[0])


def decode_robust(
    odds: Any, code: sp.csr_array, of_label: NDArray[np.int64], taking: Taking = ALL_BITS
) -> sp.csr_array:
    """Labels of the one cluster that has most bits on.

    Parameters
    ----------
    odds : array of shape (n, B)
        Log-odds of the bits; further columns, such as those of hubs, are ignored.
    code : csr_array of shape (L, B)
        A robust code: labels of one cluster share no bit.
    of_label : int array of shape (L,)
        The cluster of each label, -1 for none.
    taking : Taking
        When a label of the cluster is taken; by default if all its bits are on.

    Returns
    -------
    csr_array of shape (n, L)
        Ones.

    Notes
    -----
    O(B + labels of the bits that are on + bits of the cluster) per row.

    Examples
    --------
    >>> from longtail.methods.codes import hashed_code
    >>> code = hashed_code([[0, 1], [1, 2], [0, 2]], 3)
    >>> decode_robust([[2.0, 1.0, -3.0]], code, np.arange(3)).toarray().tolist()
    [[1.0, 0.0, 0.0]]
    """
    odds = _rows(odds, code, of_label)
    seeds = _seeds(taking, len(odds))
    of_label = np.asarray(of_label, dtype=np.int64)
    tables = tables_of(code)
    cluster_ptr, members = members_of(of_label)
    found = np.empty((len(odds), 1), dtype=np.int64)
    bits = int(np.diff(code.indptr).max(initial=1))
    least = 1 if taking.by_chance else max(1, math.ceil(taking.threshold * bits - 1e-9))
    if bits != int(np.diff(code.indptr)[of_label >= 0].min(initial=bits)):
        least = 1  # labels with fewer bits need fewer
    identify(odds, *tables, of_label, cluster_ptr, members, least, found)  # with less, no label
    given = (
        odds, tables.label_ptr, tables.label_bits, found[:, 0], cluster_ptr, members,
        float(taking.threshold), taking.by_chance, seeds,
    )  # fmt: skip
    return _picked(pick_from_clusters, given, len(odds), code.shape[0])


def identify_clusters(
    odds: Any, code: sp.csr_array, of_label: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The cluster of each row and the runner-up, as an array (n, 2); -1 for none.

    It is the cluster with most of its bits on; of equals the one whose bits have the largest sum of
    posteriors, then the first. O(B + labels of the bits that are on) per row, plus the bits of
    clusters that tie.
    """
    odds = _rows(odds, code, of_label)
    of_label = np.asarray(of_label, dtype=np.int64)
    out = np.empty((len(odds), 2), dtype=np.int64)
    identify(odds, *tables_of(code), of_label, *members_of(of_label), 1, out)
    return out


def members_of(of_label: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The labels of all clusters one after another, with where each cluster begins and ends.

    Examples
    --------
    >>> members_of(np.array([1, 0, -1, 1]))
    (array([0, 1, 3]), array([1, 0, 3]))
    """
    order = np.argsort(of_label, kind="stable")
    order = order[of_label[order] != NO_CLUSTER]
    sizes = np.bincount(of_label[order], minlength=int(of_label.max(initial=-1)) + 1)
    return np.concatenate(([0], np.cumsum(sizes))), order


def _rows(
    odds: Any, code: sp.csr_array, of_label: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """The odds as a matrix; an error unless all fits the code, since kernels do not check."""
    rows = np.ascontiguousarray(np.atleast_2d(odds), dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] < code.shape[1]:
        raise InputError(
            f"The log-odds have shape {rows.shape}, but the code has {code.shape[1]} bits; give "
            "one column per bit."
        )
    if of_label is not None and (
        np.shape(of_label) != (code.shape[0],)
        or np.asarray(of_label).dtype.kind != "i"
        or (np.asarray(of_label)[np.diff(code.indptr) > 0] < 0).any()
        or (np.asarray(of_label) < NO_CLUSTER).any()
    ):
        raise InputError(
            f"of_label must name the cluster of each of the {code.shape[0]} labels, and every "
            "label with bits needs one."
        )
    return rows


def _seeds(taking: Taking, n: int) -> NDArray[np.uint64]:
    """A seed for each of n rows; any value if nothing is drawn."""
    if not taking.by_chance:
        return np.zeros(n, dtype=np.uint64)
    return point_seeds(n, taking.random_state, taking.seeds)


def _picked(pick: Any, given: tuple[Any, ...], n: int, n_labels: int) -> sp.csr_array:
    """The labels that a kernel picks: it counts them first and then writes them."""
    ends = np.zeros(n + 1, dtype=np.int64)
    pick(*given, ends[1:], np.empty(0, dtype=np.int64), False)
    labels = np.empty(ends[-1], dtype=np.int64)
    pick(*given, ends[1:], labels, True)
    chosen = sp.csr_array((np.ones(len(labels)), labels, ends), shape=(n, n_labels))
    chosen.sort_indices()
    return chosen
