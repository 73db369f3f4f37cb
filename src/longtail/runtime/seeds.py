"""Seeds of rows and points, so that what is drawn for one does not depend on where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from longtail.errors import InputError
from longtail.parameters import check_seed
from longtail.runtime.random_kernels import seeds_of_rows


def row_seeds(X: sp.csr_array, random_state: int) -> NDArray[np.uint64]:
    """A seed for each row, from what is in it and not from where it stands. O(nnz(X)).

    Examples
    --------
    >>> seeds = row_seeds(sp.csr_array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]), 0)
    >>> bool(seeds[0] == seeds[2]), bool(seeds[0] == seeds[1])
    (True, False)
    """
    points = X.astype(np.float64)
    points.eliminate_zeros()
    seeds = np.empty(X.shape[0], dtype=np.uint64)
    seeds_of_rows(
        points.indptr.astype(np.int64), points.indices.astype(np.int64),
        points.data.view(np.uint64), np.uint64(random_state), seeds,
    )  # fmt: skip
    return seeds


def drawn_seed(folder: Path | None = None) -> tuple[int, Path | None]:
    """A fresh seed, from numpy's global generator, and the folder for the checkpoints of its run.

    A run that was interrupted has left a folder with its seed in `folder`, and goes on with that.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     seed, place = drawn_seed(Path(folder))
    ...     place.mkdir()
    ...     drawn_seed(Path(folder)) == (seed, place)
    True
    """
    if folder is not None:
        for place in sorted(folder.glob("seed-*")):
            number = place.name.removeprefix("seed-")
            if number.isdecimal() and int(number) < 2**32:
                return int(number), place
    seed = int(check_random_state(None).randint(2**32, dtype=np.uint32))
    return seed, None if folder is None else folder / f"seed-{seed}"


def point_seeds(n: int, random_state: int, given: Any = None) -> NDArray[np.uint64]:
    """The seeds of n points: those given, or made of their numbers.

    Examples
    --------
    >>> point_seeds(1, 0).dtype
    dtype('uint64')
    """
    if given is None:
        check_seed(random_state)
        return row_seeds(sp.csr_array(np.arange(1.0, n + 1.0)[:, None]), random_state)
    seeds = np.ascontiguousarray(given)
    if seeds.shape != (n,) or seeds.dtype != np.uint64:
        raise InputError(f"The seeds must be {n} numbers of type uint64, one per point.")
    return seeds
