"""Scores of points by models that never saw their labels.

One pass over a few folds gives all that calibration, the trade-off curve and the choice of a
tail weight need; or, where there is a validation set, one pass of the fitted model over it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from longtail._sparse import sound
from longtail.errors import InputError, ParameterError
from longtail.labels import encode_labels, in_columns_of, inverse_propensities
from longtail.labels.propensity import Constants
from longtail.parameters import check_count
from longtail.runtime.run import Progress, progress_bar


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """The best labels of each point by a model that did not see it, and what the model had seen.

    Attributes
    ----------
    scores : csr_array of shape (n, L)
        Scores of the best labels of each point.
    truth : csr_array of shape (n, L)
        Ones where a point has a label.
    fold : int array of shape (n,)
        Which of the F models scored the point.
    label_counts : int array of shape (F, L)
        Points of each label that each model was trained on.
    n_points : int array of shape (F,)
        Points that each model was trained on.
    calibration : pair of float, optional
        Scale and shift that make log-odds of the scores. None: not known yet; what needs it
        learns it from these scores, see `fit_calibration`.
    """

    scores: sp.csr_array
    truth: sp.csr_array
    fold: NDArray[np.int64]
    label_counts: NDArray[np.int64]
    n_points: NDArray[np.int64]
    calibration: tuple[float, float] | None = None

    def __len__(self) -> int:
        return int(self.truth.shape[0])

    def inverse_propensities(
        self, propensity_constants: Constants | None = None
    ) -> NDArray[np.float64]:
        """1 / p of every label for each model, from what it was trained on: shape (F, L)."""
        return np.stack(
            [
                inverse_propensities(counts, int(n), propensity_constants=propensity_constants)
                for counts, n in zip(self.label_counts, self.n_points, strict=True)
            ]
        )


def held_out_scores(
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
    """Score every training point by a model that was trained without its fold.

    The points are dealt at random to `folds` folds of equal size. For each fold a clone of the
    model is trained on the other folds and scores the points of this one, so that no label of a
    point has a part in its own scores. A label whose training points all lie in one fold is
    unknown to the model that scores them, as labels of new points may be.

    Parameters
    ----------
    model : ExtremeClassifier or Tagger
        Fitted or not; it is not changed.
    X : sparse matrix or array of shape (n, D), or sequence of texts for a tagger of texts
    Y : labels in any form that `fit` takes
    folds : int
        Models to train, each on all folds but one; at least 2.
    depth : int
        Labels per point that are kept, those of highest score.
    random_state : int
        Deals the points to the folds.
    checkpoint, progress
        As in `fit`.

    Returns
    -------
    HeldOutScores

    Notes
    -----
    Costs `folds` trainings on the share 1 - 1 / folds of the points, and O(n·depth) memory.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail import DiSMEC
    >>> data = make_longtail(200, 150, 30, random_state=0)
    >>> held = held_out_scores(DiSMEC(), data.X, data.Y, depth=10)
    >>> held.scores.shape, held.scores.nnz, held.n_points.tolist()
    ((200, 30), 2000, [133, 133, 134])
    """
    check_count(depth=depth)
    check_count(least=2, folds=folds)
    encoded = encode_labels(list(Y) if hasattr(Y, "__next__") else Y)
    truth = encoded.matrix
    n = truth.shape[0]
    rows = sound(X).tocsr() if sp.issparse(X) else X
    given = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if given != n:
        raise InputError(f"X has {given} rows, Y has {n}; give both for the same points.")
    if folds > n:
        raise ParameterError(f"{n} points cannot be dealt to {folds} folds; ask for fewer.")
    fold = np.random.default_rng(random_state).permutation(np.arange(n) % folds)
    parts, counts = [], []
    with progress_bar(progress) as bar:
        for number in range(folds):
            train, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            trained = clone(model).fit(
                _safe_indexing(rows, train),
                replace(encoded, matrix=truth[train]),
                checkpoint=None if checkpoint is None else Path(checkpoint) / f"fold-{number}",
                progress=False if bar is None else _in_fold(bar, number, folds),
            )
            parts.append(trained.predict_topk(_safe_indexing(rows, held), depth))
            counts.append(trained.label_counts_)
    order = np.argsort(fold, kind="stable")
    back = np.empty(n, dtype=np.int64)
    back[order] = np.arange(n)
    return HeldOutScores(
        scores=sp.csr_array(sp.vstack(parts, format="csr")[back]),
        truth=truth,
        fold=fold,
        label_counts=np.stack(counts),
        n_points=n - np.bincount(fold, minlength=folds),
    )


def validation_scores(model: Any, X: Any, Y: Any, *, depth: int = 100) -> HeldOutScores:
    """Score a validation set by a fitted model.

    Parameters
    ----------
    model : ExtremeClassifier or Tagger
        Fitted; on other points than these, or the scores say nothing about new ones.
    X : sparse matrix or array of shape (n, D), or sequence of texts for a tagger of texts
    Y : labels in any form that `fit` takes
        Names that the model does not know count as missed.
    depth : int
        Labels per point that are kept, those of highest score.

    Returns
    -------
    HeldOutScores
        With one fold, and the calibration that the model ranks by.

    Examples
    --------
    >>> from longtail.data import make_longtail
    >>> from longtail import DiSMEC
    >>> data = make_longtail(300, 150, 30, random_state=0)
    >>> model = DiSMEC().fit(data.X[:200], data.Y[:200])
    >>> held = validation_scores(model, data.X[200:], data.Y[200:])
    >>> len(held), held.calibration
    (100, (2.0, 0.0))
    """
    check_is_fitted(model)
    check_count(depth=depth)
    truth = in_columns_of(list(Y) if hasattr(Y, "__next__") else Y, model.classes_).matrix
    scores = model.predict_topk(X, depth)
    if scores.shape[0] != truth.shape[0]:
        raise InputError(
            f"X has {scores.shape[0]} rows, Y has {truth.shape[0]}; give both for the same points."
        )
    known = scores.shape[1]
    scores.resize(truth.shape)
    counts = np.zeros((1, truth.shape[1]), dtype=np.int64)
    counts[0, :known] = model.label_counts_
    return HeldOutScores(
        scores=scores,
        truth=truth,
        fold=np.zeros(truth.shape[0], dtype=np.int64),
        label_counts=counts,
        n_points=np.array([model.n_points_]),
        calibration=model.score_scale,
    )


def _in_fold(bar: Progress, number: int, folds: int) -> Progress:
    def report(what: str, done: int, total: int) -> None:
        bar(f"fold {number + 1} of {folds}: {what}", done, total)

    return report
