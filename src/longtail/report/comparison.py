"""The tables of a comparison, which grow line by line, and which method is best at what.

Widths are fixed by the names of the methods, which are known before the first of them is trained:
a row can be printed as soon as it is there. Metrics are shown in percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from longtail.choosing import Comparison, Result
from longtail.choosing.results import COSTS
from longtail.errors import printable

COST_NAMES = {
    "train_seconds": "train s",
    "predict_seconds": "predict s",
    "points_per_second": "points/s",
    "milliseconds_per_point": "ms/point",
    "megabytes": "MB",
    "peak_megabytes": "peak MB",
    "n_parameters": "parameters",
}
"""Headings of the columns that are not metrics."""

MAIN_COSTS = (
    "train_seconds", "predict_seconds", "milliseconds_per_point", "megabytes", "peak_megabytes",
)  # fmt: skip
"""Those of the first table."""

SHORT_SET_NAMES = {
    "subset_accuracy": "subset",
    "f1_micro": "F1 micro",
    "f1_macro": "F1 macro",
    "f1_example": "F1 example",
    "jaccard": "Jaccard",
    "hamming_loss": "Hamming",
}
"""Headings of the metrics of label sets."""

CLASS_NAMES = {"accuracy": "accuracy", "maf1": "MaF1", "covered_classes": "covered"}
"""Headings of the metrics of data with one class per point."""

_IN_WORDS = {
    "train_seconds": "training time",
    "predict_seconds": "prediction time",
    "megabytes": "model size",
    "peak_megabytes": "peak memory",
}
_NOT_SHOWN = (
    "nDCG@1", "PSnDCG", "R", "points_per_second", "milliseconds_per_point", "n_parameters",
)  # fmt: skip


class ComparisonTable:
    """One of the tables of a comparison, to be printed whole or line by line.

    Parameters
    ----------
    names : iterable of str
        Of the methods, as their results will have them.
    columns : mapping
        Headings by measure, that is, by column of `Comparison.table`.

    Examples
    --------
    >>> from longtail.metrics import Evaluation
    >>> table = ComparisonTable(["dismec"], {"P@1": "P@1", "train_seconds": "train s"})
    >>> print(table.head())
    method    P@1  train s
    ──────────────────────
    >>> print(table.row(Result("dismec", "dismec", {}, Evaluation({"P@1": 0.5}), 1.25)))
    dismec  50.00     1.25
    >>> print(table.row(Result("br", "br", {}, failure="There was not enough memory for it.")))
    br      There was not enough memory for it.
    """

    def __init__(self, names: Iterable[str], columns: Mapping[str, str]) -> None:
        self.columns = dict(columns)
        self._width = max([len("method"), *(len(printable(name)) for name in names)])

    @classmethod
    def main(cls, names: Iterable[str], k: Sequence[int]) -> ComparisonTable:
        """Precision, propensity-scored precision, time, size and peak memory."""
        return cls._of(names, [f"{metric}@{at}" for metric in ("P", "PSP") for at in k], MAIN_COSTS)

    @classmethod
    def rankings(cls, names: Iterable[str], k: Sequence[int]) -> ComparisonTable:
        """nDCG, of which nDCG@1 is P@1, coverage, and points predicted per second."""
        metrics = [f"nDCG@{at}" for at in k if at > 1] + [f"C@{at}" for at in k]
        return cls._of(names, metrics, ["points_per_second"])

    @classmethod
    def _of(
        cls, names: Iterable[str], metrics: Iterable[str], costs: Iterable[str]
    ) -> ComparisonTable:
        return cls(names, {name: COST_NAMES.get(name, name) for name in (*metrics, *costs)})

    @classmethod
    def sets(cls, names: Iterable[str]) -> ComparisonTable:
        """The metrics of the label sets that the methods commit to."""
        return cls(names, SHORT_SET_NAMES)

    @classmethod
    def classes(cls, names: Iterable[str]) -> ComparisonTable:
        """The metrics of the class that ranks first, where every point has one."""
        return cls(names, CLASS_NAMES)

    def head(self) -> str:
        """Headings and a rule, without a line break at the end."""
        heads = "".join(head.rjust(self._cell(head)) for head in self.columns.values())
        line = f"{'method':<{self._width}}{heads}"
        return f"{line}\n{'─' * len(line)}"

    def row(self, result: Result) -> str:
        """The line of a method, or why there is none."""
        name = f"{printable(result.name):<{self._width}}"
        if result.failure is not None:
            return f"{name}  {printable(result.failure)}"
        heads = self.columns.values()
        return name + "".join(
            cell.rjust(self._cell(head))
            for cell, head in zip(self.cells(result), heads, strict=True)
        )

    def cells(self, result: Result) -> list[str]:
        """What the columns say of a method, in their order."""
        values = result.values()
        return [_cell_text(measure, values.get(measure)) for measure in self.columns]

    def text(self, results: Iterable[Result]) -> str:
        """Head and rows."""
        return "\n".join([self.head(), *map(self.row, results)])

    @staticmethod
    def _cell(head: str) -> int:
        return max(len(head), 5) + 2


def best_line(comparison: Comparison) -> str | None:
    """Which method is best at what, in one sentence; None with fewer than two results.

    Examples
    --------
    >>> from longtail.choosing import Setup
    >>> from longtail.metrics import Evaluation
    >>> common = Setup("tiny", 60, 20, 8, 30, 0, 0.1, (1, 3))
    >>> results = [
    ...     Result("a", "br", {}, Evaluation({"P@1": 0.5, "P@3": 0.4, "PSP@1": 0.2}), 2.0, 1.0),
    ...     Result("b", "br", {}, Evaluation({"P@1": 0.4, "P@3": 0.3, "PSP@1": 0.3}), 1.0, 1.0)]
    >>> best_line(Comparison(common, results))
    'Best: a at P@1/3; b at PSP@1, training time; all equal at prediction time.'
    """
    if len(comparison.finished) < 2:
        return None
    wins: dict[tuple[str, ...], dict[str, list[str]]] = {}
    best = comparison.best()
    for measure in sorted(best, key=lambda name: name in COSTS):
        names = best[measure]
        metric, at, k = measure.partition("@")
        if measure in _NOT_SHOWN or metric in _NOT_SHOWN:
            continue
        ranks = wins.setdefault(tuple(names), {}).setdefault(metric, [])
        if at:
            ranks.append(k)
    parts = []
    order = [result.name for result in comparison.finished]
    for winners, metrics in sorted(
        wins.items(), key=lambda pair: (len(pair[0]), order.index(pair[0][0]))
    ):
        who = " and ".join(map(printable, winners))
        if len(winners) == len(comparison.finished):
            who = "all equal"
        what = [
            _in_words(metric) + (f"@{'/'.join(k)}" if k else "") for metric, k in metrics.items()
        ]
        parts.append(f"{who} at {', '.join(what)}")
    return f"Best: {'; '.join(parts)}."


def _cell_text(measure: str, value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    if measure == "hamming_loss":
        return f"{100 * value:.3g}"
    if measure not in COST_NAMES:
        return f"{100 * value:.2f}"
    if measure == "points_per_second" or value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _in_words(metric: str) -> str:
    return {**SHORT_SET_NAMES, **CLASS_NAMES, **_IN_WORDS}.get(metric, metric)
