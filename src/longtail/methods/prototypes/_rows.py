"""The training rows, the number of their prototypes, and their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.errors import InputError

LEAST_STEPS = 50  # mini-batches per round, at least


def prototype_count(n_points: int, ratio: float) -> int:
    """m = ⌊ratio · n⌋; an error if that is zero.

    Examples
    --------
    >>> prototype_count(12_920, 0.1)
    1292
    """
    m = int(np.floor(ratio * n_points + 1e-9))
    if m < 1:
        raise InputError(
            f"A ratio of {ratio} makes no prototype of n_samples = {n_points} training points; "
            f"give more points or a ratio of at least {1 / max(n_points, 1):.2g}."
        )
    return m


def held_out(n: int, share: float, random_state: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row numbers to train on and to hold out, at random, each in ascending order.

    Examples
    --------
    >>> [len(part) for part in held_out(50, 0.1, random_state=0)]
    [45, 5]
    """
    order = np.random.default_rng([random_state, 1]).permutation(n)
    aside = 0 if share == 0 or n < 2 else min(max(round(share * n), 1), n - 1)
    return np.sort(order[aside:]), np.sort(order[:aside])


def steps_of(n_points: int, batch_size: int) -> int:
    """Mini-batches per round: one pass through the points, or several passes if there are few.

    Examples
    --------
    >>> steps_of(12_800, 128), steps_of(60, 128)
    (100, 50)
    """
    return max(-(-n_points // batch_size), LEAST_STEPS)


def mini_batches(
    n: int, size: int, count: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """`count` mini-batches of about `size` of n rows, each row once per pass, in random order.

    Examples
    --------
    >>> [len(batch) for batch in mini_batches(10, 4, 4, np.random.default_rng(0))]
    [4, 3, 3, 4]
    """
    given = 0
    while given < count:
        for batch in np.array_split(rng.permutation(n), -(-n // size))[: count - given]:
            yield np.sort(batch)
            given += 1
