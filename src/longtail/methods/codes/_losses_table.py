"""The table of a number that the codes chose on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from longtail.errors import ModelError
from longtail.methods._soundness import are_columns
from longtail.parameters import is_count


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


def check_losses(model: Any, name: str) -> None:
    """Refuse a model out of a file whose table cannot be shown."""
    losses = getattr(model, "choice_", None)
    whole = losses is None or (
        isinstance(losses, dict)
        and set(losses) == {name, "hamming_loss"}
        and are_columns(*losses.values())
    )
    if not whole or not is_count(getattr(model, f"{name}_", None)):
        raise ModelError("What the model says of its choice makes no sense; it was altered.")
