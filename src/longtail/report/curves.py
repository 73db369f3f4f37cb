"""What more of something brings: measures against a number, one line per method or data set.

Three papers have such a figure: F1 against the prototypes per point, subset accuracy against the
components of a mixture, and a measure and the training time against the number of classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from longtail.errors import ParameterError, printable
from longtail.report.plots import GREY, label_axes, panels
from longtail.report.tables import SET_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from longtail.papers import Paper, Reproduced

_MARKS = "osD^v<>Phd"
_DASHES = ("--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
_COSTS = {
    "train_seconds": "training time, s",
    "peak_megabytes": "peak memory of training, MB",
    "n_parameters": "parameters",
}
_KINDS = ("example", "micro", "macro")


def growth_table(paper: Paper, rows: Iterable[Reproduced]) -> pl.DataFrame:
    """The results of trials that differ in their number of classes, one row per method and seed.

    Parameters
    ----------
    paper : Paper
        With trials that have a number of classes.
    rows : iterable of Reproduced
        Those that were left out, and variants, are passed over.

    Returns
    -------
    polars.DataFrame
        Columns `method`, `classes`, `seed`, `train_seconds`, `peak_megabytes`, `n_parameters` and
        one for each metric, as a share.

    Examples
    --------
    >>> from longtail.choosing import Result
    >>> from longtail.metrics import Evaluation
    >>> from longtail.papers import Reproduced, find_paper
    >>> result = Result("OVA", "ova", {}, Evaluation({"maf1": 0.5}), 2.0)
    >>> row = Reproduced("WordNet-100", "OVA", "", result, None, ())
    >>> growth_table(find_paper("mrb"), [row]).select("method", "classes", "maf1").rows()
    [('OVA', 100, 0.5)]
    """
    sizes = {trial.dataset: trial.n_classes for trial in paper.trials}
    found = []
    for row in rows:
        if row.result is None or row.variant or sizes.get(row.dataset) is None:
            continue
        for seed, result in zip(row.seeds, row.results or (row.result,), strict=True):
            found.append(
                {
                    "method": row.method,
                    "classes": sizes[row.dataset],
                    "seed": seed,
                    **{name: getattr(result, name) for name in _COSTS},
                    **(result.evaluation or {}),
                }
            )
    return pl.DataFrame(found, infer_schema_length=None)


def growth_figure(
    table: pl.DataFrame,
    *,
    measures: Iterable[str] = ("maf1", "train_seconds"),
    title: str | None = None,
) -> Figure:
    """Measures against the number of classes, side by side; `save_figure` writes it.

    Metrics are drawn in percent, costs on a logarithmic axis; bars show the deviation over seeds.

    Parameters
    ----------
    table : polars.DataFrame
        What `growth_table` gives.
    measures : iterable of str
        Columns of the table, by default those of the paper's Figure 2.
    title : str, optional
        Above all.

    Examples
    --------
    >>> table = pl.DataFrame({"method": ["OVA", "OVA"], "classes": [100, 500],
    ...                       "maf1": [0.5, 0.4], "train_seconds": [1.0, 4.0]})
    >>> [ax.get_ylabel() for ax in growth_figure(table).axes]
    ['MaF1, %', 'training time, s']
    """
    wanted = list(measures)
    if table.is_empty() or not wanted:
        raise ParameterError("There is nothing to draw: no method finished, or no measure.")
    figure, axes = panels(len(wanted), 5.4 * len(wanted), 4.4, title)
    for ax, measure in zip(axes, wanted, strict=True):
        scale = 1.0 if measure in _COSTS else 100.0
        _plot_lines(table, ax, "classes", measure, by="method", scale=scale)
        name = _COSTS.get(measure, f"{SET_NAMES.get(measure, measure)}, %")
        _name_axes(ax, "classes", name)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if measure in _COSTS:
            from matplotlib.ticker import LogFormatter

            ax.set_yscale("log")
            ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
            ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        else:
            ax.set_ylim(bottom=0)
    return figure


def ratio_figure(table: pl.DataFrame, *, title: str | None = None) -> Figure:
    """Example-, micro- and macro-F1 against prototypes per point; `save_figure` writes it.

    Parameters
    ----------
    table : polars.DataFrame
        Columns `dataset`, `ratio` and any of the three kinds of F1.
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
    figure, axes = panels(len(kinds), 4.4 * len(kinds), 4.0, title)
    for ax, kind in zip(axes, kinds, strict=True):
        _plot_lines(table, ax, "ratio", kind, by="dataset")
        _name_axes(ax, "prototypes per point", f"F1, {kind}")
        ax.set_ylim(bottom=0)
    return figure


def component_curve_figure(
    table: pl.DataFrame,
    *,
    others: Mapping[str, float] | None = None,
    measure: str = "subset_accuracy",
    title: str | None = None,
) -> Figure:
    """A measure against the number of components; `save_figure` writes it.

    Parameters
    ----------
    table : polars.DataFrame
        Columns `n_components` and the measure, as a share; a column `method`, if there is one,
        tells several curves apart.
    others : mapping of str to float, optional
        The measure of methods that have no components, by name: a flat line each.
    measure : str, default "subset_accuracy"
        The column to draw.
    title : str, optional
        Above the plot.

    Examples
    --------
    >>> table = pl.DataFrame({"n_components": [1, 5], "subset_accuracy": [0.2, 0.3]})
    >>> component_curve_figure(table, others={"br": 0.2}).axes[0].get_ylabel()
    'subset accuracy, %'
    """
    figure, (ax,) = panels(1, 6.4, 4.4, title)
    from matplotlib.ticker import MaxNLocator

    if "method" not in table.columns:
        table = table.with_columns(method=pl.lit("mixture"))
    _plot_lines(table, ax, "n_components", measure, by="method", scale=100.0)
    for place, (name, value) in enumerate((others or {}).items()):
        ax.axhline(
            100 * value, color=GREY, linewidth=1.2, linestyle=_DASHES[place % len(_DASHES)],
            label=printable(name),
        )  # fmt: skip
    _name_axes(ax, "components", f"{measure.replace('_', ' ')}, %")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _plot_lines(
    table: pl.DataFrame, ax: Axes, x: str, y: str, *, by: str, scale: float = 1.0
) -> None:
    """One line per group: the mean of y at each x, with its deviation where x has several rows."""
    for name in (by, x, y):
        if name not in table.columns:
            raise ParameterError(f"The table has no {name}; it has {', '.join(table.columns)}.")
    for place, group in enumerate(table.partition_by(by, maintain_order=True)):
        points = (
            group.group_by(x)
            .agg(pl.col(y).mean().alias("mean"), pl.col(y).std().alias("deviation"))
            .drop_nulls("mean")
            .sort(x)
        )
        places, means = points[x].to_numpy(), scale * points["mean"].to_numpy()
        look: dict[str, Any] = {"color": f"C{place}", "linewidth": 1.8}
        ax.plot(
            places, means, marker=_MARKS[place % len(_MARKS)], markersize=5,
            label=printable(group[by][0], 40), **look,
        )  # fmt: skip
        if points["deviation"].count():
            deviation = scale * points["deviation"].fill_null(0.0).to_numpy()
            ax.errorbar(places, means, yerr=deviation, fmt="none", capsize=2.5, **look)


def _name_axes(ax: Axes, x: str, y: str) -> None:
    label_axes(ax, x, y)
    if ax.lines:
        for text in ax.legend(frameon=False).get_texts():
            text.set_parse_math(False)
