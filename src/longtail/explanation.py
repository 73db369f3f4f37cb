"""Why a label got its score: what every `explain` gives, and methods may add to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True)
class Explanation:
    """Why a label got its score: the parts that add up to it, largest first.

    Attributes
    ----------
    label : object
        The name of the label.
    score : float
        Its score; the contributions of all features and the bias add up to it. It is the one of
        `predict_topk`, save in methods whose list is no sum of parts, where a sum behind it is
        explained: cbm, cbm-cv, cdn, cs, ecc, logtree, ovo, pair-crf, pcc and powerset. The page on
        classifiers says which.
    bias : float
        The part that no feature brings.
    features : array
        Names (or numbers) of the features that carried the decision.
    values, weights, contributions : arrays
        Value in x, weight in the model, and their product.
    """

    label: Any
    score: float
    bias: float
    features: NDArray[Any]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    contributions: NDArray[np.float64]

    def table(self) -> pl.DataFrame:
        """One row a feature, the largest contribution first."""
        return pl.DataFrame(
            {
                "feature": [str(feature) for feature in self.features],
                "value": self.values,
                "weight": self.weights,
                "contribution": self.contributions,
            }
        )

    def __str__(self) -> str:
        parts = [
            f"{feature} {part:+.3f}"
            for feature, part in zip(self.features, self.contributions, strict=True)
        ]
        return f"{self.label}: {self.score:+.3f} = " + ", ".join([f"bias {self.bias:+.3f}", *parts])
