"""Why a label got its score: what every `explain` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import InputError

PARTS = {
    "feature": pl.String, "value": pl.Float64, "weight": pl.Float64, "contribution": pl.Float64,
}  # fmt: skip
SHOWN = 8  # entries of a list that a line of text names
ROWS = 20  # rows of a table that the text shows


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a label got its score: the parts that add up to it, and what else the method decided by.

    Attributes
    ----------
    label : object
        The name of the label.
    score : float
        Its score; the contributions of all features and the bias add up to it. It is the one of
        `predict_topk`, except in methods whose list is no sum of parts, where a sum behind it is
        explained: cbm, cbm-cv, cdn, cs, ecc, logtree, ovo, pair-crf, pcc and powerset. The page on
        classifiers says which.
    bias : float
        The part that no feature brings.
    parts : polars.DataFrame
        The features that carried the decision, the largest contribution first: `feature` (its name,
        or its number), `value` in x, `weight` in the model, and `contribution`, their product. It
        is empty where a method does not decide by single features.
    summary : dict
        Single numbers that a method adds, such as the share of the votes.
    details : dict of polars.DataFrame
        Tables that a method adds, such as "votes". The page on classifiers lists them.

    Examples
    --------
    >>> from longtail import KNN
    >>> why = KNN(n_neighbors=2).fit([[1, 0], [1, 1]], [["sea"], ["sea", "sun"]]).explain([1, 1])
    >>> print(why)
    sea: +1.000
    neighbours 2, share 1
    votes:
      neighbour  distance  vote  labels
              1         0     1  sea, sun
              0         1     1  sea
    >>> why.table("votes").columns
    ['neighbour', 'distance', 'vote', 'labels']
    """

    label: Any
    score: float
    bias: float
    parts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PARTS))
    summary: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def by_features(
        cls,
        label: Any,
        x: sp.csr_array,
        weights: NDArray[Any],
        names: NDArray[Any],
        n: int,
        *,
        bias: float = 0.0,
        score: float | None = None,
        summary: Mapping[str, Any] | None = None,
        details: Mapping[str, pl.DataFrame] | None = None,
    ) -> Self:
        """An explanation by the weights of the features that a row has.

        Parameters
        ----------
        label : object
        x : csr_array of shape (1, D)
            The row.
        weights : array of shape (nnz,)
            A weight for each stored value of x.
        names : array of shape (D,)
            Names of all features.
        n : int
            How many features to show, at most; those that add nothing are left out.
        bias, score : float
            One of the two: the score is the sum of all parts and the bias, or the bias is what
            the parts leave of the score.
        summary, details
            As in the class.

        Examples
        --------
        >>> x = sp.csr_array([[2.0, 0.0, 1.0]])
        >>> names = np.array(["sand", "ice", "sun"])
        >>> print(Explanation.by_features("sea", x, np.array([0.5, 0.25]), names, 10, bias=-1.0))
        sea: +0.250 = bias -1.000, sand +1.000, sun +0.250
        """
        values, weights = x.data.astype(np.float64), weights.astype(np.float64)
        parts = values * weights
        total = float(parts.sum())
        if score is None:
            score = total + bias
        else:
            bias = score - total
        order = np.argsort(-np.abs(parts), kind="stable")
        order = order[parts[order] != 0][:n]
        columns = (as_column(names[x.indices[order]]), values[order], weights[order], parts[order])
        table = pl.DataFrame(dict(zip(PARTS, columns, strict=True)))
        if not len(order):
            table = pl.DataFrame(schema=PARTS)
        return cls(label, float(score), float(bias), table, summary or {}, details or {})

    def table(self, name: str | None = None) -> pl.DataFrame:
        """The parts, one row per feature; or the table of this name in `details`."""
        if name is None:
            return self.parts
        if name not in self.details:
            there = ", ".join(map(repr, self.details)) or "none"
            raise InputError(f"This explanation has no table {name!r}; there are: {there}.")
        return self.details[name]

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.score:+.3f}"]
        if len(self.parts):
            # Column by column: polars' own engine would hang in a process that was forked.
            pairs = zip(self.parts["feature"], self.parts["contribution"], strict=True)
            parts = [f"{feature} {part:+.3f}" for feature, part in pairs]
            lines[0] += " = " + ", ".join([f"bias {self.bias:+.3f}", *parts])
        if self.summary:
            lines.append(", ".join(f"{name} {_spelled(v)}" for name, v in self.summary.items()))
        for name, table in self.details.items():
            lines += [f"{name}:", *_aligned(table)] if len(table) else [f"{name}: none"]
        return "\n".join(lines)


def as_column(names: NDArray[Any]) -> list[Any]:
    """Names of features or labels for a column of a table: numbers as they are, others as text.

    Examples
    --------
    >>> as_column(np.array([3, 4])), as_column(np.array([("a", 1), None, 5], dtype=object))
    ([3, 4], ["('a', 1)", 'None', '5'])
    """
    plain = names.tolist()
    return plain if names.dtype.kind in "iuf" else [str(name) for name in plain]


def _aligned(table: pl.DataFrame) -> list[str]:
    """The first rows of a table in lines, numbers to the right."""
    columns = []
    for name, kind in table.schema.items():
        cells = [name, *(_spelled(value) for value in table[name].head(ROWS).to_list())]
        width = max(map(len, cells))
        columns.append([c.rjust(width) if kind.is_numeric() else c.ljust(width) for c in cells])
    lines = ["  " + "  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return lines + [f"  and {len(table) - ROWS} more"] * (len(table) > ROWS)


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        more = [f"and {len(value) - SHOWN} more"] if len(value) > SHOWN else []
        return ", ".join([*map(_spelled, value[:SHOWN]), *more]) or "none"
    if value is None:
        return "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
