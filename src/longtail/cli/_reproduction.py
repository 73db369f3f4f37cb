"""A paper's tables as they are reproduced: a method as soon as it is finished, then the plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from longtail.papers import Candidate, OpenTrial, Paper, Reproduced, Trial


class Reproduction:
    """The trials one after the other; every method is shown as soon as it is finished."""

    def __init__(
        self,
        paper: Paper,
        data: Path,
        methods: list[str],
        *,
        seeds: int | None,
        slow: bool,
        choose: bool,
        tail: float | None,
        jobs: int,
        as_json: bool,
        quiet: bool,
    ) -> None:
        self._paper, self._data, self._methods, self._seeds = paper, data, methods, seeds
        self._slow, self._choose, self._tail, self._jobs = slow, choose, tail, jobs
        self._as_json, self._quiet = as_json, quiet
        self._found: list[dict[str, Any]] = []
        self._rows: list[Reproduced] = []

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
            raise Interrupted(f"Interrupted: {len(self._rows)} rows were finished.")

    def draw(self, plot: Path) -> None:
        """The plot of what is finished."""
        from longtail.cli._output import remark
        from longtail.report import growth_figure, growth_table, save_figure

        table = growth_table(self._paper, self._rows)
        if table.is_empty():
            remark("No method finished, so there is no plot.", quiet=self._quiet)
            return
        save_figure(growth_figure(table, title=self._paper.title), plot)
        remark(f"The plot is in {plot}.", quiet=self._quiet)

    def _run(self, trial: Trial) -> None:
        from longtail.cli._output import remark
        from longtail.methods.registry import methods as known
        from longtail.papers import differences, open_trial, run_method
        from longtail.report import differences_text, reproduced_text

        remark(f"Reading {trial.dataset}", quiet=self._quiet)
        described: dict[str, Any] = {"dataset": trial.dataset, "rows": []}
        self._found.append(described)
        if self._choose and trial.choice is not None:
            trial = self._chosen(trial, described)
        opened = open_trial(self._paper, trial, self._data, n_seeds=self._seeds)
        methods = self._methods or self._paper.methods_on(trial)
        self._begin(opened, methods, described)
        missing: list[Reproduced] = []
        here: list[Reproduced] = []
        for method in methods:
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
                    self._rows.append(row)
                    here.append(row)
                    counted = self._paper.counts_parameters
                    self._say(f"{reproduced_text(row, parameters=counted)}\n")
        described["differences"] = [vars(each) for each in differences(self._paper, here)]
        if described["differences"]:
            self._say(f"{differences_text(differences(self._paper, here))}\n")
        self._end(opened, methods, missing)

    def _chosen(self, trial: Trial, described: dict[str, Any]) -> Trial:
        """The trial with settings chosen anew."""
        from longtail.cli._output import remark
        from longtail.methods.registry import find_method
        from longtail.papers import choose, read_trial, with_choice
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

    def _begin(self, opened: OpenTrial, methods: list[str], described: dict[str, Any]) -> None:
        from longtail.choosing import Setup
        from longtail.choosing.comparison_rows import kinds_of
        from longtail.methods.registry import methods as known
        from longtail.report import trial_heading

        names = [self._paper.methods[method] for method in methods]
        kinds = kinds_of(known()[name].estimator for name in names if name in known())
        trial, sizes = opened.trial, Setup.of(opened.problem, k=(1,), kinds=kinds or ("scaled",))
        described |= {
            "features": dict(trial.features),
            "parameters": {name: dict(given) for name, given in trial.parameters.items()},
            "about": trial.about,
            "seeds": list(opened.seeds),
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
            seeds=opened.seeds,
            texts=isinstance(opened.problem.inputs, list),
        )
        self._say(heading)
        settings = [
            f"{method} with {', '.join(f'{name} {value}' for name, value in given.items())}"
            for method, given in trial.parameters.items()
            if given and method in methods
        ]
        described["best_possible"] = opened.best
        described["best_possible_by_seed"] = [dict(best) for best in opened.bests]
        if settings:
            self._say(f"{'; '.join(settings)}.")
        for metric, value in opened.best.items():
            mean = " on average" if len(opened.seeds) > 1 else ""
            self._say(f"The best that is possible{mean}: {metric} {100 * value:.2f}.")
        empty = opened.problem.unlabelled
        if 0 < empty < sizes.test_points:
            self._say(
                f"{empty:,} test points have no label; over the others alone, P@k and nDCG@k are "
                f"{sizes.test_points / (sizes.test_points - empty):.4f} times ours."
            )
        self._say("")

    def _end(self, opened: OpenTrial, methods: list[str], missing: list[Reproduced]) -> None:
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
            and note.method in ("", *methods)
            and note.method not in {row.method for row in missing}
        ]
        if noted:
            self._say(notes_text(noted))
        self._say("")

    def _say(self, text: str) -> None:
        if not self._as_json:
            print(text, flush=True)
