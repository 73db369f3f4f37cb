"""A comparison as one page: how the methods came out, at what cost, and where on the tail.

The page is a single file to open, send or print; `longtail.report.html` has its building blocks.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
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
from longtail.report.html import Cell, facts, page, plot, table, text
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
    the trade of P for PSP where the comparison has measured it (`compare(..., curves=True)`).

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
    parts = [
        f"<h1>{text(title)}</h1>",
        *_state(comparison, interrupted),
        *_results(comparison),
        *_left_out(comparison),
        *_accuracy(comparison),
        *_curves(comparison),
        *_bins(comparison),
        *_data(comparison),
        *_settings(comparison),
        *_making(command),
    ]
    return page(title, parts)


def _state(comparison: Comparison, interrupted: str | None) -> Iterator[str]:
    common = comparison.common
    line = (
        f"Trained on {common.train_points:,} points, tested on {common.test_points:,}; "
        f"{common.labels:,} labels, {common.features:,} features."
    )
    if common.tail:
        line += f" Rankings favour rare labels with a tail weight of {common.tail:g}."
    if common.unknown_labels:
        labels = "label is" if common.unknown_labels == 1 else "labels are"
        line += f" {common.unknown_labels:,} {labels} in the test part only and counted as missed."
    yield f"<p>{line}</p>"
    if interrupted is not None:
        done = len(comparison.results)
        yield (
            f'<p class="note" role="note">Interrupted during {text(interrupted)}: '
            f"{done} {'method was' if done == 1 else 'methods were'} through before; what came "
            "after is missing.</p>"
        )


def _results(comparison: Comparison) -> Iterator[str]:
    yield "<h2>Results</h2>"
    finished = comparison.finished
    if not finished:
        yield "<p>No method finished.</p>"
        return
    line = best_line(comparison)
    if line is not None:
        yield f"<p>{text(line)}</p>"
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
    for caption, each in shown.items():
        yield table(
            f"{caption}{marked}.",
            ["method", *each.columns.values()],
            [[result.name, *_marked(each, result, best)] for result in finished],
        )
    yield (
        '<p class="soft">train s: seconds of training on ready features; predict s: the best '
        f"{max(k)} labels of all test points in one call; MB: the saved model; peak MB: memory of "
        "training above what was held before.</p>"
    )


def _marked(shown: ComparisonTable, result: Result, best: Mapping[str, list[str]]) -> list[Cell]:
    cells = zip(shown.columns, shown.cells(result), strict=True)
    return [Cell(value, result.name in best.get(measure, ())) for measure, value in cells]


def _left_out(comparison: Comparison) -> Iterator[str]:
    rows = [[each.name, each.failure] for each in comparison.results if each.failure is not None]
    if rows:
        yield "<h2>Left out</h2>"
        yield table("Methods without a result, and why.", ["method", "reason"], rows, words=True)


def _accuracy(comparison: Comparison) -> Iterator[str]:
    finished, k = comparison.finished, comparison.common.k[0]
    if not finished:
        return
    yield "<h2>Accuracy against time, size and tail</h2>"
    yield (
        "<p>Against time and size, up and to the left is better: a method is worth a look if no "
        "other is both above and to the left of it. Against the tail, up and to the right is "
        "better: P counts every label alike, PSP counts rare labels more.</p>"
    )
    count = f"{len(finished)} method{'s' if len(finished) > 1 else ''}"
    panels = {
        "time": ("training time", f"accuracy at {k} of {count} against seconds of training"),
        "size": ("model size", f"accuracy at {k} of {count} against megabytes on disk"),
        "tail": ("the tail", f"P@{k} of {count} against PSP@{k}"),
    }
    plots = [
        plot(
            comparison_figure(comparison, title=f"Accuracy against {what}", against=[name]),
            name,
            alt=f"Plot: {alt}. The figures are in the first table.",
        )
        for name, (what, alt) in panels.items()
    ]
    yield f'<div class="side">{"".join(plots)}</div>'


def _curves(comparison: Comparison) -> Iterator[str]:
    """The trade of P for PSP, for the methods that have one."""
    curves = {
        result.name: result.tail_curve
        for result in comparison.finished
        if result.tail_curve is not None
    }
    if not curves:
        return
    k = comparison.common.k[0]
    yield "<h2>What a tail weight would bring</h2>"
    yield (
        "<p>A method can rank its labels anew with a weight that favours rare ones. The dots "
        "are the rankings by score alone; along a curve the weight grows until PSP is at its best. "
        "The curves are measured on the test part, so they show what there is to win; choose a "
        "weight on other points, with <code>longtail tail</code>. Scores are taken for what the "
        "kind of method suggests, so a method may do better once it is calibrated.</p>"
    )
    yield plot(
        tail_curves_figure(curves, k=k, title=f"P@{k} against PSP@{k} as the tail weight grows"),
        "curves",
        alt=f"Plot: curves of P@{k} against PSP@{k} as the tail weight grows, one for each of "
        f"{len(curves)} methods. Figures at some weights are in the table below.",
    )
    rows = []
    for name, curve in curves.items():
        at = {row["tail"]: row for row in curve.iter_rows(named=True)}
        kept = [at.get(weight, {}) for weight in WEIGHTS]
        cells = [percent(row.get(f"{each}@{k}")) or "–" for row in kept for each in ("P", "PSP")]
        rows.append([name, *cells])
    yield table(
        "The same at some tail weights, %.",
        ["method", *([f"P@{k}", f"PSP@{k}"] * len(WEIGHTS))],
        rows,
        groups=[("", 1), *((f"weight {weight:g}", 2) for weight in WEIGHTS)],
    )
    without = [each.name for each in comparison.finished if each.name not in curves]
    if without:
        yield f'<p class="soft">Not ranked anew: {text(", ".join(without))}.</p>'


def _bins(comparison: Comparison) -> Iterator[str]:
    """Head, torso and tail, with their borders."""
    frames = {
        result.name: result.by_frequency
        for result in comparison.finished
        if result.by_frequency is not None
    }
    if not frames:
        return
    k = max(comparison.common.k)
    every = trained_bins(next(iter(frames.values())))
    bins = every.filter(pl.col("true") > 0)
    yield "<h2>Head, torso and tail</h2>"
    yield "<p>Labels by how often they occur in training:</p>"
    yield "<ul>"
    for row in every.iter_rows(named=True):
        yield (
            f"<li>{text(row['bin'])}: {counts_spanned(row['from'], row['to'])} training points; "
            f"{row['labels']:,} labels, {row['true']:,} times true in the test part</li>"
        )
    yield "</ul>"
    if bins.is_empty():
        return
    yield plot(
        frequency_figure(frames, k=k, title="True labels found, by frequency of the label"),
        "bins",
        alt=f"Plot: share of the true labels that each of {len(frames)} methods finds among its "
        f"best {k}, for rare, medium and frequent labels. The figures are in the table below.",
    )
    columns = [(name, f"{measure}@{k}") for name in bins["bin"] for measure in ("R", "P")]
    values = {
        method: [frame.filter(pl.col("bin") == name)[each][0] for name, each in columns]
        for method, frame in frames.items()
    }
    best = [
        max((value for value in column if value is not None), default=None)
        for column in zip(*values.values(), strict=True)
    ]
    yield table(
        f"R@{k}: true labels of the bin that were found; P@{k}: predicted labels of the bin that "
        "were right, %.",
        ["method", *(measure for _, measure in columns)],
        [
            [
                method,
                *(
                    Cell(
                        percent(value) or "–",
                        len(frames) > 1 and value is not None and value == top,
                    )
                    for value, top in zip(row, best, strict=True)
                ),
            ]
            for method, row in values.items()
        ],
        groups=[
            ("", 1),
            *(
                (f"{row['bin']}, {counts_spanned(row['from'], row['to'])} points", 2)
                for row in bins.iter_rows(named=True)
            ),
        ],
    )


def _data(comparison: Comparison) -> Iterator[str]:
    common = comparison.common
    yield "<h2>The data</h2>"
    sizes = {
        "Name": "–" if common.data is None else common.data,
        "Training points": f"{common.train_points:,}",
        "Test points": f"{common.test_points:,}",
        "Features": f"{common.features:,}, made in {common.feature_seconds:.2g} s",
    }
    labels = {} if common.label_tail is None else tail_facts(common.label_tail)
    yield facts("Sizes, and the tail of the training labels.", {**sizes, **labels})
    if common.label_counts is not None and common.labels_per_point is not None:
        plots = [
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
        yield f'<div class="side">{"".join(plots)}</div>'


def _settings(comparison: Comparison) -> Iterator[str]:
    rows = [[each.name, each.method, _changed(each)] for each in comparison.results]
    rows = [row for row in rows if row[0] != row[1] or row[2]]
    yield "<h2>Settings</h2>"
    if rows:
        yield table(
            "Parameters that are not at their defaults, the number of threads aside.",
            ["name", "method", "parameters"],
            rows,
            words=True,
        )
    if len(rows) < len(comparison.results):
        which = "The other methods have" if rows else "All methods have"
        yield f"<p>{which} the parameters that are their defaults.</p>"


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


def _making(command: str | None) -> Iterator[str]:
    yield "<h2>How it was made</h2>"
    if command is not None:
        yield f"<p><code>{text(command)}</code></p>"
    made = {
        "Date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Versions": ", ".join(f"{name} {each}" for name, each in _versions().items()),
        "Machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
    yield facts("Date, versions and machine.", made)


def _versions() -> dict[str, str]:
    found = store.library_versions()
    for library in ("numba", "matplotlib"):
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
