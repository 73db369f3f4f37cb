"""`longtail tail`: what a tail weight costs and brings, and which to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail import store
from longtail.cli._options import (
    Constants,
    Jobs,
    Json,
    Quiet,
    Ranks,
    Reading,
    parse_ranks,
    with_options,
)
from longtail.cli._output import console, print_json, remark

if TYPE_CHECKING:
    from longtail.cli._models import Model
    from longtail.data import Dataset
    from longtail.decisions import Calibration, HeldOutScores


@with_options
def tail(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Labelled data that the model was not trained on; not a test set."
        ),
    ],
    max_loss: Annotated[
        float | None,
        typer.Option(help="Choose: P@1 may fall by this share, 0.01 by default.", metavar="X"),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(help="Choose: the best X·P@1 + (1-X)·PSP@1.", metavar="X"),
    ] = None,
    at: Annotated[
        int, typer.Option(min=1, help="The rank at which to choose, instead of 1.", metavar="K")
    ] = 1,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="First learn the score scale from DATA; kept in MODEL."),
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the curves to a png, svg, pdf or jpg.", metavar="FILE"),
    ] = None,
    k: Ranks = "1,3,5",
    depth: Annotated[
        int, typer.Option(min=1, help="Labels per point that may come to the front.", metavar="N")
    ] = 100,
    constants: Constants = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Show what favouring rare labels costs and brings, and choose how much.

    Prints P@k and PSP@k on DATA over a grid of tail weights, and the weight to give to
    `longtail predict --tail`.

    Example:

    ```text
    longtail tail tagger valid.jsonl --max-loss 0.005
    longtail tail tagger valid.jsonl --calibrate --plot trade-off.png
    ```
    """
    from longtail.cli._models import Model
    from longtail.decisions import choose_tail, fit_calibration
    from longtail.labels import DEFAULT_CONSTANTS, propensity_constants
    from longtail.report import check_plot_target, save_figure, tail_curve_table, tail_figure

    ranks = parse_ranks(k)
    pair = DEFAULT_CONSTANTS if constants is None else propensity_constants(constants)
    if plot is not None:
        check_plot_target(plot)
    loaded = Model.load(model, jobs=jobs)
    held = _scores(loaded, reading.load(data, usual_part="test"), depth)
    choice = choose_tail(
        held, max_loss=max_loss, weight=weight, at=at, k=ranks, propensity_constants=pair,
        calibration=fit_calibration(held) if calibrate else None,
    )  # fmt: skip
    if calibrate:
        _keep(choice.calibration, model)
        remark(f"The score scale is kept in {model}.", quiet=quiet)
    title = f"{model} on {data}: {len(held):,} points"
    if as_json:
        print_json(
            {
                "model": str(model),
                "data": str(data),
                "points": len(held),
                "tail": choice.tail,
                "wanted": choice.wanted,
                "scale": choice.calibration.scale,
                "shift": choice.calibration.shift,
                "curve": choice.curve.to_dicts(),
            }
        )
    else:
        screen = console()
        rounded = (10 * choice.curve["tail"]).round(6) % 1 == 0
        shown = choice.curve.filter(rounded | (choice.curve["tail"] == choice.tail))
        screen.print(tail_curve_table(shown, chosen=choice.tail, title=f"{title}, %"))
        screen.print(f"Chosen: --tail {choice.tail:g}, for {choice.wanted}.")
    if plot is not None:
        save_figure(tail_figure(choice.curve, chosen=choice.tail, title=title), plot)
        remark(f"The plot is in {plot}.", quiet=quiet)


def _scores(model: Model, data: Dataset, depth: int) -> HeldOutScores:
    """Scores of the points, with the labels matched by name."""
    from longtail.decisions import validation_scores

    inputs, data = model.labelled(data)
    return validation_scores(model.estimator, inputs, data.encoded, depth=depth)


def _keep(calibration: Calibration, folder: Path) -> None:
    """Write the model again with its calibration, otherwise unchanged."""
    import numpy as np

    from longtail.cli._models import Model

    model = Model.load(folder)
    model.classifier.calibration_ = np.array(calibration)
    store.write(folder, model.estimator, meta=store.read_meta(folder).meta)
