"""Where the right answers come from: precision and recall by training frequency of the label."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from longtail.errors import ParameterError
from longtail.metrics._align import align_scores, check_k, ranked_blocks, training_counts

FREQUENCY_BINS = {"unseen": 0, "tail": 1, "torso": 10, "head": 100}
"""The usual bins, each with the smallest number of training points a label in it has."""


def by_frequency(
    Y_true: Any,
    Y_score: Any,
    Y_train: Any = None,
    *,
    counts: ArrayLike | None = None,
    bins: Mapping[str, int] | Sequence[int] = FREQUENCY_BINS,
    k: int | Sequence[int] = (1, 3, 5),
    classes: Sequence[Hashable] | None = None,
) -> pl.DataFrame:
    """Precision and recall at k of the labels of each frequency bin.

    The k best labels of a point are taken among all labels, as they would be shown; then every one
    of them is counted in the bin of its label.

    Parameters
    ----------
    Y_true, Y_score, classes
        As in `evaluate`.
    Y_train : array, sparse matrix or sequence of label collections
        The training labels, whose counts put labels into bins.
    counts : array of shape (L,), optional
        In place of `Y_train`: the training points of each column of the scores. Labels that occur
        in `Y_true` alone have none.
    bins : mapping or sequence of int
        The smallest training count of each bin, by its name, or a rising sequence of them. A bin
        from 0 is put before them if there is none.
    k : int or sequence of int
        The ranks.

    Returns
    -------
    polars.DataFrame
        One row per bin, rarest first: `bin`; `from` and `to`, the training counts it spans (`to` is
        null for the last); `labels` in it; `true`, the true labels of all points that fall into it;
        and for each k, `P@k`, the share of right ones among the labels of the bin that were
        predicted, `R@k`, the share of the bin's true labels that were found (both null where there
        are none), and `share of P@k`, the part of the overall P@k that the bin earns; these add up
        to P@k.

    Notes
    -----
    Recall pools the points of a bin, so that points with many labels count more than in
    `recall_at_k`.

    Examples
    --------
    >>> import numpy as np
    >>> train = np.array([[1, 0], [1, 0], [1, 1]])
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.2]])
    >>> by_frequency(np.array([[1, 0], [0, 1]]), scores, train, bins=[1, 3], k=1).rows()[1:]
    [('1-2', 1, 2, 1, 1, None, 0.0, 0.0), ('3+', 3, None, 1, 1, 0.5, 1.0, 0.5)]
    """
    ks = check_k(k)
    names, starts = _checked_bins(bins)
    truth, scores, space = align_scores(Y_true, Y_score, classes)
    n, L = truth.shape
    if (Y_train is None) == (counts is None):
        raise ParameterError("Give either the training labels or their counts.")
    if counts is None:
        frequency, _ = training_counts(Y_train, space, L)
    else:
        frequency = _widened(counts, space.known, L)
    bin_of_label = np.searchsorted(starts, frequency, side="right") - 1
    depth = max(1, min(int(ks.max()), L))
    predicted = np.zeros((len(starts), depth), dtype=np.int64)
    hits = np.zeros_like(predicted)
    for _, labels, right in ranked_blocks(truth, scores, depth):
        for counted, chosen in ((predicted, labels >= 0), (hits, right)):
            np.add.at(counted, (bin_of_label[labels[chosen]], np.nonzero(chosen)[1]), 1)
    true = np.bincount(bin_of_label[truth.indices], minlength=len(starts))
    table: dict[str, list[Any]] = {
        "bin": names,
        "from": starts.tolist(),
        "to": [*(starts[1:] - 1).tolist(), None],
        "labels": np.bincount(bin_of_label, minlength=len(starts)).tolist(),
        "true": true.tolist(),
    }
    predicted, hits = predicted.cumsum(axis=1), hits.cumsum(axis=1)
    for at in ks.tolist():
        found = hits[:, min(at, depth) - 1]
        table[f"P@{at}"] = _shares(found, predicted[:, min(at, depth) - 1])
        table[f"R@{at}"] = _shares(found, true)
        table[f"share of P@{at}"] = (found / (n * at)).tolist()
    return pl.DataFrame(
        table,
        schema_overrides={
            "to": pl.Int64,
            **{name: pl.Float64 for name in table if "@" in name},
        },
    )


def _widened(counts: ArrayLike, known: int, columns: int) -> NDArray[np.int64]:
    """The given counts, followed by zeros for labels that the scores do not have."""
    given = np.asarray(counts)
    if given.shape != (known,) or given.dtype.kind not in "ui" or (given < 0).any():
        raise ParameterError(
            f"counts are {known} whole numbers from 0, one per column of the scores."
        )
    out = np.zeros(columns, dtype=np.int64)
    out[:known] = given
    return out


def _shares(part: NDArray[np.int64], whole: NDArray[np.int64]) -> list[float | None]:
    return [a / b if b else None for a, b in zip(part.tolist(), whole.tolist(), strict=True)]


def _checked_bins(bins: Mapping[str, int] | Sequence[int]) -> tuple[list[str], NDArray[np.int64]]:
    """Names and smallest counts of the bins, the first of which starts at 0."""
    starts = np.asarray(list(bins.values() if isinstance(bins, Mapping) else bins))
    if (
        starts.ndim != 1
        or not starts.size
        or starts.dtype.kind not in "ui"
        or starts[0] < 0
        or (np.diff(starts) <= 0).any()
    ):
        raise ParameterError(
            f"bins are rising whole numbers, the smallest training count of each, not {bins!r}."
        )
    starts = starts.astype(np.int64)
    names = list(bins) if isinstance(bins, Mapping) else None
    if starts[0] > 0:
        starts = np.concatenate([[0], starts])
        names = None if names is None else [f"below {names[0]}", *names]
    if names is None:
        names = [
            f"{a}" if b == a + 1 else f"{a}-{b - 1}"
            for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        ]
        names.append(f"{starts[-1]}+")
    return [str(name) for name in names], starts
