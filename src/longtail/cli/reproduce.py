"""`longtail reproduce`: a paper's tables beside what longtail finds on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli._options import Jobs, Json, Quiet
from longtail.cli._output import print_json
from longtail.errors import ParameterError

if TYPE_CHECKING:
    from longtail.papers import Paper, Trial


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER", help="A paper; without one, all are listed.", show_default=False
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder of benchmark sets, one folder each.",
            metavar="PATH",
            envvar="LONGTAIL_DATA",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Data sets, with commas; by default all.", metavar="NAME,...")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            "-m",
            help="Methods, with commas; by default those of the paper's tables that are built.",
            metavar="NAME,...",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Take so many of the seeds of made-up and sampled data; by default all.",
            metavar="N",
            min=1,
        ),
    ] = None,
    slow: Annotated[
        bool, typer.Option("--slow", help="Also what takes more than some minutes.")
    ] = False,
    choose: Annotated[
        bool,
        typer.Option(
            "--choose", help="Choose settings anew, on training data, in place of those recorded."
        ),
    ] = False,
    tail: Annotated[
        float | None,
        typer.Option(
            help="Tail weight of the row with one; by default chosen on training data, 0 for none.",
            metavar="C",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw MaF1 and training time against the number of classes, for papers that "
            "sample classes: png, svg, pdf or jpg.",
            metavar="FILE",
        ),
    ] = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Set a paper's tables beside what longtail finds.

    The benchmark sets are read from --data, or the folder that LONGTAIL_DATA names. Settings are
    recorded with the paper's figures; those that the paper chose by validation were chosen on
    training data, and --choose does it again. Made-up and sampled data are gone through once for
    each of their seeds, and figures are means.

    Example:

    ```text
    longtail reproduce proxml --data benchmarks/
    longtail reproduce proxml --only bibtex,eurlex-4k --methods proxml,dismec
    longtail reproduce mrb --seeds 3 --plot classes.png
    ```
    """
    from longtail.cli._reproduction import Reproduction
    from longtail.labels import check_tail
    from longtail.papers import find_paper, place_of

    if paper is None:
        _list(as_json)
        return
    wanted = find_paper(paper)
    trials = [trial for name in _words(only) for trial in wanted.trials_on(name)]
    trials = trials or list(wanted.trials)
    names = [wanted.method(name) for name in _words(methods)]
    if tail is not None:
        check_tail(tail)
    if plot is not None:
        _check_plot(wanted, trials, plot)
    if data is None and not all(trial.made_up for trial in trials):
        raise ParameterError(
            "The benchmark sets were not found: name their folder by --data or in the environment "
            "variable LONGTAIL_DATA."
        )
    place = Path() if data is None else data
    for trial in trials:
        place_of(trial, place)
    reproduction = Reproduction(
        paper=wanted, data=place, methods=names, seeds=seeds, slow=slow, choose=choose, tail=tail,
        jobs=jobs, as_json=as_json, quiet=quiet,
    )  # fmt: skip
    try:
        reproduction.run(trials)
    finally:
        if plot is not None:
            reproduction.draw(plot)


def _check_plot(paper: Paper, trials: list[Trial], plot: Path) -> None:
    """Refuse a plot that cannot be drawn or written, before any work."""
    from longtail.report import check_plot_target

    if all(trial.n_classes is None for trial in trials):
        raise ParameterError(
            f"--plot draws against the number of classes, which is the same in the trials of "
            f"{paper.key}; leave it out."
        )
    check_plot_target(plot)


def _list(as_json: bool) -> None:
    from longtail.papers import papers

    known = papers().values()
    if as_json:
        print_json(
            [{"paper": each.key, "title": each.title, "source": each.source} for each in known]
        )
        return
    for each in known:
        print(f"{each.key}  {each.title}; {each.source}")


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]
