"""Problems for liblinear, as scikit-learn builds it: block by block, in processes, kept on disk.

It lets go of the GIL but draws the order of its coordinates from one random generator for the whole
process: in threads, each problem disturbs the others, and no two runs agree. So problems are solved
in processes, each with a seed of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.svm import LinearSVC

from longtail.runtime.checkpoint import holds_columns
from longtail.runtime.executor import thread_count
from longtail.runtime.pieces import Arrays, Pieces
from longtail.runtime.run import Run

WEIGHTS: dict[str, type] = {"features": np.int64, "values": np.float64, "ends": np.int64}
"""Arrays that a block has: the features with a weight, the weights, where each problem ends."""


def solvable(X: sp.csr_array, counts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which labels with so many rows it takes: some rows and not all, and a feature somewhere."""
    return (counts > 0) & (counts < X.shape[0]) & (X.nnz > 0)


def positives_of(targets: sp.csc_array, labels: NDArray[np.integer]) -> list[NDArray[np.integer]]:
    """The rows of each of some labels.

    Examples
    --------
    >>> [rows.tolist() for rows in positives_of(sp.csc_array([[1, 0], [1, 1]]), np.array([0, 1]))]
    [[0, 1], [1]]
    """
    return [targets.indices[targets.indptr[j] : targets.indptr[j + 1]] for j in labels]


def fit_quietly(model: LinearSVC, X: sp.csr_array, y: NDArray[Any]) -> None:
    """Fit it without its checks and warnings; the caller looks at its sweeps."""
    with (
        warnings.catch_warnings(),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore")
        model.fit(X, y)


def in_processes(
    solve: Callable[..., Any],
    X: sp.csr_array,
    blocks: Iterable[Any],
    settings: Any,
    *,
    n_jobs: int | None,
) -> Iterator[Any]:
    """`solve(X, block, settings)` of every block, in order.

    Examples
    --------
    >>> X = sp.csr_array([[1.0], [2.0]])
    >>> list(in_processes(lambda X, block, _: [X[i, 0] for i in block], X, [[0], [1]], 0, n_jobs=1))
    [[np.float64(1.0)], [np.float64(2.0)]]
    """
    pool = Parallel(n_jobs=thread_count(n_jobs), return_as="generator")
    answers = pool(delayed(solve)(X, block, settings) for block in blocks)
    with closing(answers):
        yield from answers


def solve_blocks(
    solve: Callable[..., Any],
    X: sp.csr_array,
    blocks: Sequence[Any],
    settings: Any,
    keep: Callable[[int, Arrays], None],
    *,
    pack: Callable[[Any], Arrays],
    kinds: Mapping[str, type],
    identity: Callable[[], str],
    n_jobs: int | None,
    total: int,
    run: Run,
) -> None:
    """Hand on all blocks: those that were kept, then the others as they are solved in processes.

    Parameters
    ----------
    solve : callable
        `solve(X, block, settings)`, what `pack` makes arrays of.
    keep, identity, total, run
        See `Pieces`.
    kinds : mapping
        Names and types of these arrays, see `holds_columns`; a kept block that does not have them
        is solved again.
    """
    pieces = Pieces(
        [len(block) for block in blocks], keep, what="training", identity=identity, run=run,
        is_sound=lambda number, arrays: holds_columns(
            arrays, kinds, len(blocks[number]), X.shape[1]
        ),
        total=total,
    )  # fmt: skip
    answers = in_processes(
        solve, X, (blocks[number] for number in pieces.missing), settings,
        n_jobs=n_jobs if len(pieces.missing) > 1 else 1,
    )  # fmt: skip
    with closing(answers):  # type: ignore[type-var]
        for number, answer in zip(pieces.missing, answers, strict=True):
            pieces.done(number, pack(answer))
