"""`DeepBinaryPrototypes`: a few learned binary codes stand for all training points (DBPC).

Shen, Liu, Luo, Ong & Tsang, Deep Binary Prototype Multi-label Learning, IJCAI 2018. Training is
Algorithm 2 (`training`), prediction Algorithm 1: the code of the point, its nearest prototypes in
Hamming space, the mean of their label vectors, a threshold.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.errors import ModelError, ParameterError
from longtail.explanation import Explanation, as_column
from longtail.methods._soundness import is_array
from longtail.methods._voting import VotingClassifier
from longtail.methods.prototypes._rows import prototype_count, steps_of
from longtail.methods.prototypes._trainable import Decoder, Units
from longtail.methods.prototypes.codes import dead_bits, packed, unpacked
from longtail.methods.prototypes.network import (
    Encoder,
    OwnEncoder,
    decoder_weights,
    default_hidden,
    import_torch,
    network_bytes,
)
from longtail.methods.prototypes.size import SizeReport, size_report
from longtail.methods.prototypes.training import train_prototypes
from longtail.parameters import (
    Count,
    CountFromZero,
    Jobs,
    MemoryLimit,
    Must,
    NotNegative,
    Positive,
    Seed,
    ShareOrZero,
    UpToOne,
    is_count,
)
from longtail.runtime.estimates import PRODUCT, Estimate, matrix_bytes, refuse_beyond
from longtail.runtime.run import Run
from longtail.search import Neighbours
from longtail.search.hamming import nearest_codes

SETTLED_ROWS = 2048  # rows per block of hidden units at the end
NETWORK = 4e-11  # seconds per multiplication of the networks
STEP = 12.0  # multiplications that an update of a weight costs
CLOSEST = 3  # training points remembered for each prototype


class DeepBinaryPrototypes(VotingClassifier):
    """Nearest neighbours among a few learned binary codes instead of all training points.

    The label sets are grouped by k-means; each group is a prototype with the group's mean label
    vector and a binary code. An encoder learns to give points the codes of their prototypes, a
    decoder to give codes the labels of theirs, and the codes are changed so that both can; these
    steps alternate. To predict, a point is encoded and the nearest prototypes by Hamming distance
    vote.

    Training needs torch (`pip install "longtail[deep]"`); prediction with the default encoder does
    not.

    Attributes
    ----------
    classes_ : array of shape (L,)
        Label names.
    codes_ : uint64 array of shape (m, ⌈d / 64⌉)
        The prototypes' codes, packed; `prototypes.unpacked` turns them into -1 and 1.
    prototype_labels_ : float32 csr_array of shape (m, L)
        Their mean label vectors.
    prototype_sizes_ : array of shape (m,)
        How many training points each stands for.
    closest_points_ : array of shape (m, 3)
        Rows of X whose label sets are nearest to each prototype's; -1 if there are fewer.
    encoder_ : Encoder or OwnEncoder
        The trained encoder. The decoder is not kept, since prediction does not need it.
    objective_ : array of shape (rounds, 3)
        The parts of the objective (8) after each round: labels, codes, orthogonality. Without a
        decoder the first is only the distance of the labels from their prototypes' means.
    validation_f1_ : array of shape (rounds,)
        Example-F1 on the held-out points.
    flipped_bits_ : array of shape (rounds,)
        Bits that each B step changed.
    best_round_ : int
        The round that was kept, counted from 0.
    dead_bits_ : array
        Bits that are the same in all prototypes.
    n_neighbors_, threshold_ : int, float
        Those given, or chosen.

    Notes
    -----
    Training costs a few times O(n·hidden·(nnz per row + d) + m·d·L) per round, and O(n·hidden² +
    hidden³) once to solve the last layer for `units="points"`; memory 16 to 28 bytes for each of
    the hidden·(D + d) + d·L weights. Prediction costs O(hidden·(nnz(x) + d)) for the code of a
    point and O(m·d/64) for the search.

    Examples
    --------
    >>> from longtail import DeepBinaryPrototypes
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]] * 20
    >>> Y = [["sea", "sun"], ["snow"], ["fog"]] * 20
    >>> tagger = DeepBinaryPrototypes(n_bits=16, ratio=0.05, n_neighbors=1).fit(X, Y)
    >>> tagger.predict([[1, 0, 0], [0, 0, 1]])
    [('sea', 'sun'), ('fog',)]
    """

    method: ClassVar[str] = "dbpc"
    paper: ClassVar[str] = "Shen et al. 2018"
    kept_data: ClassVar[tuple[str, ...]] = ("closest_points_",)
    any_numbers: ClassVar[tuple[str, ...]] = ("validation_f1_",)

    codes_: NDArray[np.uint64]
    prototype_labels_: sp.csr_array
    prototype_sizes_: NDArray[np.int64]
    closest_points_: NDArray[np.int64]
    encoder_: Encoder | OwnEncoder
    objective_: NDArray[np.float64]
    validation_f1_: NDArray[np.float64]
    flipped_bits_: NDArray[np.int64]
    best_round_: int
    dead_bits_: NDArray[np.int64]
    n_values_: int

    def __init__(
        self,
        *,
        n_bits: Annotated[Count, "Length of the codes in bits: d."] = 128,
        ratio: Annotated[
            UpToOne, "Prototypes as a share of the training points: m = ⌊ratio · n⌋."
        ] = 0.1,
        start: Annotated[
            Literal["projections", "pca"],
            "Where the codes begin: the signs of random directions of the prototypes' labels, or "
            "of their principal components, as in the paper. See the page on prototypes.",
        ] = "projections",
        rarity: Annotated[
            NotNegative,
            "By how much rare labels count for more where the codes begin: each label is divided "
            "by the points that have it, to this power. 0.3 lifts macro-F1 at a small price in "
            "the others.",
        ] = 0.0,
        hidden: Annotated[
            Count | None,
            "Hidden units of the encoder, and of a decoder with layers. By default 4,096, as in "
            "the paper, from 16,384 points on; with fewer points 2,048, which find as much and "
            "predict twice as fast; no more than the largest power of two up to their number, and "
            "at least 64.",
        ] = None,
        units: Annotated[
            Units,
            "Where the hidden units of the encoder begin: at random, or at training points, with "
            "the last layer solved for the codes by least squares. The second suits many features "
            "that say much, such as words, with a small `learning_rate` (2e-4); the first suits "
            "noisy ones.",
        ] = "random",
        encoder: Annotated[
            Any,
            Must("None or a torch.nn.Module"),
            "A network of your own from mini-batches of dense float32 rows (batch, D) to (batch, "
            "n_bits) real values. It is copied, not changed. See `attach_encoder` for loading.",
        ] = None,
        decoder: Annotated[
            Decoder | Any,
            Must(
                "'linear', 'layers' or a torch.nn.Module",
                lambda value: value in get_args(Decoder) or not isinstance(value, str),
            ),
            "From codes to labels: one linear layer; two layers with `hidden` units, as in the "
            "paper; or a network of your own from (batch, n_bits) to (batch, L). Two layers can "
            "learn any codes by heart, so moving the codes gains nothing with them; see the page "
            "on prototypes.",
        ] = "linear",
        mu: Annotated[
            Positive, "Weight of the encoder's distance from the codes in the objective (8): μ."
        ] = 0.05,
        alpha: Annotated[
            NotNegative, "Weight of the codes' distance from uncorrelated bits: α."
        ] = 0.01,
        tau: Annotated[Positive, "How much a bit must gain to flip: τ of (12)."] = 0.3,
        learning: Annotated[
            Literal["joint", "no-decoder", "fixed-codes"],
            "What is learned beside the encoder: codes and decoder as in the paper, codes alone, "
            "or nothing. For comparisons.",
        ] = "joint",
        learning_rate: Annotated[
            Positive,
            "Step size of Adam, for both networks, in the first round; it falls evenly to nothing "
            "over `max_rounds`.",
        ] = 3e-3,
        batch_size: Annotated[Count, "Points, or prototypes, of a mini-batch."] = 128,
        steps: Annotated[
            Count | None,
            "Mini-batches of the encoder per round: T. The decoder, whose mini-batches of "
            "prototypes stand for some ten times as many points, takes half as many. By default "
            "as many as make one pass through the points, at least 50.",
        ] = None,
        max_rounds: Annotated[Count, "Limit on the rounds of Algorithm 2."] = 15,
        warmup: Annotated[
            CountFromZero,
            "Rounds before the first B step: networks that have learned little give bad advice.",
        ] = 2,
        tol: Annotated[
            NotNegative,
            "Training ends once the objective (8) changes by no more than this share in a round.",
        ] = 1e-3,
        n_neighbors: Annotated[
            Count | None,
            "Prototypes that vote. None: chosen, the best of 1, 5, 10 and 20 on the held-out "
            "points.",
        ] = None,
        threshold: Annotated[
            UpToOne | None,
            "The mean vote that a label needs to be predicted. None: chosen, the best of 0.05, "
            "0.1, ..., 1 on the held-out points.",
        ] = 0.5,
        validation: Annotated[
            ShareOrZero,
            "Share of the points held out of training, on which the best round is chosen by "
            "example-F1, with the number of neighbours and the threshold if these are None. 0: "
            "none; the last round counts then.",
        ] = 0.1,
        device: Annotated[
            str,
            Must("a word such as 'auto'", lambda value: isinstance(value, str)),
            'Where torch trains: "auto" (a GPU if there is one), "cpu", "cuda", ...',
        ] = "auto",
        random_state: Annotated[
            Seed,
            "Seed. On a CPU the same seed, data and number of torch threads give the same bits.",
        ] = 0,
        memory_limit: Annotated[
            MemoryLimit,
            "GB of memory; training that would need more is refused with an estimate. Networks of "
            "your own are not counted, and not refused.",
        ] = 4.0,
        n_jobs: Annotated[
            Jobs,
            "Threads for clustering and prediction, as in scikit-learn; the model does not depend "
            "on it. torch trains on as many threads as `torch.get_num_threads()` says.",
        ] = None,
    ) -> None:
        self.n_bits = n_bits
        self.ratio = ratio
        self.start = start
        self.rarity = rarity
        self.hidden = hidden
        self.units = units
        self.encoder = encoder
        self.decoder = decoder
        self.mu = mu
        self.alpha = alpha
        self.tau = tau
        self.learning = learning
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.steps = steps
        self.max_rounds = max_rounds
        self.warmup = warmup
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.validation = validation
        self.device = device
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs

    # ---- what the contract asks for ------------------------------------------------------------

    def _check_parameters(self) -> None:
        for name in ("n_neighbors", "threshold"):
            if self.validation == 0 and getattr(self, name) is None:
                raise ParameterError(
                    f"{name} can only be chosen on held-out points; give it a value, or validation "
                    "a share such as 0.1."
                )

    def _estimate(self, X: sp.csr_array, Y: sp.csr_array) -> Estimate:
        return self._estimate_of(X, Y, self.hidden or default_hidden(X.shape[0]))

    def _estimate_of(self, X: sp.csr_array, Y: sp.csr_array, hidden: int) -> Estimate:
        """Memory and time for so many hidden units."""
        (n, n_features), n_labels = X.shape, Y.shape[1]
        m = prototype_count(n, self.ratio)
        kind = "linear" if self.decoder == "linear" else "layers"
        squares = float(hidden) ** 2 if self.units == "points" else 0.0  # to solve the last layer
        memory = (
            network_bytes(n_features, n_labels, hidden, self.n_bits, kind)
            + matrix_bytes(X, Y)
            + 24.0 * squares
            + 16.0 * n * self.n_bits
            + 12.0 * min(Y.nnz, m * n_labels)
            + 4.0 * SETTLED_ROWS * hidden
        )
        batches = self.steps or steps_of(n, self.batch_size)
        steps = batches * min(self.batch_size, n)
        looks = 6.0 * steps * (X.nnz / n + self.n_bits) + 2.0 * (X.nnz + n * self.n_bits)
        moments = STEP * batches * (n_features + self.n_bits)
        decoding = 30.0 * m * decoder_weights(n_labels, hidden, self.n_bits, kind)
        seconds = self.max_rounds * NETWORK * (hidden * (looks + moments) + decoding)
        return Estimate(
            int(memory),
            int(4.0 * hidden * (n_features + self.n_bits)),
            seconds + PRODUCT * n * squares,
            f"networks of {hidden:,} hidden units for {n_features:,} features and {n_labels:,} "
            f"labels, {self.max_rounds} rounds",
        )

    def _fit(self, X: sp.csr_array, Y: sp.csr_array, run: Run) -> None:
        prototype_count(X.shape[0], self.ratio)
        import_torch()
        if self.encoder is None and isinstance(self.decoder, str):
            self._refuse_beyond_memory(X, Y)
        trained = train_prototypes(X, Y, self, run)
        groups, history = trained.groups, trained.history
        closest = groups.closest_rows(CLOSEST)
        self.codes_ = packed(trained.codes)
        self.prototype_labels_ = groups.means
        self.prototype_sizes_ = groups.sizes
        self.closest_points_ = np.where(closest >= 0, trained.rows[closest], -1)
        self.encoder_ = trained.encoder
        self.objective_ = history[:, :3]
        self.validation_f1_ = history[:, 3]
        self.flipped_bits_ = history[:, 6].astype(np.int64)
        self.best_round_ = trained.best_round
        self.dead_bits_ = dead_bits(trained.codes)
        self.n_neighbors_ = int(history[trained.best_round, 4])
        self.threshold_ = float(history[trained.best_round, 5])
        self.n_values_ = int(X.nnz)

    def _refuse_beyond_memory(self, X: sp.csr_array, Y: sp.csr_array) -> None:
        """Raise an error beyond `memory_limit` that names the hidden units that fit."""
        hidden = self.hidden or default_hidden(X.shape[0])
        fitting = [
            size
            for size in (1 << power for power in range((hidden - 1).bit_length()))
            if self._estimate_of(X, Y, size).peak_bytes <= self.memory_limit * 1e9
        ]
        less = f"hidden={fitting[-1]}, or " if fitting else ""
        remedy = f"take {less}fewer features or labels"
        refuse_beyond(self, self._estimate(X, Y), self.memory_limit, remedy)

    def _neighbours_of(self, X: sp.csr_array, k: int) -> Neighbours:
        return nearest_codes(self.encoder_.codes(X), self.codes_, k)

    def _voters(self) -> sp.csr_array:
        return self.prototype_labels_

    def _explain(self, x: sp.csr_array, column: int, n: int, names: NDArray[Any]) -> Explanation:
        """Which prototypes voted, at what distance in bits, and for which training points.

        A vote is the share of the prototype's points that have the label.
        """
        why = super()._explain(x, column, n, names)
        votes = why.table("votes")
        voters = votes["neighbour"].to_numpy()
        sets = self.prototype_labels_[voters]
        found = []
        for first, last in pairwise(sets.indptr):
            order = first + np.argsort(-sets.data[first:last], kind="stable")
            found.append((as_column(self.classes_[sets.indices[order]]), sets.data[order]))
        table = pl.DataFrame(
            {
                "prototype": voters,
                "bits apart": votes["distance"].cast(pl.Int64),
                "vote": votes["vote"],
                "labels": [labels for labels, _ in found],
                "shares": [shares.astype(np.float64).tolist() for _, shares in found],
                "points": self.prototype_sizes_[voters],
                "closest points": [
                    rows[rows >= 0].tolist() for rows in self.closest_points_[voters]
                ],
            }
        )
        summary = {
            "prototypes": why.summary["neighbours"],
            "share": why.summary["share"],
            "bits": self.encoder_.n_bits,
        }
        return replace(why, summary=summary, details={"votes": table})

    # ---- what is its own -----------------------------------------------------------------------

    def choice_table(self) -> pl.DataFrame:
        """One row per round, the one that was kept marked.

        With the example-F1 on the held-out points, at the best number of neighbours and threshold
        of the round where these were to be chosen. Empty if no points were held out.
        """
        check_is_fitted(self)
        judged = np.isfinite(self.validation_f1_)
        rounds = np.flatnonzero(judged)
        return pl.DataFrame(
            {
                "round": rounds,
                "f1": self.validation_f1_[judged],
                "chosen": rounds == self.best_round_,
            }
        )

    def codes(self, X: Any) -> NDArray[np.int8]:
        """The codes of points, (n, d) of -1 and 1."""
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        parts = self._in_blocks(self.encoder_.codes, rows)
        return unpacked(np.concatenate(parts), self.encoder_.n_bits)

    def size_report(self) -> SizeReport:
        """Bytes of codes, labels and network, beside kNN and real-valued embeddings."""
        check_is_fitted(self)
        return size_report(
            n_points=self.n_points_,
            n_features=self.n_features_in_,
            n_values=self.n_values_,
            n_point_labels=int(self.label_counts_.sum()),
            n_prototypes=len(self.codes_),
            n_bits=self.encoder_.n_bits,
            n_prototype_labels=int(self.prototype_labels_.nnz),
            encoder_bytes=self.encoder_.nbytes,
        )

    def attach_encoder(self, module: Any) -> None:
        """Give your own encoder back to a loaded model.

        A module is code, so a model folder holds only its tensors. Build the module as it was
        built for training; the trained tensors are put into it.

        Parameters
        ----------
        module : torch.nn.Module
        """
        check_is_fitted(self)
        if not isinstance(self.encoder_, OwnEncoder):
            raise ParameterError("This model has the default encoder, which needs no module.")
        self.encoder_.attach(module)

    # ---- the store -----------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """The user's own modules are left out: a model folder holds no code."""
        state = super().to_state()
        state["parameters"]["encoder"] = None
        if not isinstance(self.decoder, str):
            state["parameters"]["decoder"] = "linear"
        return state

    def _check_state(self) -> None:
        super()._check_state()
        if self.encoder is not None or not isinstance(self.decoder, str):
            raise ModelError(
                "The model has an encoder or a decoder as a parameter, which no folder can hold; "
                "it was altered."
            )
        encoder = getattr(self, "encoder_", None)
        labels = getattr(self, "prototype_labels_", None)
        if not isinstance(encoder, Encoder | OwnEncoder) or not isinstance(labels, sp.csr_array):
            raise ModelError("The model has no encoder or no prototypes; it was altered.")
        m = labels.shape[0]
        shapes = {
            "codes_": (np.uint64, (m, -(-encoder.n_bits // 64))),
            "prototype_sizes_": (np.int64, (m,)),
            "closest_points_": (np.int64, (m, CLOSEST)),
        }
        for name, (kind, shape) in shapes.items():
            if not is_array(getattr(self, name, None), shape, kind):
                raise ModelError(f"The model's {name} is not what it should be; it was altered.")
        if (
            m < 1
            or labels.dtype != np.float32
            or labels.shape[1] != len(self.classes_)
            or not (np.isfinite(labels.data) & (labels.data >= 0)).all()
            or encoder.n_features != self.n_features_in_
            or not is_count(getattr(self, "n_values_", 0), 0)
            or not is_array(getattr(self, "validation_f1_", None), (None,), np.float64)
            or not is_count(getattr(self, "best_round_", None), 0)
        ):
            raise ModelError("The prototypes of the model do not fit each other; it was altered.")
