"""Plots of a mixture: the components behind one point's labels, and what more components bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from longtail.errors import InputError, ParameterError
from longtail.parameters import check_count
from longtail.report.plots import BLUE, GREY, ORANGE, figure_class
from longtail.report.safe import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = 24
"""Characters of a label that are shown."""
_DASHES = ("--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))


def plot_components(
    weights: ArrayLike,
    probabilities: ArrayLike,
    labels: Sequence[Any],
    axes: Sequence[Axes],
    *,
    least: float = 0.05,
) -> None:
    """The heaviest components of one point, one each to the given axes, as in the paper's Figure 2.

    A bar for each label that the component finds probable; the weight stands in the title.

    Parameters
    ----------
    weights : array of shape (K',)
        Weights of the components at this point, in any order.
    probabilities : array of shape (K', L')
        Of each label in each component.
    labels : sequence of length L'
        Names of the labels.
    axes : sequence of matplotlib Axes
        Where to draw; those left over are taken away.
    least : float, default 0.05
        Labels less probable than this are not shown.
    """
    shares, chances = _checked(weights, probabilities, labels, least)
    heaviest = np.argsort(-shares, kind="stable")
    rows = (chances[heaviest[: len(axes)]] >= least).sum(axis=1).max(initial=1)
    for ax, k in zip(axes, heaviest, strict=False):
        shown = np.flatnonzero(chances[k] >= least)
        shown = shown[np.argsort(-chances[k][shown], kind="stable")]
        places = np.arange(len(shown))
        ax.barh(places, chances[k][shown], color=BLUE, height=0.7)
        ax.set_yticks(places, [printable(labels[int(q)], _NAME) for q in shown], parse_math=False)
        ax.set_ylim(rows - 0.4, -0.6)  # bars of all components are equally thick
        ax.set_xlim(0, 1)
        ax.set_xlabel("probability")
        ax.set_title(f"π = {shares[k]:.2g}")
        ax.grid(True, axis="x", alpha=0.25)
        ax.set_axisbelow(True)
        if not len(shown):
            ax.text(0.5, 0.5, "no label", color=GREY, ha="center", transform=ax.transAxes)
    for ax in axes[len(heaviest) :]:
        ax.remove()


def plot_label_correlations(correlations: ArrayLike, labels: Sequence[Any], ax: Axes) -> None:
    """Pearson correlations between the labels of one point: orange together, blue one or the other.

    Parameters
    ----------
    correlations : array of shape (L', L')
        What `longtail.methods.mixtures.label_correlations` gives.
    labels : sequence of length L'
        Names of the labels.
    ax : matplotlib Axes
        Where to draw.
    """
    from matplotlib.colors import LinearSegmentedColormap

    values = _square(correlations, labels)
    colours = LinearSegmentedColormap.from_list("correlation", [BLUE, "white", ORANGE])
    apart = values.copy()
    np.fill_diagonal(apart, np.nan)
    ax.imshow(apart, cmap=colours, vmin=-1, vmax=1)
    names = [printable(label, _NAME) for label in labels]
    places = np.arange(len(names))
    ax.set_xticks(places, names, rotation=90, parse_math=False)
    ax.set_yticks(places, names, parse_math=False)
    if len(names) <= 12:
        for row, column in np.ndindex(values.shape):
            if row != column:
                text = f"{values[row, column]:.2f}"
                ax.text(column, row, text, ha="center", va="center", size=7)
    ax.set_title("Correlations")


def components_figure(
    weights: ArrayLike,
    probabilities: ArrayLike,
    labels: Sequence[Any],
    *,
    n_components: int = 4,
    least: float = 0.05,
    correlations: ArrayLike | None = None,
    title: str | None = None,
) -> Figure:
    """The heaviest components of one point side by side, and the correlations if there are any.

    Parameters
    ----------
    weights, probabilities, labels, least
        As for `plot_components`.
    n_components : int, default 4
        How many components to show.
    correlations : array of shape (L', L'), optional
        Of the labels, to be shown as one more panel.
    title : str, optional
        Above all.

    Examples
    --------
    >>> weights, chances = [0.3, 0.7], [[0.9, 0.8], [0.9, 0.01]]
    >>> figure = components_figure(weights, chances, ["lake", "reflection"])
    >>> [ax.get_title() for ax in figure.axes]
    ['π = 0.7', 'π = 0.3']
    """
    shares, chances = _checked(weights, probabilities, labels, least)
    check_count(n_components=n_components)
    shown = min(n_components, len(shares))
    kept = np.sort(np.argsort(-shares, kind="stable")[:shown])
    tallest = int((chances[kept] >= least).sum(axis=1).max(initial=1))
    widths = [1.0] * shown + [1.5] * (correlations is not None)
    height = 1.4 + 0.26 * max(tallest, 4)
    if correlations is not None:
        height = max(height, 2.6 + 0.26 * len(labels))
    figure = figure_class()(figsize=(3.1 * sum(widths), min(height, 12)), layout="constrained")
    axes = list(figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0])
    plot_components(shares[kept], chances[kept], labels, axes[:shown], least=least)
    if correlations is not None:
        plot_label_correlations(correlations, labels, axes[-1])
    if title is not None:
        figure.suptitle(printable(title), parse_math=False)
    return figure


def plot_component_curve(
    table: pl.DataFrame,
    ax: Axes,
    *,
    others: Mapping[str, float] | None = None,
    measure: str = "subset_accuracy",
) -> None:
    """A measure against the number of components, with lines for other methods (Figure 3).

    Parameters
    ----------
    table : polars.DataFrame
        Columns `n_components` and the measure, as a share; a column `method`, if there is one,
        tells several curves apart.
    ax : matplotlib Axes
        Where to draw.
    others : mapping of str to float, optional
        The measure of methods that have no components, by name.
    measure : str, default "subset_accuracy"
        The column to draw.
    """
    from matplotlib.ticker import MaxNLocator

    for name in ("n_components", measure):
        if name not in table.columns:
            raise ParameterError(f"The table has no {name}; it has {', '.join(table.columns)}.")
    groups = [table]
    if "method" in table.columns:
        groups = table.partition_by("method", maintain_order=True)
    for place, group in enumerate(groups):
        rows = group.sort("n_components")
        name = printable(rows["method"][0]) if "method" in rows.columns else "mixture"
        ax.plot(
            rows["n_components"].to_numpy(), 100 * rows[measure].to_numpy(), linewidth=2,
            color=(BLUE, ORANGE)[place % 2], marker="os^v"[place // 2 % 4], markersize=4,
            label=name,
        )  # fmt: skip
    for place, (name, value) in enumerate((others or {}).items()):
        ax.axhline(
            100 * value, color=GREY, linewidth=1.2, linestyle=_DASHES[place % len(_DASHES)],
            label=printable(name),
        )  # fmt: skip
    ax.set_xlabel("components")
    ax.set_ylabel(f"{measure.replace('_', ' ')}, %")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(True, alpha=0.25)
    if ax.get_legend_handles_labels()[0]:
        for text in ax.legend(frameon=False, loc="best").get_texts():
            text.set_parse_math(False)


def component_curve_figure(
    table: pl.DataFrame,
    *,
    others: Mapping[str, float] | None = None,
    measure: str = "subset_accuracy",
    title: str | None = None,
) -> Figure:
    """The curve on a figure of its own; `save_figure` writes it.

    Parameters
    ----------
    table, others, measure
        As for `plot_component_curve`.
    title : str, optional
        Above the plot.

    Examples
    --------
    >>> table = pl.DataFrame({"n_components": [1, 5], "subset_accuracy": [0.2, 0.3]})
    >>> component_curve_figure(table, others={"br": 0.2}).axes[0].get_ylabel()
    'subset accuracy, %'
    """
    figure = figure_class()(figsize=(6.4, 4.4), layout="constrained")
    plot_component_curve(table, figure.subplots(), others=others, measure=measure)
    if title is not None:
        figure.suptitle(printable(title), parse_math=False)
    return figure


def _checked(
    weights: ArrayLike, probabilities: ArrayLike, labels: Sequence[Any], least: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shares, chances = np.asarray(weights, dtype=float), np.asarray(probabilities, dtype=float)
    if shares.ndim != 1 or chances.shape != (len(shares), len(labels)) or not len(shares):
        raise InputError(
            f"Weights of shape {shares.shape} and probabilities of shape {chances.shape} do not "
            f"fit {len(labels)} labels."
        )
    if not 0 <= least <= 1:
        raise ParameterError(f"least must lie between 0 and 1, not {least!r}.")
    return shares, chances


def _square(correlations: ArrayLike, labels: Sequence[Any]) -> NDArray[np.float64]:
    values = np.array(correlations, dtype=float)
    if values.shape != (len(labels), len(labels)):
        raise InputError(f"Correlations of shape {values.shape} do not fit {len(labels)} labels.")
    return values
