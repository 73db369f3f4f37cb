"""What a tail weight costs and brings: P@k and PSP@k over the weights, on held-out points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from longtail.decisions.calibration import Calibration, fit_calibration
from longtail.decisions.held_out import HeldOutScores
from longtail.errors import InputError, ParameterError
from longtail.labels import TailRanking, check_tail, rarity
from longtail.labels.propensity import Constants
from longtail.metrics.ranking import RankTotals, rank_totals

GRID = (*(number / 20 for number in range(31)), 1.75, 2.0, 2.5, 3.0, 4.0)
"""Tail weights that are looked at unless others are asked for."""


def tail_curve(
    held: HeldOutScores,
    *,
    tails: Iterable[float] = GRID,
    k: Sequence[int] = (1, 3, 5),
    calibration: tuple[float, float] | None = None,
    propensity_constants: Constants | None = None,
) -> pl.DataFrame:
    """P@k and PSP@k of held-out points over a grid of tail weights.

    Each fold counts as a test set of the model that scored it: labels are ranked, and hits weighed,
    by the propensities of the points that this model was trained on.

    Parameters
    ----------
    held : HeldOutScores
        From `calibrate`, `held_out_scores` or `validation_scores`. Only the labels in it, the
        `depth` best of each point, can come to the front.
    tails : iterable of float
        The tail weights.
    k : sequence of int
        The ranks.
    calibration : pair of float, optional
        Scale and shift that make log-odds of scores; by default those of `held`, and where it has
        none, those that `fit_calibration` learns from it.
    propensity_constants : str or pair of float, optional
        Of the propensities, as in `labels.propensities`.

    Returns
    -------
    polars.DataFrame
        One row per tail weight, ascending: `tail`, `P@k` for every k, `PSP@k` for every k.

    Notes
    -----
    Costs O(nnz(scores) log k) per tail weight.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail import DiSMEC
    >>> from longtail.decisions import held_out_scores, tail_curve
    >>> data = make_longtail(300, 150, 30, random_state=0)
    >>> held = held_out_scores(DiSMEC(), data.X, data.Y)
    >>> tail_curve(held, tails=[0, 0.5], k=[1, 3]).columns
    ['tail', 'P@1', 'P@3', 'PSP@1', 'PSP@3']
    """
    return TailTradeOff(held, k, calibration, propensity_constants).table(tails)


class TailTradeOff:
    """P@k and PSP@k of held-out points at any tail weight; parameters as in `tail_curve`."""

    def __init__(
        self,
        held: HeldOutScores,
        k: Sequence[int],
        calibration: tuple[float, float] | None,
        propensity_constants: Constants | None,
    ) -> None:
        if not len(held):
            raise InputError("There is no held-out point to measure on; give at least one.")
        self.k = _ranks(k)
        self.calibration = Calibration(*(calibration or held.calibration or fit_calibration(held)))
        self._rows: dict[float, dict[str, float]] = {}
        self._folds = []
        chance = TailRanking(*self.calibration, np.zeros(held.scores.shape[1]))
        for number, inverse in enumerate(held.inverse_propensities(propensity_constants)):
            rows = np.flatnonzero(held.fold == number)
            scores = sp.csr_array(held.scores[rows])
            self._folds.append(
                (
                    sp.csr_array(held.truth[rows]),
                    scores,
                    chance.of(scores).data,
                    rarity(held.label_counts[number], inverse)[scores.indices],
                    inverse,
                )
            )

    def at(self, tail: float) -> dict[str, float]:
        """The row of the curve for a tail weight."""
        tail = check_tail(tail)
        if tail not in self._rows:
            self._rows[tail] = self._measured(tail)
        return self._rows[tail]

    def table(self, tails: Iterable[float]) -> pl.DataFrame:
        """The curve at these tail weights, ascending, each once."""
        rows = [self.at(tail) for tail in sorted({check_tail(tail) for tail in tails})]
        if not rows:
            raise ParameterError("There is no tail weight to look at; give at least one.")
        return pl.DataFrame(rows)

    def _measured(self, tail: float) -> dict[str, float]:
        n, sums = 0, np.zeros(0)
        for truth, scores, log_chance, rare, inverse in self._folds:
            by = scores.data if tail == 0 else log_chance + tail * rare
            ordered = sp.csr_array((by, scores.indices, scores.indptr), shape=scores.shape)
            totals = rank_totals(truth, ordered, int(self.k.max()), inverse)
            n, sums = n + totals.n, totals.sums + (sums if n else 0)
        whole = RankTotals(n, sums, first_rank=np.empty(0, dtype=np.int64), labels=0)
        row = {"tail": tail}
        for name, values in (("P", whole.precision(self.k)), ("PSP", whole.psp(self.k))):
            row |= {f"{name}@{k}": float(at) for k, at in zip(self.k, values, strict=True)}
        return row


def _ranks(k: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    ranks = np.unique(np.atleast_1d(np.asarray(k)))
    if ranks.dtype.kind not in "ui" or not ranks.size or ranks[0] < 1:
        raise ParameterError(f"k holds whole numbers of at least 1, not {k!r}.")
    return ranks.astype(np.int64)
