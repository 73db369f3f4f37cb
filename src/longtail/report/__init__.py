"""Results for people: tables for the terminal, plots for the page.

The names below are imported when they are first used: an error message wants `printable` at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longtail.report.graph import Hub, LabelGraph, describe_graph
    from longtail.report.plots import (
        check_plot_target,
        label_figure,
        plot_label_frequency,
        plot_labels_per_point,
        save_figure,
    )
    from longtail.report.safe import printable
    from longtail.report.tables import (
        evaluation_table,
        explanation_text,
        facts_table,
        frequency_table,
        hubs_table,
        predictions_table,
        tail_table,
    )

_HOMES = {
    **dict.fromkeys(("Hub", "LabelGraph", "describe_graph"), "graph"),
    **dict.fromkeys(
        (
            "check_plot_target",
            "label_figure",
            "plot_label_frequency",
            "plot_labels_per_point",
            "save_figure",
        ),
        "plots",
    ),
    "printable": "safe",
    **dict.fromkeys(
        (
            "evaluation_table",
            "explanation_text",
            "facts_table",
            "frequency_table",
            "hubs_table",
            "predictions_table",
            "tail_table",
        ),
        "tables",
    ),
}

__all__ = [
    "Hub",
    "LabelGraph",
    "check_plot_target",
    "describe_graph",
    "evaluation_table",
    "explanation_text",
    "facts_table",
    "frequency_table",
    "hubs_table",
    "label_figure",
    "plot_label_frequency",
    "plot_labels_per_point",
    "predictions_table",
    "printable",
    "save_figure",
    "tail_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'longtail.report' has no attribute {name!r}")
    return getattr(importlib.import_module(f"longtail.report.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
