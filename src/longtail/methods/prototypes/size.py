"""How much smaller prototypes are than the training points: Table 4, in full.

The paper's table counts the codes alone. Prediction also needs the labels of the prototypes and the
network that makes codes, so these are counted here too.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

ENTRY = 8  # bytes per stored value of a sparse float32 matrix, with its column
LABEL = 4  # bytes per label number
REAL = 8  # bytes per number, as in the paper


@dataclass(frozen=True)
class Size:
    """Bytes of one way to keep the training data for prediction."""

    name: str
    vectors: int
    labels: int
    networks: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.vectors + self.labels + self.networks


@dataclass(frozen=True)
class SizeReport:
    """Bytes of the prototypes beside those of all points, as they are and embedded.

    Attributes
    ----------
    prototypes : Size
        Packed codes, sparse label means, the encoder. The decoder serves training only and is not
        in the model.
    points : Size
        kNN with the sparse rows of X as they are.
    dense_points : Size
        kNN as Table 4 counts it: n·D numbers of 8 bytes.
    embeddings : Size
        Embeddings of d numbers of 8 bytes per point, as Table 4 counts SLEEC, and a D×d projection.
    """

    prototypes: Size
    points: Size
    dense_points: Size
    embeddings: Size

    @property
    def _ways(self) -> tuple[Size, ...]:
        return self.prototypes, self.points, self.dense_points, self.embeddings

    def table(self) -> pl.DataFrame:
        """One row per way; `times` is its size as a multiple of the prototypes'.

        `vector times` compares codes and vectors alone, as the paper does.
        """
        own, ways = self.prototypes, self._ways
        return pl.DataFrame(
            {
                "what": [way.name for way in ways],
                "vectors": [way.vectors for way in ways],
                "labels": [way.labels for way in ways],
                "networks": [way.networks for way in ways],
                "total": [way.total for way in ways],
                "vector times": [way.vectors / own.vectors for way in ways],
                "times": [way.total / own.total for way in ways],
            }
        )

    def __str__(self) -> str:
        return "\n".join(
            f"{way.name}: {spelled(way.total)} = vectors {spelled(way.vectors)} + labels "
            f"{spelled(way.labels)} + networks {spelled(way.networks)}"
            for way in self._ways
        )


def size_report(
    *,
    n_points: int,
    n_features: int,
    n_values: int,
    n_point_labels: int,
    n_prototypes: int,
    n_bits: int,
    n_prototype_labels: int,
    encoder_bytes: int,
) -> SizeReport:
    """Count the bytes.

    `n_values`, `n_point_labels` and `n_prototype_labels` are the non-zero values of X, Y and V.

    Examples
    --------
    >>> report = size_report(
    ...     n_points=10_737, n_features=500, n_values=200_000, n_point_labels=204_000,
    ...     n_prototypes=1073, n_bits=128, n_prototype_labels=60_000, encoder_bytes=10_240_000,
    ... )
    >>> report.prototypes.vectors, report.dense_points.vectors // report.prototypes.vectors
    (17168, 2501)
    """
    labels = LABEL * n_point_labels + 8 * (n_points + 1)
    return SizeReport(
        Size(
            f"{n_prototypes} binary prototypes",
            n_prototypes * -(-n_bits // 8),
            ENTRY * n_prototype_labels + 8 * (n_prototypes + 1),
            encoder_bytes,
        ),
        Size("kNN, sparse rows", ENTRY * n_values + 8 * (n_points + 1), labels, 0),
        Size("kNN, dense rows", REAL * n_points * n_features, labels, 0),
        Size(
            f"embeddings of {n_bits} numbers",
            REAL * n_points * n_bits,
            labels,
            REAL * n_features * n_bits,
        ),
    )


def spelled(n_bytes: int) -> str:
    """Bytes in the largest unit that gives at least one.

    Examples
    --------
    >>> spelled(17_168), spelled(900)
    ('17.2 KB', '900 bytes')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
