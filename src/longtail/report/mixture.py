"""The plot of a mixture: the components behind one point's labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longtail.errors import InputError, ParameterError, printable
from longtail.parameters import check_count
from longtail.report.plots import BLUE, GREY, ORANGE, label_axes, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME = 24
"""Characters of a label that are shown."""


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
    """The heaviest components of one point side by side, as in the paper's Figure 2.

    A bar for each label that the component finds probable; the weight stands in the title.

    Parameters
    ----------
    weights : array of shape (K',)
        Weights of the components at this point, in any order.
    probabilities : array of shape (K', L')
        Of each label in each component.
    labels : sequence of length L'
        Names of the labels.
    n_components : int, default 4
        How many components to show.
    least : float, default 0.05
        Labels less probable than this are not shown.
    correlations : array of shape (L', L'), optional
        What `longtail.methods.mixtures.label_correlations` gives, to be shown as one more panel.
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
    heaviest = np.argsort(-shares, kind="stable")[:n_components]
    rows = int((chances[heaviest] >= least).sum(axis=1).max(initial=1))
    widths = [1.0] * len(heaviest) + [1.5] * (correlations is not None)
    height = 1.4 + 0.26 * max(rows, 4)
    if correlations is not None:
        height = max(height, 2.6 + 0.26 * len(labels))
    figure, axes = panels(
        len(widths), 3.1 * sum(widths), min(height, 12), title, width_ratios=widths
    )
    for ax, k in zip(axes, heaviest, strict=False):
        _plot_component(chances[k], labels, ax, least=least, rows=rows)
        ax.set_title(f"π = {shares[k]:.2g}")
    if correlations is not None:
        _plot_correlations(_square(correlations, labels), labels, axes[-1])
    return figure


def _plot_component(
    chances: NDArray[np.float64], labels: Sequence[Any], ax: Axes, *, least: float, rows: int
) -> None:
    """A bar for each probable label; the bars of all components are equally thick."""
    shown = np.flatnonzero(chances >= least)
    shown = shown[np.argsort(-chances[shown], kind="stable")]
    places = np.arange(len(shown))
    ax.barh(places, chances[shown], color=BLUE, height=0.7)
    ax.set_yticks(places, [printable(labels[int(q)], _NAME) for q in shown], parse_math=False)
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_xlim(0, 1)
    label_axes(ax, "probability", grid="x")
    if not len(shown):
        ax.text(0.5, 0.5, "no label", color=GREY, ha="center", transform=ax.transAxes)


def _plot_correlations(values: NDArray[np.float64], labels: Sequence[Any], ax: Axes) -> None:
    """Correlations between the labels: orange together, blue one or the other."""
    from matplotlib.colors import LinearSegmentedColormap

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
