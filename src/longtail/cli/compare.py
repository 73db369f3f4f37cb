"""`longtail compare`: several methods on the same split, with their accuracy, time and size."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli._failures import command_line
from longtail.cli._feature_options import FeatureOptions
from longtail.cli._options import (
    TESTED,
    Constants,
    Jobs,
    Json,
    Quiet,
    RandomState,
    Ranks,
    Reading,
    Tail,
    TestSize,
    parse_ranks,
    share_or_count,
    with_options,
)
from longtail.cli._output import remark
from longtail.errors import ParameterError
from longtail.methods import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longtail.base import ExtremeClassifier
    from longtail.choosing import Limits, Problem
    from longtail.data import Dataset

TRIED = "What is tried"
USUAL_TEST_SIZE = 0.2
"""Share of the points to test on where nothing else is said."""
USUAL_TIME_LIMIT = 10.0
"""Minutes that a method may be expected to train where all are asked for."""


@with_options
def compare(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="A data file, or a folder; with a test part, that is tested on."
        ),
    ],
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            help="With commas, as `longtail methods` has them; or all that fit the data. "
            "NAME=METHOD gives one another name.",
            metavar="NAME,...",
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(
            help="Data to test on; without it the test part of DATA, or else --test-size, 0.2 "
            "unless given.",
            metavar="DATA",
            rich_help_panel=TESTED,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="METHOD.NAME=VALUE, such as dismec.C=0.5. May be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    tail: Tail = 0.0,
    test_size: TestSize = None,
    k: Ranks = "1,3,5",
    constants: Constants = None,
    random_state: RandomState = 0,
    jobs: Jobs = -1,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw accuracy against time, size and tail: png, svg, pdf or jpg.",
            metavar="FILE",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write tables and plots as one HTML page.", metavar="FILE"),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the models, each in a folder of its name in here.", metavar="PATH"),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Do not try methods that estimate their training at more minutes; with all, "
            f"{USUAL_TIME_LIMIT:g} unless given, else no limit.",
            metavar="MINUTES",
            rich_help_panel=TRIED,
        ),
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            help="Nor methods that estimate more memory; by default what is available.",
            metavar="GB",
            rich_help_panel=TRIED,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    *,
    options: FeatureOptions,
    reading: Reading,
) -> None:
    """Compare methods on the same split.

    Accuracy, seconds, size on disk and peak memory of every method. Features are made once; a
    method that fails, refuses or would need too much says so in its row; Ctrl-C keeps what is
    finished.

    Example:

    ```text
    longtail compare docs.jsonl --methods dismec,br --plot compare.png
    longtail compare docs.jsonl -m all --time-limit 5 --report compare.html
    longtail compare eurlex/ -m all --damping sqrt --set dismec.C=2
    longtail compare docs.jsonl -m dismec,loose=dismec --set loose.C=0.1
    ```
    """
    from longtail.choosing.comparison_rows import check_places
    from longtail.cli._comparison_run import ComparisonRun
    from longtail.labels import check_tail, propensity_constants
    from longtail.report import check_page_target, check_plot_target

    ranks = parse_ranks(k)
    chosen = parse_methods(methods, settings or (), jobs=jobs)
    check_tail(tail)
    limits = parse_limits(methods, time_limit, memory_limit)
    options.settings()
    if constants is not None:
        propensity_constants(constants)
    if plot is not None:
        check_plot_target(plot)
    if report is not None:
        check_page_target(report)
    if keep is not None:
        check_places(keep, chosen)
    size = _size_of_test(test, test_size)
    reading.check_format()
    remark(f"Reading {data}", quiet=quiet)
    trained_on, tested_on = _parts(data, test, reading, size, random_state)
    if trained_on.name is None:
        trained_on = replace(trained_on, name=str(data))
    problem = _prepared(trained_on, tested_on, chosen, options, constants, quiet)
    run = ComparisonRun(
        problem, chosen, ranks, tail=tail, keep=keep, limits=limits, curves=report is not None,
        quiet=quiet, as_json=as_json,
    )  # fmt: skip
    run.run()
    if plot is not None:
        run.draw(plot)
    if report is not None:
        run.report(report, command=command_line(context))
    run.end()


def parse_limits(methods: str, minutes: float | None, gigabytes: float | None) -> Limits:
    """What a method may need to be tried; where all are asked for, there is a limit of time.

    Examples
    --------
    >>> parse_limits("all", None, 4), parse_limits("dismec", None, None)
    (Limits(time_limit=10.0, memory_limit=4), Limits(time_limit=None, memory_limit=None))
    """
    from longtail.choosing import Limits

    if minutes is None and "all" in (word.strip() for word in methods.split(",")):
        minutes = USUAL_TIME_LIMIT
    return Limits(time_limit=minutes, memory_limit=gigabytes)


def parse_methods(
    words: str, settings: Sequence[str], *, jobs: int
) -> dict[str, ExtremeClassifier]:
    """The classifiers of `--methods` by name, with what `--set` says of them.

    Examples
    --------
    >>> parse_methods("dismec,loose=dismec", ["loose.C=0.1"], jobs=2)
    {'dismec': DiSMEC(n_jobs=2), 'loose': DiSMEC(C=0.1, n_jobs=2)}
    """
    from longtail.choosing.comparison_rows import named_classifiers

    wanted: dict[str, str] = {}
    for word in filter(None, (word.strip() for word in words.split(","))):
        name, equals, method = (each.strip() for each in word.partition("="))
        pairs = {name: method if equals else name}
        if word == "all":
            pairs = {name: name for name in registry.methods()}
        for name, method in pairs.items():
            if not re.fullmatch(r"\w[\w-]*", name):
                raise ParameterError(
                    f"{name!r} cannot be the name of a method here; use letters, digits, - and _."
                )
            if wanted.setdefault(name, method) != method:
                raise ParameterError(f"Two methods are called {name!r}; name them apart.")
    parameters: dict[str, list[str]] = {name: [] for name in wanted}
    for setting in settings:
        left, equals, value = setting.partition("=")
        name, dot, parameter = left.strip().partition(".")
        if not (equals and dot):
            raise ParameterError(
                f"--set takes METHOD.NAME=VALUE, such as dismec.C=0.5, not {setting!r}."
            )
        if name not in parameters:
            raise ParameterError(
                f"--set {setting!r} is for {name!r}, which is not among the methods compared: "
                f"{', '.join(parameters)}."
            )
        parameters[name].append(f"{parameter}={value}")
    classifiers: dict[str, ExtremeClassifier] = {}
    for name, method in wanted.items():
        found = registry.find_method(method)
        values: dict[str, Any] = registry.parse_settings(found, parameters[name])
        classifiers[name] = found.estimator(**values)
    return named_classifiers(classifiers, n_jobs=jobs)


def _size_of_test(test: Path | None, size: float | None) -> int | float | None:
    if test is not None and size is not None:
        raise ParameterError("--test names data to test on, --test-size splits some off; give one.")
    return None if size is None else share_or_count(size)


def _parts(
    data: Path, test: Path | None, reading: Reading, size: float | None, random_state: int
) -> tuple[Dataset, Dataset]:
    """What to train and what to test on: the parts of a folder, two files, or a split."""
    from longtail.data.recognise import parts_of_folder

    if test is not None:
        held_out = replace(reading, part=None).load(test, usual_part="test")
        return reading.load(data, usual_part="train"), held_out
    parts = parts_of_folder(data) if data.is_dir() else {}
    if size is None and reading.part is None and {"train", "test"} <= set(parts):
        return reading.load(data, usual_part="train"), reading.load(data, usual_part="test")
    whole = reading.load(data, usual_part="train")
    return whole.split(test_size=size or USUAL_TEST_SIZE, random_state=random_state)


def _prepared(
    train: Dataset,
    test: Dataset,
    classifiers: dict[str, ExtremeClassifier],
    options: Any,
    constants: str | None,
    quiet: bool,
) -> Problem:
    """The data with the features that the methods want."""
    from longtail.choosing import prepare
    from longtail.choosing.comparison_rows import kinds_of

    features = {kind: options.transformer(train, kind) for kind in kinds_of(classifiers.values())}
    problem = prepare(train, test, features=features, propensity_constants=constants)
    remark(f"Making features of {len(train):,} + {len(test):,} points", quiet=quiet)
    for kind in features:
        problem.features(kind)
    return problem
