"""`longtail predict`: labels for new points, as JSON lines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli._options import (
    Constants,
    Jobs,
    Quiet,
    ReadingTexts,
    Tail,
    with_options,
)
from longtail.cli._output import output, write_json
from longtail.errors import DataError, ParameterError, SkippedRows

if TYPE_CHECKING:
    from longtail.cli._answers import Answer, Wanted
    from longtail.cli._models import Model
    from longtail.errors import DataError


@with_options
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Points to predict: any data file; for texts also one text per line; - for "
            "standard input.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            min=1,
            help="The K best labels instead of the label set; with --threshold, at most K.",
            metavar="K",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="All labels that score at least X instead of the label set.", metavar="X"
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities as scores, where the method has them.")
    ] = False,
    tail: Tail = 0.0,
    constants: Constants = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file, which appears when all is done; .gz is packed. A FIFO or a "
            "device is written to as it is; - is standard output.",
            metavar="FILE",
        ),
    ] = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    *,
    reading: ReadingTexts,
) -> None:
    """Predict the labels of new points.

    Writes a line {"labels": [names], "scores": [numbers]} for each point, best label first, in the
    order of the input: the label set that the model commits to, or the best labels as `-k` and
    `--threshold` say. With `--tail` rare labels are favoured, and the scores are what the labels
    are then ranked by. With `--on-error skip` the line of a bad row is {"error": "reason"}.

    Example:

    ```text
    longtail predict tagger new.jsonl
    longtail predict tagger new.jsonl -k 3 --tail 0.5
    echo "sparse matrix product" | longtail predict tagger - --threshold -0.3
    ```
    """
    from longtail.cli._answers import Wanted
    from longtail.cli._models import Model
    from longtail.cli._points import points_to_predict
    from longtail.labels import check_tail, propensity_constants
    from longtail.runtime.run import progress_bar

    if constants is not None:
        propensity_constants(constants)
    if check_tail(tail) > 0 and proba:
        raise ParameterError("--tail ranks by more than probabilities; leave it or --proba out.")
    if tail > 0 and k is None and threshold is None:
        raise ParameterError("--tail ranks labels; say how many are wanted with -k.")
    if constants is not None and tail == 0:
        raise ParameterError("--propensity-constants are for --tail; give it a weight above 0.")
    if threshold is not None and math.isnan(threshold):
        raise ParameterError("--threshold must be a number, not nan.")
    if to is not None and to.is_file() and data.exists() and to.samefile(data):
        raise ParameterError(f"--to would write over the points in {data}; name another file.")
    loaded = Model.load(model, jobs=jobs)
    if proba and not loaded.has_probabilities:
        raise ParameterError(
            f"{loaded.classifier.method} has no probabilities; leave out --proba, or train a "
            "method that has them, such as br."
        )
    if proba and threshold is not None and not 0 <= threshold < 1:
        raise ParameterError(
            f"With --proba a threshold is at least 0 and below 1, not {threshold:g}; give another, "
            "or leave out --proba."
        )
    wanted = Wanted(k, threshold, proba, tail, loaded.propensities(constants))
    skipped = SkippedRows()
    shows_progress = not quiet and to not in (None, Path("-"))
    with output(to) as stream, progress_bar(None if shows_progress else False) as bar:
        done = 0
        for chunk in points_to_predict(loaded, data, reading):
            for answer in _answers(loaded, wanted, chunk):
                if isinstance(answer, DataError):
                    skipped.add(answer)
                    answer = {"error": str(answer)}
                write_json(answer, stream)
                done += 1
            stream.flush()
            if bar is not None:
                bar("predicting", done, None)  # type: ignore[arg-type] # the end is unknown
    skipped.warn()


def _answers(model: Model, wanted: Wanted, chunk: Any) -> Iterator[dict[str, Any] | DataError]:
    """What is written for each point of a chunk."""
    bad: dict[int, DataError] = {}
    points = chunk
    if isinstance(chunk, list):  # of texts; a row that could not be read is its error
        bad = {n: each for n, each in enumerate(chunk) if isinstance(each, DataError)}
        points = [each for n, each in enumerate(chunk) if n not in bad]
    n_points = len(bad) + (len(points) if isinstance(points, list) else points.shape[0])
    answers: Iterator[Answer] = iter(())
    if n_points > len(bad):
        answers = wanted.answers(model.classifier, model.features(points))
    for number in range(n_points):
        if number in bad:
            yield bad[number]
        else:
            columns, scores = next(answers)
            yield {"labels": model.classes[columns].tolist(), "scores": scores.tolist()}
