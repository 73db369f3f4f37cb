"""Step 1 of Algorithm 2: k-means on the label sets gives the prototypes' labels V and members H.

Label sets and their means are sparse: a group's mean has no more entries than its members have
labels. Neither is ever made dense, so the number of labels does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import LongtailWarning, warn
from longtail.labels.sets import distinct_sets
from longtail.methods.prototypes._cluster_kernels import (
    nearest_means,
    products_with_own,
    spread_seeds,
)
from longtail.runtime.executor import run_threads

ROWS = 2048  # label sets per piece of work
SPREAD = 2 * 10**10  # rows times groups up to which seeds are drawn far apart


@dataclass(frozen=True)
class LabelGroups:
    """Groups of similar label sets.

    Attributes
    ----------
    means : float32 csr_array of shape (m, L)
        The mean label vector of each group: V of the paper, transposed.
    members : int64 array of shape (n,)
        The group of each row: H of the paper.
    sizes : int64 array of shape (m,)
        Rows of each group; never zero.
    distances : array of shape (n,)
        Squared distance of each row to the mean of its group.
    objective : array
        The sum of these distances after every round; it never rises.
    """

    means: sp.csr_array
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]
    distances: NDArray[np.float64]
    objective: NDArray[np.float64]

    def closest_rows(self, n: int) -> NDArray[np.int64]:
        """Numbers of the rows nearest to each mean, (m, n); -1 where a group has fewer.

        Examples
        --------
        >>> Y = sp.csr_array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]])
        >>> group_label_sets(Y, 2).closest_rows(2).tolist()
        [[1, 2], [3, -1]]
        """
        order = np.lexsort((np.arange(len(self.members)), self.distances, self.members))
        starts = np.cumsum(self.sizes) - self.sizes
        places = starts[:, None] + np.arange(n)
        there = np.arange(n) < self.sizes[:, None]
        return np.where(there, order[np.where(there, places, 0)], -1)


def group_label_sets(
    Y: sp.csr_array,
    n_groups: int,
    *,
    max_rounds: int = 50,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> LabelGroups:
    """k-means on the label sets of the rows of Y.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
        Ones; never made dense.
    n_groups : int
        How many groups. With no more distinct label sets than that, each set is its own group; if
        there are fewer, you get a warning.
    max_rounds : int
        Limit on the rounds of Lloyd's algorithm; it ends earlier if no row changes its group.
    random_state : int
        Seed.
    n_jobs : int, optional
        Threads, as in scikit-learn; the result does not depend on it.

    Returns
    -------
    LabelGroups
        Groups in the order of their first rows.

    Notes
    -----
    A round costs, for every row, the entries that the means have for its labels. The seeds are
    drawn by squared distance (k-means++), which costs O(n·m) once; if that is more than 2·10¹⁰,
    they are random distinct sets, for O(n). A group that loses all rows starts again from the row
    that is farthest from its mean.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]])
    >>> groups = group_label_sets(Y, 2)
    >>> groups.members.tolist(), groups.means.toarray().tolist()
    ([0, 0, 1, 1], [[1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
    """
    sets, which = distinct_sets(Y)
    n_sets = sets.shape[0]
    if n_sets <= n_groups:
        if n_sets < n_groups:
            warn(
                f"There are {n_sets} distinct label sets, fewer than the {n_groups} prototypes "
                "asked for, so each set gets one prototype; a smaller ratio says the same.",
                LongtailWarning,
            )
        return _groups(Y, which, n_sets, [0.0])
    seeds = _seeds(Y, which, n_groups, random_state)
    means = sp.csr_array(Y[seeds], dtype=np.float64)
    members = np.full(Y.shape[0], -1, dtype=np.int64)
    objective: list[float] = []
    for _ in range(max_rounds):
        nearest, distances = _assign(Y, means, n_jobs)
        _fill_empty(nearest, distances, n_groups)
        if objective and distances.sum() >= objective[-1]:
            break
        objective.append(float(distances.sum()))
        changed = (nearest != members).any()
        members = nearest
        if not changed:
            break
        means = _means(Y, members, n_groups)
    return _groups(Y, members, n_groups, objective)


def _groups(
    Y: sp.csr_array, members: NDArray[np.int64], n_groups: int, objective: list[float]
) -> LabelGroups:
    _, first = np.unique(members, return_index=True)
    number = np.empty(n_groups, dtype=np.int64)
    number[members[np.sort(first)]] = np.arange(n_groups)
    members = number[members]
    means = _means(Y, members, n_groups)
    norms = np.asarray(means.multiply(means).sum(axis=1)).ravel()
    own = _own_products(Y, means, members)
    distances = np.maximum(np.diff(Y.indptr) + norms[members] - 2.0 * own, 0.0)
    return LabelGroups(
        means=means.astype(np.float32),
        members=members,
        sizes=np.bincount(members, minlength=n_groups),
        distances=distances,
        objective=np.append(objective, distances.sum()),
    )


def _own_products(
    Y: sp.csr_array, means: sp.csr_array, members: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Inner product of each row with the mean of its group."""
    products = np.empty(len(members))
    products_with_own(
        Y.indptr.astype(np.int64), Y.indices, means.indptr.astype(np.int64), means.indices,
        means.data, members, products,
    )  # fmt: skip
    return products


def _means(Y: sp.csr_array, members: NDArray[np.int64], n_groups: int) -> sp.csr_array:
    n = len(members)
    sizes = np.bincount(members, minlength=n_groups).astype(np.float64)
    member = sp.csr_array((np.ones(n), members, np.arange(n + 1)), shape=(n, n_groups))
    counts = member.T @ Y
    means = sp.csr_array(counts, dtype=np.float64)
    means.sort_indices()
    means.data /= np.repeat(sizes, np.diff(means.indptr))
    return means


def _seeds(
    Y: sp.csr_array, which: NDArray[np.int64], n_groups: int, random_state: int
) -> NDArray[np.int64]:
    """Rows with different label sets, to start from."""
    rng = np.random.default_rng(random_state)
    n = Y.shape[0]
    if n * n_groups > SPREAD:
        firsts = np.unique(which, return_index=True)[1]
        return rng.choice(firsts, n_groups, replace=False)
    by_label = sp.csc_array(Y)
    chosen = np.empty(n_groups, dtype=np.int64)
    spread_seeds(
        Y.indptr.astype(np.int64), Y.indices, by_label.indptr.astype(np.int64), by_label.indices,
        rng.random(n_groups), np.zeros(n, dtype=np.int64), np.empty(n), chosen,
    )  # fmt: skip
    return chosen


def _assign(
    Y: sp.csr_array, means: sp.csr_array, n_jobs: int | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest mean of every row and its squared distance."""
    n, m = Y.shape[0], means.shape[0]
    by_label = sp.csc_array(means)
    norms = np.asarray(means.multiply(means).sum(axis=1), dtype=np.float64).ravel()
    nearest, distances = np.empty(n, dtype=np.int64), np.empty(n)
    smallest = int(norms.argmin())
    arrays = (by_label.indptr.astype(np.int64), by_label.indices, by_label.data, norms, smallest)
    indptr = Y.indptr.astype(np.int64)

    def work(first: int) -> None:
        nearest_means(
            indptr, Y.indices, first, min(first + ROWS, n), *arrays,
            np.zeros(m), np.empty(m, dtype=np.int64), nearest, distances,
        )  # fmt: skip

    run_threads(work, range(0, n, ROWS), n_jobs=n_jobs)
    return nearest, distances


def _fill_empty(members: NDArray[np.int64], distances: NDArray[np.float64], n_groups: int) -> None:
    """Give every empty group the row farthest from its mean, in place; no group loses its last."""
    sizes = np.bincount(members, minlength=n_groups)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return
    farthest = iter(np.argsort(-distances, kind="stable"))
    for group in empty:
        row = next(row for row in farthest if sizes[members[row]] > 1)
        sizes[members[row]] -= 1
        members[row], distances[row] = group, 0.0
