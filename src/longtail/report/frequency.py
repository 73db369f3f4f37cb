"""Head, torso and tail: how much of each the methods of a comparison find, as a plot."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import polars as pl

from longtail.errors import printable
from longtail.report.plots import BLUE, GREY, ORANGE, label_axes, legend_below, panels
from longtail.report.tables import counts_spanned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOKS = (("^", ORANGE), ("s", GREY), ("o", BLUE), ("D", "#4d9a51"), ("v", "#8d5bab"))
"""Of the bins, rarest first; after five they repeat."""


def trained_bins(frame: pl.DataFrame) -> pl.DataFrame:
    """The bins of `longtail.metrics.by_frequency` whose labels have training points."""
    return frame.filter(pl.col("from") > 0)


def frequency_figure(
    frames: Mapping[str, pl.DataFrame], *, k: int, title: str | None = None
) -> Figure:
    """The share of true labels found among the k best, by training points of the label.

    One row per method, one mark per bin that has true labels.

    Parameters
    ----------
    frames : mapping of str to polars.DataFrame
        By method, what `longtail.metrics.by_frequency` gives; all with the same bins.
    k : int
        The rank; the tables must have it.
    title : str, optional
        Above the plot.

    Examples
    --------
    >>> from longtail.metrics import by_frequency
    >>> frame = by_frequency([[1, 0]], [[0.9, 0.1]], [[1, 0], [1, 1]], k=1)
    >>> figure = frequency_figure({"br": frame}, k=1)
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['tail: 1-9 points']
    """
    figure, (ax,) = panels(1, 5.6, 2.2 + 0.26 * len(frames), title)
    rows = range(len(frames))
    bins = trained_bins(next(iter(frames.values()))).rows(named=True) if frames else []
    names = []
    for row, (mark, colour) in zip(bins, cycle(_LOOKS), strict=False):
        if not row["true"]:
            continue
        found = [
            100 * frame.filter(pl.col("bin") == row["bin"])[f"R@{k}"][0]
            for frame in frames.values()
        ]
        span = counts_spanned(row["from"], row["to"])
        names.append(f"{row['bin']}: {span} points")
        ax.plot(found, rows, mark, color=colour, markersize=6)
    ax.set_yticks(rows, [printable(name, 24) for name in frames], parse_math=False)
    ax.set_ylim(max(len(frames), 1) - 0.5, -0.5)
    ax.set_xlim(-3, 103)
    label_axes(ax, f"true labels found among the best {k}, %")
    legend_below(figure, ax.lines, names, ncols=2)
    return figure
