"""A comparison while it runs: a row as soon as a method is done, plot and page at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from longtail.base import ExtremeClassifier
from longtail.choosing import Comparison, Limits, Problem, Result, Setup, try_method
from longtail.choosing.comparison_rows import kinds_of
from longtail.cli._failures import Interrupted
from longtail.cli._output import print_json, remark
from longtail.errors import LongtailError
from longtail.report import (
    ComparisonTable,
    best_line,
    comparison_figure,
    comparison_html,
    printable,
    save_figure,
    save_page,
)


class ComparisonRun:
    """The methods one after the other, each with its row as soon as it is finished."""

    def __init__(
        self,
        problem: Problem,
        classifiers: dict[str, ExtremeClassifier],
        ranks: list[int],
        *,
        tail: float,
        keep: Path | None,
        limits: Limits,
        curves: bool,
        quiet: bool,
        as_json: bool,
    ) -> None:
        kinds = kinds_of(classifiers.values())
        self.comparison = Comparison(Setup.of(problem, k=ranks, tail=tail, kinds=kinds))
        self._problem = problem
        self._classifiers = classifiers
        self._options: dict[str, Any] = {
            "tail": tail, "keep": keep, "limits": limits, "curves": curves,
        }  # fmt: skip
        self._quiet, self._as_json = quiet, as_json
        self._table = ComparisonTable.main(classifiers, ranks)
        self._interrupted: str | None = None

    def run(self) -> None:
        """Try all methods; on Ctrl-C stop there and remember it."""
        if not self._as_json:
            _say(f"{_heading(self.comparison)}\n\n{self._table.head()}")
        for number, (name, classifier) in enumerate(self._classifiers.items(), 1):
            try:
                remark(f"Training {name} ({number} of {len(self._classifiers)})", quiet=self._quiet)
                result = try_method(
                    self._problem,
                    classifier,
                    name=name,
                    k=self.comparison.common.k,
                    **self._options,
                    progress=False if self._quiet else None,
                )
                self.comparison.results.append(result)
                if not self._as_json:
                    _say(self._table.row(result))
            except KeyboardInterrupt:
                self._interrupted = name
                break
        if self._as_json:
            print_json({**self.comparison.to_dict(), "interrupted": self._interrupted})
        else:
            _say_the_rest(self.comparison)

    def draw(self, path: Path) -> None:
        """The plot of what is finished, if anything is."""
        if self.comparison.finished:
            title = self.comparison.common.data
            save_figure(comparison_figure(self.comparison, title=title), path)
            remark(f"The plot is in {path}.", quiet=self._quiet)

    def report(self, path: Path, *, command: str) -> None:
        """The page of what is finished, which says so if it is not all."""
        page = comparison_html(self.comparison, command=command, interrupted=self._interrupted)
        save_page(page, path)
        remark(f"The report is in {path}.", quiet=self._quiet)

    def end(self) -> None:
        """The exit code: interrupted, or nothing finished."""
        if self._interrupted is not None:
            done = len(self.comparison.results)
            raise Interrupted(
                f"Interrupted during {self._interrupted}: {done} of {len(self._classifiers)} "
                "methods were finished."
            )
        if not self.comparison.finished:
            raise LongtailError(
                "No method was finished; their rows say why, and --time-limit and --memory-limit "
                "say what may be tried."
            )


def _heading(comparison: Comparison) -> str:
    common = comparison.common
    line = (
        f"{printable(common.data)}: trained on {common.train_points:,} points, tested on "
        f"{common.test_points:,}; {common.labels:,} labels, {common.features:,} features"
    )
    return line if not common.tail else f"{line}; tail weight {common.tail:g}"


def _say_the_rest(comparison: Comparison) -> None:
    """The tables that come when all methods are done, and which method is best at what."""
    if not comparison.finished:
        return
    common = comparison.common
    finished: list[Result] = comparison.finished
    names = [result.name for result in finished]
    _say("\nRankings, %\n" + ComparisonTable.rankings(names, common.k).text(finished))
    _say("\nLabel sets, %\n" + ComparisonTable.sets(names).text(finished))
    if all("accuracy" in (result.evaluation or {}) for result in finished):
        _say("\nClasses, %\n" + ComparisonTable.classes(names).text(finished))
    line = best_line(comparison)
    if line is not None:
        _say(f"\n{line}")
    if common.unknown_labels:
        n = common.unknown_labels
        which = "1 label is" if n == 1 else f"{n:,} labels are"
        _say(f"{which} in the test part only and counted as missed.")


def _say(text: str) -> None:
    print(text, flush=True)
