"""What a code loses against its size: the settings of a Robust Bloom Filter as table and plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import RenderableType

from longtail.errors import ParameterError
from longtail.methods.codes.choosing import lower_envelope
from longtail.report.plots import BLUE, ORANGE, figure_class
from longtail.report.safe import printable
from longtail.report.tables import plain_table, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Setting = tuple[int, int]
"""A number of hubs and a largest cluster size."""


def code_size_table(
    curve: pl.DataFrame,
    *,
    chosen: Setting | None = None,
    every: bool = False,
    title: str | None = None,
) -> RenderableType:
    """The best settings by code size, one row each; the loss in percent.

    Parameters
    ----------
    curve : polars.DataFrame
        What `longtail.methods.codes.code_size_curve` gives.
    chosen : tuple of two int, optional
        Hubs and largest cluster size of a setting to be marked.
    every : bool
        Show all settings instead of the best ones.
    title : str, optional
        Above the table.

    Examples
    --------
    >>> from rich.console import Console
    >>> from longtail.methods.codes import code_size_curve
    >>> Y = [("a", "b"), ("c", "d"), ("d", "e")]
    >>> curve = code_size_curve(Y, numbers_of_hubs=[0, 1], max_cluster_sizes=[1, 2])
    >>> Console(width=70).print(code_size_table(curve, chosen=(1, 2)))
    <BLANKLINE>
      code size   hubs   largest   clusters   batch   UHL %
     ────────────────────────────────────────────────────────────────
              4      0         1          5       4      20
              5      1         1          4       4    6.67
              7      1         2          2       3       0   chosen
    <BLANKLINE>
    """
    rows = curve.sort("code_size", "uhl", "n_hubs") if every else lower_envelope(curve)
    if chosen is not None:
        marked = _row(curve, chosen)
        rows = pl.concat([rows, marked]).unique(maintain_order=True).sort("code_size", "uhl")
    table = plain_table(
        ">code size", ">hubs", ">largest", ">clusters", ">batch", ">UHL %",
        *([""] * (chosen is not None)),
    )  # fmt: skip
    for row in rows.iter_rows(named=True):
        counts = (row[name] for name in ("code_size", "n_hubs", "largest", "clusters", "batch"))
        is_chosen = (row["n_hubs"], row["max_cluster_size"]) == chosen
        mark = [] if chosen is None else ["chosen" if is_chosen else ""]
        table.add_row(*(f"{count:,}" for count in counts), f"{100 * row['uhl']:.3g}", *mark)
    return titled(title, table)


def plot_code_size(curve: pl.DataFrame, ax: Axes, *, chosen: Setting | None = None) -> None:
    """Loss against code size: a line for each number of hubs, and the best of all.

    Parameters
    ----------
    curve : polars.DataFrame
        What `longtail.methods.codes.code_size_curve` gives.
    ax : matplotlib Axes
        Where to draw.
    chosen : tuple of two int, optional
        Hubs and largest cluster size of a setting to be marked.
    """
    from matplotlib.colors import LinearSegmentedColormap

    shade = LinearSegmentedColormap.from_list("hubs", ["#c9d9ea", BLUE, "#12304f"])
    groups = curve.sort("n_hubs", "code_size").partition_by("n_hubs", maintain_order=True)
    for place, group in enumerate(groups):
        ax.plot(
            *_places(group), color=shade(place / max(len(groups) - 1, 1)), linewidth=1, marker="o",
            markersize=3, label=f"{group['n_hubs'][0]:,}",
        )  # fmt: skip
    sizes, losses = _places(lower_envelope(curve))
    ax.step(sizes, losses, where="post", color=ORANGE, linewidth=2, zorder=3, label="best of all")
    if chosen is not None:
        size, loss = _places(_row(curve, chosen))
        ax.plot(
            size, loss, color=ORANGE, marker="*", markersize=15, linestyle="none", zorder=4,
            label=f"chosen: {size[0]:,} bits",
        )  # fmt: skip
    ax.set_xlabel("code size, bits")
    ax.set_ylabel("unrecoverable Hamming loss, %")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.grid(True, alpha=0.25)
    ax.legend(frameon=False, title="hubs", fontsize=8, ncols=1 + len(groups) // 7)


def code_size_figure(
    curve: pl.DataFrame, *, chosen: Setting | None = None, title: str | None = None
) -> Figure:
    """The plot on a figure of its own; `save_figure` writes it.

    Parameters
    ----------
    curve : polars.DataFrame
        What `longtail.methods.codes.code_size_curve` gives.
    chosen : tuple of two int, optional
        Hubs and largest cluster size of a setting to be marked.
    title : str, optional
        Above the plot.

    Examples
    --------
    >>> from longtail.methods.codes import code_size_curve
    >>> Y = [("a", "b"), ("c", "d"), ("d", "e")]
    >>> curve = code_size_curve(Y, numbers_of_hubs=[0, 1], max_cluster_sizes=[1, 2])
    >>> code_size_figure(curve).axes[0].get_xlabel()
    'code size, bits'
    """
    figure = figure_class()(figsize=(6.4, 4.4), layout="constrained")
    plot_code_size(curve, figure.subplots(), chosen=chosen)
    if title is not None:
        figure.suptitle(printable(title), parse_math=False)
    return figure


def _places(rows: pl.DataFrame) -> tuple[Any, Any]:
    return rows["code_size"].to_numpy(), 100 * rows["uhl"].to_numpy()


def _row(curve: pl.DataFrame, setting: Setting) -> pl.DataFrame:
    n_hubs, max_cluster_size = setting
    found = curve.filter(
        (pl.col("n_hubs") == n_hubs) & (pl.col("max_cluster_size") == max_cluster_size)
    )
    if found.is_empty():
        raise ParameterError(
            f"The curve has no setting of {n_hubs} hubs and clusters of {max_cluster_size}; mark "
            "one that it has."
        )
    return found[:1]
