"""LightGBM as a grower of trees: derivatives in, plain arrays out.

Only this module knows LightGBM. X is binned once; a grower then takes first and second derivatives
of any objective, by the scores of several outputs at some of the rows, and fits one tree per output
to the Newton step. Nothing of LightGBM's is kept once the trees are taken.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import MissingExtraError, ParameterError
from longtail.parameters import check_count, check_not_negative, check_positive, check_seed
from longtail.solvers.boosted.trees import Tree

FEW_FEATURES = 20  # that a tree may choose from at least, whatever the share
HALVINGS = 30  # of a step that would raise the objective, before it is given up

FIXED = {
    "verbosity": -1,
    "num_threads": 1,  # threads are ours, over components and labels
    "deterministic": True,
    "force_col_wise": True,
    "use_missing": False,
    "zero_as_missing": False,
    "feature_pre_filter": False,
    "min_data_in_bin": 1,
    "objective": "none",
    "metric": "none",
}


@dataclass(frozen=True)
class Growth:
    """How trees are grown.

    Attributes
    ----------
    leaves : int
        Leaves of a tree.
    shrinkage : float
        Factor on what every tree says.
    min_points, min_curvature : int, float
        Points, and sum of second derivatives, that a leaf needs. LightGBM counts the points of a
        leaf by its share of the second derivatives, so that points of little weight count little.
    l2 : float
        Added to the sum of second derivatives of a leaf: small leaves say less.
    max_bins : int
        Values of a feature that are told apart.
    feature_share : float
        Share of the features, but at least 20, that are drawn for a tree to choose from.
    random_state : int
        Seed of that.
    """

    leaves: int = 5
    shrinkage: float = 0.1
    min_points: int = 5
    min_curvature: float = 1e-3
    l2: float = 1.0
    max_bins: int = 63
    feature_share: float = 0.3
    random_state: int = 0

    def __post_init__(self) -> None:
        check_count(leaves=self.leaves, min_points=self.min_points, max_bins=self.max_bins)
        for name in ("leaves", "max_bins"):
            if getattr(self, name) < 2:
                raise ParameterError(f"{name} must be at least 2, not {getattr(self, name)!r}.")
        check_positive(shrinkage=self.shrinkage)
        check_not_negative(min_curvature=self.min_curvature, l2=self.l2)
        check_positive(feature_share=self.feature_share)
        if self.feature_share > 1:
            raise ParameterError(
                f"feature_share must be above 0 and at most 1, not {self.feature_share!r}."
            )
        check_seed(self.random_state)

    def parameters(self, n_columns: int, *place: int) -> dict[str, Any]:
        """What LightGBM calls them; `place`, with the seed, decides which features are drawn."""
        seed = np.random.SeedSequence([self.random_state, *place]).generate_state(1)[0]
        return {
            "feature_fraction": min(1.0, max(self.feature_share, FEW_FEATURES / n_columns)),
            "feature_fraction_seed": int(seed >> 1),
            "max_bin": self.max_bins,
            "num_leaves": self.leaves,
            "learning_rate": self.shrinkage,
            "min_data_in_leaf": self.min_points,
            "min_sum_hessian_in_leaf": self.min_curvature,
            "lambda_l2": self.l2,
        }


@dataclass(frozen=True)
class Bins:
    """X as LightGBM sees it: the columns that can be split at all, cut into bins.

    `dataset` is None if there are no such columns.
    """

    dataset: Any
    columns: NDArray[np.int32]
    n_points: int


_known: dict[tuple[int, int, int], tuple[weakref.ref[Any], Bins]] = {}


def bins_of(X: sp.csr_array, growth: Growth) -> Bins:
    """X in bins: made once for a matrix, shared, and kept as long as the matrix lives. O(nnz).

    A column with fewer entries than a leaf needs points cannot be split, and is left out.
    """
    key = (id(X), growth.max_bins, growth.min_points)
    if key in _known and _known[key][0]() is X:
        return _known[key][1]
    lightgbm = _lightgbm()
    stored = np.bincount(X.indices, minlength=X.shape[1])
    columns = np.flatnonzero(stored >= growth.min_points).astype(np.int32)
    dataset = None
    if len(columns):
        dataset = lightgbm.Dataset(
            sp.csr_matrix(X[:, columns]),
            label=np.zeros(X.shape[0]),
            params=FIXED | {"max_bin": growth.max_bins},
        ).construct()
    bins = Bins(dataset, columns, X.shape[0])
    _known[key] = weakref.ref(X, lambda _: _known.pop(key, None)), bins
    return bins


class Grower:
    """Trees of several outputs on some rows (None: all), step by step.

    `place` are whole numbers that tell this grower from all others, for the drawing of features.
    A grower holds some 32 bytes per row and output until it is released. Making one costs
    O(columns), as LightGBM lays out its histograms; a step O(rows·columns) per output for dense X,
    and O(entries) for sparse.
    """

    def __init__(
        self,
        bins: Bins,
        rows: NDArray[np.int32] | None,
        n_outputs: int,
        growth: Growth,
        *place: int,
    ) -> None:
        every_row = rows is None or len(rows) == bins.n_points
        dataset = bins.dataset if every_row else bins.dataset.subset(rows)
        self.bins = bins
        self.n_outputs = n_outputs
        self.booster = _quiet_booster()(
            FIXED | growth.parameters(len(bins.columns), *place) | {"num_class": n_outputs},
            train_set=dataset,
        )
        self._said = np.zeros((bins.n_points if rows is None else len(rows), n_outputs))
        self._scales: list[NDArray[np.float64]] = []
        self._text: str | None = None

    def grow(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        """One tree per output; returns what they say of the rows, (n, outputs)."""
        if self.n_outputs == 1:
            first, second = first.ravel(), second.ravel()
        self.booster.reset_parameter({})  # LightGBM's silence is a thread's own
        self.booster.update(fobj=lambda *_: (first, second))
        heard: list[NDArray[np.float64]] = []

        def listen(scores: NDArray[np.float64], _: Any) -> tuple[str, float, bool]:
            heard.append(np.array(scores, dtype=np.float64).reshape(self._said.shape, order="F"))
            return "", 0.0, False

        self.booster.eval_train(feval=listen)
        step = heard[0] - self._said
        self._said = heard[0]
        self._n_trees = self.booster.num_trees()
        return step

    def scale(self, factors: NDArray[np.float64]) -> None:
        """Multiply the trees of the last step by a factor each."""
        # LightGBM drops the trees of a step, but for the first, if none of them has a split.
        if self._n_trees > len(self._scales) * self.n_outputs:
            self._scales.append(factors)

    def release(self) -> None:
        """Give back all memory but that of the trees; there can be no more steps."""
        self._text = self.booster.model_to_string()
        del self.booster, self._said

    def trees(self, outputs: NDArray[np.int64]) -> list[Tree]:
        """The trees that have a split and a factor above zero, with outputs and columns renamed."""
        trees = []
        text = self.booster.model_to_string() if self._text is None else self._text
        for t, block in enumerate(text.split("\nTree=")[1:]):
            lines = dict(line.partition("=")[::2] for line in block.split("\n"))
            step, output = divmod(t, self.n_outputs)
            if int(lines["num_leaves"]) < 2 or self._scales[step][output] == 0:
                continue
            trees.append(
                Tree(
                    output=int(outputs[output]),
                    feature=self.bins.columns[np.array(lines["split_feature"].split(), np.int32)],
                    threshold=np.array(lines["threshold"].split(), np.float64),
                    left=np.array(lines["left_child"].split(), np.int32),
                    right=np.array(lines["right_child"].split(), np.int32),
                    value=self._scales[step][output]
                    * np.array(lines["leaf_value"].split(), np.float64),
                )
            )
        return trees


def harmless(
    objective_after: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    before: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Factors on a step, halved from 1 until it does not raise the objective; 0 if none will do.

    `before` is the objective where the step starts, one number for all outputs or one for each;
    `objective_after` takes as many factors and gives the same after the step times these.

    Examples
    --------
    >>> harmless(lambda factor: (3.0 * factor - 1.0) ** 2, np.ones(1)).tolist()
    [0.5]
    """
    scale = np.ones(len(before))
    for _ in range(HALVINGS):
        worse = ~(objective_after(scale) <= before)
        if not worse.any():
            return scale
        scale[worse] /= 2.0
    scale[~(objective_after(scale) <= before)] = 0.0
    return scale


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        raise MissingExtraError("Boosted trees", package="lightgbm", extra="boost") from None
    return lightgbm


@cache
def _quiet_booster() -> type[Any]:
    """LightGBM's booster, which forgets to be quiet and on one thread when parameters are reset."""
    booster: Any = _lightgbm().Booster

    class QuietBooster(booster):
        def reset_parameter(self, params: dict[str, Any]) -> Any:
            return super().reset_parameter(params | {"verbosity": -1, "num_threads": 1})

    return QuietBooster
