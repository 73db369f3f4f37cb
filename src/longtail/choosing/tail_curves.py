"""What a tail weight would do for a fitted method on the test part of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from longtail.base import ExtremeClassifier
from longtail.choosing.problem import Problem
from longtail.decisions import HeldOutScores, tail_curve

DEPTH = 100
"""Labels per point that may come to the front."""


def curve_on_test(
    problem: Problem, model: ExtremeClassifier, *, k: Sequence[int] = (1, 3, 5)
) -> pl.DataFrame | None:
    """P@k and PSP@k of the test part over a grid of tail weights.

    It shows what could be gained. A weight that is chosen by it has been fitted to the test part;
    `longtail.decisions.choose_tail` chooses one on other points.

    Parameters
    ----------
    problem : Problem
        What `prepare` made.
    model : ExtremeClassifier
        Fitted to its training part.
    k : sequence of int
        The ranks.

    Returns
    -------
    polars.DataFrame or None
        See `longtail.decisions.tail_curve`. None if the method offers one label per point at most,
        which no weight can re-rank.

    Notes
    -----
    O(m·100) memory for m test points.
    """
    scores = model.predict_topk(problem.features(model.feature_kind).X_test, max(DEPTH, *k))
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
