"""Plots of what the labels look like, drawn by matplotlib without a display."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from longtail import store
from longtail.errors import MissingExtraError, ParameterError, printable
from longtail.labels import encode_labels, fit_power_law, label_counts
from longtail.metrics import FREQUENCY_BINS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

BLUE, ORANGE, GREY = "#2f6db5", "#d9822b", "#666666"


def check_plot_target(path: str | os.PathLike[str]) -> None:
    """Refuse a file that no plot can be written to; for use before the work that makes it.

    Examples
    --------
    >>> check_plot_target("labels.png")
    >>> check_plot_target("labels.xyz")
    Traceback (most recent call last):
        ...
    longtail.errors.ParameterError: labels.xyz: plots are written as png, svg, pdf or jpg; end the
    name so.
    """
    figure_class()
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf", ".jpg"):
        raise ParameterError(f"{path}: plots are written as png, svg, pdf or jpg; end the name so.")


def _plot_label_frequency(counts: ArrayLike, ax: Axes) -> None:
    """Points of each label, most frequent first, on logarithmic axes, with the fitted power law."""
    used = np.sort(np.asarray(counts))[::-1]
    used = used[used > 0]
    ranks = np.arange(1, len(used) + 1)
    ax.loglog(ranks, used, color=BLUE, linewidth=2, marker="o", markersize=2.5, label="labels")
    law = fit_power_law(used)
    if np.isfinite(law.exponent):
        tail = used >= law.start
        slope = -1 / (law.exponent - 1)
        last = ranks[tail][-1]
        x = np.array([ranks[tail][0], last], dtype=float)
        ax.loglog(
            x,
            law.start * (x / last) ** slope,
            color=ORANGE,
            linestyle="--",
            label=f"power law from {law.start:,} points on, exponent {law.exponent:.2f}",
        )
    if len(used):
        ax.set_ylim(0.8 * used[-1], 3 * used[0])  # the law may lie far above its own range
        for name, border in FREQUENCY_BINS.items():
            if used[-1] < border < used[0]:
                ax.axhline(border, color=GREY, linewidth=0.7, linestyle=":")
                ax.text(ranks[0], border, f"{name}: {border}+", color=GREY, va="bottom", size=8)
    label_axes(ax, "rank of the label, most frequent first", "points with the label")
    ax.set_title("Label frequency")
    if len(used):
        ax.legend(frameon=False)


def _plot_labels_per_point(sizes: ArrayLike, ax: Axes) -> None:
    """How many points have 0, 1, 2, ... labels."""
    from matplotlib.ticker import MaxNLocator

    given = np.asarray(sizes)
    largest = int(given.max(initial=0))
    width = max(1, -(-(largest + 1) // 60))
    points = np.bincount(given // width, minlength=largest // width + 1)
    left = np.arange(len(points)) * width
    ax.bar(left + (width - 1) / 2, points, width=0.85 * width, color=BLUE)
    if len(given):
        mean = float(given.mean())
        ax.axvline(mean, color=ORANGE, linestyle="--", label=f"mean {mean:.2f}")
        ax.legend(frameon=False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    label_axes(ax, "labels of the point", "points", grid="y")
    ax.set_title("Labels a point")


def label_figure(Y: Any, *, title: str | None = None) -> Figure:
    """Both plots side by side.

    Parameters
    ----------
    Y : array, sparse matrix or sequence of label collections
        Any form that `encode_labels` takes.
    title : str, optional
        Above both.

    Examples
    --------
    >>> figure = label_figure([("sea", "sun"), ("sun",)], title="weather")
    >>> [ax.get_title() for ax in figure.axes]
    ['Label frequency', 'Labels a point']
    """
    matrix = encode_labels(Y).matrix
    figure, (left, right) = panels(2, 10, 4.2, title)
    _plot_label_frequency(label_counts(matrix), left)
    _plot_labels_per_point(np.diff(matrix.indptr), right)
    return figure


def label_counts_figure(values: ArrayLike, what: Literal["frequency", "sizes"]) -> Figure:
    """One of the plots of `label_figure`, from counts alone.

    Parameters
    ----------
    values : array
        Points of each label, or labels of each point.
    what : {"frequency", "sizes"}
        Which of the two.

    Examples
    --------
    >>> label_counts_figure([5, 2, 1], "frequency").axes[0].get_title()
    'Label frequency'
    """
    figure, (ax,) = panels(1, 5.4, 4.2)
    (_plot_label_frequency if what == "frequency" else _plot_labels_per_point)(values, ax)
    return figure


def panels(
    number: int, width: float, height: float, title: str | None = None, **settings: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of that size with so many axes side by side; its title is shown as it is.

    Examples
    --------
    >>> figure, axes = panels(2, 8, 4, "at $5")
    >>> len(axes), figure.get_suptitle()
    (2, 'at $5')
    """
    figure = figure_class()(figsize=(width, height), layout="constrained")
    if title is not None:
        figure.suptitle(printable(title), parse_math=False)
    return figure, list(figure.subplots(1, number, squeeze=False, **settings)[0])


def label_axes(
    ax: Axes, x: str, y: str | None = None, *, grid: Literal["both", "x", "y"] = "both"
) -> None:
    """Names of the axes, and a faint grid behind what is drawn."""
    ax.set_xlabel(x)
    if y is not None:
        ax.set_ylabel(y)
    ax.grid(True, axis=grid, alpha=0.25)
    ax.set_axisbelow(True)


def method_colours(names: Iterable[str]) -> dict[str, str]:
    """One colour per method, the same in all plots of a comparison; after ten they repeat.

    Examples
    --------
    >>> method_colours(["br", "dismec"])
    {'br': '#1f77b4', 'dismec': '#ff7f0e'}
    """
    from matplotlib import color_sequences
    from matplotlib.colors import to_hex

    dark = [str(to_hex(colour)) for colour in color_sequences["tab10"]]
    return {name: dark[i % len(dark)] for i, name in enumerate(names)}


def legend_below(
    figure: Figure, lines: Sequence[Line2D], names: Iterable[str], *, ncols: int
) -> None:
    """A legend under the axes; names are shown as they are, though matplotlib reads _ and $.

    Examples
    --------
    >>> figure = label_counts_figure([5, 2, 1], "frequency")
    >>> legend_below(figure, figure.axes[0].lines[:1], ["_$a$"], ncols=1)
    >>> figure.legends[0].get_texts()[0].get_text()
    '_$a$'
    """
    if not lines:
        return
    legend = figure.legend(
        lines, ["x"] * len(lines), loc="outside lower center", ncols=ncols, frameon=False,
        fontsize=8,
    )  # fmt: skip
    for shown, name in zip(legend.get_texts(), names, strict=True):
        shown.set_parse_math(False)
        shown.set_text(printable(name, 30))


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as `store.output_file` writes; the name says the format."""
    check_plot_target(path)
    with store.output_file(path) as file:
        figure.savefig(file, format=Path(path).suffix.lower()[1:], dpi=150)


def figure_class() -> type[Figure]:
    """matplotlib's `Figure`, or the sentence that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("Plots", package="matplotlib", extra="report") from None
    return Figure
