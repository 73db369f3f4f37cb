"""A paper's tables as they are reproduced: a method as soon as it is finished, then the plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longtail.choosing import Setup
from longtail.choosing.comparison_rows import kinds_of
from longtail.cli._failures import Interrupted
from longtail.cli._output import print_json, remark
from longtail.methods.registry import find_method
from longtail.methods.registry import methods as known
from longtail.papers import (
    Candidate,
    Paper,
    PreparedTrial,
    Reproduced,
    Trial,
    choose,
    differences,
    prepare_trial,
    read_trial,
    run_method,
    with_choice,
)
from longtail.report import (
    candidate_line,
    choice_heading,
    differences_text,
    growth_figure,
    growth_table,
    notes_text,
    printable,
    reproduced_text,
    save_figure,
    trial_heading,
)


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The trials one after the other; every method is shown as soon as it is finished."""

    paper: Paper
    data: Path
    methods: list[str]
    seeds: int | None
    slow: bool
    choose: bool
    tail: float | None
    jobs: int
    as_json: bool
    quiet: bool
    _found: list[dict[str, Any]] = field(default_factory=list)
    _rows: list[Reproduced] = field(default_factory=list)

    def run(self, trials: list[Trial]) -> None:
        """All of it; on Ctrl-C what is finished is kept."""
        interrupted = False
        self._say(f"{self.paper.title}\n{self.paper.source}\n")
        try:
            for trial in trials:
                self._run(trial)
        except KeyboardInterrupt:
            interrupted = True
        if self.as_json:
            print_json(
                {
                    "paper": self.paper.key,
                    "title": self.paper.title,
                    "source": self.paper.source,
                    "trials": self._found,
                    "interrupted": interrupted,
                }
            )
        if interrupted:
            raise Interrupted(f"Interrupted: {len(self._rows)} rows were finished.")

    def draw(self, plot: Path) -> None:
        """The plot of what is finished."""
        table = growth_table(self.paper, self._rows)
        if table.is_empty():
            remark("No method finished, so there is no plot.", quiet=self.quiet)
            return
        save_figure(growth_figure(table, title=self.paper.title), plot)
        remark(f"The plot is in {plot}.", quiet=self.quiet)

    def _run(self, trial: Trial) -> None:
        remark(f"Reading {trial.dataset}", quiet=self.quiet)
        described: dict[str, Any] = {"dataset": trial.dataset, "rows": []}
        self._found.append(described)
        if self.choose and trial.choice is not None:
            trial = self._chosen(trial, described)
        prepared = prepare_trial(self.paper, trial, self.data, n_seeds=self.seeds)
        methods = self.methods or self.paper.methods_on(trial)
        self._begin(prepared, methods, described)
        missing: list[Reproduced] = []
        here: list[Reproduced] = []
        for method in methods:
            if self.paper.methods[method] in known():
                remark(f"Running {method} on {trial.dataset}", quiet=self.quiet)
            for row in run_method(
                prepared,
                method,
                slow=self.slow,
                tail=self.tail,
                n_jobs=self.jobs,
                progress=False if self.quiet else None,
            ):
                described["rows"].append(row.to_dict())
                if row.result is None:
                    missing.append(row)
                else:
                    self._rows.append(row)
                    here.append(row)
                    counted = self.paper.counts_parameters
                    self._say(f"{reproduced_text(row, parameters=counted)}\n")
        found = differences(self.paper, here)
        described["differences"] = [vars(each) for each in found]
        if found:
            self._say(f"{differences_text(found)}\n")
        self._end(prepared, methods, missing)

    def _chosen(self, trial: Trial, described: dict[str, Any]) -> Trial:
        """The trial with settings chosen anew."""
        assert trial.choice is not None
        method = find_method(self.paper.methods[trial.choice.method])
        train, _ = read_trial(trial, self.data)
        remark(f"Choosing the settings of {method.name} on {trial.dataset}", quiet=self.quiet)
        self._say(choice_heading(trial))
        candidates: list[Candidate] = []
        for candidate in choose(
            trial,
            train,
            method.estimator,
            n_jobs=self.jobs,
            progress=False if self.quiet else None,
        ):
            candidates.append(candidate)
            self._say(candidate_line(trial, candidate))
        self._say("")
        described["candidates"] = [vars(candidate) for candidate in candidates]
        return with_choice(trial, candidates)

    def _begin(
        self, prepared: PreparedTrial, methods: list[str], described: dict[str, Any]
    ) -> None:
        names = [self.paper.methods[method] for method in methods]
        kinds = kinds_of(known()[name].estimator for name in names if name in known())
        trial = prepared.trial
        sizes = Setup.of(prepared.problem, k=(1,), kinds=kinds or ("scaled",))
        described |= {
            "features": dict(trial.features),
            "parameters": {name: dict(given) for name, given in trial.parameters.items()},
            "about": trial.about,
            "seeds": list(prepared.seeds),
            "train_points": sizes.train_points,
            "test_points": sizes.test_points,
            "test_points_without_labels": prepared.problem.unlabelled,
            "labels": sizes.labels,
        }
        texts = prepared.problem.has_texts
        self._say(trial_heading(trial, sizes, seeds=prepared.seeds, texts=texts))
        settings = [
            f"{method} with {', '.join(f'{name} {value}' for name, value in given.items())}"
            for method, given in trial.parameters.items()
            if given and method in methods
        ]
        described["best_possible"] = prepared.best
        described["best_possible_by_seed"] = [dict(best) for best in prepared.bests]
        if settings:
            self._say(f"{'; '.join(settings)}.")
        for metric, value in prepared.best.items():
            mean = " on average" if len(prepared.seeds) > 1 else ""
            self._say(f"The best that is possible{mean}: {metric} {100 * value:.2f}.")
        empty = prepared.problem.unlabelled
        if 0 < empty < sizes.test_points:
            self._say(
                f"{empty:,} test points have no label; over the others alone, P@k and nDCG@k are "
                f"{sizes.test_points / (sizes.test_points - empty):.4f} times ours."
            )
        self._say("")

    def _end(self, prepared: PreparedTrial, methods: list[str], missing: list[Reproduced]) -> None:
        """What was left out, why, and what else to know about the figures."""
        by_reason: dict[str, list[str]] = {}
        for row in missing:
            by_reason.setdefault(row.left_out or "", []).append(row.method)
        for reason, names in by_reason.items():
            self._say(f"Left out: {', '.join(names)} ({printable(reason)}).")
        notes = [
            note
            for note in self.paper.notes
            if note.dataset in ("", prepared.trial.dataset)
            and (not note.table or prepared.trial.dataset in self.paper.table(note.table).values)
            and note.method in ("", *methods)
            and note.method not in {row.method for row in missing}
        ]
        if notes:
            self._say(notes_text(notes))
        self._say("")

    def _say(self, text: str) -> None:
        if not self.as_json:
            print(text, flush=True)
