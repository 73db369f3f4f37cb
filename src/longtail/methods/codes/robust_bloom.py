"""Robust Bloom filters: bits shared by labels that never occur together, and a robust decoding.

Cissé, Usunier, Artières & Gallinari, Robust Bloom Filters for Large Multilabel Classification
Tasks, NIPS 2013.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail.errors import LongtailWarning, ModelError, ParameterError, warn
from longtail.explanation import as_column
from longtail.labels import LabelClusters, cluster_labels, unrecoverable_loss
from longtail.methods._code_size import CodeSize, bits_of
from longtail.methods._soundness import is_array
from longtail.methods.codes._bits import BitClassifier, BitShare, Decoding
from longtail.methods.codes.code import robust_code
from longtail.methods.codes.decoding import Taking, decode_robust, identify_clusters
from longtail.methods.codes.hubs_and_clusters import choose_clusters
from longtail.parameters import (
    Count,
    CountFromZero,
    ErrorWeight,
    Jobs,
    NewtonSteps,
    Prune,
    RelativeGap,
    Seed,
)
from longtail.runtime.estimates import Estimate
from longtail.runtime.run import Run

EDGE_BYTES = 64  # per pair of labels that occur together, in the search for clusters
EDGE_SECONDS = 3e-5  # the same, for all settings that are tried
MUCH = 0.1  # warn if at least this share of the labels' occurrences cannot be predicted


class RobustBloom(BitClassifier):
    """Label sets as Bloom codes over clusters of labels that exclude each other.

    The most connected labels, the hubs, get a logistic regression each. The others are clustered so
    that labels of different clusters hardly ever occur together; a label is K bits, no bit stands
    for two labels of one cluster, and two labels of different clusters share at most K - 1. Each
    bit is a logistic regression. To decode, the cluster with most bits on is taken, and of its
    labels those whose bits are on. If the clusters do exclude each other, a wrong bit then costs at
    most two labels.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    code_ : csr_array of shape (L, B)
        The bits of each label; none for hubs, nor for labels without a training point, which are
        never predicted.
    hubs_ : int array
        Columns of the labels with their own regression.
    clusters_ : int array of shape (L,)
        The cluster of each label, -1 for those without.
    code_size_ : int
        Regressions in all: B and the hubs.
    unrecoverable_loss_ : float
        Hamming loss on the training set with all bits right, since labels of two
        clusters cannot be predicted together.
    weights_ : csr_array of shape (D + 1, B + hubs)
        Weights of the bits and the hubs, the bias last.
    gap_, n_iter_ : arrays of shape (B + hubs,)
        Proven relative gap and Newton steps of each.

    Notes
    -----
    Training costs `code_size_` problems instead of L. Decoding costs O(labels of the bits that are
    on) per point; a bit has about K·L / B labels. The score of `predict_topk` is the log-odds that
    all bits of the label are on, each judged separately; it does not use the clusters.

    Examples
    --------
    >>> from longtail import RobustBloom
    >>> X = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] * 5
    >>> Y = [["sea"], ["sea", "sun"], ["snow"], ["fog"]] * 5
    >>> tagger = RobustBloom(n_hubs=0, max_cluster_size=2, C=100).fit(X, Y)
    >>> tagger.predict([[1, 1, 0, 0], [0, 0, 1, 0]])
    [('sea', 'sun'), ('snow',)]
    """

    method: ClassVar[str] = "rbf"

    def __init__(
        self,
        *,
        code_size: Annotated[
            CodeSize,
            "Regressions to train, hubs included: a number, or a share of the labels. The number "
            "of hubs and the largest cluster are then those that lose fewest labels on the "
            "training set; see `longtail.methods.codes.choose_clusters`. By default half the "
            "labels, but at least 64, unless the two are given.",
        ] = None,
        n_hashes: Annotated[Count, "Bits per label, K."] = 2,
        n_hubs: Annotated[
            CountFromZero | None,
            "Frequent labels with a problem of their own, to set them by hand: with "
            "`max_cluster_size`, and without `code_size`.",
        ] = None,
        max_cluster_size: Annotated[
            Count | None,
            "Labels per cluster at most, to set them by hand: with `n_hubs`, and without "
            "`code_size`.",
        ] = None,
        decoding: Annotated[
            Decoding,
            "Whether a label of the cluster is predicted if at least `threshold` of its bits are "
            "on, or by chance, with the share of its bits as the probability, as in the paper.",
        ] = "threshold",
        threshold: BitShare = 1.0,
        C: ErrorWeight = 1.0,
        prune: Prune = 0.01,
        tol: RelativeGap = 1e-4,
        max_iter: NewtonSteps = 100,
        random_state: Annotated[Seed, "Seed of the clustering, and of decoding by chance."] = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.code_size = code_size
        self.n_hashes = n_hashes
        self.n_hubs = n_hubs
        self.max_cluster_size = max_cluster_size
        self.decoding = decoding
        self.threshold = threshold
        self.C = C
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        by_hand = [self.n_hubs is not None, self.max_cluster_size is not None]
        if self.code_size is not None and any(by_hand):
            raise ParameterError(
                "code_size chooses n_hubs and max_cluster_size; give either it or the two."
            )
        if any(by_hand) and not all(by_hand):
            raise ParameterError("n_hubs and max_cluster_size go together; give both.")

    def _planned(self, Y: sp.csr_array) -> tuple[int, float]:
        return bits_of(self.code_size, Y.shape[1]), float(self.n_hashes)

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        sizes = np.diff(Y.indptr).astype(np.float64)
        edges = min(float(sizes @ sizes) / 2, Y.shape[1] ** 2 / 2)
        return super()._estimate(X, Y).plus(EDGE_BYTES * edges, EDGE_SECONDS * edges)

    def _encode(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        clusters = self._clusters(Y, run)
        self.hubs_ = clusters.hubs
        self.clusters_ = clusters.of_label
        self.code_ = robust_code(clusters, self.n_hashes)
        self.code_size_ = self.code_.shape[1] + len(self.hubs_)
        self.unrecoverable_loss_ = unrecoverable_loss(Y, clusters)
        lost = self.unrecoverable_loss_ * Y.shape[0] * Y.shape[1] / max(Y.nnz, 1)
        if lost > MUCH:
            warn(
                f"{lost:.0%} of the labels cannot be predicted with this code even by perfect "
                "bits, since many labels of different clusters occur together; take a larger "
                "code_size, or a method for labels that do, such as br or proxml.",
                LongtailWarning,
            )

    def _clusters(self, Y: sp.csr_array, run: Run) -> LabelClusters:
        if self.n_hubs is not None and self.max_cluster_size is not None:
            return cluster_labels(
                Y, n_hubs=self.n_hubs, max_cluster_size=self.max_cluster_size,
                random_state=self._seed,
            )  # fmt: skip
        return choose_clusters(
            Y, bits_of(self.code_size, Y.shape[1]), n_hashes=self.n_hashes,
            random_state=self._seed, run=run,
        ).clusters  # fmt: skip

    def _decode(self, odds: NDArray[np.float64], taking: Taking) -> sp.csr_array:
        return decode_robust(odds, self.code_, self.clusters_, taking)

    def _more_details(self, odds: NDArray[np.float64]) -> dict[str, pl.DataFrame]:
        """The labels of the cluster with the most bits and of the runner-up, if any bit is on."""
        bits = odds[: self.code_.shape[1]]
        found = identify_clusters(bits, self.code_, self.clusters_)[0].tolist()
        voted = {
            place: as_column(self.classes_[self.clusters_ == cluster])
            for place, cluster in zip(("first", "runner-up"), found, strict=True)
            if cluster >= 0
        }
        table = pl.DataFrame({"cluster": list(voted), "labels": list(voted.values())})
        return {"clusters": table}

    def _check_state(self) -> None:
        super()._check_state()
        clusters = getattr(self, "clusters_", None)
        if (
            not is_array(clusters, self.classes_.shape, np.int64)
            or (clusters < -1).any()
            or (clusters >= max(len(clusters), 1)).any()
            or (clusters[np.diff(self.code_.indptr) > 0] < 0).any()
        ):
            raise ModelError("The clusters of the model do not fit its labels; it was altered.")
