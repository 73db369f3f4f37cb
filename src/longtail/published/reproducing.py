"""Run the trials of a paper and set the results beside the paper's figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from longtail._run import Progress
from longtail.base import ExtremeClassifier
from longtail.comparison import (
    Problem,
    Result,
    measured,
    prepare,
    saved_size,
    train_method,
)
from longtail.comparison.running import one_sentence
from longtail.data import Dataset, RowScaler, load
from longtail.errors import DataError
from longtail.labels import propensity_constants
from longtail.methods import methods as known_methods
from longtail.published.paper import Paper, Trial
from longtail.published.registry import find_paper
from longtail.published.slips import slips
from longtail.tail import TailChoice, calibrate, choose_tail

RANKS = (1, 3, 5)
SEED = 0
HELD_OUT = 0.2
"""Share of the training points that settings are chosen on."""
MAX_LOSS = 0.01
"""How much P@1 may fall on held-out training points for the sake of rare labels."""


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
        In the units of the table, mostly percent.
    slip : str or None
        What is wrong with the paper's figure, if it contradicts another.
    """

    table: str
    metric: str
    paper: float | None
    ours: float | None
    slip: str | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.paper is None or self.ours is None:
            return None
        return self.ours - self.paper


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
        What came of it.
    left_out : str or None
        Why there is no result.
    cells : tuple of Cell
        Figure by figure.
    """

    dataset: str
    method: str
    variant: str
    result: Result | None
    left_out: str | None
    cells: tuple[Cell, ...]

    def to_dict(self) -> dict[str, Any]:
        """All as plain values."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "variant": self.variant,
            "left_out": self.left_out,
            "result": None if self.result is None else self.result.to_dict(),
            "cells": [{**vars(cell), "difference": cell.difference} for cell in self.cells],
        }


@dataclass(frozen=True, eq=False)
class OpenTrial:
    """A trial with its data, ready for one method after the other.

    Attributes
    ----------
    paper, trial : Paper, Trial
        What is done again.
    problem : Problem
        The data.
    best : dict
        By metric, the best that any method can reach; empty where that is not known.
    """

    paper: Paper
    trial: Trial
    problem: Problem
    best: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A setting that was tried on held-out training points, and its score."""

    features: Mapping[str, Any]
    value: float
    score: float
    seconds: float


def place_of(trial: Trial, folder: str | os.PathLike[str]) -> Path:
    """The folder of a trial's data set, or a sentence that says what should be there.

    Made-up data need none.
    """
    if trial.make is not None:
        return Path(folder)
    place = Path(folder) / trial.folder
    if not place.is_dir():
        raise DataError(
            f"{trial.dataset} is not here: it needs a folder {trial.folder} with a training and a "
            "test part, such as train.txt.gz and test.txt.gz",
            path=folder,
        )
    return place


def read_trial(trial: Trial, folder: str | os.PathLike[str]) -> tuple[Dataset, Dataset]:
    """Training and test part of the data set of a trial, from the folder of benchmark sets."""
    return _read(trial, folder)[:2]


def _read(
    trial: Trial, folder: str | os.PathLike[str]
) -> tuple[Dataset, Dataset, dict[str, float]]:
    if trial.make is not None:
        return trial.make()
    place = place_of(trial, folder)
    train, test = load(place, part="train"), load(place, part="test")
    return train, _moved(test, trial.shift_test_labels), {}


def _moved(data: Dataset, shift: int) -> Dataset:
    """The data with the numbers of all labels raised."""
    if not shift:
        return data
    Y = sp.coo_array(data.Y)
    rows, columns = Y.coords
    if columns.max(initial=0) + shift >= Y.shape[1]:
        raise DataError(f"The labels of the test part cannot be moved by {shift}; they are others.")
    return replace(data, Y=sp.csr_array((Y.data, (rows, columns + shift)), shape=Y.shape))


def open_trial(paper: Paper, trial: Trial, folder: str | os.PathLike[str]) -> OpenTrial:
    """Read the data of a trial and make its features."""
    train, test, best = _read(trial, folder)
    features = RowScaler(**trial.features)
    constants = trial.folder if trial.make is None else None
    problem = prepare(train, test, features=features, constants=constants)
    return OpenTrial(paper, trial, problem, best)


def choose(
    trial: Trial,
    train: Dataset,
    classifier: type[ExtremeClassifier],
    *,
    n_jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Iterator[Candidate]:
    """Try the settings of a trial's choice on training data alone.

    A fifth of the training points is held out; every candidate is trained on the others and
    measured on these. Nothing of the test part is looked at.

    Parameters
    ----------
    trial : Trial
        With a choice.
    train : Dataset
        The training part.
    classifier : type
        The class of the method that the choice is about.
    n_jobs, progress
        As everywhere.

    Yields
    ------
    Candidate
        In the order of the choice; `with_choice` takes the best.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail.one_vs_rest import DiSMEC
    >>> from longtail.published import Choice, Trial
    >>> trial = Trial("Bibtex", "bibtex", choice=Choice("DiSMEC", "C", (0.001, 1.0), ({},)),
    ...               parameters={"DiSMEC": {"C": 0.001}})
    >>> found = list(choose(trial, make_longtail(200, 100, 20, random_state=0), DiSMEC))
    >>> with_choice(trial, found).parameters
    {'DiSMEC': {'C': 1.0}}
    """
    assert trial.choice is not None
    points, held_out = train.split(test_size=HELD_OUT, random_state=SEED)
    for scaling in trial.choice.features:
        problem = prepare(points, held_out, features=RowScaler(**scaling), constants=trial.folder)
        for value in trial.choice.values:
            given = {**trial.parameters.get(trial.choice.method, {}), trial.choice.parameter: value}
            trained = train_method(problem, _made(classifier, given, n_jobs), progress=progress)
            found = measured(problem, trained, k=RANKS)
            assert found.evaluation is not None
            score = found.evaluation[trial.choice.metric]
            yield Candidate(scaling, value, score, trained.seconds)


def with_choice(trial: Trial, candidates: Sequence[Candidate]) -> Trial:
    """The trial with the best candidate, for all methods that have the parameter in common."""
    assert trial.choice is not None
    best = max(candidates, key=lambda candidate: candidate.score)
    name = trial.choice.parameter
    return replace(
        trial,
        features=best.features,
        parameters={
            method: {**given, name: best.value} if name in given else given
            for method, given in trial.parameters.items()
        },
    )


def run_method(
    opened: OpenTrial,
    method: str,
    *,
    slow: bool = False,
    tail: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Iterator[Reproduced]:
    """One method of a paper on one data set; then, for the paper's own, with a tail weight.

    Parameters
    ----------
    opened : OpenTrial
    method : str
        As the paper calls it.
    slow : bool
        Whether to run it even if it takes long.
    tail : float, optional
        The tail weight of the second row; by default it is chosen on training data, and 0 leaves
        the row out.
    n_jobs, progress
        As everywhere.
    """
    paper, trial = opened.paper, opened.trial
    name = paper.methods[method]
    if name not in known_methods():
        yield _left_out(paper, trial, method, "not built yet")
        return
    if method in trial.slow and not slow:
        yield _left_out(paper, trial, method, "takes long here; --slow runs it")
        return
    try:
        classifier = _made(
            known_methods()[name].estimator, trial.parameters.get(method, {}), n_jobs
        )
        trained = train_method(opened.problem, classifier, progress=progress)
        result = measured(opened.problem, trained, name=method, k=RANKS)
        size = saved_size(opened.problem, trained.model)
        yield _reproduced(paper, trial, method, "", replace(result, bytes=size))
        if method in paper.with_tail and tail != 0:
            weight, variant = tail, f"tail weight {tail}"
            if weight is None:
                choice = _chosen_tail(opened, trained.model, progress)
                weight, variant = (
                    choice.tail,
                    f"tail weight {choice.tail:g}, chosen on training data",
                )
            result = measured(opened.problem, trained, name=method, k=RANKS, tail=weight)
            yield _reproduced(paper, trial, method, variant, replace(result, bytes=size))
    except Exception as error:
        yield _left_out(paper, trial, method, f"failed: {one_sentence(error)}")


def reproduce(
    paper: str | Paper,
    folder: str | os.PathLike[str],
    *,
    only: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    slow: bool = False,
    tail: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Iterator[Reproduced]:
    """Do the experiments of a paper again, as far as data and methods are here.

    Parameters
    ----------
    paper : str or Paper
        See `papers`.
    folder : path
        The benchmark sets, each in a folder of its own.
    only, methods : iterable of str, optional
        Data sets and methods; by default all.
    slow, tail, n_jobs, progress
        As in `run_method`.

    Yields
    ------
    Reproduced
        One method after the other, data set by data set; also those that are left out, with why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from longtail.data import make_longtail, save
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "bibtex").mkdir()
    >>> train, test = make_longtail(200, 100, 20, random_state=0).split(random_state=0)
    >>> save(train, folder / "bibtex" / "train.txt"), save(test, folder / "bibtex" / "test.txt")
    (None, None)
    >>> for row in reproduce("proxml", folder, only=["bibtex"], methods=["dismec", "sleec"]):
    ...     print(row.method, row.left_out or row.cells[-1].metric)
    DiSMEC C@5
    SLEEC not built yet
    """
    paper = find_paper(paper) if isinstance(paper, str) else paper
    trials = paper.trials if only is None else [paper.trial(name) for name in only]
    wanted = list(paper.methods) if methods is None else [paper.method(name) for name in methods]
    for trial in trials:
        opened = open_trial(paper, trial, folder)
        for method in wanted:
            yield from run_method(
                opened, method, slow=slow, tail=tail, n_jobs=n_jobs, progress=progress
            )


def _chosen_tail(
    opened: OpenTrial, model: ExtremeClassifier, progress: bool | Progress | None
) -> TailChoice:
    """The tail weight by cross-validation on the training part; the model is calibrated by it."""
    problem = opened.problem
    held = calibrate(model, problem.X, problem.targets, random_state=SEED, progress=progress)
    return choose_tail(held, max_loss=MAX_LOSS, constants=propensity_constants(opened.trial.folder))


def _made(
    estimator: type[ExtremeClassifier], given: Mapping[str, Any], n_jobs: int | None
) -> ExtremeClassifier:
    classifier = estimator(**given)
    if "n_jobs" in classifier.get_params(deep=False):
        classifier.set_params(n_jobs=n_jobs)
    return classifier


def _reproduced(
    paper: Paper, trial: Trial, method: str, variant: str, result: Result
) -> Reproduced:
    return Reproduced(
        trial.dataset, method, variant, result, None, tuple(_cells(paper, trial, method, result))
    )


def _left_out(paper: Paper, trial: Trial, method: str, why: str) -> Reproduced:
    return Reproduced(
        trial.dataset, method, "", None, why, tuple(_cells(paper, trial, method, None))
    )


def _cells(paper: Paper, trial: Trial, method: str, result: Result | None) -> Iterator[Cell]:
    """The paper's figures for a method on a data set, with ours."""
    ours = {} if result is None or result.evaluation is None else result.evaluation
    odd = {
        metric: slip.about
        for slip in slips(paper)
        if (slip.dataset, slip.method) == (trial.dataset, method)
        for metric in slip.metrics
    }
    for table in paper.tables:
        for metric, figure in table.values.get(trial.dataset, {}).get(method, {}).items():
            found = ours.get(metric)
            scaled = None if found is None else table.scale * found
            yield Cell(table.number, metric, figure, scaled, odd.get(metric))
    for metric in paper.also:
        for k in RANKS:
            found = ours.get(f"{metric}@{k}")
            yield Cell("", f"{metric}@{k}", None, None if found is None else 100 * found)
