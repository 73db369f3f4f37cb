"""`longtail evaluate`: how good a model is on labelled data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli._options import (
    Constants,
    Jobs,
    Json,
    Quiet,
    Ranks,
    Reading,
    Tail,
    parse_ranks,
    with_options,
)
from longtail.cli._output import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from longtail.metrics import ModelEvaluation


@with_options
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
    *,
    reading: Reading,
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
    from longtail.cli._models import CHUNK, Model
    from longtail.labels import check_tail, propensity_constants
    from longtail.metrics import evaluate_model

    ranks = parse_ranks(k)
    check_tail(tail)
    if constants is not None:
        propensity_constants(constants)
    loaded = Model.load(model, jobs=jobs)
    points = reading.load(data, usual_part="test")
    inputs, points = loaded.labelled(points)
    found = evaluate_model(
        loaded.estimator, inputs, points.Y, k=ranks, tail=tail, propensity_constants=constants,
        batch_size=CHUNK, progress=False if quiet else None,
    )  # fmt: skip
    if as_json:
        print_json({"model": str(model), "data": str(data), **found.to_dict()})
        return
    print_evaluation(found, f"{model} on {data}", console())


def print_evaluation(found: ModelEvaluation, title: str, screen: Console) -> None:
    """Both tables, and a note about labels that the model does not know."""
    from longtail.report import evaluation_table, frequency_table

    heading = f"{title}: {found.points:,} points, {found.labels:,} labels"
    screen.print(evaluation_table(found.evaluation, heading))
    screen.print(frequency_table(found.by_frequency, "By training points of the label, %"))
    if found.unknown_labels:
        n = found.unknown_labels
        which = "1 label is" if n == 1 else f"{n:,} labels are"
        screen.print(f"{which} unknown to the model and counted as missed.")
