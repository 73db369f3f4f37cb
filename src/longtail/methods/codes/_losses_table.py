"""The table of a number that the codes chose on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl


def losses_table(
    name: str, losses: Mapping[str, Sequence[float]] | None, chosen: int
) -> pl.DataFrame:
    """One row per value of the parameter `name` that was tried, the chosen one marked.

    Examples
    --------
    >>> losses_table("n_hashes", {"n_hashes": [1.0, 2.0], "hamming_loss": [0.2, 0.1]}, 2).rows()
    [(1, 0.2, False), (2, 0.1, True)]
    >>> losses_table("n_hashes", None, 3).columns
    ['n_hashes', 'hamming_loss', 'chosen']
    """
    found = losses or {name: [], "hamming_loss": []}
    table = pl.DataFrame(found, schema={name: pl.Float64, "hamming_loss": pl.Float64})
    return table.with_columns(pl.col(name).cast(pl.Int64), (pl.col(name) == chosen).alias("chosen"))
