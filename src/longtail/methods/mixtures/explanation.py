"""Why a mixture predicts a label set: the components behind it, and which labels go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from longtail.base import Explanation


@dataclass(frozen=True)
class MixtureExplanation(Explanation):
    """Why a label got its score, and what the joint distribution of the point's labels looks like.

    The score that the features add up to is the label's log-odds averaged over the components, by
    their weights at this point.

    Attributes
    ----------
    components : int array of shape (K',)
        The components that weigh most, the heaviest first.
    component_weights : array of shape (K',)
        Their weights at this point.
    labels : list of length L'
        The labels that are likely in any of them.
    probabilities : array of shape (K', L')
        Of these labels in these components.
    marginals : array of shape (L',)
        Their probabilities over all components.
    correlations : array of shape (L', L')
        Pearson correlations between them at this point.
    sets : list of (tuple of labels, float)
        The most probable label sets and their probabilities.
    """

    components: NDArray[np.int64]
    component_weights: NDArray[np.float64]
    labels: list[Any]
    probabilities: NDArray[np.float64]
    marginals: NDArray[np.float64]
    correlations: NDArray[np.float64]
    sets: list[tuple[tuple[Any, ...], float]]

    def component_table(self) -> pl.DataFrame:
        """One row a component and label."""
        at, label = np.nonzero(self.probabilities >= 0)
        return pl.DataFrame(
            {
                "component": self.components[at],
                "weight": self.component_weights[at],
                "label": [str(self.labels[i]) for i in label],
                "probability": self.probabilities[at, label],
            }
        )

    def correlation_table(self) -> pl.DataFrame:
        """One row a pair of labels, the strongest correlation first."""
        first, second = np.triu_indices(len(self.labels), 1)
        values = self.correlations[first, second]
        order = np.argsort(-np.abs(values), kind="stable")
        return pl.DataFrame(
            {
                "label": [str(self.labels[i]) for i in first[order]],
                "other": [str(self.labels[i]) for i in second[order]],
                "correlation": values[order],
            }
        )

    def __str__(self) -> str:
        lines = [super().__str__()]
        for weight, row in zip(self.component_weights, self.probabilities, strict=True):
            order = np.argsort(-row, kind="stable")
            inside = ", ".join(f"{self.labels[i]} {row[i]:.2f}" for i in order if row[i] >= 0.05)
            lines.append(f"component of weight {weight:.2f}: {inside or 'no label likely'}")
        lines += (
            f"set {{{', '.join(map(str, members))}}}: {chance:.3f}" for members, chance in self.sets
        )
        return "\n".join(lines)
