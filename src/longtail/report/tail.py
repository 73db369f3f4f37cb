"""The trade-off that a tail weight offers, as a table and as curves of P@k against PSP@k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import RenderableType

from longtail.errors import ParameterError
from longtail.report.plots import (
    BLUE,
    GREY,
    ORANGE,
    label_axes,
    legend_below,
    method_colours,
    panels,
)
from longtail.report.tables import percent, plain_table, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_APART = 0.075
"""Distance between two written tail weights, as a share of the axes."""
_STYLES = ("-", "--", ":", "-.")
"""Of lines whose colours come again."""


def tail_curve_table(
    curve: pl.DataFrame, *, chosen: float | None = None, title: str | None = None
) -> RenderableType:
    """The curve in percent, one row per tail weight; the chosen one is marked.

    Parameters
    ----------
    curve : polars.DataFrame
        What `longtail.decisions.tail_curve` gives.
    chosen : float, optional
        A tail weight of the curve.
    title : str, optional
        Above the table.

    Examples
    --------
    >>> from rich.console import Console
    >>> curve = pl.DataFrame({"tail": [0.0, 0.5], "P@1": [0.8, 0.79], "PSP@1": [0.3, 0.4]})
    >>> Console(width=60).print(tail_curve_table(curve, chosen=0.5))
    <BLANKLINE>
      tail     P@1   PSP@1
     ───────────────────────────────
         0   80.00   30.00
       0.5   79.00   40.00   chosen
    <BLANKLINE>
    """
    measures = [name for name in curve.columns if name != "tail"]
    row_of_choice = None if chosen is None else _place(curve, chosen)
    table = plain_table(">tail", *(f">{name}" for name in measures), *([""] * (chosen is not None)))
    for number, row in enumerate(curve.iter_rows(named=True)):
        mark = [] if chosen is None else ["chosen" if number == row_of_choice else ""]
        table.add_row(f"{row['tail']:g}", *(percent(row[name]) for name in measures), *mark)
    return titled(title, table)


def _plot_tail_curve(curve: pl.DataFrame, ax: Axes, k: int, chosen: float | None) -> None:
    """P@k against PSP@k as the tail weight grows, with the weights written along the curve.

    What lies far beyond the best PSP@k, where a larger weight makes both worse, is drawn but left
    out of the frame.
    """
    tails = curve["tail"].to_numpy()
    x, y = (100 * curve[f"{name}@{k}"].to_numpy() for name in ("PSP", "P"))
    ax.plot(x, y, color=BLUE, linewidth=2, marker="o", markersize=3)
    last = int(np.argmax(x))
    if chosen is not None:
        place = _place(curve, chosen)
        last = max(last, place)
        ax.plot(
            x[place], y[place], color=ORANGE, marker="*", markersize=15, linestyle="none",
            zorder=3, label=f"chosen: {chosen:g}",
        )  # fmt: skip
        ax.legend(frameon=False, loc="lower left")
    _frame(ax, x[: last + 1], y[: last + 1])
    _write_weights(ax, tails, x, y)
    label_axes(ax, f"PSP@{k}, %", f"P@{k}, %")
    ax.set_title(f"At {k}")


def tail_figure(
    curve: pl.DataFrame, *, chosen: float | None = None, title: str | None = None
) -> Figure:
    """The curves of all ranks side by side.

    Parameters
    ----------
    curve : polars.DataFrame
        What `longtail.decisions.tail_curve` gives.
    chosen : float, optional
        A tail weight of the curve, to be marked.
    title : str, optional
        Above all.

    Examples
    --------
    >>> curve = pl.DataFrame({"tail": [0.0, 0.5], "P@1": [0.8, 0.79], "PSP@1": [0.3, 0.4]})
    >>> [ax.get_xlabel() for ax in tail_figure(curve, chosen=0.5).axes]
    ['PSP@1, %']
    """
    ranks = [int(name[2:]) for name in curve.columns if name.startswith("P@")]
    lacks = [f"PSP@{k}" for k in ranks if f"PSP@{k}" not in curve.columns]
    if lacks or not ranks:
        lacking = lacks[0] if lacks else "P@k"
        raise ParameterError(f"The curve has no {lacking}; it has {', '.join(curve.columns)}.")
    figure, axes = panels(len(ranks), 4.6 * len(ranks), 4.2, title)
    for ax, k in zip(axes, ranks, strict=True):
        _plot_tail_curve(curve, ax, k, chosen)
    return figure


def tail_curves_figure(
    curves: Mapping[str, pl.DataFrame], *, k: int = 1, title: str | None = None
) -> Figure:
    """P@k against PSP@k of several methods as the tail weight grows from 0, where the dot is.

    A curve is drawn up to its best PSP@k, beyond which a larger weight makes both worse.

    Parameters
    ----------
    curves : mapping of str to polars.DataFrame
        By method, what `longtail.decisions.tail_curve` gives.
    k : int
        The rank; the curves must have it.
    title : str, optional
        Above the plot.

    Examples
    --------
    >>> curve = pl.DataFrame({"tail": [0.0, 0.5], "P@1": [0.8, 0.79], "PSP@1": [0.3, 0.4]})
    >>> figure = tail_curves_figure({"br": curve, "dismec": curve})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['br', 'dismec']
    """
    rows = -(-len(curves) // 4)
    figure, (ax,) = panels(1, 5.6, 4.2 + 0.2 * rows, title)
    colours, lines = method_colours(curves), []
    for number, (name, curve) in enumerate(curves.items()):
        x, y = (100 * curve[f"{measure}@{k}"].to_numpy() for measure in ("PSP", "P"))
        shown = slice(int(np.argmax(x)) + 1)
        style = _STYLES[number // len(set(colours.values())) % len(_STYLES)]
        ax.plot(x[0], y[0], "o", color=colours[name], markersize=5)
        lines += ax.plot(x[shown], y[shown], color=colours[name], linestyle=style, linewidth=1.6)
    label_axes(ax, f"PSP@{k}, %", f"P@{k}, %")
    legend_below(figure, lines, curves, ncols=min(4, len(curves)))
    return figure


def _place(curve: pl.DataFrame, chosen: float) -> int:
    found = np.flatnonzero(curve["tail"].to_numpy() == chosen)
    if not len(found):
        raise ParameterError(f"The curve has no tail weight {chosen:g}; mark one that it has.")
    return int(found[0])


def _frame(ax: Axes, x: NDArray[Any], y: NDArray[Any]) -> None:
    """Show these points and some room, a little more of it below, where the curve goes on."""
    width, height = max(np.ptp(x), 0.5), max(np.ptp(y), 0.5)
    ax.set_xlim(x.min() - 0.1 * width, x.max() + 0.15 * width)
    ax.set_ylim(y.min() - 0.3 * height, y.max() + 0.15 * height)


def _write_weights(ax: Axes, tails: NDArray[Any], x: NDArray[Any], y: NDArray[Any]) -> None:
    """Write tail weights beside their points, no two too near to each other."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    places = np.column_stack([(x - left) / (right - left), (y - low) / (high - low)])
    written: list[NDArray[Any]] = []
    for at in sorted(range(len(tails)), key=lambda at: (not _is_round(float(tails[at])), at)):
        inside = ((places[at] > 0) & (places[at] < 1)).all()
        if inside and all(np.abs(places[at] - other).max() >= _APART for other in written):
            written.append(places[at])
            ax.annotate(
                f"{tails[at]:g}", (x[at], y[at]), xytext=(4, 4), textcoords="offset points",
                color=GREY, size=8,
            )  # fmt: skip


def _is_round(tail: float) -> bool:
    return bool(abs(10 * tail - round(10 * tail)) < 1e-9)
