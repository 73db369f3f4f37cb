"""What came of a trial: a method's figures beside the paper's, over all seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from longtail.choosing import Result, mean_result
from longtail.metrics.evaluate import RANKING
from longtail.papers.contradictions import find_contradictions
from longtail.papers.paper import Paper, Trial

RANKS = (1, 3, 5)


@dataclass(frozen=True)
class Cell:
    """A figure of the paper and what longtail finds.

    Attributes
    ----------
    table : str
        Number of the table; empty where the paper has no figure.
    metric : str
        As `longtail.metrics.Evaluation` names it.
    paper, ours : float or None
        In the units of the table, mostly percent; ours is the mean over the seeds.
    contradiction : str or None
        What is wrong with the paper's figure, if it contradicts another.
    values : tuple of float
        Ours, one per seed.
    digits : int
        Digits after the point in the paper.

    Examples
    --------
    >>> cell = Cell("1", "subset_accuracy", 98.4, 98.0, values=(97.0, 99.0))
    >>> round(cell.difference, 2), round(cell.deviation, 3)
    (-0.4, 1.414)
    """

    table: str
    metric: str
    paper: float | None
    ours: float | None
    contradiction: str | None = None
    values: tuple[float, ...] = ()
    digits: int = 1

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.paper is None or self.ours is None:
            return None
        return self.ours - self.paper

    @property
    def deviation(self) -> float | None:
        """Standard deviation of ours over the seeds, of which there must be two."""
        return stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Reproduced:
    """One method of a paper on one data set.

    Attributes
    ----------
    dataset, method : str
        As the paper calls them.
    variant : str
        What is ours about it, such as a tail weight of the same model; empty for the paper's own.
    result : Result or None
        What came of it; means over the seeds, if there are several.
    left_out : str or None
        Why there is no result.
    cells : tuple of Cell
        Figure by figure.
    results : tuple of Result
        One per seed, where there are several.
    seeds : tuple of int
        What the data were made or sampled with.
    """

    dataset: str
    method: str
    variant: str
    result: Result | None
    left_out: str | None
    cells: tuple[Cell, ...]
    results: tuple[Result, ...] = ()
    seeds: tuple[int, ...] = (0,)

    def to_dict(self) -> dict[str, Any]:
        """All as plain values."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "variant": self.variant,
            "left_out": self.left_out,
            "seeds": list(self.seeds),
            "result": None if self.result is None else self.result.to_dict(),
            "results": [result.to_dict() for result in self.results],
            "cells": [
                {
                    **vars(cell),
                    "values": list(cell.values),
                    "difference": cell.difference,
                    "deviation": cell.deviation,
                }
                for cell in self.cells
            ],
        }


def reproduced(
    paper: Paper,
    trial: Trial,
    method: str,
    results: Sequence[Result],
    seeds: Sequence[int],
    *,
    variant: str = "",
) -> Reproduced:
    """The row of a method with one result per seed."""
    return Reproduced(
        trial.dataset,
        method,
        variant,
        mean_result(results),
        None,
        tuple(_cells(paper, trial, method, results)),
        tuple(results) if len(results) > 1 else (),
        tuple(seeds),
    )


def left_out(paper: Paper, trial: Trial, method: str, why: str) -> Reproduced:
    """The row of a method that has no result."""
    return Reproduced(trial.dataset, method, "", None, why, tuple(_cells(paper, trial, method, ())))


def _cells(paper: Paper, trial: Trial, method: str, results: Sequence[Result]) -> Iterator[Cell]:
    """The paper's figures for a method on a data set, with ours."""
    odd = {
        metric: found.about
        for found in find_contradictions(paper)
        if (found.dataset, found.method) == (trial.dataset, method)
        for metric in found.metrics
    }
    for table in paper.tables:
        for metric, figure in table.values.get(trial.dataset, {}).get(method, {}).items():
            ours = _scaled(results, metric, table.scale)
            mean = fmean(ours) if ours else None
            yield Cell(table.number, metric, figure, mean, odd.get(metric), ours, table.digits)
    scale, digits = (paper.tables[0].scale, paper.tables[0].digits) if paper.tables else (100.0, 1)
    for metric in paper.also:
        for name in [f"{metric}@{k}" for k in RANKS] if metric in RANKING else [metric]:
            ours = _scaled(results, name, scale)
            mean = fmean(ours) if ours else None
            yield Cell("", name, None, mean, None, ours, digits)


def _scaled(results: Sequence[Result], metric: str, scale: float) -> tuple[float, ...]:
    """A metric of all results; nothing if one of them lacks it."""
    evaluations: list[Mapping[str, float]] = [result.evaluation or {} for result in results]
    if not all(metric in each for each in evaluations):
        return ()
    return tuple(scale * each[metric] for each in evaluations)
