"""Train, predict, measure and save one method after the other, on the same data."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from longtail import store
from longtail._run import Progress
from longtail._sparse import ranked
from longtail.base import ExtremeClassifier, check_tail
from longtail.comparison.limits import Limits
from longtail.comparison.memory import PeakMemory
from longtail.comparison.problem import Problem, Transformer, prepare
from longtail.comparison.results import Comparison, Result, Setup
from longtail.comparison.size import count_parameters
from longtail.comparison.trade import curve_on_test
from longtail.data import Dataset
from longtail.errors import LongtailError, LongtailWarning, ParameterError
from longtail.labels import encode_labels, names_to_matrix, tail_statistics
from longtail.labels.propensity import Constants
from longtail.methods import find_method
from longtail.metrics import Evaluation, by_frequency, evaluate
from longtail.tagger import FeatureKind, Tagger

_FEW = 64
"""Points that a method is tried on before its clock starts, so that its kernels are compiled."""

Methods = Mapping[str, str | ExtremeClassifier] | Iterable[str | ExtremeClassifier]


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
        setup_of(problem, k=k, tail=tail, kinds=kinds_of(classifiers.values())),
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


def named_classifiers(
    methods: Methods, *, n_jobs: int | None = None
) -> dict[str, ExtremeClassifier]:
    """Classifiers by the name they have in a comparison, checked before any work.

    Examples
    --------
    >>> named_classifiers({"usual": "dismec", "loose": "dismec"}, n_jobs=2)
    {'usual': DiSMEC(n_jobs=2), 'loose': DiSMEC(n_jobs=2)}
    """
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        pairs = list(methods.items())
    else:
        pairs = [
            (each if isinstance(each, str) else getattr(each, "method", ""), each)
            for each in methods
        ]
    if not pairs:
        raise ParameterError("There is no method to compare; name at least one.")
    found: dict[str, ExtremeClassifier] = {}
    for name, given in pairs:
        classifier = find_method(given).estimator() if isinstance(given, str) else given
        if not isinstance(classifier, ExtremeClassifier):
            raise ParameterError(
                f"A comparison takes names of methods or classifiers, not {given!r}."
            )
        if name in found:
            raise ParameterError(
                f"Two methods are called {name!r}; give a mapping with a name for each."
            )
        if n_jobs is not None and classifier.get_params(deep=False).get("n_jobs", 0) is None:
            classifier = clone(classifier).set_params(n_jobs=n_jobs)
        classifier.check_parameters()
        found[name] = classifier
    return found


def check_places(keep: str | os.PathLike[str], names: Iterable[str]) -> None:
    """Refuse a folder in which the models of these names cannot be kept."""
    for name in names:
        if name in ("", ".", "..") or Path(name).name != name or "\0" in name:
            raise ParameterError(f"A method called {name!r} cannot be kept; it names no folder.")
        store.check_target(Path(keep) / name)


def kinds_of(
    classifiers: Iterable[ExtremeClassifier | type[ExtremeClassifier]],
) -> tuple[FeatureKind, ...]:
    """The kinds of features that some classifiers want, each once.

    Examples
    --------
    >>> kinds_of(named_classifiers(["dismec", "br"]).values())
    ('scaled',)
    """
    return tuple(dict.fromkeys(classifier.features for classifier in classifiers))


def setup_of(
    problem: Problem,
    *,
    k: Sequence[int],
    tail: float = 0.0,
    kinds: Sequence[FeatureKind] = ("scaled",),
) -> Setup:
    """What is common to all results on a problem; makes the kinds of features named."""
    made = [problem.features(kind) for kind in kinds]
    return Setup(
        data=problem.name,
        train_points=problem.n_points,
        test_points=problem.n_test_points,
        labels=problem.n_labels,
        features=int(made[0].X.shape[1]),
        unknown_labels=problem.unknown_labels,
        feature_seconds=sum({id(each): each.seconds for each in made}.values()),
        k=tuple(sorted({int(at) for at in k})),
        tail=float(tail),
        label_tail=tail_statistics(problem.Y),
        label_counts=problem.label_counts[: problem.n_labels],
        labels_per_point=np.diff(problem.Y.indptr).astype(np.int64),
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
        "test_points": problem.n_test_points,
    }
    try:
        objection = None if limits is None else limits.objection(problem, classifier)
        if objection is not None:
            return Result(**about, failure=objection)
        trained = train_method(problem, classifier, progress=progress)
        result = measured(problem, trained, name=name, k=k, tail=tail, curves=curves)
    except Exception as error:
        return Result(**about, failure=one_sentence(error))
    points = {"points": result.test_points, **(result.evaluation or {})}
    meta = {"data": problem.name, "method": result.method, "held_out": points}
    try:
        place = None if keep is None else Path(keep) / name
        size = saved_size(problem, trained.model, keep=place, meta=meta)
    except (OSError, LongtailError) as error:
        warnings.warn(
            f"{name} could not be saved, so its size is not known: {one_sentence(error)}",
            LongtailWarning,
            stacklevel=2,
        )
        return result
    return replace(result, bytes=size)


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
    >>> problem = prepare(*make_longtail(200, 100, 20, random_state=0).split(random_state=0))
    >>> trained = train_method(problem, DiSMEC())
    >>> usual, tail = (measured(problem, trained, tail=weight) for weight in (0, 2))
    >>> usual.train_seconds == tail.train_seconds, usual.evaluation["P@1"] > 0.5
    (True, True)
    """
    X = problem.features(classifier.features).X
    _compile(problem, classifier)
    model = clone(classifier)
    with PeakMemory() as memory:
        started = time.perf_counter()
        model.fit(X, problem.targets, label_names=problem.label_names, progress=progress)
        seconds = time.perf_counter() - started
    return Trained(model, seconds, memory.peak_bytes)


def measured(
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
    X = problem.features(model.features).X_test
    chances = problem.propensities[: problem.n_labels]
    started = time.perf_counter()
    if tail:
        top = model.predict_topk(X, max(k), tail=tail, propensities=chances)
    else:
        top = model.predict_topk(X, max(k))
    seconds = time.perf_counter() - started
    committed = model.predict(X)
    first = model.predict_topk(X, 1) if tail and problem.one_class else top
    if problem.label_names is None:
        committed = encode_labels(committed).matrix
    else:
        committed, _ = names_to_matrix(committed, classes=problem.label_names)
    for matrix in (top, committed):
        matrix.resize(problem.Y_test.shape)
    evaluation = evaluate(
        problem.Y_test, scores=top, predicted=committed, k=k, propensities=problem.propensities
    )
    if problem.one_class:
        classes = evaluate(problem.Y_test.indices, predicted=ranked(first, 1)[0][:, 0])
        evaluation = Evaluation({**evaluation, **classes})
    return Result(
        name=model.method if name is None else name,
        method=model.method,
        parameters=model.get_params(deep=False),
        evaluation=evaluation,
        train_seconds=trained.seconds,
        predict_seconds=seconds,
        test_points=problem.n_test_points,
        peak_bytes=trained.peak_bytes,
        n_parameters=count_parameters(model),
        by_frequency=by_frequency(problem.Y_test, top, counts=problem.label_counts, k=k),
        tail_curve=curve_on_test(problem, model, k=k) if curves else None,
    )


def _compile(problem: Problem, classifier: ExtremeClassifier) -> None:
    """Fit to a few points and their labels alone; whatever goes wrong will come up again."""
    rows = np.flatnonzero(np.diff(_matrix(problem).indptr))[:_FEW]
    if not len(rows):
        return
    few = _matrix(problem)[rows]
    few = few[:, np.unique(few.indices)]
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        made = problem.features(classifier.features)
        model = clone(classifier).fit(made.X[rows], few, progress=False)
        model.predict_topk(made.X_test[:_FEW], 1)
        model.predict_topk(made.X_test[:_FEW], 1, tail=1.0)
        model.predict(made.X_test[:_FEW])


def _matrix(problem: Problem) -> sp.csr_array:
    """Labels of the first training points, for a trial run."""
    if problem.label_names is None:
        return problem.targets
    return encode_labels(problem.targets[: 4 * _FEW]).matrix


def saved_size(
    problem: Problem,
    model: ExtremeClassifier,
    *,
    keep: Path | None = None,
    meta: Mapping[str, Any] | None = None,
) -> int:
    """Bytes of a model on disk, saved as a tagger that makes its own features.

    Parameters
    ----------
    problem : Problem
        What it was trained on.
    model : ExtremeClassifier
        Fitted.
    keep : path, optional
        The model folder to write; by default it is a temporary one.
    meta : dict, optional
        What the model is to remember of its making.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> from longtail.data import make_longtail
    >>> problem = prepare(*make_longtail(200, 100, 20, random_state=0).split(random_state=0))
    >>> model = train_method(problem, DiSMEC()).model
    >>> saved_size(problem, model) > model.weights_.data.nbytes
    True
    """
    transformer = problem.features(model.features).transformer
    tagger = Tagger(features=clone(transformer), classifier=clone(model))
    tagger.features_ = transformer
    tagger.classifier_ = model
    if problem.feature_names is not None:
        tagger.feature_names_ = problem.feature_names
    with tempfile.TemporaryDirectory(prefix="longtail-") as passing:
        place = Path(passing) / "model" if keep is None else keep
        place.parent.mkdir(parents=True, exist_ok=True)
        store.write(place, tagger, meta=dict(meta or {}))
        return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def one_sentence(error: Exception) -> str:
    """What went wrong, for people."""
    if isinstance(error, MemoryError):
        return "There was not enough memory for it; use fewer points or features."
    text = " ".join(str(error).split())
    if isinstance(error, LongtailError):
        return text
    return f"It stopped with {type(error).__name__}{f': {text}' if text else '.'}"
