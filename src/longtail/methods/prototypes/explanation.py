"""Why a label was predicted: the prototypes that voted and the training points behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from longtail.methods._vote_explanation import VoteExplanation

SHOWN = 6  # labels of a prototype that a line of text names


@dataclass(frozen=True)
class PrototypeExplanation(VoteExplanation):
    """Which prototypes voted for a label, with what labels, how near, and for which points.

    A distance is the number of bits in which the prototype's code differs from that of the point; a
    vote is the share of the prototype's training points that have the label.

    Attributes
    ----------
    n_bits : int
        Length of the codes.
    voter_shares : list of arrays
        For each prototype, the shares of the labels in `voter_labels`, the largest first.
    voter_sizes : int array
        How many training points each prototype stands for.
    closest_points : list of int arrays
        Numbers of some of these, those whose label sets are nearest to the prototype's.
    """

    n_bits: int
    voter_shares: list[NDArray[np.float64]]
    voter_sizes: NDArray[np.int64]
    closest_points: list[NDArray[np.int64]]

    def vote_table(self) -> pl.DataFrame:
        """One row a prototype, the nearest first."""
        return pl.DataFrame(
            {
                "prototype": self.voters,
                "bits apart": self.distances.astype(np.int64),
                "vote": self.votes,
                "labels": [self._labels(i) for i in range(len(self.voters))],
                "points": self.voter_sizes,
                "closest points": [", ".join(map(str, rows)) for rows in self.closest_points],
            }
        )

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.share:.3f} of the votes of {self.n_voters} prototypes"]
        for i, voter in enumerate(self.voters):
            rows = ", ".join(map(str, self.closest_points[i]))
            lines.append(
                f"  prototype {voter}, {self.distances[i]:.0f} of {self.n_bits} bits apart, vote "
                f"{self.votes[i]:.2f}: {self._labels(i) or 'no labels'}; stands for "
                f"{self.voter_sizes[i]} points, such as {rows}"
            )
        return "\n".join(lines)

    def _labels(self, i: int) -> str:
        names, shares = self.voter_labels[i], self.voter_shares[i]
        shown = [f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True)][:SHOWN]
        more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        return ", ".join(shown + more)


def by_share(
    names: NDArray[Any], shares: NDArray[Any]
) -> tuple[tuple[Any, ...], NDArray[np.float64]]:
    """The labels of a prototype, the commonest first.

    Examples
    --------
    >>> by_share(np.array(["sea", "sun"]), np.array([0.5, 1.0]))
    (('sun', 'sea'), array([1. , 0.5]))
    """
    order = np.argsort(-shares, kind="stable")
    return tuple(names[order].tolist()), shares[order].astype(np.float64)
