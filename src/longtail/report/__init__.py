"""Results for people: tables for the terminal, plots and pages to keep."""

from longtail.errors import printable
from longtail.report.certificate import certificate_figure, plot_certificate
from longtail.report.comparison import ComparisonTable, best_line
from longtail.report.comparison_page import comparison_html
from longtail.report.comparison_plot import comparison_figure
from longtail.report.curves import (
    component_curve_figure,
    growth_figure,
    growth_table,
    ratio_figure,
)
from longtail.report.frequency import frequency_figure
from longtail.report.graph import Hub, LabelGraph, describe_graph
from longtail.report.html import check_page_target, save_page
from longtail.report.mixture import components_figure
from longtail.report.plots import check_plot_target, label_figure, save_figure
from longtail.report.reproduction import (
    candidate_line,
    choice_heading,
    differences_text,
    notes_text,
    reproduced_text,
    trial_heading,
)
from longtail.report.tables import (
    evaluation_table,
    facts_table,
    frequency_table,
    hubs_table,
    predictions_table,
    tail_table,
)
from longtail.report.tail import tail_curve_table, tail_curves_figure, tail_figure

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
    "comparison_figure",
    "comparison_html",
    "component_curve_figure",
    "components_figure",
    "describe_graph",
    "differences_text",
    "evaluation_table",
    "facts_table",
    "frequency_figure",
    "frequency_table",
    "growth_figure",
    "growth_table",
    "hubs_table",
    "label_figure",
    "notes_text",
    "plot_certificate",
    "predictions_table",
    "printable",
    "ratio_figure",
    "reproduced_text",
    "save_figure",
    "save_page",
    "tail_curve_table",
    "tail_curves_figure",
    "tail_figure",
    "tail_table",
    "trial_heading",
]
