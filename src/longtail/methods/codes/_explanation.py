"""Why a label of a code got its score: its bits, what each said, and what made them say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from longtail.base import Explanation


@dataclass(frozen=True)
class CodeExplanation(Explanation):
    """An explanation with the bits behind it.

    The score is the log-odds of the label, that is, of all its bits being on. It is not linear in
    the features, so a feature's weight here is the score's derivative, its contribution that times
    its value, and the bias all the rest.

    Attributes
    ----------
    bits : int array
        The bits of the label. A label outside the code has one regression, its column.
    posteriors : array
        The probability of each of them; from ½ on a bit is on.
    cluster, runner_up : list or None
        Names of the labels in the cluster that won the most bits and in the one after it; None if
        no bit is on, or the code has no clusters.
    """

    bits: NDArray[np.int64]
    posteriors: NDArray[np.float64]
    cluster: list[Any] | None
    runner_up: list[Any] | None

    def bit_table(self) -> pl.DataFrame:
        """One row a bit of the label."""
        return pl.DataFrame(
            {"bit": self.bits, "posterior": self.posteriors, "on": self.posteriors >= 0.5}
        )

    def __str__(self) -> str:
        votes = ", ".join(
            f"bit {bit} {p:.2f}" for bit, p in zip(self.bits, self.posteriors, strict=True)
        )
        lines = [super().__str__(), f"bits: {votes or 'none, the label has no training point'}"]
        for name, labels in (("cluster", self.cluster), ("runner-up", self.runner_up)):
            if labels is not None:
                more = f", and {len(labels) - 8} more" if len(labels) > 8 else ""
                lines.append(f"{name}: {', '.join(map(str, labels[:8]))}{more}")
        return "\n".join(lines)


def explain_bits(
    classes: NDArray[Any],
    column: int,
    x: sp.csr_array,
    names: NDArray[Any],
    n: int,
    bits: NDArray[np.int64],
    odds: NDArray[np.float64],
    weights: sp.csr_array,
    clusters: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None],
) -> CodeExplanation:
    """Put an explanation together; `odds` are those of all columns of `weights`."""
    log_p = min(float(log_expit(odds[bits]).sum()), -1e-300)
    score = log_p - float(np.log(-np.expm1(log_p))) if len(bits) else -np.inf
    # d score / d z_b = (1 - σ(z_b)) / (1 - p)
    slope = expit(-odds[bits]) / -np.expm1(log_p)
    ours = np.asarray(weights[x.indices][:, bits] @ slope, dtype=np.float64).ravel()
    values = x.data.astype(np.float64)
    parts = values * ours
    order = np.argsort(-np.abs(parts), kind="stable")
    order = order[parts[order] != 0][:n]
    cluster, runner_up = (
        None if labels is None else classes[labels].tolist() for labels in clusters
    )
    return CodeExplanation(
        label=classes[column : column + 1].tolist()[0],
        score=score,
        bias=score - float(parts.sum()) if len(bits) else -np.inf,
        features=names[x.indices[order]],
        values=values[order],
        weights=ours[order],
        contributions=parts[order],
        bits=bits,
        posteriors=expit(odds[bits]),
        cluster=cluster,
        runner_up=runner_up,
    )
