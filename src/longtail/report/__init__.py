"""Results for people: tables for the terminal, plots for the page."""

from longtail.report.graph import LabelGraph, describe_graph
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

__all__ = [
    "LabelGraph",
    "describe_graph",
    "evaluation_table",
    "explanation_text",
    "facts_table",
    "frequency_table",
    "hubs_table",
    "predictions_table",
    "printable",
    "tail_table",
]
