"""The path of `ProXMLCV` from strong to weak penalties: fits, scores and the choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.runtime.run import Run


@dataclass
class FoldPath:
    """One fold on the path: its held-out rows and its latest weights."""

    held_out: NDArray[np.bool_]
    weights: sp.csr_array | None = None


class Steps:
    """The fits of a run, `count` of `size` labels, with their checkpoints and one progress bar."""

    def __init__(self, run: Run, size: int, count: int) -> None:
        self._run = run
        self._size = size
        self._count = count
        self._begun = 0

    def next(self, name: str) -> Run:
        """The run of the next fit, whose checkpoints go into a folder of that name."""
        before = self._begun * self._size
        self._begun += 1

        def progress(what: str, done: int, total: int) -> None:
            self._run.report("training", before + done, self._count * self._size)

        return replace(self._run.part(name), progress=progress)

    def last(self, name: str) -> Run:
        """The run of the last fit; fits that were left out count as done."""
        self._begun = self._count - 1
        return self.next(name)


def summary(
    tried: NDArray[np.float64], measured: list[list[dict[str, float]]]
) -> dict[str, NDArray[np.float64]]:
    """Measurements by fold at strengths (a, b), as arrays by strength."""
    found = {"strength": tried[:, 0], "exponent": tried[:, 1]}
    for name in measured[0][0]:
        values = _table(measured, name)
        if name == "seconds":
            found[name] = values.sum(axis=1)
        elif name == "nonzeros":
            found[name] = values.mean(axis=1)
        else:
            found[f"mean_{name}"] = values.mean(axis=1)
            found[f"std_{name}"] = values.std(axis=1)
        if name == "score":
            found |= {f"fold{fold}_score": scores.copy() for fold, scores in enumerate(values.T)}
    return found


def _table(measured: list[list[dict[str, float]]], name: str) -> NDArray[np.float64]:
    return np.array([[fold[name] for fold in step] for step in measured])


def _good_enough(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The strengths whose mean score is within a standard error of the best mean."""
    means = scores.mean(axis=1)
    best = int(np.argmax(means))
    error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
    return means >= means[best] - error


def fell_behind(measured: list[list[dict[str, float]]], patience: int) -> bool:
    """Whether the last so many strengths all score clearly below the best."""
    behind = ~_good_enough(_table(measured, "score"))
    return len(behind) > patience and bool(behind[-patience:].all())


def chosen(results: dict[str, NDArray[np.float64]], folds: int, rule: str) -> int:
    """The number of the chosen strength; the strongest comes first."""
    if rule == "best":
        return int(np.argmax(results["mean_score"]))
    scores = np.column_stack([results[f"fold{fold}_score"] for fold in range(folds)])
    return int(np.argmax(_good_enough(scores)))
