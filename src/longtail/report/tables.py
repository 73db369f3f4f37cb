"""Tables for the terminal: metrics, frequency bins, label statistics, predictions and reasons.

Each function returns something that a `rich.console.Console` prints; nothing is printed here. All
names that come from data go through `printable`, and none is read as markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from longtail.base import Explanation
from longtail.errors import printable
from longtail.labels import TailStatistics
from longtail.metrics import Evaluation
from longtail.report.graph import LabelGraph

RANKING_NAMES = {
    "P": "precision",
    "nDCG": "normalised discounted gain",
    "PSP": "propensity-scored precision",
    "PSnDCG": "propensity-scored nDCG",
    "R": "recall",
    "C": "coverage: labels found at least once",
}
"""What the letters before the @ stand for."""

SET_NAMES = {
    "hamming_loss": "Hamming loss",
    "subset_accuracy": "subset accuracy",
    "jaccard": "Jaccard",
    "f1_micro": "F1, micro",
    "f1_macro": "F1, macro",
    "f1_example": "F1, by example",
    "accuracy": "accuracy",
    "maf1": "MaF1",
    "covered_classes": "covered classes",
}
"""The other metrics as people write them."""


def evaluation_table(evaluation: Evaluation, title: str | None = None) -> RenderableType:
    """Metrics in percent: the rankings by k, then the metrics of the committed label sets.

    The Hamming loss, which is tiny where labels are many, is shown with three digits that count.

    Examples
    --------
    >>> from rich.console import Console
    >>> Console(width=60).print(evaluation_table(Evaluation({"P@1": 0.5, "P@3": 0.25})))
    <BLANKLINE>
      %      @1      @3
     ───────────────────────────────
      P   50.00   25.00   precision
    <BLANKLINE>
    """
    grid: dict[str, dict[str, float]] = {}
    others: dict[str, float] = {}
    for name, value in evaluation.items():
        metric, at, k = name.partition("@")
        if at:
            grid.setdefault(metric, {})[k] = value
        else:
            others[name] = value
    parts: list[RenderableType] = []
    if grid:
        ks = list(dict.fromkeys(k for row in grid.values() for k in row))
        table = plain_table("%", *(f">@{k}" for k in ks), "")
        for metric, row in grid.items():
            cells = [percent(row.get(k)) for k in ks]
            table.add_row(metric, *cells, Text(RANKING_NAMES.get(metric, ""), style="dim"))
        parts.append(table)
    if others:
        table = plain_table("Of the label sets, %", ">")
        for name, value in others.items():
            shown = f"{100 * value:.3g}" if name == "hamming_loss" else percent(value)
            table.add_row(SET_NAMES.get(name, name), shown)
        parts.append(table)
    return titled(title, *parts)


def frequency_table(frame: pl.DataFrame, title: str | None = None) -> RenderableType:
    """Where the right answers come from, as `longtail.metrics.by_frequency` gives it, in percent.

    Bins without a label are left out.

    Examples
    --------
    >>> from longtail.metrics import by_frequency
    >>> table = frequency_table(by_frequency([[1, 0]], [[0.9, 0.1]], [[1, 0], [1, 1]], k=1))
    >>> table.row_count
    1
    """
    measures = [name for name in frame.columns if name.startswith(("P@", "R@"))]
    measures.sort(key=lambda name: name[0])
    table = plain_table("Bin", ">points", ">labels", ">true", *(f">{m}" for m in measures))
    table.padding = (0, 1, 0, 0)
    for row in frame.iter_rows(named=True):
        if not (row["labels"] or row["true"]):
            continue
        table.add_row(
            Text(printable(row["bin"])),
            counts_spanned(row["from"], row["to"]),
            f"{row['labels']:,}",
            f"{row['true']:,}",
            *(percent(row[measure], 1) for measure in measures),
        )
    return titled(title, table)


def counts_spanned(low: int, high: int | None) -> str:
    """The training counts of a bin.

    Examples
    --------
    >>> counts_spanned(0, 0), counts_spanned(10, 99), counts_spanned(1000, None)
    ('0', '10-99', '1,000+')
    """
    return f"{low:,}+" if high is None else f"{low:,}" if low == high else f"{low:,}-{high:,}"


def tail_table(statistics: TailStatistics, title: str | None = None) -> RenderableType:
    """What the labels look like, in words.

    Examples
    --------
    >>> from longtail.labels import tail_statistics
    >>> tail_table(tail_statistics([("sea", "sun"), (), ("sun",)])).row_count
    12
    """
    return facts_table(tail_facts(statistics), title)


def tail_facts(statistics: TailStatistics) -> dict[str, str]:
    """The same as names and values.

    Examples
    --------
    >>> from longtail.labels import tail_statistics
    >>> tail_facts(tail_statistics([("sea", "sun"), (), ("sun",)]))["Points a label"]
    '1.5 on average, at most 2'
    """
    s = statistics
    law = "too few labels for a fit"
    if not math.isnan(s.power_law_exponent):
        law = f"{s.power_law_exponent:.2f}, from {s.power_law_start:,} points on"
    return {
        "Labels": f"{s.labels:,}, of which {s.labels_used:,} occur",
        "Labels a point": f"{_figure(s.labels_per_point)} on average, at most "
        f"{s.labels_per_point_max:,}",
        "Points without labels": f"{s.points_without_labels:,}",
        "Distinct label sets": f"{s.label_sets:,}",
        "Points a label": f"{_figure(s.points_per_label)} on average, at most "
        f"{s.points_per_label_max:,}",
        "Points of the median label": _figure(s.points_per_label_median),
        "Labels with one point": _share(s.share_with_one_point),
        "Labels below 5 points": _share(s.share_below_5),
        "Labels below 10 points": _share(s.share_below_10),
        "Held by the top tenth": f"{_share(s.mass_of_top_tenth)} of all assignments",
        "Gini index": _figure(s.gini),
        "Power-law exponent": law,
    }


def hubs_table(graph: LabelGraph, title: str | None = None) -> RenderableType:
    """The labels that occur with the most others."""
    table = plain_table("Label", ">points", ">occurs with")
    for hub in graph.hubs:
        table.add_row(Text(printable(hub.label, 60)), f"{hub.points:,}", f"{hub.neighbours:,}")
    return titled(title, table)


def facts_table(facts: Mapping[str, Any], title: str | None = None) -> RenderableType:
    """Names and values, one pair per line.

    Examples
    --------
    >>> from rich.console import Console
    >>> Console(width=40).print(facts_table({"points": 3, "labels": 2}))
      points   3
      labels   2
    """
    table = Table(box=None, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(Text(f" {printable(name)}"), Text(printable(value)))
    return titled(title, table)


def predictions_table(
    predicted: Sequence[tuple[Any, float]],
    *,
    true: Iterable[Any] | None = None,
    reasons: Sequence[Explanation] = (),
    title: str | None = None,
) -> RenderableType:
    """The labels predicted for one point, best first, with scores, verdicts and reasons.

    Parameters
    ----------
    predicted : sequence of (name, score)
        What `Tagger.tag` gives for a point.
    true : iterable of names, optional
        The labels the point has; they decide about right and wrong.
    reasons : sequence of Explanation
        What `Tagger.explain` gives, for the labels that have one.
    title : str, optional
        Above the table.

    Examples
    --------
    >>> predictions_table([("sea", 0.9), ("sun", 0.2)], true=["sea"]).row_count
    2
    """
    right = None if true is None else set(true)
    why = {reason.label: reason for reason in reasons}
    headings = ["Label", ">score", *(["right"] if right is not None else [])]
    table = plain_table(*headings, *(["because of"] if why else []))
    for name, score in predicted:
        good = right is not None and name in right
        row: list[RenderableType] = [
            Text(printable(name, 50), style="green" if good else ""),
            f"{score:.2f}",
        ]
        if right is not None:
            row.append(Text("yes", style="green") if good else Text("no", style="dim"))
        if why:
            row.append(explanation_text(why[name]) if name in why else "")
        table.add_row(*row)
    return titled(title, table)


def explanation_text(explanation: Explanation) -> Text:
    """The features that carried a decision and what each added to the score.

    Examples
    --------
    >>> import polars as pl
    >>> parts = pl.DataFrame({"feature": ["sand"], "contribution": [0.5]})
    >>> explanation_text(Explanation("sea", 0.1, -0.4, parts)).plain
    'sand +0.50, bias -0.40'
    """
    parts = [
        f"{printable(feature, 30)} {part:+.2f}"
        for feature, part in explanation.parts.select("feature", "contribution").iter_rows()
    ]
    return Text(", ".join([*parts, f"bias {explanation.bias:+.2f}"]), style="dim")


def plain_table(*headings: str) -> Table:
    """An open table; a heading that starts with > stands to the right."""
    table = Table(box=SIMPLE_HEAD)
    for heading in headings:
        right = heading.startswith(">")
        table.add_column(
            heading.removeprefix(">"),
            justify="right" if right else "left",
            no_wrap=right or heading == "Label",
            overflow="fold",
        )
    return table


def titled(title: str | None, *parts: RenderableType) -> RenderableType:
    """A title of its own, which may be wider than the table."""
    if title is None and len(parts) == 1:
        return parts[0]
    heading = [] if title is None else [Text(printable(title), style="bold")]
    return Group(*heading, *parts)


def percent(value: float | None, digits: int = 2) -> str:
    """A share in percent; nothing for one that is not known."""
    return "" if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def _share(value: float) -> str:
    return "none occur" if math.isnan(value) else f"{100 * value:.1f} %"


def _figure(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
