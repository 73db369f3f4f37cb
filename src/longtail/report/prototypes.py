"""Plot of prototypes: what more of them bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from longtail.errors import ParameterError
from longtail.report.plots import figure_class
from longtail.report.safe import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "osD^v<>"
_KINDS = ("example", "micro", "macro")


def plot_ratio(table: pl.DataFrame, ax: Axes, *, kind: str = "example") -> None:
    """F1 against prototypes as a share of the points, a line a data set: the paper's Figure 1.

    Parameters
    ----------
    table : polars.DataFrame
        Columns `dataset`, `ratio` and the kind of F1.
    ax : matplotlib Axes
        Where to draw.
    kind : str
        "example", "micro" or "macro".
    """
    for name in ("dataset", "ratio", kind):
        if name not in table.columns:
            raise ParameterError(f"The table has no {name}; it has {', '.join(table.columns)}.")
    for place, group in enumerate(table.partition_by("dataset", maintain_order=True)):
        points = group.sort("ratio")
        ax.plot(
            points["ratio"].to_numpy(),
            points[kind].to_numpy(),
            color=f"C{place}",
            marker=_MARKS[place % len(_MARKS)],
            label=printable(group["dataset"][0], 40),
        )
    ax.set_xlabel("prototypes a point")
    ax.set_ylabel(f"F1, {kind}")
    ax.set_ylim(bottom=0)
    ax.grid(True, alpha=0.25)
    for text in ax.legend(frameon=False).get_texts():
        text.set_parse_math(False)


def ratio_figure(table: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Example-, micro- and macro-F1 side by side; `save_figure` writes it.

    Parameters
    ----------
    table : polars.DataFrame
        As for `plot_ratio`, with any of the three kinds.
    title : str, optional
        Above all.

    Examples
    --------
    >>> table = pl.DataFrame({"dataset": ["A", "A"], "ratio": [0.1, 0.5], "micro": [0.2, 0.3]})
    >>> [ax.get_ylabel() for ax in ratio_figure(table).axes]
    ['F1, micro']
    """
    kinds = [kind for kind in _KINDS if kind in table.columns]
    if table.is_empty() or not kinds:
        raise ParameterError("There is nothing to draw: no row, or none of the three kinds of F1.")
    figure = figure_class()(figsize=(4.4 * len(kinds), 4.0), layout="constrained")
    for ax, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        plot_ratio(table, ax, kind=kind)
    if title is not None:
        figure.suptitle(printable(title), parse_math=False)
    return figure
