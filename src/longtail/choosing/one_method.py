"""One method trained and measured, with time and memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn.base import clone

from longtail.base import ExtremeClassifier
from longtail.choosing.model_size import count_parameters
from longtail.choosing.peak_memory import PeakMemory
from longtail.choosing.problem import Problem
from longtail.choosing.results import Result
from longtail.decisions import HeldOutScores, tail_curve
from longtail.metrics import evaluate_model
from longtail.runtime.run import Progress

_FEW = 64
"""Points that a method is tried on before its clock starts, so that its kernels are compiled."""
_DEPTH = 100
"""Labels per point that a tail weight may bring to the front."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted classifier, how many seconds `fit` took, and its peak memory where known."""

    model: ExtremeClassifier
    seconds: float
    peak_bytes: int | None = None


def train_method(
    problem: Problem,
    classifier: ExtremeClassifier,
    *,
    progress: bool | Progress | None = None,
) -> Trained:
    """Fit a clone of a classifier to the training part, by the clock.

    What it raises is not caught; `try_method` does that.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> from longtail.data import make_longtail
    >>> from longtail.choosing import prepare
    >>> problem = prepare(*make_longtail(200, 100, 20, random_state=0).split(random_state=0))
    >>> trained = train_method(problem, DiSMEC())
    >>> usual, tail = (result_on_test(problem, trained, tail=weight) for weight in (0, 2))
    >>> usual.train_seconds == tail.train_seconds, usual.evaluation["P@1"] > 0.5
    (True, True)
    """
    X = problem.features(classifier.feature_kind).X
    _compile(problem, classifier)
    model = clone(classifier)
    with PeakMemory() as memory:
        started = time.perf_counter()
        model.fit(X, problem.train.encoded, progress=progress)
        seconds = time.perf_counter() - started
    return Trained(model, seconds, memory.peak_bytes)


def result_on_test(
    problem: Problem,
    trained: Trained,
    *,
    name: str | None = None,
    k: Sequence[int] = (1, 3, 5),
    tail: float = 0.0,
    curves: bool = False,
) -> Result:
    """Predict the test part, by the clock, and compare with its labels; see `train_method`.

    The size of the result is not known; see `saved_size`.
    """
    model = trained.model
    found = evaluate_model(
        model,
        problem.features(model.feature_kind).X_test,
        problem.test.Y,
        k=k,
        tail=tail,
        propensity_constants=problem.propensity_constants,
        one_class=problem.one_class,
    )
    return Result(
        name=model.method if name is None else name,
        method=model.method,
        parameters=model.get_params(deep=False),
        evaluation=found.evaluation,
        train_seconds=trained.seconds,
        predict_seconds=found.seconds,
        test_points=found.points,
        peak_bytes=trained.peak_bytes,
        n_parameters=count_parameters(model),
        by_frequency=found.by_frequency,
        tail_curve=_curve_on_test(problem, model, k) if curves else None,
    )


def _curve_on_test(
    problem: Problem, model: ExtremeClassifier, k: Sequence[int]
) -> pl.DataFrame | None:
    """P@k and PSP@k of the test part over a grid of tail weights: what could be gained.

    None if the method offers one label per point at most, which no weight can re-rank.
    """
    scores = model.predict_topk(problem.features(model.feature_kind).X_test, max(_DEPTH, *k))
    if np.diff(scores.indptr).max(initial=0) < 2:
        return None
    scores.resize(problem.test.Y.shape)
    held = HeldOutScores(
        scores=scores,
        truth=problem.test.Y,
        fold=np.zeros(len(problem.test), dtype=np.int64),
        label_counts=problem.label_counts[None],
        n_points=np.array([len(problem.train)]),
        calibration=model.score_scale,
    )
    return tail_curve(held, k=k, propensity_constants=problem.propensity_constants)


def _compile(problem: Problem, classifier: ExtremeClassifier) -> None:
    """Fit to a few points and their labels alone; errors are ignored, they will occur again."""
    rows = np.flatnonzero(np.diff(problem.train.Y.indptr))[:_FEW]
    if not len(rows):
        return
    few = problem.train.Y[rows]
    few = few[:, np.unique(few.indices)]
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        made = problem.features(classifier.feature_kind)
        model = clone(classifier).fit(made.X[rows], few, progress=False)
        model.predict_topk(made.X_test[:_FEW], 1)
        model.predict_topk(made.X_test[:_FEW], 1, tail=1.0)
        model.predict(made.X_test[:_FEW])
