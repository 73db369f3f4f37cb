"""Problems on a subset of the rows: the nodes of a tree, clusters of points.

A group is solved on its own rows and on the columns that occur in them, at the price of these rows,
however many columns X has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError
from longtail.solvers.linear.task import LinearTask

Numbers = NDArray[np.int64]


class Group(NamedTuple):
    """Problems that live on the same rows.

    Attributes
    ----------
    rows : int array
        Rows of X, each at most once.
    problems : int array
        Columns of the targets.
    """

    rows: Any
    problems: Any


@dataclass(frozen=True)
class LinearBlock:
    """Problems that are solved, and kept, together: some on all rows, or of one or more groups."""

    parts: tuple[tuple[Numbers | None, Numbers], ...]  # rows, None for all, and problems on them

    def __len__(self) -> int:
        return sum(len(problems) for _, problems in self.parts)


def checked_groups(groups: Iterable[Any], n_points: int, n_problems: int) -> list[Group]:
    """Groups as arrays; every problem must be in one of them.

    Examples
    --------
    >>> checked_groups([([2, 0], [0])], 3, 1)
    [Group(rows=array([2, 0]), problems=array([0]))]
    """
    found = []
    times = np.zeros(n_problems, dtype=np.int64)
    for number, (rows, problems) in enumerate(groups):
        group = Group(*(np.asarray(part, dtype=np.int64).reshape(-1) for part in (rows, problems)))
        for part, size, what in (
            (group.rows, n_points, "row"),
            (group.problems, n_problems, "problem"),
        ):
            if len(part) and not (part.min() >= 0 and part.max() < size):
                raise InputError(f"Group {number} names a {what} that is not among the {size}.")
        if len(np.unique(group.rows)) < len(group.rows):
            raise InputError(f"Group {number} names a row twice; name each row once.")
        np.add.at(times, group.problems, 1)
        found.append(group)
    wrong = np.flatnonzero(times != 1)
    if len(wrong):
        raise InputError(
            f"Problem {wrong[0]} is in {times[wrong[0]]} groups; every column of the targets must "
            "be in one."
        )
    return found


def restricted(task: LinearTask, rows: Numbers, problems: Numbers) -> tuple[LinearTask, Numbers]:
    """Some problems on some rows, with only the columns that occur there, and which these are.

    O(nnz of the rows · log + targets of the problems).
    """
    starts = task.indptr[rows]
    at, ends = _spans(starts, task.indptr[rows + 1] - starts)
    used, place = np.unique(task.indices[at], return_inverse=True)
    given = task.sample_weight
    if sp.issparse(given):
        given = _columns_on(given, rows, problems)
    elif given is not None:
        given = given[rows] if given.ndim == 1 else given[np.ix_(rows, problems)]
    start = task.start
    if start is not None:
        start = _columns_on(start, np.append(used, task.n_features), problems)
    part = replace(
        task, indptr=ends, indices=place.astype(np.int32), data=task.data[at],
        n_features=len(used), targets=_columns_on(task.targets, rows, problems),
        sample_weight=given, start=start, strength=task.strength[problems],
    )  # fmt: skip
    return part, used.astype(np.int64)


def _spans(starts: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """The places of all entries of some spans, and where each span then ends."""
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1]), ends


def _columns_on(matrix: sp.csc_array, rows: NDArray[Any], problems: Numbers) -> sp.csc_array:
    """Some columns of a matrix on some rows. O(entries of these columns · log(rows))."""
    starts = matrix.indptr[problems].astype(np.int64)
    at, ends = _spans(starts, matrix.indptr[problems + 1] - starts)
    order = np.argsort(rows, kind="stable")
    place = np.searchsorted(rows, matrix.indices[at], sorter=order)
    local = order[np.minimum(place, len(rows) - 1)] if len(rows) else place
    kept = rows[local] == matrix.indices[at] if len(rows) else np.zeros(len(at), dtype=bool)
    indptr = np.concatenate(([0], np.cumsum(kept)))[ends]
    found = sp.csc_array(
        (matrix.data[at][kept], local[kept], indptr), shape=(len(rows), len(problems))
    )
    found.sort_indices()
    return found
