"""Hubs and largest cluster for a wanted code size: the code's loss against its size.

A Robust Bloom Filter has one bit for each hub and R·Q bits for the clusters: R labels in the
largest, and batches of the fewest Q bits that have a subset of K for every cluster. Settings are
compared by the unrecoverable Hamming loss (UHL) on the training labels, which costs no training:
Figure 3, left, of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from longtail.errors import ParameterError
from longtail.labels import LabelClusters, unrecoverable_loss
from longtail.labels.clusters import Clusterer
from longtail.methods.codes.code import batch_size
from longtail.parameters import check_count, is_count
from longtail.runtime.run import Run

SIZES = (1, 2, 3, 5, 7, 10, 20, 30, 40, 50)
"""Largest cluster sizes that are tried."""

HUB_STEPS = 11
"""Numbers of hubs that are tried besides 0; small numbers are closer together."""

FINER_STEPS = 2
"""How often the distance between the best number of hubs and the next ones is halved."""

ENOUGH = 10
"""With at least so many labels per cluster, a larger code is no more accurate."""

_TRIES = 4
"""Attempts at the largest cluster size that fills the wanted code."""

_SAME = 1e-12
"""Losses that differ by less are equal."""

_SCHEMA = {
    "n_hubs": pl.Int64,
    "max_cluster_size": pl.Int64,
    "clusters": pl.Int64,
    "largest": pl.Int64,
    "batch": pl.Int64,
    "bits": pl.Int64,
    "code_size": pl.Int64,
    "uhl": pl.Float64,
}


@dataclass(frozen=True)
class ChosenClusters:
    """Clusters for a wanted code size.

    Attributes
    ----------
    clusters : LabelClusters
        Hubs and clusters.
    n_hubs, max_cluster_size : int
        The setting of `cluster_labels` that gives them.
    code_size : int
        Bits of the code, including hubs; at most the wanted size.
    uhl : float
        Unrecoverable Hamming loss on the labels it was chosen on.
    settings : list of dict
        All settings that were tried.
    """

    clusters: LabelClusters = field(repr=False)
    n_hubs: int
    max_cluster_size: int
    code_size: int
    uhl: float
    settings: list[dict[str, Any]] = field(repr=False)

    @property
    def curve(self) -> pl.DataFrame:
        """All settings that were tried; see `code_size_curve`."""
        return _table(self.settings)


def _table(settings: list[dict[str, Any]]) -> pl.DataFrame:
    """Settings as a table.

    Training makes none: the threads of polars do not survive a fork.
    """
    return pl.DataFrame(settings, schema=_SCHEMA, orient="row")


def code_size_curve(
    Y: Any,
    *,
    n_hashes: int = 2,
    numbers_of_hubs: Iterable[int] | None = None,
    max_cluster_sizes: Iterable[int] | None = None,
    random_state: int = 0,
    run: Run | None = None,
) -> pl.DataFrame:
    """Code size and unrecoverable Hamming loss of many settings.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        The labels of the training set.
    n_hashes : int
        Bits of a label, K.
    numbers_of_hubs : iterable of int, optional
        Numbers of hubs; by default 0 and eleven more, up to all labels.
    max_cluster_sizes : iterable of int, optional
        Largest sizes of a cluster; by default 1 to 50 in ten steps.
    random_state : int
        Seed of the clustering.
    run : Run, optional
        Told after every number of hubs.

    Returns
    -------
    polars.DataFrame
        One row per setting: `n_hubs`, `max_cluster_size`; the number of `clusters`, the `largest`
        (R), bits of a `batch` (Q), `bits` of all batches, `code_size` with the hubs, `uhl`.

    Notes
    -----
    The label graph is built once, Louvain runs once for each number of hubs, and the loss of a
    setting is O(nnz(Y)).

    Examples
    --------
    >>> Y = [("a", "b"), ("c", "d"), ("a", "b"), ("d", "e")]
    >>> curve = code_size_curve(Y, numbers_of_hubs=[0, 1], max_cluster_sizes=[2, 3])
    >>> curve.select("n_hubs", "max_cluster_size", "clusters", "code_size", "uhl").rows()
    [(0, 2, 3, 6, 0.05), (0, 3, 2, 9, 0.0), (1, 2, 2, 7, 0.05), (1, 3, 2, 10, 0.0)]
    """
    search = _Search(Clusterer(Y, random_state=random_state), n_hashes)
    hubs = checked_list(numbers_of_hubs, "numbers_of_hubs", 0)
    sizes = checked_list(max_cluster_sizes, "max_cluster_sizes", 1)
    tried = search.hub_grid(search.n_labels) if hubs is None else hubs
    return _table(search.curve(tried, SIZES if sizes is None else sizes, run=run))


def lower_envelope(curve: pl.DataFrame) -> pl.DataFrame:
    """The settings that no smaller code equals or beats: the paper's optimal curve.

    Parameters
    ----------
    curve : polars.DataFrame
        The result of `code_size_curve`.

    Returns
    -------
    polars.DataFrame
        Some of its rows, by rising code size and falling loss.

    Examples
    --------
    >>> curve = pl.DataFrame({"code_size": [9, 4, 6], "uhl": [0.1, 0.3, 0.4]})
    >>> lower_envelope(curve).rows()
    [(4, 0.3), (9, 0.1)]
    """
    ordered = curve.sort("code_size", "uhl", maintain_order=True)
    best_before = pl.col("uhl").cum_min().shift(1, fill_value=np.inf)
    return ordered.filter(pl.col("uhl") < best_before - _SAME)


def choose_clusters(
    Y: Any,
    code_size: int,
    *,
    n_hashes: int = 2,
    numbers_of_hubs: Iterable[int] | None = None,
    max_cluster_sizes: Iterable[int] | None = None,
    random_state: int = 0,
    run: Run | None = None,
) -> ChosenClusters:
    """The hubs and clusters that lose least among those whose code is small enough.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        The labels of the training set.
    code_size : int
        Bits that the code may have, including hubs.
    n_hashes, random_state, run
        As for `code_size_curve`.
    numbers_of_hubs : iterable of int, optional
        Numbers of hubs; by default 0 and eleven more, up to what the code size allows, and some
        between the best of these and its neighbours.
    max_cluster_sizes : iterable of int, optional
        Largest sizes of a cluster; by default 1 to 50 in ten steps, and for each number of hubs
        the largest that should fit.

    Notes
    -----
    As for `code_size_curve`; settings that cannot fit are not tried.

    Examples
    --------
    >>> Y = [("a", "b"), ("c", "d"), ("a", "b"), ("d", "e")]
    >>> choose_clusters(Y, 8)
    ChosenClusters(n_hubs=2, max_cluster_size=3, code_size=8, uhl=0.0)
    """
    check_count(code_size=code_size)
    search = _Search(Clusterer(Y, random_state=random_state), n_hashes)
    hubs = checked_list(numbers_of_hubs, "numbers_of_hubs", 0)
    sizes = checked_list(max_cluster_sizes, "max_cluster_sizes", 1)
    tried = search.hub_grid(code_size) if hubs is None else hubs
    settings = search.curve(tried, sizes, limit=code_size, run=run)
    fitting = [setting for setting in settings if setting["code_size"] <= code_size]
    if not fitting:
        if hubs is None:
            tried.append(search.n_labels)
        raise ParameterError(
            f"A code_size of {code_size} is too small for {search.n_labels} labels; the smallest "
            f"that would do has {search.smallest_code(tried, sizes)}."
        )
    for _ in range(FINER_STEPS if hubs is None and min(each["uhl"] for each in fitting) else 0):
        finer = _between([each["n_hubs"] for each in settings], preferred(fitting)["n_hubs"])
        settings += search.curve(finer, sizes, limit=code_size, run=run, what="finer code sizes")
        fitting = [setting for setting in settings if setting["code_size"] <= code_size]
    best = preferred(fitting)
    chosen = {name: best[name] for name in ("n_hubs", "max_cluster_size")}
    return ChosenClusters(
        search.clusterer.clusters(**chosen), **chosen,
        code_size=best["code_size"], uhl=best["uhl"], settings=settings,
    )  # fmt: skip


def preferred(settings: list[dict[str, Any]]) -> dict[str, Any]:
    """The best of the settings that fit: the one with the least loss.

    Among equal losses one whose largest cluster has at least `ENOUGH` labels, or as many as there
    are; of those the smallest code, then the fewest hubs. On 1,000 labels of WordNet all codes that
    lose nothing are equally accurate if clusters have at least ten labels, with 187 bits or with
    500, and smaller codes train faster. Codes of three labels per cluster are a little worse, codes
    with more than a tenth of hubs much worse (docs/codes.md).

    Examples
    --------
    >>> few = {"uhl": 0.1, "n_hubs": 5, "largest": 10, "code_size": 80}
    >>> preferred([few | {"largest": 50, "code_size": 90}, few, few | {"largest": 2}]) is few
    True
    """
    least = min(setting["uhl"] for setting in settings)
    return min(
        (setting for setting in settings if setting["uhl"] <= least + _SAME),
        key=lambda each: (-min(each["largest"], ENOUGH), each["code_size"], each["n_hubs"]),
    )


def checked_list(values: Iterable[int] | None, name: str, least: int) -> list[int] | None:
    """Whole numbers from `least` on, at least one of them; None stays None.

    Examples
    --------
    >>> checked_list(iter([0, 5]), "numbers_of_hubs", 0)
    [0, 5]
    """
    if values is None:
        return None
    given = list(values)
    if not given or not all(is_count(n, least) for n in given):
        raise ParameterError(
            f"{name} must list at least one whole number from {least} on, not {given!r}."
        )
    return [int(n) for n in given]


def _between(tried: list[int], best: int) -> list[int]:
    """The numbers half-way from the best one to the next ones that were tried."""
    below = max((n for n in tried if n < best), default=best)
    above = min((n for n in tried if n > best), default=best)
    return sorted({(below + best) // 2, (best + above + 1) // 2} - {below, best, above})


class _Search:
    """Settings of one label set, clustered and measured."""

    def __init__(self, clusterer: Clusterer, n_hashes: int) -> None:
        check_count(n_hashes=n_hashes)
        self.clusterer = clusterer
        self.n_hashes = n_hashes
        self.n_labels = len(clusterer.hub_order)

    def hub_grid(self, most: int) -> list[int]:
        """Numbers of hubs from 0 to `most` or all labels; small numbers are closer together."""
        last = min(most, self.n_labels)
        return sorted({round(last * (step / HUB_STEPS) ** 2) for step in range(HUB_STEPS + 1)})

    def curve(
        self,
        hubs: Iterable[int],
        sizes: Iterable[int] | None,
        *,
        limit: int | None = None,
        run: Run | None = None,
        what: str = "code sizes",
    ) -> list[dict[str, Any]]:
        """All settings, except those that are known in advance to exceed the limit."""
        numbers = sorted({min(n_hubs, self.n_labels) for n_hubs in hubs})
        rows: list[dict[str, Any]] = []
        for done, n_hubs in enumerate(numbers, start=1):
            if limit is None:
                rows += (
                    self.measured(n_hubs, size)
                    for size in sorted(set(SIZES if sizes is None else sizes))
                )
            else:
                rows += self._fitting(n_hubs, limit, sizes)
            if run is not None:
                run.report(what, done, len(numbers))
        return rows

    def measured(self, n_hubs: int, max_cluster_size: int) -> dict[str, Any]:
        """A row of the curve."""
        clusters = self.clusterer.clusters(n_hubs, max_cluster_size)
        batch = batch_size(clusters.number, self.n_hashes)
        bits = clusters.largest * batch
        return {
            "n_hubs": n_hubs,
            "max_cluster_size": max_cluster_size,
            "clusters": clusters.number,
            "largest": clusters.largest,
            "batch": batch,
            "bits": bits,
            "code_size": bits + n_hubs,
            "uhl": unrecoverable_loss(self.clusterer.matrix, clusters),
        }

    def smallest_code(self, hubs: Iterable[int], sizes: Iterable[int] | None) -> int:
        """Bits of the smallest code among these settings."""
        if sizes is None:  # one label per cluster is smallest
            sizes = [1]
        return min(setting["code_size"] for setting in self.curve(hubs, sizes))

    def _fitting(
        self, n_hubs: int, limit: int, sizes: Iterable[int] | None
    ) -> Iterator[dict[str, Any]]:
        room, n = limit - n_hubs, self.n_labels - n_hubs
        if room < 0:
            return
        tried = {
            size
            for size in set(SIZES if sizes is None else sizes)
            if self._fewest_bits(n, size) <= room
        }
        yield from (self.measured(n_hubs, size) for size in sorted(tried))
        if sizes is not None:
            return
        more = 1.0
        for _ in range(_TRIES):
            size = self._filling_size(n, room, more)
            if size in tried or size == 0:
                return
            tried.add(size)
            row = self.measured(n_hubs, size)
            yield row
            if row["bits"] <= room:
                return
            more = max(row["clusters"] * size / n, more + 0.02)

    def _fewest_bits(self, n: int, max_cluster_size: int) -> int:
        """A bound on R·Q for n labels.

        Any two clusters together exceed `max_cluster_size`, or they would be merged; so there are
        at most 2n / max_cluster_size of them, and the largest has at least half of it.
        """
        if n == 0:
            return 0
        least = -(-n // max(1, -(-2 * n // max_cluster_size)))
        return min(
            largest * batch_size(-(-n // largest), self.n_hashes)
            for largest in range(least, min(max_cluster_size, n) + 1)
        )

    def _filling_size(self, n: int, room: int, more: float) -> int:
        """The largest cluster size that fits, for `more` times the fewest clusters of n labels."""
        size = min(room // self.n_hashes, n)
        while size and size * batch_size(math.ceil(more * n / size), self.n_hashes) > room:
            size -= 1
        return size
