"""`longtail reproduce`: a paper's tables beside what longtail finds on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli._options import Jobs, Json, Quiet

if TYPE_CHECKING:
    from longtail.published import Candidate, OpenTrial, Paper, Reproduced, Trial


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(help="A paper; without one, all are listed.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder of benchmark sets, one folder each.",
            metavar="PATH",
            envvar="LONGTAIL_DATA",
            show_default=False,
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
            help="Methods, with commas; by default all of the paper that are built.",
            metavar="NAME,...",
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
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Set a paper's tables beside what longtail finds.

    The benchmark sets are read from --data, or the folder that LONGTAIL_DATA names. Settings are
    recorded with the paper's figures; those that the paper chose by validation were chosen on
    training data, and --choose does it again.

    Example:

    ```text
    longtail reproduce proxml --data benchmarks/
    longtail reproduce proxml --only bibtex,eurlex-4k --methods proxml,dismec
    ```
    """
    from longtail.base import check_tail
    from longtail.errors import ParameterError
    from longtail.published import find_paper, place_of

    if paper is None:
        _list(as_json)
        return
    wanted = find_paper(paper)
    trials = [wanted.trial(name) for name in _words(only)] or list(wanted.trials)
    names = [wanted.method(name) for name in _words(methods)] or list(wanted.methods)
    if tail is not None:
        check_tail(tail)
    if data is None and any(trial.make is None for trial in trials):
        raise ParameterError(
            "The benchmark sets are not at hand: name their folder by --data or in the environment "
            "variable LONGTAIL_DATA."
        )
    place = Path() if data is None else data
    for trial in trials:
        place_of(trial, place)
    _Reproduction(wanted, place, names, slow, choose, tail, jobs, as_json, quiet).run(trials)


class _Reproduction:
    """The trials one after the other; every method is shown as soon as it is finished."""

    def __init__(
        self,
        paper: Paper,
        data: Path,
        methods: list[str],
        slow: bool,
        choose: bool,
        tail: float | None,
        jobs: int,
        as_json: bool,
        quiet: bool,
    ) -> None:
        self._paper, self._data, self._methods = paper, data, methods
        self._slow, self._choose, self._tail, self._jobs = slow, choose, tail, jobs
        self._as_json, self._quiet = as_json, quiet
        self._found: list[dict[str, Any]] = []
        self._finished = 0

    def run(self, trials: list[Trial]) -> None:
        """All of it; on Ctrl-C what is finished is kept."""
        from longtail.cli._failures import Interrupted
        from longtail.cli._output import print_json

        interrupted = False
        self._say(f"{self._paper.title}\n{self._paper.source}\n")
        try:
            for trial in trials:
                self._run(trial)
        except KeyboardInterrupt:
            interrupted = True
        if self._as_json:
            print_json(
                {
                    "paper": self._paper.key,
                    "title": self._paper.title,
                    "source": self._paper.source,
                    "trials": self._found,
                    "interrupted": interrupted,
                }
            )
        if interrupted:
            raise Interrupted(f"Interrupted: {self._finished} rows were finished.")

    def _run(self, trial: Trial) -> None:
        from longtail.cli._output import remark
        from longtail.methods import methods as known
        from longtail.published import open_trial, run_method
        from longtail.report import reproduced_text

        remark(f"Reading {trial.dataset}", quiet=self._quiet)
        described: dict[str, Any] = {"dataset": trial.dataset, "rows": []}
        self._found.append(described)
        if self._choose and trial.choice is not None:
            trial = self._chosen(trial, described)
        opened = open_trial(self._paper, trial, self._data)
        self._begin(opened, described)
        missing: list[Reproduced] = []
        for method in self._methods:
            if self._paper.methods[method] in known():
                remark(f"Running {method} on {trial.dataset}", quiet=self._quiet)
            for row in run_method(
                opened,
                method,
                slow=self._slow,
                tail=self._tail,
                n_jobs=self._jobs,
                progress=False if self._quiet else None,
            ):
                described["rows"].append(row.to_dict())
                if row.result is None:
                    missing.append(row)
                else:
                    self._finished += 1
                    self._say(f"{reproduced_text(row)}\n")
        self._end(opened, missing)

    def _chosen(self, trial: Trial, described: dict[str, Any]) -> Trial:
        """The trial with settings chosen anew."""
        from longtail.cli._output import remark
        from longtail.methods import find_method
        from longtail.published import choose, read_trial, with_choice
        from longtail.report import candidate_line, choice_heading

        assert trial.choice is not None
        method = find_method(self._paper.methods[trial.choice.method])
        train, _ = read_trial(trial, self._data)
        remark(f"Choosing the settings of {method.name} on {trial.dataset}", quiet=self._quiet)
        self._say(choice_heading(trial))
        candidates: list[Candidate] = []
        for candidate in choose(
            trial,
            train,
            method.estimator,
            n_jobs=self._jobs,
            progress=False if self._quiet else None,
        ):
            candidates.append(candidate)
            self._say(candidate_line(trial, candidate))
        self._say("")
        described["candidates"] = [vars(candidate) for candidate in candidates]
        return with_choice(trial, candidates)

    def _begin(self, opened: OpenTrial, described: dict[str, Any]) -> None:
        from longtail.comparison.running import setup_of
        from longtail.report import trial_heading

        trial, sizes = opened.trial, setup_of(opened.problem, k=(1,))
        described |= {
            "features": dict(trial.features),
            "parameters": {name: dict(given) for name, given in trial.parameters.items()},
            "about": trial.about,
            "train_points": sizes.train_points,
            "test_points": sizes.test_points,
            "test_points_without_labels": opened.problem.unlabelled,
            "labels": sizes.labels,
        }
        heading = trial_heading(
            trial,
            train_points=sizes.train_points,
            test_points=sizes.test_points,
            labels=sizes.labels,
            features=sizes.features,
        )
        self._say(heading)
        settings = [
            f"{method} with {', '.join(f'{name} {value}' for name, value in given.items())}"
            for method, given in trial.parameters.items()
            if given and method in self._methods
        ]
        described["best_possible"] = dict(opened.best)
        if settings:
            self._say(f"{'; '.join(settings)}.")
        for metric, value in opened.best.items():
            self._say(f"The best that is possible: {metric} {100 * value:.2f}.")
        empty = opened.problem.unlabelled
        if 0 < empty < sizes.test_points:
            self._say(
                f"{empty:,} test points have no label; over the others alone, P@k and nDCG@k are "
                f"{sizes.test_points / (sizes.test_points - empty):.4f} times ours."
            )
        self._say("")

    def _end(self, opened: OpenTrial, missing: list[Reproduced]) -> None:
        """What was left out, why, and what else to know about the figures."""
        from longtail.report import notes_text, printable

        by_reason: dict[str, list[str]] = {}
        for row in missing:
            by_reason.setdefault(row.left_out or "", []).append(row.method)
        for reason, names in by_reason.items():
            self._say(f"Left out: {', '.join(names)} ({printable(reason)}).")
        noted = [
            note
            for note in self._paper.noted
            if note.dataset in ("", opened.trial.dataset)
            and (not note.table or opened.trial.dataset in self._paper.table(note.table).values)
            and note.method in ("", *self._methods)
            and note.method not in {row.method for row in missing}
        ]
        if noted:
            self._say(notes_text(noted))
        self._say("")

    def _say(self, text: str) -> None:
        if not self._as_json:
            print(text, flush=True)


def _list(as_json: bool) -> None:
    from longtail.cli._output import print_json
    from longtail.published import papers

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
