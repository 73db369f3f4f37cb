"""`longtail train`: from a data file to a model folder, and on again after a kill."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli._feature_options import (
    Analyzer,
    Idf,
    MaxDf,
    MaxFeatures,
    MinDf,
    NgramRange,
    RowNorm,
    StopWords,
    ValueDamping,
)
from longtail.cli._options import (
    Format,
    Jobs,
    Json,
    LabelsColumn,
    LabelSeparator,
    Part,
    Quiet,
    RandomState,
    Ranks,
    Read,
    Reading,
    TestSize,
    TextColumn,
    parse_ranks,
    share_or_count,
)

if TYPE_CHECKING:
    from longtail.cli._measured import Measured
    from longtail.cli._partial import Partial
    from longtail.data import Dataset
    from longtail.tagger import Tagger


def train(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A data file, or a folder.")],
    to: Annotated[
        Path, typer.Option(help="The model folder to write.", metavar="MODEL", show_default=False)
    ],
    method: Annotated[
        str, typer.Option("--method", "-m", help="See `longtail methods`.", metavar="NAME")
    ] = "dismec",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter of the method; see `longtail methods NAME`. May be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    test_size: TestSize = None,
    k: Ranks = "1,3,5",
    random_state: RandomState = 0,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Try even what should not fit into memory; a memory_limit holds only if it is "
            "given by --set.",
        ),
    ] = False,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
    analyzer: Analyzer = None,
    ngram_range: NgramRange = None,
    min_df: MinDf = None,
    max_df: MaxDf = None,
    max_features: MaxFeatures = None,
    stop_words: StopWords = None,
    norm: RowNorm = None,
    damping: ValueDamping = None,
    idf: Idf = None,
    format: Format = None,
    part: Part = None,
    text_column: TextColumn = None,
    labels_column: LabelsColumn = None,
    label_separator: LabelSeparator = None,
    read: Read = None,
) -> None:
    """Train a model and save it.

    What it will take is said first, on stderr; what cannot fit into the memory that is available
    is refused.

    Finished work is kept in MODEL.partial until the model is there: after a kill, run the same
    command again, and it goes on and ends with the same model.

    Example:

    ```text
    longtail train docs.jsonl --to tagger --test-size 0.2
    longtail train train.txt --to model -m br --set C=2 --damping sqrt
    ```
    """
    from longtail import store
    from longtail.cli._features import FeatureOptions
    from longtail.cli._measured import measure
    from longtail.cli._models import Model, refuse_unlabelled
    from longtail.cli._output import console, print_json, remark
    from longtail.cli._partial import Partial
    from longtail.methods.registry import find_method, parse_settings
    from longtail.tagger import Tagger

    started = time.monotonic()
    ranks = parse_ranks(k)
    chosen = find_method(method)
    parameters = parse_settings(chosen, settings or ())
    if "n_jobs" in chosen.parameters:
        parameters.setdefault("n_jobs", jobs)
    classifier = chosen.estimator(**parameters)
    if force and "memory_limit" in chosen.parameters and "memory_limit" not in parameters:
        classifier.set_params(memory_limit=float("inf"))
    classifier.check_parameters()
    options = FeatureOptions(
        analyzer, ngram_range, min_df, max_df, max_features, stop_words, norm, damping, idf
    )
    options.settings()
    size = None if test_size is None else share_or_count(test_size)
    store.check_target(to)
    notes = {
        "data": data.name or str(data),
        "part": part,
        "method": method,
        "settings": {name: value for name, value in parameters.items() if name != "n_jobs"},
        "features": options.given(),
        "test_size": test_size,
        "random_state": random_state,
    }
    partial = Partial(to, notes)
    if partial.check():
        remark(f"Going on from {partial.folder}.", quiet=quiet)
    reading = Reading(format, part, text_column, labels_column, label_separator, read)
    reading.check_format()
    remark(f"Reading {data}", quiet=quiet)
    points = reading.load(data, usual_part="train")
    held_out = None
    if size is not None:
        points, held_out = points.split(test_size=size, random_state=random_state)
        refuse_unlabelled(held_out)
    remark(
        f"Training {chosen.name} on {len(points):,} points with {points.n_labels:,} labels",
        quiet=quiet,
    )
    tagger = Tagger(
        features=options.transformer(points, classifier.feature_kind), classifier=classifier
    )
    _check_memory(tagger, points, force=force, quiet=quiet)
    with partial.kept():
        tagger = _fitted(tagger, points, partial, quiet)
        measured = None
        if held_out is not None:
            measured = measure(Model(tagger), held_out, k=ranks, progress=False if quiet else None)
        store.write(to, tagger, meta=_meta(notes, measured))
    partial.remove()
    if as_json:
        print_json(
            {
                "model": str(to),
                "method": chosen.name,
                "points": len(points),
                "labels": len(tagger.classes_),
                "seconds": round(time.monotonic() - started, 3),
                "test": None if measured is None else measured.to_dict(),
            }
        )
        return
    if measured is not None:
        from longtail.cli.evaluate import print_measured

        print_measured(measured, "Held out", console())
    remark(f"The model is in {to} ({time.monotonic() - started:.1f} s).", quiet=quiet)


def _check_memory(tagger: Tagger, points: Dataset, *, force: bool, quiet: bool) -> None:
    """Say what training will take, and refuse what cannot fit."""
    from longtail.cli._output import remark
    from longtail.errors import InputError
    from longtail.runtime.estimates import size_in_words
    from longtail.runtime.memory import available_memory

    if force and quiet:
        return
    need = tagger.estimate(points.X if points.texts is None else points.texts, points.Y)
    remark(f"This will take {need}.", quiet=quiet)
    there = available_memory()
    if not force and there is not None and need.peak_bytes > there:
        raise InputError(
            f"Training would take about {size_in_words(need.peak_bytes)}, and "
            f"{size_in_words(there)} of memory are available; take another method, fewer features "
            "or points, or --force to try anyway."
        )


def _fitted(tagger: Tagger, points: Dataset, partial: Partial, quiet: bool) -> Tagger:
    from longtail.errors import CheckpointError

    by_name = points.label_names is not None
    partial.begin()
    try:
        return tagger.fit(
            points.X if points.texts is None else points.texts,
            points.label_sets() if by_name else points.Y,
            label_names=points.classes.tolist() if by_name else None,
            feature_names=None if points.texts is not None else points.feature_names,
            checkpoint=partial.checkpoint,
            progress=False if quiet else None,
        )
    except CheckpointError:
        raise partial.belongs_to_other_work() from None


def _meta(notes: dict[str, Any], measured: Measured | None) -> dict[str, Any]:
    """What the model remembers of its making."""
    meta = {name: value for name, value in notes.items() if value not in (None, {})}
    if measured is not None:
        meta["held_out"] = {"points": measured.points, **measured.evaluation.to_dict()}
    return meta
