"""Theorem 1 of the paper: a probable upper bound of the pairwise error on new documents.

    L(h) <= ε + 2B·G / (m·√(K - 1)) + 3·√(ln(2/δ) / 2m)                                        (7)

ε is the mean over the n = m(K - 1) pairs of T(S) of min(1, max(0, 1 - y·h(Z))), B bounds ‖w‖, and
G² is the sum of the squared lengths of the difference vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from longtail.errors import InputError
from longtail.labels import encode_labels
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.transformed_set import PairStream, TransformedSet
from longtail.parameters import check_share
from longtail.runtime.executor import run_threads

if TYPE_CHECKING:
    from longtail.methods.pairs.pair_ranker import PairRanker


@dataclass(frozen=True)
class GeneralizationBound:
    """The right-hand side of (7), and its parts.

    Attributes
    ----------
    empirical : float
        ε, the mean of the truncated hinge losses of the training pairs.
    capacity : float
        2B·G / (m·√(K - 1)).
    confidence : float
        3·√(ln(2/δ) / 2m).
    pairwise_error : float
        The share of the training pairs that are ranked wrongly, (5); never above `empirical`.
    norm : float
        B, the length of the weight vector.
    spread : float
        G, the root of the sum of the squared lengths of the difference vectors.
    n_documents, n_classes, n_pairs : int
        m, K and n.
    delta : float
        δ: the bound holds with probability 1 - δ.
    """

    empirical: float
    capacity: float
    confidence: float
    pairwise_error: float
    norm: float
    spread: float
    n_documents: int
    n_classes: int
    n_pairs: int
    delta: float

    @property
    def total(self) -> float:
        """The bound; above 1 it says nothing."""
        return self.empirical + self.capacity + self.confidence

    def table(self) -> pl.DataFrame:
        """One row per part."""
        names = ("empirical", "capacity", "confidence", "total")
        return pl.DataFrame(
            {"part": list(names), "value": [float(getattr(self, name)) for name in names]}
        )

    def __str__(self) -> str:
        return (
            f"pairwise error at most {self.total:.4f} with probability {1 - self.delta:.0%}: "
            f"{self.empirical:.4f} on the training pairs, {self.capacity:.4f} for the capacity, "
            f"{self.confidence:.4f} for chance (m = {self.n_documents:,}, K = "
            f"{self.n_classes:,}, n = {self.n_pairs:,}, B = {self.norm:.3g}; "
            f"{self.pairwise_error:.4f} of the pairs are ranked wrongly)"
        )


def generalization_bound(
    model: PairRanker, X: Any, Y: Any, *, delta: float = 0.05
) -> GeneralizationBound:
    """Theorem 1 for a fitted model.

    Parameters
    ----------
    model : PairRanker
    X, Y
        The documents that it was trained on, and their classes, one each.
    delta : float
        The probability that the bound does not hold.

    Returns
    -------
    GeneralizationBound
        Of all pairs of T(S), also if the model was trained on a sample of them, and also those of
        classes with one document, which leave-one-out leaves out.

    Notes
    -----
    The theorem is about a class of functions that is fixed before the documents are seen, whereas
    B is the length of the weights that were learned, and the class profiles come from the same
    documents; leave-one-out keeps a document out of its own features, not out of those of others.
    So the number is what the theorem says for such a B and such features.

    One pass over the pairs: O(classes that share a word) per document.

    Examples
    --------
    >>> from longtail import PairRanker
    >>> X = [[2, 0, 1], [1, 0, 0], [0, 2, 1], [0, 1, 0]] * 50
    >>> y = ["sea", "sea", "snow", "snow"] * 50
    >>> bound = generalization_bound(PairRanker(C=1.0).fit(X, y), X, y)
    >>> bound.n_pairs, bound.pairwise_error
    (200, 0.0)
    >>> bound.pairwise_error <= bound.empirical < bound.total
    True
    """
    check_is_fitted(model)
    check_share(delta=delta)
    counts = model._counts(model._checked(X, reset=False))
    members = encode_labels(Y, label_names=model.classes_.tolist()).matrix
    _check_training_set(model, counts.shape[0], members)
    pairs = TransformedSet(
        ClassProfiles.of(counts, members, unit=model.unit_),
        leave_one_out=model.leave_one_out,
        keep_lone=True,
    )
    n_classes = pairs.n_classes
    if n_classes < 2:
        raise InputError("There is one class only, so there are no pairs to rank and no bound.")
    ramp, wrong, spread = _sums(
        pairs.stream(model.range_), len(pairs.bounds), model.weights_, model.n_jobs
    )
    m, n, norm = pairs.n_documents, pairs.n_pairs, float(np.linalg.norm(model.weights_))
    return GeneralizationBound(
        empirical=ramp / n,
        capacity=2 * norm * math.sqrt(spread) / (m * math.sqrt(n_classes - 1)),
        confidence=3 * math.sqrt(math.log(2 / delta) / (2 * m)),
        pairwise_error=wrong / n,
        norm=norm,
        spread=math.sqrt(spread),
        n_documents=m,
        n_classes=n_classes,
        n_pairs=n,
        delta=float(delta),
    )


def _check_training_set(model: PairRanker, n: int, members: Any) -> None:
    if members.shape[0] != n:
        raise InputError(f"X has {n} rows, Y has {members.shape[0]}; give both alike.")
    if (np.diff(members.indptr) != 1).any():
        raise InputError(
            "Theorem 1 is about documents of one class each; some here have none or several."
        )
    counts = np.bincount(members.indices, minlength=len(model.classes_))
    if n != model.n_points_ or not np.array_equal(counts, model.label_counts_):
        raise InputError(
            "These are not the documents that the model was trained on: their number, or that of "
            "some class, differs; give X and Y as they were in fit."
        )


def _sums(
    stream: PairStream, n_blocks: int, weights: NDArray[np.float64], n_jobs: int | None
) -> tuple[float, float, float]:
    """Over all pairs: truncated hinge losses, errors, squared lengths; added up in order."""
    found: dict[int, tuple[float, float, float]] = {}

    def look(number: int) -> tuple[float, float, float]:
        rows, _, weight, _ = stream.block(number).arrays()
        margins = rows @ weights
        ramp = np.clip(1.0 - margins, 0.0, 1.0)
        return (
            float(weight @ ramp),
            float(weight @ (margins <= 0)),
            float(weight @ (rows * rows).sum(axis=1)),
        )

    run_threads(look, range(n_blocks), n_jobs=n_jobs, done=found.__setitem__)
    ramp, wrong, spread = np.array([found[number] for number in range(n_blocks)]).sum(axis=0)
    return float(ramp), float(wrong), float(spread)
