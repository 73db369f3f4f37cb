"""`longtail train`: from a data file to a model folder, and on again after a kill."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail import store
from longtail.cli._feature_options import FeatureOptions
from longtail.cli._options import (
    Jobs,
    Json,
    Quiet,
    RandomState,
    Ranks,
    Reading,
    TestSize,
    parse_ranks,
    share_or_count,
    with_options,
)
from longtail.cli._output import console, print_json, remark
from longtail.errors import CheckpointError, InputError, ParameterError
from longtail.methods.registry import find_method, parse_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longtail.base import ExtremeClassifier
    from longtail.cli._partial import Partial
    from longtail.data import Dataset
    from longtail.features.made import FeaturesByKind, MadeFeatures
    from longtail.metrics import ModelEvaluation
    from longtail.runtime.estimates import Estimate


@with_options
def train(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A data file, or a folder.")],
    to: Annotated[Path, typer.Option(help="The model folder to write.", metavar="MODEL")],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="See `longtail methods`; by default what `longtail inspect` recommends.",
            metavar="NAME",
        ),
    ] = None,
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
    *,
    options: FeatureOptions,
    reading: Reading,
) -> None:
    """Train a model and save it.

    An estimate of memory and time is printed first, on stderr; training that cannot fit into the
    available memory is refused.

    Finished work is kept in MODEL.partial until the model is there: after a kill, run the same
    command again, and it goes on and ends with the same model.

    Example:

    ```text
    longtail train docs.jsonl --to tagger --test-size 0.2
    longtail train train.txt --to model -m br --set C=2 --damping sqrt
    ```
    """
    from longtail.cli._models import CHUNK, refuse_unlabelled
    from longtail.cli._partial import Partial
    from longtail.features.made import FeaturesByKind
    from longtail.metrics import evaluate_model
    from longtail.parameters import check_jobs
    from longtail.tagger import Tagger

    started = time.monotonic()
    ranks = parse_ranks(k)
    if method is None and settings:
        raise ParameterError("--set is for the parameters of a method; name it with --method.")
    check_jobs(jobs)
    classifier = None if method is None else _classifier(method, settings or (), jobs, force)
    options.settings()
    size = None if test_size is None else share_or_count(test_size)
    store.check_target(to)
    notes = {
        "data": data.name or str(data),
        "part": reading.part,
        "method": method or "recommended",
        "settings": _given(classifier, settings or ()),
        "features": options.given(),
        "test_size": test_size,
        "random_state": random_state,
    }
    partial = Partial(to, notes)
    if partial.check():
        remark(f"Going on from {partial.folder}.", quiet=quiet)
    reading.check_format()
    remark(f"Reading {data}", quiet=quiet)
    points = reading.load(data, usual_part="train")
    held_out = None
    if size is not None:
        points, held_out = points.split(test_size=size, random_state=random_state)
        refuse_unlabelled(held_out)
    texts = points.texts is not None
    features = FeaturesByKind(
        points.texts if texts else points.X, lambda kind: options.transformer(points, kind)
    )
    classifier = classifier or _recommended(features, points, jobs, force)
    remark(
        f"Training {classifier.method} on {len(points):,} points with {points.n_labels:,} labels",
        quiet=quiet,
    )
    made = features(classifier.feature_kind)
    _check_memory(made.estimate(classifier, points.encoded), force=force, quiet=quiet)
    with partial.kept():
        _fit(classifier, made, points, partial, quiet)
        names = None if texts else points.feature_names
        tagger = Tagger.from_fitted(
            made.transformer, classifier, takes_text=texts, feature_names=names
        )
        found = None
        if held_out is not None:
            found = evaluate_model(
                tagger, held_out.texts if texts else held_out.X, held_out.Y, k=ranks,
                batch_size=CHUNK, progress=False if quiet else None,
            )  # fmt: skip
        store.write(to, tagger, meta=_meta({**notes, "method": classifier.method}, found))
    partial.remove()
    if as_json:
        print_json(
            {
                "model": str(to),
                "method": classifier.method,
                "points": len(points),
                "labels": len(tagger.classes_),
                "seconds": round(time.monotonic() - started, 3),
                "test": None if found is None else found.to_dict(),
            }
        )
        return
    if found is not None:
        from longtail.cli.evaluate import print_evaluation

        print_evaluation(found, "Held out", console())
    remark(f"The model is in {to} ({time.monotonic() - started:.1f} s).", quiet=quiet)


def _classifier(name: str, settings: Sequence[str], jobs: int, force: bool) -> ExtremeClassifier:
    """The classifier of a method, with what `--set` says, checked."""
    method = find_method(name)
    parameters = parse_settings(method, settings)
    if "n_jobs" in method.parameters:
        parameters.setdefault("n_jobs", jobs)
    if force and "memory_limit" in method.parameters:
        parameters.setdefault("memory_limit", float("inf"))
    classifier = method.estimator(**parameters)
    classifier.check_parameters()
    return classifier


def _given(classifier: ExtremeClassifier | None, settings: Sequence[str]) -> dict[str, Any]:
    """The parameters that `--set` gave, as the classifier has them; not the threads."""
    names = {setting.partition("=")[0].strip() for setting in settings} - {"n_jobs"}
    return {} if classifier is None else {name: getattr(classifier, name) for name in names}


def _recommended(
    features: FeaturesByKind, points: Dataset, jobs: int, force: bool
) -> ExtremeClassifier:
    """The classifier that `longtail inspect` recommends for the points."""
    from longtail.choosing import choose_method

    text = points.texts is not None
    choice = choose_method(features, points.Y, text=text, n_jobs=jobs, details=False)
    return _classifier(choice.method, (), jobs, force)


def _check_memory(need: Estimate, *, force: bool, quiet: bool) -> None:
    """Print what training will take, and refuse what cannot fit."""
    from longtail.runtime.estimates import size_in_words
    from longtail.runtime.memory import available_memory

    remark(f"This will take {need}.", quiet=quiet)
    there = available_memory()
    if not force and there is not None and need.peak_bytes > there:
        raise InputError(
            f"Training would take about {size_in_words(need.peak_bytes)}, and "
            f"{size_in_words(there)} of memory are available; take another method, fewer features "
            "or points, or --force to try anyway."
        )


def _fit(
    classifier: ExtremeClassifier,
    made: MadeFeatures,
    points: Dataset,
    partial: Partial,
    quiet: bool,
) -> None:
    partial.begin()
    progress = False if quiet else None
    try:
        classifier.fit(made.X, points.encoded, checkpoint=partial.checkpoint, progress=progress)
    except CheckpointError:
        raise partial.belongs_to_other_work() from None


def _meta(notes: dict[str, Any], found: ModelEvaluation | None) -> dict[str, Any]:
    """What the model records of its training."""
    meta = {name: value for name, value in notes.items() if value not in (None, {})}
    if found is not None:
        meta["held_out"] = {"points": found.points, **found.evaluation.to_dict()}
    return meta
