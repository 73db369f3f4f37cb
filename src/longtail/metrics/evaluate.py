"""Every metric that the given predictions allow, in one pass and one table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import polars as pl
from numpy.typing import ArrayLike

from longtail.errors import ParameterError, memory_needed
from longtail.metrics._align import check_k
from longtail.metrics.multiclass import covered_share, macro_f1_of_means
from longtail.metrics.ranking import RankTotals, totals_at
from longtail.metrics.sets import SetCounts

RANKING = {
    "P": RankTotals.precision,
    "nDCG": RankTotals.ndcg,
    "PSP": RankTotals.psp,
    "PSnDCG": RankTotals.psndcg,
    "R": RankTotals.recall,
    "C": RankTotals.coverage,
}
"""Ranking metrics by the name that stands before the @."""

NEED_PROPENSITIES = ("PSP", "PSnDCG")


class Evaluation(dict[str, float]):
    """Metrics by name, in the order in which they are shown.

    Names are "P@1", "nDCG@3", "PSP@5", "PSnDCG@5", "R@5", "C@5", "hamming_loss", "subset_accuracy",
    "jaccard", "f1_micro", "f1_macro", "f1_example", "accuracy", "maf1", "covered_classes".

    Examples
    --------
    >>> evaluation = Evaluation({"P@1": 0.75, "P@3": 0.5, "jaccard": 0.25})
    >>> evaluation["P@3"]
    0.5
    >>> print(evaluation)
               @1       @3
    P      0.7500   0.5000
    <BLANKLINE>
    jaccard           0.2500
    """

    def to_dict(self) -> dict[str, float]:
        """The metrics as a plain dictionary, fit for JSON."""
        return dict(self)

    def table(self) -> pl.DataFrame:
        """The metrics as a table with the columns `metric` and `value`."""
        return pl.DataFrame(
            {"metric": list(self), "value": list(self.values())},
            schema={"metric": pl.String, "value": pl.Float64},
        )

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value:.4f}" for name, value in self.items())
        return f"Evaluation({inside})"

    def __str__(self) -> str:
        grid: dict[str, dict[str, float]] = {}
        lines = []
        for name, value in self.items():
            metric, at, k = name.partition("@")
            if at:
                grid.setdefault(metric, {})[k] = value
            else:
                lines.append(f"{name:<16}{value:>8.4f}")
        if grid:
            ks = sorted({k for row in grid.values() for k in row}, key=int)
            head = " " * 6 + "".join(f"{'@' + k:>7}" + "  " for k in ks)
            rows = [
                f"{metric:<6}"
                + "".join(f"{row[k]:>7.4f}" + "  " if k in row else " " * 9 for k in ks)
                for metric, row in grid.items()
            ]
            lines = [line.rstrip() for line in (head, *rows)] + [""] * bool(lines) + lines
        return "\n".join(lines)


@memory_needed("to evaluate")
def evaluate(
    Y_true: Any,
    *,
    Y_score: Any = None,
    Y_pred: Any = None,
    k: int | Sequence[int] = (1, 3, 5),
    propensities: ArrayLike | Mapping[Any, float] | None = None,
    Y_train: Any = None,
    classes: Sequence[Hashable] | None = None,
) -> Evaluation:
    """Compute everything that can be computed from what is given.

    Parameters
    ----------
    Y_true : array, sparse matrix or sequence of label collections
        The true labels, in any form that `labels.encode_labels` takes.
    Y_score : CSR matrix or dense array of shape (n, L), optional
        What `predict_topk` returns. Gives P, nDCG, R and C at k, and PSP and PSnDCG if propensities
        are known.
    Y_pred : array, sparse matrix or sequence of label collections, optional
        What `predict` returns. Gives the set metrics, or, if it and `Y_true` hold one class per
        point, accuracy, MaF1 and covered classes.
    k : int or sequence of int
        The ranks.
    propensities : array of shape (L,) or mapping by label name, optional
        See `labels.propensities`.
    Y_train : array, sparse matrix or sequence of label collections, optional
        The training labels, from which the propensities are computed with the usual constants if
        they are not given.
    classes : sequence, optional
        The names of the columns of `Y_score`, a classifier's `classes_`, where `Y_true` holds
        names. For one class per point they are also all classes that MaF1 and the share of covered
        classes are over.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> truth = [("sea", "sun"), ("sun",)]
    >>> scores = np.array([[0.9, 0.8, 0.1], [0.2, 0.1, 0.7]])
    >>> evaluation = evaluate(truth, Y_score=scores, Y_pred=[("sea",), ("sun",)], k=1,
    ...                       classes=["sea", "snow", "sun"])
    >>> evaluation["P@1"], evaluation["subset_accuracy"]
    (1.0, 0.5)
    """
    if Y_score is None and Y_pred is None:
        raise ParameterError("Give Y_score, Y_pred, or both to evaluate.")
    values: dict[str, float] = {}
    if Y_score is not None:
        ks = check_k(k)
        totals, weighted = totals_at(ks, Y_true, Y_score, classes, propensities, Y_train)
        for name, read in RANKING.items():
            if weighted or name not in NEED_PROPENSITIES:
                found = zip(ks.tolist(), read(totals, ks).tolist(), strict=True)
                values |= {f"{name}@{at}": value for at, value in found}
    if Y_pred is not None:
        values |= _sets(SetCounts.of(Y_true, Y_pred, classes), classes is not None)
    return Evaluation(values)


def _sets(counts: SetCounts, all_classes_given: bool) -> dict[str, float]:
    if counts.multiclass:
        return {
            "accuracy": counts.subset_accuracy(),
            "maf1": macro_f1_of_means(counts),
            "covered_classes": covered_share(counts, all_classes_given),
        }
    return {
        "hamming_loss": counts.hamming_loss(),
        "subset_accuracy": counts.subset_accuracy(),
        "jaccard": counts.jaccard("example"),
        "f1_micro": counts.f1("micro"),
        "f1_macro": counts.f1("macro"),
        "f1_example": counts.f1("example"),
    }
