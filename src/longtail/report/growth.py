"""How a paper's methods do as classes become more: a measure and the training time against K."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from longtail.errors import ParameterError
from longtail.papers import Paper, Reproduced
from longtail.report.plots import figure_class
from longtail.report.safe import printable
from longtail.report.tables import SET_NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "osD^v<>Phd"


def growth_table(paper: Paper, rows: Iterable[Reproduced]) -> pl.DataFrame:
    """The results of trials that differ in their number of classes, one row a method and seed.

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
    >>> from longtail.papers import find_paper
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
                    "train_seconds": result.train_seconds,
                    "peak_megabytes": result.peak_megabytes,
                    "n_parameters": result.n_parameters,
                    **(result.evaluation or {}),
                }
            )
    return pl.DataFrame(found, infer_schema_length=None)


def plot_growth(table: pl.DataFrame, ax: Axes, *, measure: str) -> None:
    """A measure against the number of classes: a line a method, with the deviation over seeds.

    Parameters
    ----------
    table : polars.DataFrame
        What `growth_table` gives.
    ax : matplotlib Axes
        Where to draw.
    measure : str
        A column of the table; a metric is drawn in percent, seconds on a logarithmic axis.
    """
    for name in ("method", "classes", measure):
        if name not in table.columns:
            raise ParameterError(f"The table has no {name}; it has {', '.join(table.columns)}.")
    is_cost = measure in ("train_seconds", "peak_megabytes", "n_parameters")
    scale = 1.0 if is_cost else 100.0
    for place, group in enumerate(table.partition_by("method", maintain_order=True)):
        points = (
            group.group_by("classes")
            .agg(pl.col(measure).mean().alias("mean"), pl.col(measure).std().alias("deviation"))
            .drop_nulls("mean")
            .sort("classes")
        )
        ax.errorbar(
            points["classes"].to_numpy(),
            scale * points["mean"].to_numpy(),
            yerr=scale * points["deviation"].fill_null(0.0).to_numpy(),
            color=f"C{place}",
            marker=_MARKS[place % len(_MARKS)],
            markersize=5,
            linewidth=1.8,
            capsize=2.5,
            label=printable(group["method"][0], 40),
        )
    names = {
        "train_seconds": "training time, s",
        "peak_megabytes": "peak memory of training, MB",
        "n_parameters": "parameters",
    }
    ax.set_xlabel("classes")
    ax.set_ylabel(names.get(measure, f"{SET_NAMES.get(measure, measure)}, %"))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if is_cost:
        from matplotlib.ticker import LogFormatter

        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    else:
        ax.set_ylim(bottom=0)
    ax.grid(True, alpha=0.25)
    for text in ax.legend(frameon=False).get_texts():
        text.set_parse_math(False)


def growth_figure(
    table: pl.DataFrame,
    *,
    measures: Iterable[str] = ("maf1", "train_seconds"),
    title: str | None = None,
) -> Figure:
    """Measures against the number of classes, side by side; `save_figure` writes it.

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
    figure = figure_class()(figsize=(5.4 * len(wanted), 4.4), layout="constrained")
    panels = figure.subplots(1, len(wanted), squeeze=False)[0]
    for ax, measure in zip(panels, wanted, strict=True):
        plot_growth(table, ax, measure=measure)
    if title is not None:
        figure.suptitle(printable(title), parse_math=False)
    return figure
