"""`longtail predict`: labels for new points, as JSON lines."""

from __future__ import annotations

import gzip
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli._options import (
    Constants,
    FormatOrLines,
    Jobs,
    Part,
    Quiet,
    Read,
    Reading,
    Tail,
    TextColumn,
)

if TYPE_CHECKING:
    from longtail.cli._models import Model


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Points to predict: any data file; for texts also one text a line; - for standard "
            "input.",
        ),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="Labels a point, at most.")] = 5,
    threshold: Annotated[
        float | None,
        typer.Option(help="Only labels that score at least so much.", metavar="X"),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities as scores, where the method has them.")
    ] = False,
    tail: Tail = 0.0,
    constants: Constants = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file, whole or not at all; .gz is packed.", metavar="FILE"
        ),
    ] = None,
    jobs: Jobs = -1,
    quiet: Quiet = False,
    format: FormatOrLines = None,
    part: Part = None,
    text_column: TextColumn = None,
    read: Read = None,
) -> None:
    """Predict the labels of new points.

    Writes a line {"labels": [names], "scores": [numbers]} for each point, best label first, in the
    order of the input. With `--tail` rare labels are favoured, and the scores are what the labels
    are then ranked by.

    Example:

    ```text
    longtail predict tagger new.jsonl -k 3
    longtail predict tagger new.jsonl --tail 0.5
    echo "sparse matrix product" | longtail predict tagger -
    ```
    """
    from longtail.cli._models import Model
    from longtail.cli._output import write_json
    from longtail.cli._points import points_to_predict
    from longtail.errors import ParameterError
    from longtail.labels import check_tail, propensity_constants
    from longtail.runtime.run import progress_bar

    if constants is not None:
        propensity_constants(constants)
    if check_tail(tail) > 0 and proba:
        raise ParameterError("--tail ranks by more than probabilities; leave it or --proba out.")
    if constants is not None and tail == 0:
        raise ParameterError("--propensity-constants are for --tail; give it a weight above 0.")
    if threshold is not None and math.isnan(threshold):
        raise ParameterError("--threshold must be a number, not nan.")
    if to is not None and to.exists() and data.exists() and to.samefile(data):
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
    reading = Reading(format, part, text_column, read=read)
    with _output(to) as stream, progress_bar(False if quiet or to is None else None) as bar:
        done = 0
        for chunk in points_to_predict(loaded, data, reading):
            if proba:
                options = {} if threshold is None else {"threshold": threshold}
                scores = loaded.estimator.predict_proba(chunk, **options)  # type: ignore[union-attr]
            else:
                scores = loaded.topk(chunk, k, tail=tail, constants=constants)
            for record in _records(loaded, scores, k, threshold):
                write_json(record, stream)
                done += 1
            stream.flush()
            if bar is not None:
                bar("predicting", done, None)  # type: ignore[arg-type] # nobody knows the end


def _records(
    model: Model, scores: Any, k: int, threshold: float | None
) -> Iterator[dict[str, Any]]:
    from longtail import ranked

    columns, values = ranked(scores, min(k, len(model.classes)))
    names = model.classes
    for row, of_row in zip(columns, values, strict=True):
        kept = row >= 0
        if threshold is not None:
            kept &= of_row >= threshold
        yield {"labels": names[row[kept]].tolist(), "scores": of_row[kept].tolist()}


@contextmanager
def _output(to: Path | None) -> Iterator[IO[bytes]]:
    if to is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    from longtail import store

    with store.atomic_file(to) as place, open(place, "wb") as file:
        if to.suffix.lower() == ".gz":
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file
