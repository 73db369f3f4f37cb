"""The label graph in a few figures: its parts, how firmly they hang together, its hubs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.labels import (
    algebraic_connectivity,
    connected_components,
    encode_labels,
    hubs,
    label_counts,
    label_degrees,
)


@dataclass(frozen=True)
class Hub:
    """A label that occurs with many others: its name, its points, how many others."""

    label: Any
    points: int
    neighbours: int


@dataclass(frozen=True)
class LabelGraph:
    """What `describe_graph` found.

    Attributes
    ----------
    components : int
        Groups of labels that are linked by points they share.
    largest : int
        Labels in the largest of them.
    isolated : int
        Labels that occur with no other.
    mean_neighbours : float
        Mean number of other labels that a label occurs with, over the labels that occur.
    connectivity : float
        Algebraic connectivity of the largest component; see `longtail.labels`.
    hubs : list of Hub
        The labels with the most neighbours.
    """

    components: int
    largest: int
    isolated: int
    mean_neighbours: float
    connectivity: float
    hubs: list[Hub]

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return asdict(self)


def describe_graph(Y: Any, classes: NDArray[Any], *, n_hubs: int = 10) -> LabelGraph:
    """Look at the graph of the labels in Y.

    Parameters
    ----------
    Y : sparse matrix of shape (n, L)
        The labels.
    classes : array of shape (L,)
        Their names.
    n_hubs : int
        How many hubs to name.

    Notes
    -----
    O(sum over points of |y|²) time, and a few dozen passes over Y for the connectivity.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> Y = sp.csr_array([[1, 1, 0], [0, 1, 1], [0, 1, 0]])
    >>> graph = describe_graph(Y, np.array(["sea", "sun", "sky"]), n_hubs=1)
    >>> graph.components, graph.hubs
    (1, [Hub(label='sun', points=3, neighbours=2)])
    """
    matrix = encode_labels(Y).matrix
    parts = connected_components(matrix)
    counts = label_counts(matrix)
    degrees = label_degrees(matrix)
    used = counts > 0
    return LabelGraph(
        components=parts.number,
        largest=int((parts.of_label == 0).sum()),
        isolated=int((used & (degrees == 0)).sum()),
        mean_neighbours=float(degrees[used].mean()) if used.any() else 0.0,
        connectivity=algebraic_connectivity(matrix),
        hubs=[
            Hub(label, int(counts[column]), int(degrees[column]))
            for column in hubs(matrix, n_hubs)
            for label in np.asarray(classes)[column : column + 1].tolist()
        ],
    )
