"""The data of a trial, read, sampled or made up, ready for one method after the other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import scipy.sparse as sp

from longtail.choosing import Problem, prepare
from longtail.data import Dataset, read_dataset
from longtail.errors import DataError, ParameterError
from longtail.features.made import usual_features
from longtail.papers.paper import Paper, Trial


@dataclass(frozen=True, eq=False)
class PreparedTrial:
    """A trial with its data.

    Attributes
    ----------
    paper, trial : Paper, Trial
        What is done again.
    seeds : tuple of int
        The seeds that are gone through.
    problems : tuple of Problem
        The data, one per seed.
    bests : tuple of dict
        For each seed by metric, the best that any method can reach; empty where that is not known.
    """

    paper: Paper
    trial: Trial
    seeds: tuple[int, ...]
    problems: tuple[Problem, ...]
    bests: tuple[Mapping[str, float], ...]

    @property
    def problem(self) -> Problem:
        """The data of the first seed."""
        return self.problems[0]

    @property
    def best(self) -> dict[str, float]:
        """By metric, the best that any method can reach, on average over the seeds."""
        return {name: fmean(each[name] for each in self.bests) for name in self.bests[0]}


def place_of(trial: Trial, folder: str | os.PathLike[str]) -> Path:
    """The folder of a trial's data set, or a sentence that says what should be there.

    Made-up data need none.
    """
    if trial.made_up:
        return Path(folder)
    place = Path(folder) / trial.folder
    if not place.is_dir():
        parts = "its data" if trial.make is not None else "a training and a test part, such as "
        files = "" if trial.make is not None else "train.txt.gz and test.txt.gz"
        raise DataError(
            f"{trial.dataset} is not here: it needs a folder {trial.folder} with {parts}{files}",
            path=folder,
        )
    return place


def read_trial(
    trial: Trial, folder: str | os.PathLike[str], seed: int | None = None
) -> tuple[Dataset, Dataset]:
    """Training and test part of the data set of a trial, from the folder of benchmark sets.

    Parameters
    ----------
    trial : Trial
    folder : path
        The benchmark sets, each in a folder of its own.
    seed : int, optional
        For data that depend on one; by default the first of the trial.
    """
    return _read(trial, folder, trial.seeds[0] if seed is None else seed)[:2]


def prepare_trial(
    paper: Paper, trial: Trial, folder: str | os.PathLike[str], *, n_seeds: int | None = None
) -> PreparedTrial:
    """Read the data of a trial, for all its seeds or the first so many.

    Parameters
    ----------
    paper, trial : Paper, Trial
    folder : path
        The benchmark sets, each in a folder of its own; made-up data need none.
    n_seeds : int, optional
        How many of the trial's seeds to take; all, if it has fewer.

    Examples
    --------
    >>> from longtail.papers import find_paper
    >>> paper = find_paper("cbm")
    >>> prepared = prepare_trial(paper, paper.trial("sample"), ".", n_seeds=2)
    >>> prepared.seeds, [f"{best['subset_accuracy']:.2f}" for best in prepared.bests]
    ((0, 1), ['0.73', '0.62'])
    """
    if n_seeds is not None and n_seeds < 1:
        raise ParameterError(f"A trial needs at least one seed, not {n_seeds}.")
    seeds = trial.seeds[:n_seeds]
    constants = trial.folder if trial.make is None else None
    problems, bests = [], []
    for seed in seeds:
        train, test, best = _read(trial, folder, seed)
        features = usual_features("scaled", texts=train.texts is not None, **trial.features)
        problems.append(
            prepare(train, test, features={"scaled": features}, propensity_constants=constants)
        )
        bests.append(best)
    return PreparedTrial(paper, trial, seeds, tuple(problems), tuple(bests))


def _read(
    trial: Trial, folder: str | os.PathLike[str], seed: int
) -> tuple[Dataset, Dataset, dict[str, float]]:
    place = place_of(trial, folder)
    if trial.make is not None:
        return trial.make(place, seed)
    train, test = read_dataset(place, part="train"), read_dataset(place, part="test")
    return train, _moved(test, trial.shift_test_labels), {}


def _moved(data: Dataset, shift: int) -> Dataset:
    """The data with the numbers of all labels raised."""
    if not shift:
        return data
    Y = sp.coo_array(data.Y)
    rows, columns = Y.row, Y.col
    if columns.max(initial=0) + shift >= Y.shape[1]:
        raise DataError(f"The labels of the test part cannot be moved by {shift}; they are others.")
    return replace(data, Y=sp.csr_array((Y.data, (rows, columns + shift)), shape=Y.shape))
