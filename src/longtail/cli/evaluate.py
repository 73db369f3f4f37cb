"""`longtail evaluate`: how good a model is on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli._options import (
    Constants,
    Format,
    Jobs,
    Json,
    LabelsColumn,
    LabelSeparator,
    Part,
    Quiet,
    Ranks,
    Read,
    Reading,
    Tail,
    TextColumn,
    parse_ranks,
)

if TYPE_CHECKING:
    from rich.console import Console

    from longtail.cli._measured import Measured


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Labelled data; of a folder, its test part."),
    ],
    k: Ranks = "1,3,5",
    tail: Tail = 0.0,
    constants: Constants = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
    format: Format = None,
    part: Part = None,
    text_column: TextColumn = None,
    labels_column: LabelsColumn = None,
    label_separator: LabelSeparator = None,
    read: Read = None,
) -> None:
    """Measure a model on labelled data.

    Labels are matched by name; those that the model does not know count as missed. Propensities
    come from the training counts that the model keeps. With `--tail` the ranking favours rare
    labels; the label sets stay as they are.

    Example:

    ```text
    longtail evaluate tagger test.jsonl
    longtail evaluate tagger test.jsonl -k 1,3,5,10 --json
    longtail evaluate tagger test.jsonl --tail 0.5
    ```
    """
    from longtail.cli._measured import measure
    from longtail.cli._models import Model
    from longtail.cli._output import console, print_json
    from longtail.labels import check_tail, propensity_constants

    ranks = parse_ranks(k)
    check_tail(tail)
    if constants is not None:
        propensity_constants(constants)
    loaded = Model.load(model, jobs=jobs)
    reading = Reading(format, part, text_column, labels_column, label_separator, read)
    points = reading.load(data, usual_part="test")
    measured = measure(
        loaded, points, k=ranks, tail=tail, constants=constants,
        progress=False if quiet else None,
    )  # fmt: skip
    if as_json:
        print_json({"model": str(model), "data": str(data), **measured.to_dict()})
        return
    print_measured(measured, f"{model} on {data}", console())


def print_measured(measured: Measured, title: str, screen: Console) -> None:
    """Both tables, and what has to be said about labels that the model does not know."""
    from longtail.report import evaluation_table, frequency_table

    heading = f"{title}: {measured.points:,} points, {measured.labels:,} labels"
    screen.print(evaluation_table(measured.evaluation, heading))
    screen.print(frequency_table(measured.by_frequency, "By training points of the label, %"))
    if measured.unknown_labels:
        n = measured.unknown_labels
        which = "1 label is" if n == 1 else f"{n:,} labels are"
        screen.print(f"{which} unknown to the model and counted as missed.")
