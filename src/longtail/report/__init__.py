"""Results for people: tables for the terminal, plots for the page.

The names below are imported when they are first used: an error message wants `printable` at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longtail.report.certificate import (
        certificate_figure,
        plot_certificate,
        plot_differences,
        plot_objectives,
    )
    from longtail.report.code_size import code_size_figure, code_size_table, plot_code_size
    from longtail.report.comparison import ComparisonTable, best_line
    from longtail.report.comparison_page import comparison_html
    from longtail.report.comparison_plot import comparison_figure
    from longtail.report.frequency import frequency_figure
    from longtail.report.graph import Hub, LabelGraph, describe_graph
    from longtail.report.growth import growth_figure, growth_table, plot_growth
    from longtail.report.html import check_page_target, save_page
    from longtail.report.mixture import (
        component_curve_figure,
        components_figure,
        plot_component_curve,
        plot_components,
        plot_label_correlations,
    )
    from longtail.report.plots import (
        check_plot_target,
        label_counts_figure,
        label_figure,
        plot_label_frequency,
        plot_labels_per_point,
        save_figure,
    )
    from longtail.report.prototypes import plot_ratio, ratio_figure
    from longtail.report.reproduction import (
        candidate_line,
        choice_heading,
        differences_text,
        notes_text,
        reproduced_text,
        scaling_in_words,
        trial_heading,
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
    from longtail.report.tail import (
        plot_tail_curve,
        tail_curve_table,
        tail_curves_figure,
        tail_figure,
    )

_HOMES = {
    **dict.fromkeys(
        ("certificate_figure", "plot_certificate", "plot_differences", "plot_objectives"),
        "certificate",
    ),
    **dict.fromkeys(("code_size_figure", "code_size_table", "plot_code_size"), "code_size"),
    **dict.fromkeys(("ComparisonTable", "best_line"), "comparison"),
    "comparison_html": "comparison_page",
    "comparison_figure": "comparison_plot",
    "frequency_figure": "frequency",
    **dict.fromkeys(("Hub", "LabelGraph", "describe_graph"), "graph"),
    **dict.fromkeys(("growth_figure", "growth_table", "plot_growth"), "growth"),
    **dict.fromkeys(("check_page_target", "save_page"), "html"),
    **dict.fromkeys(
        (
            "component_curve_figure",
            "components_figure",
            "plot_component_curve",
            "plot_components",
            "plot_label_correlations",
        ),
        "mixture",
    ),
    **dict.fromkeys(
        (
            "check_plot_target",
            "label_counts_figure",
            "label_figure",
            "plot_label_frequency",
            "plot_labels_per_point",
            "save_figure",
        ),
        "plots",
    ),
    **dict.fromkeys(("plot_ratio", "ratio_figure"), "prototypes"),
    "printable": "safe",
    **dict.fromkeys(
        (
            "candidate_line",
            "choice_heading",
            "differences_text",
            "notes_text",
            "reproduced_text",
            "scaling_in_words",
            "trial_heading",
        ),
        "reproduction",
    ),
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
    **dict.fromkeys(
        ("plot_tail_curve", "tail_curve_table", "tail_curves_figure", "tail_figure"), "tail"
    ),
}

__all__ = [
    "ComparisonTable",
    "Hub",
    "LabelGraph",
    "best_line",
    "candidate_line",
    "certificate_figure",
    "check_page_target",
    "check_plot_target",
    "choice_heading",
    "code_size_figure",
    "code_size_table",
    "comparison_figure",
    "comparison_html",
    "component_curve_figure",
    "components_figure",
    "describe_graph",
    "differences_text",
    "evaluation_table",
    "explanation_text",
    "facts_table",
    "frequency_figure",
    "frequency_table",
    "growth_figure",
    "growth_table",
    "hubs_table",
    "label_counts_figure",
    "label_figure",
    "notes_text",
    "plot_certificate",
    "plot_code_size",
    "plot_component_curve",
    "plot_components",
    "plot_differences",
    "plot_growth",
    "plot_label_correlations",
    "plot_label_frequency",
    "plot_labels_per_point",
    "plot_objectives",
    "plot_ratio",
    "plot_tail_curve",
    "predictions_table",
    "printable",
    "ratio_figure",
    "reproduced_text",
    "save_figure",
    "save_page",
    "scaling_in_words",
    "tail_curve_table",
    "tail_curves_figure",
    "tail_figure",
    "tail_table",
    "trial_heading",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'longtail.report' has no attribute {name!r}")
    return getattr(importlib.import_module(f"longtail.report.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
