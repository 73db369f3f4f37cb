"""Calibration: from scores to the probability that a label is right, learned on held-out points."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import ranked
from longtail.decisions.held_out import HeldOutScores, held_out_scores
from longtail.errors import InputError
from longtail.parameters import check_count
from longtail.runtime.run import Progress


class Calibration(NamedTuple):
    """A label is right with the probability σ(scale·score + shift)."""

    scale: float
    shift: float


def fit_calibration(held: HeldOutScores, *, k: int = 5) -> Calibration:
    """Learn from held-out scores how likely a label of a given score is right.

    A logistic regression of "the point has the label" on the score, over the `k` best labels of
    every point; with Platt's smoothed targets, so that it exists even if the scores separate right
    from wrong perfectly.

    Parameters
    ----------
    held : HeldOutScores
    k : int
        Labels per point to learn from, those of highest score.

    Returns
    -------
    Calibration

    Notes
    -----
    The probability is conditional on the label being among the `k` best of the point: these are
    the labels that compete for the places at the front. All others, nearly all of them wrong and
    of low score, would outweigh them by far, and one straight line of log-odds cannot fit both.

    Costs O(nnz(scores) + n·k) per step of a Newton-like method, some tens of steps.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(20_000, 1))
    >>> right = rng.random((20_000, 1)) < 1 / (1 + np.exp(-(3 * scores - 1)))
    >>> held = HeldOutScores(
    ...     sp.csr_array(scores), sp.csr_array(right.astype(float)), np.zeros(20_000, dtype=int),
    ...     np.array([[100]]), np.array([20_000]),
    ... )
    >>> scale, shift = fit_calibration(held)
    >>> round(scale, 1), round(shift, 1)
    (3.0, -1.0)
    """
    check_count(k=k)
    labels, scores = ranked(held.scores, k)
    rows, places = np.nonzero(labels >= 0)
    right = _stored(held, rows, labels[rows, places])
    return _logistic(scores[rows, places], right)


def calibrate(
    model: Any,
    X: Any,
    Y: Any,
    *,
    folds: int = 3,
    depth: int = 100,
    random_state: int = 0,
    checkpoint: str | Path | None = None,
    progress: bool | Progress | None = None,
) -> HeldOutScores:
    """Teach a fitted model what its scores mean, from its training data alone.

    The training points are scored by models that did not see them (`held_out_scores`), and what is
    learned of these scores (`fit_calibration`) is set as `calibration_` of the model, where
    `predict_topk(X, tail=...)` finds it and `save` keeps it. A new `fit` forgets it.

    Parameters
    ----------
    model : ExtremeClassifier or Tagger
        Fitted on X and Y.
    X, Y, folds, depth, random_state, checkpoint, progress
        As in `held_out_scores`.

    Returns
    -------
    HeldOutScores
        The scores, with the calibration: what `tail_curve` and `choose_tail` take.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail import DiSMEC
    >>> data = make_longtail(300, 150, 30, random_state=0)
    >>> model = DiSMEC().fit(data.X, data.Y)
    >>> held = calibrate(model, data.X, data.Y)
    >>> model.calibration_.tolist() == list(held.calibration)
    True
    """
    check_is_fitted(model)
    held = held_out_scores(
        model, X, Y, folds=folds, depth=depth, random_state=random_state, checkpoint=checkpoint,
        progress=progress,
    )  # fmt: skip
    found = fit_calibration(held)
    model.calibration_ = np.array(found)
    return replace(held, calibration=found)


def _stored(
    held: HeldOutScores, rows: NDArray[np.int64], labels: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether the points have the labels."""
    n, width = held.truth.shape
    of_truth = np.repeat(np.arange(n), np.diff(held.truth.indptr)) * width + held.truth.indices
    return np.isin(rows * width + labels, of_truth)


def _logistic(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> Calibration:
    """The most likely scale and shift; refused if the scores say nothing."""
    hits = int(right.sum())
    if hits in (0, len(right)):
        which = "none" if hits == 0 else "all"
        raise InputError(
            f"Of the best labels of the held-out points {which} are right, so nothing can be "
            "learned from their scores; give more points."
        )
    centre, spread = scores.mean(), scores.std()
    if not spread > 0:
        raise InputError(
            "All held-out scores are equal, so they say nothing about the labels; give other "
            "points, or train with more features."
        )
    z = (scores - centre) / spread
    wanted = np.where(right, (hits + 1) / (hits + 2), 1 / (len(right) - hits + 2))

    def loss(line: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = line[0] * z + line[1]
        excess = expit(odds) - wanted
        value = -(wanted * log_expit(odds) + (1 - wanted) * log_expit(-odds)).mean()
        return float(value), np.array([(excess * z).mean(), excess.mean()])

    start = np.array([1.0, logit(wanted.mean())])
    slope, level = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8}).x
    if not slope > 0:
        raise InputError(
            "Held-out labels of higher score are not more often right, so the scores cannot be "
            "calibrated; give other points, or train a model that is better than chance."
        )
    scale = float(slope / spread)
    return Calibration(scale, float(level - scale * centre))
