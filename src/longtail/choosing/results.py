"""What a comparison found: one result per method, and all of them as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from longtail.labels import TailStatistics, tail_statistics
from longtail.metrics import Evaluation

if TYPE_CHECKING:
    from longtail.choosing.problem import Problem
    from longtail.features.made import FeatureKind

COSTS = (
    "train_seconds",
    "predict_seconds",
    "points_per_second",
    "milliseconds_per_point",
    "megabytes",
    "peak_megabytes",
    "n_parameters",
)
"""Columns of the table that are not metrics."""

LESS_IS_BETTER = ("hamming_loss", *(name for name in COSTS if name != "points_per_second"))
"""Columns of the table in which the smallest value is the best."""


@dataclass(frozen=True)
class Result:
    """How one method did.

    Attributes
    ----------
    name : str
        What it is called in this comparison.
    method : str
        Its name at the command line.
    parameters : dict
        Those that it was given or has by default.
    evaluation : Evaluation or None
        All metrics on the test part; None if the method failed.
    train_seconds, predict_seconds : float or None
        Wall-clock time of `fit` on the features, and of one `predict_topk` for all test points.
    test_points : int
        How many those are.
    bytes : int or None
        The saved model on disk, with what makes its features.
    peak_bytes : int or None
        Peak memory of `fit` above what was there before; None where it cannot be measured.
    n_parameters : int or None
        Numbers that the model has learned; see `count_parameters`.
    failure : str or None
        Why there is no result, in one sentence.
    by_frequency : polars.DataFrame or None
        Where the right answers come from; see `longtail.metrics.by_frequency`.
    tail_curve : polars.DataFrame or None
        P@k and PSP@k of the test part over a grid of tail weights, where it was asked for and the
        method offers more than one label per point; see `longtail.decisions.tail_curve`.
    """

    name: str
    method: str
    parameters: dict[str, Any]
    evaluation: Evaluation | None = None
    train_seconds: float | None = None
    predict_seconds: float | None = None
    test_points: int = 0
    bytes: int | None = None
    failure: str | None = None
    peak_bytes: int | None = None
    n_parameters: int | None = None
    by_frequency: pl.DataFrame | None = field(default=None, compare=False, repr=False)
    tail_curve: pl.DataFrame | None = field(default=None, compare=False, repr=False)

    @property
    def points_per_second(self) -> float | None:
        """Test points predicted per second."""
        if self.predict_seconds is None:
            return None
        return self.test_points / max(self.predict_seconds, 1e-9)

    @property
    def milliseconds_per_point(self) -> float | None:
        """Time to predict one of the test points, all of which are predicted in one call."""
        if self.predict_seconds is None or not self.test_points:
            return None
        return 1000 * self.predict_seconds / self.test_points

    @property
    def megabytes(self) -> float | None:
        """Size of the saved model."""
        return None if self.bytes is None else self.bytes / 1e6

    @property
    def peak_megabytes(self) -> float | None:
        """Peak memory of training."""
        return None if self.peak_bytes is None else self.peak_bytes / 1e6

    def values(self) -> dict[str, float | None]:
        """Costs and metrics by name."""
        metrics = {} if self.evaluation is None else self.evaluation.to_dict()
        return {**{name: getattr(self, name) for name in COSTS}, **metrics}

    def to_dict(self) -> dict[str, Any]:
        """All as plain values."""
        return {
            "name": self.name,
            "method": self.method,
            "parameters": self.parameters,
            "failure": self.failure,
            "train_seconds": self.train_seconds,
            "predict_seconds": self.predict_seconds,
            "points_per_second": self.points_per_second,
            "milliseconds_per_point": self.milliseconds_per_point,
            "bytes": self.bytes,
            "peak_bytes": self.peak_bytes,
            "n_parameters": self.n_parameters,
            "metrics": None if self.evaluation is None else self.evaluation.to_dict(),
            "by_frequency": None if self.by_frequency is None else self.by_frequency.to_dicts(),
            "tail_curve": None if self.tail_curve is None else self.tail_curve.to_dicts(),
        }


def mean_result(results: Sequence[Result]) -> Result:
    """One result with the means of several of the same method, on samples of the same data.

    A single one is given back as it is. A metric that one of them lacks is left out, and so is a
    cost.

    Examples
    --------
    >>> first = Result("a", "br", {}, Evaluation({"P@1": 0.8}), 2.0, 0.1, 20, 10_000)
    >>> mean = mean_result([first, replace(first, evaluation=Evaluation({"P@1": 0.6}))])
    >>> round(mean.evaluation["P@1"], 3), mean.train_seconds, mean.bytes
    (0.7, 2.0, 10000)
    """
    first, *others = results
    if not others:
        return first
    evaluations: list[Mapping[str, float]] = [each.evaluation or {} for each in results]
    shared = [name for name in evaluations[0] if all(name in each for each in evaluations)]
    metrics = {name: fmean(each[name] for each in evaluations) for name in shared}

    def mean(name: str) -> float | None:
        values = [getattr(each, name) for each in results]
        return None if None in values else fmean(values)

    def whole(name: str) -> int | None:
        found = mean(name)
        return None if found is None else round(found)

    return replace(
        first,
        evaluation=Evaluation(metrics) if metrics else None,
        train_seconds=mean("train_seconds"),
        predict_seconds=mean("predict_seconds"),
        test_points=whole("test_points") or 0,
        bytes=whole("bytes"),
        peak_bytes=whole("peak_bytes"),
        n_parameters=whole("n_parameters"),
        by_frequency=None,
        tail_curve=None,
    )


@dataclass(frozen=True)
class Setup:
    """What all methods of a comparison had in common.

    Attributes
    ----------
    data : str or None
        Name of the data.
    train_points, test_points, labels, features : int
        Sizes.
    unknown_labels : int
        Labels of the test part that no training point has.
    feature_seconds : float
        Time to make the features, each kind once for all methods that want it.
    k : tuple of int
        Ranks of the metrics.
    tail : float
        Tail weight of the rankings; 0 ranks by score alone.
    label_tail : TailStatistics or None
        What the training labels look like.
    label_counts : array of shape (labels,) or None
        Training points of each label.
    labels_per_point : array of shape (train_points,) or None
        Labels of each training point.
    """

    data: str | None
    train_points: int
    test_points: int
    labels: int
    features: int
    unknown_labels: int
    feature_seconds: float
    k: tuple[int, ...]
    tail: float = 0.0
    label_tail: TailStatistics | None = None
    label_counts: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)
    labels_per_point: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        problem: Problem,
        *,
        k: Sequence[int],
        tail: float = 0.0,
        kinds: Sequence[FeatureKind] = ("scaled",),
    ) -> Setup:
        """What is common to all results on a problem; makes the kinds of features named."""
        made = [problem.features(kind) for kind in kinds]
        return cls(
            data=problem.name,
            train_points=len(problem.train),
            test_points=len(problem.test),
            labels=problem.train.n_labels,
            features=int(made[0].X.shape[1]),
            unknown_labels=problem.unknown_labels,
            feature_seconds=sum({id(each): each.seconds for each in made}.values()),
            k=tuple(sorted({int(at) for at in k})),
            tail=float(tail),
            label_tail=tail_statistics(problem.train.Y),
            label_counts=problem.label_counts[: problem.train.n_labels],
            labels_per_point=np.diff(problem.train.Y.indptr).astype(np.int64),
        )

    def to_dict(self) -> dict[str, Any]:
        """All as plain values; of the arrays, what `label_tail` says of them."""
        arrays = ("label_counts", "labels_per_point")
        tail = None if self.label_tail is None else self.label_tail.to_dict()
        plain = {name: value for name, value in vars(self).items() if name not in arrays}
        return {**plain, "k": list(self.k), "label_tail": tail}


@dataclass(frozen=True)
class Comparison:
    """The results of several methods on the same split.

    Attributes
    ----------
    common : Setup
        Data, ranks and tail weight.
    results : list of Result
        In the order in which the methods were given.

    Examples
    --------
    >>> common = Setup("tiny", 60, 20, 8, 30, 0, 0.1, (1,))
    >>> good = Result("good", "dismec", {}, Evaluation({"P@1": 0.8}), 2.0, 0.1, 20, 10_000)
    >>> quick = Result("quick", "br", {}, Evaluation({"P@1": 0.7}), 1.0, 0.1, 20, 20_000)
    >>> comparison = Comparison(common, [good, quick])
    >>> comparison.table().select("name", "train_seconds", "megabytes", "P@1").rows()
    [('good', 2.0, 0.01, 0.8), ('quick', 1.0, 0.02, 0.7)]
    >>> comparison.best()["P@1"], comparison.best()["train_seconds"]
    (['good'], ['quick'])
    """

    common: Setup
    results: list[Result] = field(default_factory=list)

    @property
    def finished(self) -> list[Result]:
        """The results of the methods that did not fail."""
        return [result for result in self.results if result.failure is None]

    def __getitem__(self, name: str) -> Result:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(name)

    def table(self) -> pl.DataFrame:
        """One row per method: name, method, costs, metrics as shares of one, and why it failed."""
        metrics = dict.fromkeys(
            name for result in self.finished for name in result.evaluation or ()
        )
        rows: list[Mapping[str, Any]] = [
            {**vars(result), **result.values()} for result in self.results
        ]
        schema = {
            "name": pl.String,
            "method": pl.String,
            **dict.fromkeys((*COSTS, *metrics), pl.Float64),
            "failure": pl.String,
        }
        return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema)

    def best(self) -> dict[str, list[str]]:
        """For every cost and metric the names of the best: one, or several that are equal."""
        found: dict[str, list[str]] = {}
        values = {result.name: result.values() for result in self.finished}
        for measure in dict.fromkeys(name for row in values.values() for name in row):
            known = {
                name: value
                for name, row in values.items()
                if (value := row.get(measure)) is not None and value == value
            }
            if known:
                best = (min if measure in LESS_IS_BETTER else max)(known.values())
                found[measure] = [name for name, value in known.items() if value == best]
        return found

    def to_dict(self) -> dict[str, Any]:
        """All as plain values, fit for JSON."""
        return {
            **self.common.to_dict(),
            "results": [result.to_dict() for result in self.results],
            "best": self.best(),
        }
