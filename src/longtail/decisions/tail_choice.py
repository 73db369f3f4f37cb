"""The tail weight for a wanted trade-off between all labels and the rare ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from longtail.decisions.calibration import Calibration
from longtail.decisions.held_out import HeldOutScores
from longtail.decisions.tail_weight import GRID, TailTradeOff
from longtail.errors import ParameterError
from longtail.labels import check_tail
from longtail.labels.propensity import Constants
from longtail.parameters import is_number

_DIGITS = 3
"""Decimals of a chosen tail weight."""


@dataclass(frozen=True)
class TailChoice:
    """A tail weight, why it was chosen, and what it does to held-out points.

    Attributes
    ----------
    tail : float
        The weight, for `predict_topk(X, k, tail=...)`.
    calibration : Calibration
        The score scale that it was chosen with.
    curve : polars.DataFrame
        P@k and PSP@k over the tail weights looked at; see `tail_curve`.
    row, before : dict
        The rows of the curve for the chosen weight and for 0.
    wanted : str
        The trade-off, in words.
    points : int
        Held-out points that it was chosen on.
    """

    tail: float
    calibration: Calibration
    curve: pl.DataFrame = field(repr=False)
    row: dict[str, float] = field(repr=False)
    before: dict[str, float] = field(repr=False)
    wanted: str
    points: int

    def __str__(self) -> str:
        lines = [
            f"tail weight {self.tail:g}, for {self.wanted}",
            f"{'%':<8}{'tail 0':>8}{f'tail {self.tail:g}':>12}",
        ]
        lines += [
            f"{name:<8}{100 * value:>8.2f}{100 * self.row[name]:>12.2f}"
            for name, value in self.before.items()
            if name != "tail"
        ]
        scale, shift = self.calibration
        lines.append(
            f"on {self.points:,} held-out points, chance of a label = "
            f"σ({scale:.3g}·score {'+' if shift >= 0 else '-'} {abs(shift):.3g})"
        )
        return "\n".join(lines)


def choose_tail(
    held: HeldOutScores,
    *,
    max_loss: float | None = None,
    weight: float | None = None,
    at: int = 1,
    tails: Iterable[float] = GRID,
    k: Sequence[int] = (1, 3, 5),
    calibration: tuple[float, float] | None = None,
    propensity_constants: Constants | None = None,
) -> TailChoice:
    """Pick the tail weight for a wanted trade-off, on held-out points.

    Give `max_loss` or `weight`; without either, `max_loss` is 0.01.

    Parameters
    ----------
    held : HeldOutScores
        From `calibrate` or `held_out_scores`, so that only training data is used, or from
        `validation_scores`.
    max_loss : float, optional
        P@at may fall by at most so much below its value at tail 0; of the tail weights up to the
        first that costs more, the one with the best PSP@at is taken. 0.01 is one percentage point;
        0 allows no loss.
    weight : float, optional
        From 0 to 1: take the tail weight with the best weight·P@at + (1 - weight)·PSP@at.
    at : int
        The rank at which the trade-off is made.
    tails : iterable of float
        Weights to look at first; the choice is then refined between them, to three decimals.
    k, calibration, propensity_constants
        As in `tail_curve`.

    Returns
    -------
    TailChoice

    Notes
    -----
    The trade-off is relative to tail 0 since the models of the folds have seen fewer points than
    the model that the weight is for, so that all their figures are a little lower. The choice is
    deterministic. Costs O(nnz(scores) log k) per tail weight looked at, about forty of them.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail import DiSMEC
    >>> from longtail.decisions import calibrate, choose_tail
    >>> data = make_longtail(600, 300, 60, random_state=0)
    >>> model = DiSMEC().fit(data.X, data.Y)
    >>> held = calibrate(model, data.X, data.Y)
    >>> choice = choose_tail(held, max_loss=0.01)
    >>> choice.row["P@1"] >= choice.before["P@1"] - 0.01
    True
    >>> top = model.predict_topk(data.X, 5, tail=choice.tail)
    """
    if max_loss is not None and weight is not None:
        raise ParameterError("Give `max_loss` or `weight`, not both; each alone is a trade-off.")
    if max_loss is None and weight is None:
        max_loss = 0.01
    for name, value in (("max_loss", max_loss), ("weight", weight)):
        if value is not None and not (is_number(value) and 0 <= value <= 1):
            raise ParameterError(f"{name} must be a number from 0 to 1, not {value!r}.")
    trade_off = TailTradeOff(held, sorted({*k, at}), calibration, propensity_constants)
    grid = sorted({0.0, *(check_tail(tail) for tail in tails)})
    trade_off.table(grid)
    if weight is None:
        assert max_loss is not None
        tail = _within_loss(trade_off, grid, at, max_loss)
        wanted = f"the best PSP@{at} with P@{at} at most {max_loss:g} lower"
    else:
        tail = _best_mixture(trade_off, grid, at, weight)
        wanted = f"the best {weight:g}·P@{at} + {1 - weight:g}·PSP@{at}"
    return TailChoice(
        tail=tail,
        calibration=trade_off.calibration,
        curve=trade_off.table([*grid, tail]),
        row=trade_off.at(tail),
        before=trade_off.at(0.0),
        wanted=wanted,
        points=len(held),
    )


def _within_loss(trade_off: TailTradeOff, grid: list[float], at: int, max_loss: float) -> float:
    """The best PSP among the weights up to the first whose loss is too large."""
    enough = trade_off.at(0.0)[f"P@{at}"] - max_loss - 1e-12
    fine = [0.0]
    for tail in grid[1:]:
        if trade_off.at(tail)[f"P@{at}"] < enough:
            fine.append(_last_above(trade_off, at, enough, fine[-1], tail))
            break
        fine.append(tail)
    return max(fine, key=lambda tail: (trade_off.at(tail)[f"PSP@{at}"], -tail))


def _last_above(trade_off: TailTradeOff, at: int, enough: float, good: float, bad: float) -> float:
    """A weight between two, such that the next one, a last decimal further, costs too much."""
    unit = 10**_DIGITS
    low, high = int(np.floor(good * unit)), int(np.ceil(bad * unit))
    while high - low > 1:
        middle = (low + high) // 2
        if trade_off.at(middle / unit)[f"P@{at}"] >= enough:
            low = middle
        else:
            high = middle
    return max(good, low / unit)


def _best_mixture(trade_off: TailTradeOff, grid: list[float], at: int, weight: float) -> float:
    """The best weighted mean, on the grid and then on a finer one around its best weight."""

    def worth(tail: float) -> tuple[float, float]:
        row = trade_off.at(tail)
        return weight * row[f"P@{at}"] + (1 - weight) * row[f"PSP@{at}"], -tail

    best = max(grid, key=worth)
    place = grid.index(best)
    around = np.linspace(grid[max(place - 1, 0)], grid[min(place + 1, len(grid) - 1)], 21)
    return max([best, *np.unique(around.round(_DIGITS)).tolist()], key=worth)
