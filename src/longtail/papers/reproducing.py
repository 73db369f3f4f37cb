"""Run the trials of a paper and set the results beside the paper's figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longtail.base import ExtremeClassifier
from longtail.choosing import (
    Problem,
    Result,
    Trained,
    prepare,
    result_on_test,
    saved_size,
    train_method,
)
from longtail.data import Dataset
from longtail.decisions import TailChoice, calibrate, choose_tail
from longtail.errors import one_sentence
from longtail.features import RowScaler
from longtail.methods.registry import methods as known_methods
from longtail.papers.paper import Paper, Trial
from longtail.papers.registry import find_paper
from longtail.papers.rows import RANKS, Reproduced, left_out, reproduced
from longtail.papers.trial_data import PreparedTrial, prepare_trial
from longtail.runtime.run import Progress

SEED = 0
HELD_OUT = 0.2
"""Share of the training points that settings are chosen on."""
MAX_LOSS = 0.01
"""How much P@1 may fall on held-out training points in favour of rare labels."""


@dataclass(frozen=True)
class Candidate:
    """A setting that was tried on held-out training points, and its score."""

    features: Mapping[str, Any]
    value: float
    score: float
    seconds: float


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
    >>> from longtail import DiSMEC
    >>> from longtail.papers import ChosenParameter, Trial
    >>> tried = ChosenParameter("DiSMEC", "C", (0.001, 1.0), ({},))
    >>> trial = Trial("Bibtex", "bibtex", choice=tried,
    ...               parameters={"DiSMEC": {"C": 0.001}})
    >>> found = list(choose(trial, make_longtail(200, 100, 20, random_state=0), DiSMEC))
    >>> with_choice(trial, found).parameters
    {'DiSMEC': {'C': 1.0}}
    """
    assert trial.choice is not None
    points, held_out = train.split(test_size=HELD_OUT, random_state=SEED)
    for scaling in trial.choice.features:
        problem = prepare(
            points, held_out, features=RowScaler(**scaling), propensity_constants=trial.folder
        )
        for value in trial.choice.values:
            given = {**trial.parameters.get(trial.choice.method, {}), trial.choice.parameter: value}
            trained = train_method(problem, _made(classifier, given, n_jobs), progress=progress)
            found = result_on_test(problem, trained, k=RANKS)
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
    prepared: PreparedTrial,
    method: str,
    *,
    slow: bool = False,
    tail: float | None = None,
    n_jobs: int | None = None,
    progress: bool | Progress | None = None,
) -> Iterator[Reproduced]:
    """One method of a paper on one data set; then, for the paper's own, with a tail weight.

    It is run once for each seed of the trial; if it fails with one of them, the row says so and has
    no figures, since means over the other seeds would mean something else.

    Parameters
    ----------
    prepared : PreparedTrial
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
    paper, trial = prepared.paper, prepared.trial
    name = paper.methods[method]
    if name not in known_methods():
        yield left_out(paper, trial, method, "not built yet")
        return
    if method in trial.slow and not slow:
        yield left_out(paper, trial, method, "takes long here; --slow runs it")
        return
    with_tail = method in paper.with_tail and tail != 0
    results: list[Result] = []
    models: list[Trained] = []
    for seed, problem in zip(prepared.seeds, prepared.problems, strict=True):
        try:
            classifier = _made(
                known_methods()[name].estimator, trial.parameters.get(method, {}), n_jobs
            )
            trained = train_method(problem, classifier, progress=progress)
            result = result_on_test(problem, trained, name=method, k=RANKS)
            results.append(replace(result, bytes=saved_size(problem, trained.model)))
        except Exception as error:
            yield left_out(paper, trial, method, _failed(prepared, seed, error))
            return
        if with_tail:
            models.append(trained)
        del trained
    yield reproduced(paper, trial, method, results, prepared.seeds)
    if with_tail:
        yield _with_tail(prepared, method, results, models, tail, progress)


def _with_tail(
    prepared: PreparedTrial,
    method: str,
    plain: Sequence[Result],
    models: Sequence[Trained],
    tail: float | None,
    progress: bool | Progress | None,
) -> Reproduced:
    """The row of the same models with a tail weight."""
    paper, trial = prepared.paper, prepared.trial
    results: list[Result] = []
    variants: list[str] = []
    for seed, problem, trained, usual in zip(
        prepared.seeds, prepared.problems, models, plain, strict=True
    ):
        try:
            weight, variant = tail, f"tail weight {tail}"
            if weight is None:
                weight = _chosen_tail(trial, problem, trained.model, progress).tail
                variant = f"tail weight {weight:g}, chosen on training data"
            result = result_on_test(problem, trained, name=method, k=RANKS, tail=weight)
        except Exception as error:
            return left_out(paper, trial, method, _failed(prepared, seed, error))
        results.append(replace(result, bytes=usual.bytes))
        variants.append(variant)
    same = len(set(variants)) == 1
    variant = variants[0] if same else "tail weights chosen on training data"
    return reproduced(paper, trial, method, results, prepared.seeds, variant=variant)


def _failed(prepared: PreparedTrial, seed: int, error: Exception) -> str:
    where = f" with seed {seed}" if len(prepared.seeds) > 1 else ""
    return f"failed{where}: {one_sentence(error)}"


def reproduce(
    paper: str | Paper,
    folder: str | os.PathLike[str],
    *,
    only: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    slow: bool = False,
    n_seeds: int | None = None,
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
        Data sets and methods; by default all data sets, and on each the methods of its tables.
    slow, tail, n_jobs, progress
        As in `run_method`.
    n_seeds : int, optional
        How many of a trial's seeds to take; all by default.

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
    trials: Iterable[Trial] = paper.trials
    if only is not None:
        trials = [trial for name in only for trial in paper.trials_on(name)]
    wanted = None if methods is None else [paper.method(name) for name in methods]
    for trial in trials:
        prepared = prepare_trial(paper, trial, folder, n_seeds=n_seeds)
        for method in paper.methods_on(trial) if wanted is None else wanted:
            yield from run_method(
                prepared, method, slow=slow, tail=tail, n_jobs=n_jobs, progress=progress
            )


def _chosen_tail(
    trial: Trial, problem: Problem, model: ExtremeClassifier, progress: bool | Progress | None
) -> TailChoice:
    """The tail weight by cross-validation on the training part; the model is calibrated by it."""
    X = problem.features(model.feature_kind).X
    train = problem.train
    Y = train.Y if train.label_names is None else train.label_sets()
    held = calibrate(model, X, Y, random_state=SEED, progress=progress)
    return choose_tail(held, max_loss=MAX_LOSS, propensity_constants=trial.folder)


def _made(
    estimator: type[ExtremeClassifier], given: Mapping[str, Any], n_jobs: int | None
) -> ExtremeClassifier:
    classifier = estimator(**given)
    if "n_jobs" in classifier.get_params(deep=False):
        classifier.set_params(n_jobs=n_jobs)
    return classifier
