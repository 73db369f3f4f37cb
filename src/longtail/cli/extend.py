"""`longtail extend`: a saved model learns the labels of a data file that it does not know yet."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail import store
from longtail.cli._options import (
    Jobs,
    Json,
    Quiet,
    Reading,
    with_options,
)
from longtail.cli._output import print_json, remark
from longtail.errors import CheckpointError, InputError

if TYPE_CHECKING:
    from longtail.cli._models import Model
    from longtail.cli._partial import Partial
    from longtail.data import Dataset


@with_options
def extend(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Points that have the new labels, and points that do not."
        ),
    ],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these new labels, with commas; may be repeated. By default all that DATA "
            "has and the model does not know.",
            metavar="NAME,...",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the larger model; by default it takes MODEL's place.",
            metavar="NEW",
        ),
    ] = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Teach a model new labels; what it knows stays as it is.

    The new labels are trained on DATA with the features and parameters of the model, against the
    points of DATA that do not have them: so give all points, not only those with the new labels.
    Labels of DATA that the model knows are left out. MODEL stays until the new one is complete;
    after a kill, run the same command again, and it goes on.

    Example:

    ```text
    longtail extend tagger docs.jsonl
    longtail extend tagger docs.jsonl --labels "climate policy,wind power" --to larger-tagger
    ```
    """
    from longtail.cli._models import Model
    from longtail.cli._partial import Partial

    started = time.monotonic()
    target = model if to is None else to
    loaded = Model.load(model)
    _refuse_others(loaded)
    store.check_target(target)
    notes = {
        "command": "extend",
        "method": loaded.classifier.method,
        "data": data.name or str(data),
        "part": reading.part,
        "labels": labels,
    }
    partial = Partial(target, notes)
    goes_on = partial.check()
    if goes_on:
        remark(f"Going on from {partial.folder}.", quiet=quiet)
    remark(f"Reading {data}", quiet=quiet)
    points = reading.load(data, usual_part="train")
    new, known = _new_labels(points, loaded, labels)
    remark(_what_is_new(len(new), known), quiet=quiet)
    if new or to is not None or goes_on:
        with partial.kept():
            if new:
                _learn(loaded, points, new, partial, jobs, quiet)
            store.write(target, loaded.estimator, meta=_meta(model, notes, len(new), len(points)))
    partial.remove()
    if as_json:
        print_json(
            {
                "model": str(target),
                "points": len(points),
                "added": new,
                "known": known,
                "labels": len(loaded.classes),
                "seconds": round(time.monotonic() - started, 3),
            }
        )
        return
    took = f"({time.monotonic() - started:.1f} s)"
    remark(f"The model in {target} knows {len(loaded.classes):,} labels {took}.", quiet=quiet)


def _refuse_others(model: Model) -> None:
    if not hasattr(model.classifier, "add_labels"):
        raise InputError(
            f"{model.classifier.method} learns its labels together, so none can be added; train "
            "it again with all of them."
        )


def _new_labels(points: Dataset, model: Model, wanted: list[str] | None) -> tuple[list[Any], int]:
    """Labels that points have and the model does not know; how many it knows."""
    import numpy as np

    present = points.classes[np.unique(points.Y.indices)].tolist()
    if not present:
        raise InputError("No point of the data has a label; give data with labels.")
    if wanted is not None:
        chosen = _chosen(wanted, {str(name): name for name in present})
        present = [name for name in present if name in chosen]
    ours = set(model.classes.tolist())
    if type(present[0]) not in {type(name) for name in ours}:
        raise InputError(
            f"The labels of the data are like {present[0]!r}, those of the model like "
            f"{model.classes.tolist()[0]!r}; name them alike."
        )
    new = [name for name in present if name not in ours]
    return new, len(present) - len(new)


def _chosen(wanted: list[str], present: dict[str, Any]) -> set[Any]:
    """The labels that were asked for, by name; a name may have commas in it if it stands alone."""
    words: list[str] = []
    for text in wanted:
        words.extend([text] if text in present else (word.strip() for word in text.split(",")))
    missing = next((word for word in words if word not in present), None)
    if missing is not None:
        raise InputError(
            f"No point of the data has the label {missing!r}, so it cannot be learned from it."
        )
    return {present[word] for word in words}


def _what_is_new(new: int, known: int) -> str:
    if not new:
        return f"Nothing to add: of {known:,} label{'s' * (known != 1)} the model knows all."
    skipped = f", leaving out {known:,} that the model knows" if known else ""
    return f"Training {new:,} new label{'s' * (new != 1)}{skipped}"


def _learn(
    model: Model, points: Dataset, names: list[Any], partial: Partial, jobs: int, quiet: bool
) -> None:
    """Train the labels on the points, within the loaded model."""
    import numpy as np

    from longtail.tagger import Tagger

    column = {name: number for number, name in enumerate(points.classes.tolist())}
    inputs = model.inputs(points)
    X = model.estimator.transform(inputs) if isinstance(model.estimator, Tagger) else inputs
    Y = points.Y[:, [column[name] for name in names]]
    unseen = int(((np.diff(X.indptr) == 0) & (np.diff(Y.indptr) > 0)).sum())
    if unseen:
        remark(f"{unseen:,} of their points have no feature that the model knows.", quiet=quiet)
    classifier: Any = model.classifier
    threads = classifier.n_jobs
    classifier.set_params(n_jobs=jobs)
    partial.begin()
    try:
        classifier.add_labels(
            X,
            Y,
            label_names=names,
            checkpoint=partial.checkpoint,
            progress=False if quiet else None,
        )
    except CheckpointError:
        raise partial.belongs_to_other_work() from None
    finally:
        classifier.set_params(n_jobs=threads)


def _meta(model: Path, notes: dict[str, Any], new: int, points: int) -> dict[str, Any]:
    """What the model records of its training and of this extension."""
    meta = dict(store.read_meta(model).meta)
    if new:
        number = 1 + sum(name.startswith("extended") for name in meta)
        name = "extended" if number == 1 else f"extended {number}"
        meta[name] = {"data": notes["data"], "points": points, "labels": new}
    return meta
