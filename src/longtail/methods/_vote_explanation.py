"""Why neighbours gave a label its score: who voted for it, and who did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from longtail.base import Explanation


@dataclass(frozen=True)
class VoteExplanation(Explanation):
    """Who voted for a label, and who did not.

    The score comes from the votes of the neighbours and not from single features, so the features
    of the base class are empty and its bias is the whole score.

    Attributes
    ----------
    share : float
        The share of all neighbours that have the label.
    voters : int array
        Numbers of the nearest neighbours, nearest first, as many as were asked for.
    distances : array
        How far they are.
    votes : array
        The value of the label in their label vectors: 1 for a vote, 0 for none.
    voter_labels : list of tuples
        The names of all labels of each.
    n_voters : int
        How many neighbours voted in all.
    """

    share: float
    voters: NDArray[np.int64]
    distances: NDArray[np.float64]
    votes: NDArray[np.float64]
    voter_labels: list[tuple[Any, ...]]
    n_voters: int

    def vote_table(self) -> pl.DataFrame:
        """One row a neighbour, the nearest first."""
        return pl.DataFrame(
            {
                "neighbour": self.voters,
                "distance": self.distances,
                "vote": self.votes,
                "labels": [", ".join(map(str, names)) for names in self.voter_labels],
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.share:.3f} of the votes of {self.n_voters} neighbours"]
        for voter, distance, value, names in zip(
            self.voters, self.distances, self.votes, self.voter_labels, strict=True
        ):
            more = f", and {len(names) - 8} more" if len(names) > 8 else ""
            lines.append(
                f"  {voter} at {distance:.4g}, vote {value:g}: "
                f"{', '.join(map(str, names[:8])) or 'no labels'}{more}"
            )
        return "\n".join(lines)
