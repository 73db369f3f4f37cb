"""A comparison as one page: how the methods came out, at what cost, and where on the tail.

The page is a single file to open, send or print. Its words stand in `comparison.html` beside this
file; here is what goes into them.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import polars as pl

from longtail import store
from longtail.choosing import Comparison, Result
from longtail.methods.registry import methods
from longtail.report.comparison import ComparisonTable, best_line
from longtail.report.comparison_plot import comparison_figure
from longtail.report.frequency import frequency_figure, trained_bins
from longtail.report.html import Best, Table, page, plot
from longtail.report.plots import label_counts_figure
from longtail.report.tables import counts_spanned, percent, tail_facts
from longtail.report.tail import tail_curves_figure

WEIGHTS = (0.0, 0.5, 1.0, 2.0)
"""Tail weights of the curves that are written out."""


def comparison_html(
    comparison: Comparison,
    *,
    title: str | None = None,
    command: str | None = None,
    interrupted: str | None = None,
) -> str:
    """A comparison as the text of an HTML page that needs nothing beside itself.

    It has the facts of the data, all tables with the best figures marked, the methods without a
    result and why, accuracy against time, size and tail, head, torso and tail of the labels, and
    the trade-off of P for PSP where the comparison has measured it (`compare(..., curves=True)`).

    Parameters
    ----------
    comparison : Comparison
        What `longtail.choosing.compare` gives.
    title : str, optional
        By default it names the data.
    command : str, optional
        The command line that made the comparison.
    interrupted : str, optional
        Name of the method during which the comparison was stopped; the page then says so.

    Returns
    -------
    str
        `save_page` writes it to a file. Names from the data are text in it, never markup.

    Examples
    --------
    >>> from longtail.choosing import compare
    >>> from longtail.data import make_longtail
    >>> train, test = make_longtail(300, 200, 30, random_state=0).split(random_state=0)
    >>> found = compare(train, test, ["dismec", "br"], curves=True)
    >>> html = comparison_html(found, title="<tiny> & made up")
    >>> html.count("<svg "), html.count("<script"), "&lt;tiny&gt; &amp; made up" in html
    (7, 0, True)
    """
    name = comparison.common.data
    title = title or ("Comparison of methods" if name is None else f"Methods compared on {name}")
    return page(
        "comparison.html",
        title=title,
        common=comparison.common,
        comparison=comparison,
        interrupted=interrupted,
        command=command,
        best_line=best_line(comparison),
        results=_results(comparison),
        left_out=_left_out(comparison),
        accuracy=_accuracy(comparison),
        curves=_curves(comparison),
        bins=_bins(comparison),
        facts=_facts(comparison),
        data_plots=_data_plots(comparison),
        settings=_settings(comparison),
        made=_made(),
    )


def _results(comparison: Comparison) -> list[Table]:
    finished = comparison.finished
    names, k = [result.name for result in finished], comparison.common.k
    shown = {
        "Precision, propensity-scored precision, % and costs": ComparisonTable.main(names, k),
        "Other metrics of the rankings, %": ComparisonTable.rankings(names, k),
        "Label sets that the methods commit to, %": ComparisonTable.sets(names),
    }
    if all("accuracy" in (result.evaluation or {}) for result in finished):
        shown["Classes that rank first, %"] = ComparisonTable.classes(names)
    best = comparison.best() if len(finished) > 1 else {}
    marked = "; the best figures are marked" if best else ""
    return [
        Table(
            f"{caption}{marked}.",
            ["method", *each.columns.values()],
            [[result.name, *_marked(each, result, best)] for result in finished],
        )
        for caption, each in shown.items()
    ]


def _marked(shown: ComparisonTable, result: Result, best: Mapping[str, list[str]]) -> list[str]:
    cells = zip(shown.columns, shown.cells(result), strict=True)
    return [_cell(value, result.name in best.get(measure, ())) for measure, value in cells]


def _cell(value: str, is_best: bool) -> str:
    return Best(value) if is_best else value


def _left_out(comparison: Comparison) -> Table:
    rows = [(each.name, each.failure) for each in comparison.results if each.failure is not None]
    return Table("Methods without a result, and why.", ["method", "reason"], rows, words=True)


def _accuracy(comparison: Comparison) -> list[str]:
    finished, k = comparison.finished, comparison.common.k[0]
    if not finished:
        return []
    count = f"{len(finished)} method{'s' if len(finished) > 1 else ''}"
    panels = {
        "time": ("training time", f"accuracy at {k} of {count} against seconds of training"),
        "size": ("model size", f"accuracy at {k} of {count} against megabytes on disk"),
        "tail": ("the tail", f"P@{k} of {count} against PSP@{k}"),
    }
    return [
        plot(
            comparison_figure(comparison, title=f"Accuracy against {what}", against=[name]),
            name,
            alt=f"Plot: {alt}. The figures are in the first table.",
        )
        for name, (what, alt) in panels.items()
    ]


def _measured(comparison: Comparison, what: str) -> dict[str, pl.DataFrame]:
    """A table of the finished methods, by name, where they have it."""
    found = {result.name: getattr(result, what) for result in comparison.finished}
    return {name: frame for name, frame in found.items() if frame is not None}


def _curves(comparison: Comparison) -> dict[str, Any] | None:
    """The trade-off of P for PSP, for the methods that have one."""
    curves = _measured(comparison, "tail_curve")
    if not curves:
        return None
    k = comparison.common.k[0]
    rows = []
    for name, curve in curves.items():
        at = {row["tail"]: row for row in curve.iter_rows(named=True)}
        kept = [at.get(weight, {}) for weight in WEIGHTS]
        cells = [percent(row.get(f"{each}@{k}")) or "–" for row in kept for each in ("P", "PSP")]
        rows.append([name, *cells])
    return {
        "plot": plot(
            tail_curves_figure(
                curves, k=k, title=f"P@{k} against PSP@{k} as the tail weight grows"
            ),
            "curves",
            alt=f"Plot: curves of P@{k} against PSP@{k} as the tail weight grows, one for each of "
            f"{len(curves)} methods. Figures at some weights are in the table below.",
        ),
        "table": Table(
            "The same at some tail weights, %.",
            ["method", *([f"P@{k}", f"PSP@{k}"] * len(WEIGHTS))],
            rows,
            groups=[("", 1), *((f"weight {weight:g}", 2) for weight in WEIGHTS)],
        ),
        "without": [each.name for each in comparison.finished if each.name not in curves],
    }


def _bins(comparison: Comparison) -> dict[str, Any] | None:
    """Head, torso and tail, with their borders."""
    frames = _measured(comparison, "by_frequency")
    if not frames:
        return None
    k = max(comparison.common.k)
    every = [
        {**row, "span": counts_spanned(row["from"], row["to"])}
        for row in trained_bins(next(iter(frames.values()))).iter_rows(named=True)
    ]
    bins = [row for row in every if row["true"]]
    if not bins:
        return {"every": every}
    columns = [(row["bin"], f"{measure}@{k}") for row in bins for measure in ("R", "P")]
    values = {
        method: [frame.filter(pl.col("bin") == name)[each][0] for name, each in columns]
        for method, frame in frames.items()
    }
    best = [
        max((value for value in column if value is not None), default=None)
        for column in zip(*values.values(), strict=True)
    ]
    return {
        "every": every,
        "plot": plot(
            frequency_figure(frames, k=k, title="True labels found, by frequency of the label"),
            "bins",
            alt=f"Plot: share of the true labels that each of {len(frames)} methods finds among "
            f"its best {k}, for rare, medium and frequent labels. The figures are in the table "
            "below.",
        ),
        "table": Table(
            f"R@{k}: true labels of the bin that were found; P@{k}: predicted labels of the bin "
            "that were right, %.",
            ["method", *(measure for _, measure in columns)],
            [
                [
                    method,
                    *(
                        _cell(
                            percent(value) or "–",
                            len(frames) > 1 and value is not None and value == top,
                        )
                        for value, top in zip(row, best, strict=True)
                    ),
                ]
                for method, row in values.items()
            ],
            groups=[("", 1), *((f"{row['bin']}, {row['span']} points", 2) for row in bins)],
        ),
    }


def _facts(comparison: Comparison) -> Table:
    common = comparison.common
    sizes = {
        "Name": "–" if common.data is None else common.data,
        "Training points": f"{common.train_points:,}",
        "Test points": f"{common.test_points:,}",
        "Features": f"{common.features:,}, made in {common.feature_seconds:.2g} s",
    }
    labels = {} if common.label_tail is None else tail_facts(common.label_tail)
    return Table.of_facts("Sizes, and the tail of the training labels.", {**sizes, **labels})


def _data_plots(comparison: Comparison) -> list[str]:
    common = comparison.common
    if common.label_counts is None or common.labels_per_point is None:
        return []
    return [
        plot(
            label_counts_figure(common.label_counts, "frequency"),
            "frequency",
            alt="Plot: points of each label, most frequent first, on logarithmic axes.",
        ),
        plot(
            label_counts_figure(common.labels_per_point, "sizes"),
            "sizes",
            alt="Plot: how many training points have 0, 1, 2 and more labels.",
        ),
    ]


def _settings(comparison: Comparison) -> Table:
    rows = [[each.name, each.method, _changed(each)] for each in comparison.results]
    return Table(
        "Parameters that are not at their defaults, the number of threads aside.",
        ["name", "method", "parameters"],
        [row for row in rows if row[0] != row[1] or row[2]],
        words=True,
    )


def _changed(result: Result) -> str:
    known: dict[str, Any] = {}
    if result.method in methods():
        known = methods()[result.method].parameters
    changed = [
        f"{name}={value!r}"
        for name, value in result.parameters.items()
        if name != "n_jobs" and (name not in known or not _same(value, known[name].default))
    ]
    return ", ".join(changed)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and repr(value) == repr(default)


def _made() -> Table:
    made = {
        "Date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Versions": ", ".join(f"{name} {each}" for name, each in _versions().items()),
        "Machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    return Table.of_facts("Date, versions and machine.", made)


def _versions() -> dict[str, str]:
    found = store.library_versions()
    for library in ("numba", "matplotlib"):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
