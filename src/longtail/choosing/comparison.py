"""Several methods one after the other on the same data: trained, measured, saved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longtail.base import ExtremeClassifier
from longtail.choosing.comparison_rows import Methods, check_places, kinds_of, named_classifiers
from longtail.choosing.limits import Limits
from longtail.choosing.model_size import saved_size
from longtail.choosing.one_method import result_on_test, train_method
from longtail.choosing.problem import Problem, Transformer, prepare
from longtail.choosing.results import Comparison, Result, Setup
from longtail.data import Dataset
from longtail.errors import LongtailError, LongtailWarning, one_sentence, warn
from longtail.features.made import FeatureKind
from longtail.labels import check_tail
from longtail.labels.propensity import Constants
from longtail.runtime.run import Progress


def compare(
    train: Dataset,
    test: Dataset,
    methods: Methods,
    *,
    features: Transformer | Mapping[FeatureKind, Transformer] | None = None,
    k: Sequence[int] = (1, 3, 5),
    tail: float = 0.0,
    propensity_constants: Constants | None = None,
    n_jobs: int | None = None,
    keep: str | os.PathLike[str] | None = None,
    curves: bool = False,
    limits: Limits | None = None,
    progress: bool | Progress | None = None,
) -> Comparison:
    """Train several methods on one part of some data and measure them on the other.

    Parameters
    ----------
    train, test : Dataset
        The two parts; labels and features are matched by name where there are names.
    methods : iterable of str or classifiers, or mapping
        Names as at the command line, or classifiers with the parameters they are to have. A mapping
        gives them other names, which tell one method with two settings apart.
    features : TextFeatures, RowScaler or mapping by kind, optional
        What makes the features, once for all methods that want the same kind; see `prepare`.
    k : sequence of int
        Ranks of the metrics.
    tail : float
        Weight of the tail in the rankings, as in `predict_topk`; 0 ranks by score alone.
    propensity_constants : str or pair of float, optional
        Of the propensities, as in `labels.propensities`.
    n_jobs : int, optional
        Threads, for classifiers that do not say themselves.
    keep : path, optional
        Folder for the trained models, each as a tagger in a folder of its name. By default each is
        saved to a temporary folder, for its size, and removed.
    curves : bool
        Also measure P@k and PSP@k over a grid of tail weights, for `report.comparison_html`. Costs
        one more prediction.
    limits : Limits, optional
        What a method may need, by its own estimate, to be tried. None tries all.
    progress : bool or callable, optional
        As in `fit`.

    Returns
    -------
    Comparison
        A method that fails, refuses or is not tried has a row as well, which says why.

    Notes
    -----
    Training time is that of `fit` on ready features; before the clock starts each method is fitted
    to a few points, so that no time goes into compiling its kernels. One model is in memory at a
    time. Peak memory is that of `fit`, above what was there before, data and features included; see
    `PeakMemory`.

    Where every point of both parts has exactly one label, accuracy, MaF1 and the share of covered
    classes are measured as well, with the class that ranks first; see `longtail.metrics.maf1`.

    Examples
    --------
    >>> from longtail import BinaryRelevance
    >>> from longtail.data import make_longtail
    >>> train, test = make_longtail(300, 200, 30, random_state=0).split(random_state=0)
    >>> found = compare(train, test, ["dismec", BinaryRelevance(C=10)])
    >>> found.table()["name"].to_list()
    ['dismec', 'br']
    >>> bool(found["dismec"].evaluation["P@1"] > 0.5)
    True
    """
    classifiers = named_classifiers(methods, n_jobs=n_jobs)
    check_tail(tail)
    if keep is not None:
        check_places(keep, classifiers)
    problem = prepare(train, test, features=features, propensity_constants=propensity_constants)
    return Comparison(
        Setup.of(problem, k=k, tail=tail, kinds=kinds_of(classifiers.values())),
        [
            try_method(
                problem,
                classifier,
                name=name,
                k=k,
                tail=tail,
                keep=keep,
                curves=curves,
                limits=limits,
                progress=progress,
            )
            for name, classifier in classifiers.items()
        ],
    )


def try_method(
    problem: Problem,
    classifier: ExtremeClassifier,
    *,
    name: str | None = None,
    k: Sequence[int] = (1, 3, 5),
    tail: float = 0.0,
    keep: str | os.PathLike[str] | None = None,
    curves: bool = False,
    limits: Limits | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Train, predict, measure and save one method; a failure becomes part of the result.

    Parameters
    ----------
    problem : Problem
        What `prepare` made.
    classifier : ExtremeClassifier
        It is cloned, not changed.
    name : str, optional
        What to call it; by default its name at the command line.
    k, tail, keep, curves, limits, progress
        As in `compare`.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> from longtail.data import make_longtail
    >>> problem = prepare(*make_longtail(200, 100, 20, random_state=0).split(random_state=0))
    >>> result = try_method(problem, DiSMEC(), name="usual")
    >>> result.name, result.method, result.failure, result.bytes > 1000
    ('usual', 'dismec', None, True)
    """
    name = classifier.method if name is None else name
    about: dict[str, Any] = {
        "name": name,
        "method": classifier.method,
        "parameters": classifier.get_params(deep=False),
        "test_points": len(problem.test),
    }
    try:
        objection = None if limits is None else limits.objection(problem, classifier)
        if objection is not None:
            return Result(**about, failure=objection)
        trained = train_method(problem, classifier, progress=progress)
        result = result_on_test(problem, trained, name=name, k=k, tail=tail, curves=curves)
    except Exception as error:
        return Result(**about, failure=one_sentence(error))
    points = {"points": result.test_points, **(result.evaluation or {})}
    meta = {"data": problem.name, "method": result.method, "held_out": points}
    try:
        place = None if keep is None else Path(keep) / name
        size = saved_size(problem, trained.model, keep=place, meta=meta)
    except (OSError, LongtailError) as error:
        warn(
            f"{name} could not be saved, so its size is not known: {one_sentence(error)}",
            LongtailWarning,
        )
        return result
    return replace(result, bytes=size)
