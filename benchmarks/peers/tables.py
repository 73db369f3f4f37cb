"""Rows of a comparison as a text table and as a Markdown one, with machine and versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from peers.calling import METHODS
from peers.results import Row

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")
HEAD = ("method", *METRICS, "train s", "runs", "predict s", "ms a row", "MB", "peak MB")


def cells(row: Row) -> list[str]:
    """What stands in a row's columns, the title first; only the title if there are no figures."""
    title = METHODS[row.method].title
    if not row.turns:
        return [title]
    return [
        title,
        *(f"{row.metric(name):.2f}" for name in METRICS),
        _short(row.train),
        str(len(row.turns)),
        _short(row.predict),
        _short(row.ms_a_row),
        _short(row.bytes / 1e6),
        f"{row.peak / 1e6:.0f}",
    ]


def text_table(rows: Sequence[Row]) -> str:
    """Columns of equal width; a row without figures says why."""
    body = [cells(row) for row in rows]
    first = max(len(line[0]) for line in [*body, list(HEAD)])
    lines = [f"  {HEAD[0]:<{first}}" + "".join(_right(name) for name in HEAD[1:])]
    for row, line in zip(rows, body, strict=True):
        said = "".join(_right(cell) for cell in line[1:]) if row.turns else f"  {row.reason}"
        lines.append(f"  {line[0]:<{first}}{said}")
    return "\n".join(lines)


def markdown_table(rows: Sequence[Row]) -> str:
    """The same for a page; the reason of a row without figures stands below."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|" + "---:|" * (len(HEAD) - 1)]
    for row in rows:
        line = cells(row)
        lines.append("| " + " | ".join(line + ["–"] * (len(HEAD) - len(line))) + " |")
    left_out = [
        f"- {METHODS[row.method].title}: {row.reason.replace('|', '/')}"
        for row in rows
        if not row.turns
    ]
    return "\n".join([*lines, *([""] if left_out else []), *left_out])


def remarks(rows: Sequence[Row]) -> list[str]:
    """What a table cannot show: turns that failed, and faster settings than the defaults."""
    said = []
    for row in rows:
        title = METHODS[row.method].title
        if row.turns and row.reason:
            said.append(f"{title}: only {len(row.turns)} of the runs, then {row.reason}")
        if row.predict_fastest < row.predict:
            said.append(
                f"{title} predicts in {_short(row.predict_fastest)} s with dense vectors, "
                "which is not its default"
            )
    return said


def machine_line(machine: dict[str, Any]) -> str:
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"{machine['system']}; load average before the run {machine['load']}"
    )


def version_lines(rows: Iterable[Row]) -> list[str]:
    """One line per method: its settings, its version and those of what it stands on."""
    said: dict[str, str] = {}
    for row in rows:
        if row.turns and row.method not in said:
            method, found = METHODS[row.method], row.turns[0]["versions"]
            listed = ", ".join(f"{name} {version}" for name, version in found.items())
            said[row.method] = f"{method.title}: {method.remark}; {listed}"
    return list(said.values())


def _short(value: float) -> str:
    """Three digits or so: 0.0312, 3.12, 31.2, 312."""
    if not np.isfinite(value):
        return "–"
    for bound, digits in ((0.1, 4), (1, 3), (10, 2), (100, 1)):
        if value < bound:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def _right(cell: str) -> str:
    return f"{cell:>10}"
