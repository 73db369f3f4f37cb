"""Facts of a data set that decide which method suits it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from longtail.labels import (
    algebraic_connectivity,
    cluster_labels,
    encode_labels,
    tail_statistics,
    unrecoverable_loss,
)

MOST_PAIRS = 10_000_000
"""Pairs of labels at the points up to which the label graph is looked at."""
MOST_LABELS = 50_000
"""The same for labels."""
HUBS = 0.05  # share of the labels set aside as hubs to measure exclusivity
CLUSTER = 10  # labels of a cluster, at most, for that
DENSE = 0.3  # share of stored values from which on features count as dense

WORDS = {
    "Points": ("points",),
    "Features": ("features", "text", "dense"),
    "Labels": ("labels",),
    "Labels a point": ("one_class", "labels_per_point"),
    "Points a label": ("points_per_label",),
    "Labels with fewer than 10 points": ("tail_share",),
    "Distinct label sets": ("label_sets",),
    "Exclusivity": ("exclusivity",),
    "Algebraic connectivity": ("connectivity",),
}
"""What `DataFacts.in_words` calls the facts -> their names."""


@dataclass(frozen=True)
class DataFacts:
    """What was measured of a data set.

    Attributes
    ----------
    points, features, labels : int
        Rows, columns, and labels with at least one point.
    text : bool
        Whether the features are words.
    dense : bool
        Whether most points have most features.
    one_class : bool
        Whether every point has exactly one label.
    labels_per_point : float
        On average.
    points_per_label : float
        The median over the labels.
    tail_share : float
        Share of the labels with fewer than 10 points.
    label_sets : int
        Distinct label sets.
    exclusivity : float or None
        Share of the label occurrences that are within reach if a point may have the labels of one
        cluster only, with clusters of at most ten labels and a twentieth of all set aside as hubs:
        1 where labels fall into groups that exclude each other. It is what the unrecoverable
        Hamming loss of `RobustBloom` leaves. None where it would cost too much.
    connectivity : float or None
        Algebraic connectivity of the label graph: small where labels fall into groups. None where
        it would cost too much, or every point has one label.
    """

    points: int
    features: int
    labels: int
    text: bool
    dense: bool
    one_class: bool
    labels_per_point: float
    points_per_label: float
    tail_share: float
    label_sets: int
    exclusivity: float | None
    connectivity: float | None

    @property
    def points_per_set(self) -> float:
        """Points of a distinct label set, on average."""
        return self.points / max(self.label_sets, 1)

    def to_dict(self) -> dict[str, Any]:
        """The facts by name."""
        return asdict(self)

    def in_words(self) -> dict[str, str]:
        """The facts as a reader wants them."""
        kind = "words" if self.text else ("dense" if self.dense else "sparse")
        values = (
            f"{self.points:,}",
            f"{self.features:,}, {kind}",
            f"{self.labels:,}",
            "exactly 1" if self.one_class else f"{self.labels_per_point:.2f}",
            f"{self.points_per_label:g} in the median",
            f"{self.tail_share:.0%}",
            f"{self.label_sets:,}, {self.points_per_set:.1f} points each",
            _share(self.exclusivity),
            "not measured" if self.connectivity is None else f"{self.connectivity:.4f}",
        )
        return dict(zip(WORDS, values, strict=True))

    def table(self) -> pl.DataFrame:
        """One row per fact."""
        words = self.in_words()
        return pl.DataFrame({"fact": list(words), "value": list(words.values())})


def measure_facts(X: sp.csr_array, Y: Any, *, text: bool = False, graph: bool = True) -> DataFacts:
    """Measure the facts that decide.

    Parameters
    ----------
    X : csr_array of shape (n, D)
        Features.
    Y : any form that `encode_labels` takes
        The labels of each row.
    text : bool
        Whether the features are words.
    graph : bool
        Whether to look at the label graph, for exclusivity and connectivity.

    Notes
    -----
    O(nnz), and O(sum over points of |y|²) for exclusivity and connectivity, which are left out
    from 10 million such pairs or 50,000 labels on.

    Examples
    --------
    >>> facts = measure_facts(sp.csr_array(np.eye(4)), ["sea", "sun", "sea", "sun"])
    >>> facts.one_class, facts.labels, facts.exclusivity
    (True, 2, 1.0)
    """
    matrix = encode_labels(Y).matrix
    tail = tail_statistics(matrix)
    sizes = np.diff(matrix.indptr).astype(np.float64)
    one_class = bool(len(sizes) and (sizes == 1).all())
    affordable = float(sizes @ sizes) <= MOST_PAIRS and tail.labels_used <= MOST_LABELS
    exclusivity: float | None = 1.0 if one_class else None
    connectivity = None
    if graph and affordable and not one_class and matrix.nnz:
        n_hubs = round(HUBS * tail.labels_used)
        clusters = cluster_labels(matrix, n_hubs=n_hubs, max_cluster_size=CLUSTER)
        lost = unrecoverable_loss(matrix, clusters) * matrix.shape[0] * matrix.shape[1]
        exclusivity = 1.0 - lost / matrix.nnz
        connectivity = algebraic_connectivity(matrix)
    return DataFacts(
        points=int(matrix.shape[0]),
        features=int(X.shape[1]),
        labels=tail.labels_used,
        text=text,
        dense=bool(X.nnz >= DENSE * X.shape[0] * X.shape[1] > 0),
        one_class=one_class,
        labels_per_point=float(tail.labels_per_point),
        points_per_label=float(tail.points_per_label_median),
        tail_share=float(tail.share_below_10),
        label_sets=tail.label_sets,
        exclusivity=exclusivity,
        connectivity=connectivity,
    )


def _share(value: float | None) -> str:
    if value is None:
        return "not measured, there are too many labels at a point, or in all"
    return f"{value:.1%} of the labels are in reach of one cluster a point"
