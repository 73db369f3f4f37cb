"""Training on pairs: C by cross-validation, the weights, and the margin of predicted labels.

All values of C and folds share the passes over the transformed set. Folds are of documents; class
profiles are those of all documents throughout, and held-out documents are judged by leave-one-out,
which removes them from their own classes, so the features are made once for all folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from longtail.methods.pairs.similarity import ABSENT, SIMILARITY_NAMES
from longtail.methods.pairs.transformed_set import PairStream, Rivals, TransformedSet
from longtail.runtime.run import Run
from longtail.solvers.streamed import fit_streamed

TRIED_CS = np.logspace(-3, 3, 7)  # the paper's range
USUAL_C = 1.0  # where there are too few documents to choose
ROUNDS = 2  # of new rivals, for adversarial pairs
ROUGH, FINE = 1e-4, 1e-7  # relative gradients at which a trial and the final problem are solved
JUDGED = 10_000  # documents on which values of C are compared, or a few more
SAMPLE = 2000  # documents on which the margin is chosen
FEW = 200  # documents used if there is no margin to choose
CANDIDATES = 200  # margins that are tried
NEAREST = 1000  # best labels of a document considered for the margin

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """What training finds; the attributes of `PairRanker` say what the numbers are."""

    weights: NDArray[np.float64]
    lowest: NDArray[np.float64]
    width: NDArray[np.float64]
    C: float
    Cs: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    objective: float
    violation: float
    gap: float
    passes: int


@dataclass(frozen=True)
class Learner:
    """How to learn from pairs: the parameters of `PairRanker`, and the work's checkpoint name."""

    C: float | None
    folds: int
    seed: int
    n_jobs: int | None
    identity: str

    def learn(self, pairs: TransformedSet, rivals: Rivals, run: Run) -> Trained:
        """Scales of the features, and weights."""
        documents = np.flatnonzero(pairs.true_classes)
        order = np.random.default_rng(self.seed).permutation(documents)
        fold_of = np.full(pairs.n_documents, -1, dtype=np.int64)
        fold_of[order] = np.arange(len(order)) % min(self.folds, len(order))
        adversarial = rivals.kind == "adversarial"
        first = Rivals("uniform", rivals.n_pairs, rivals.seed) if adversarial else rivals
        stream = pairs.stream(None, first, fold_of)
        scale = pairs.normalisation(stream)
        found = self._learn(pairs, stream, scale, fold_of, run.part("pairs"))
        passes = found.passes + 1
        for number in range(1, ROUNDS + 1 if adversarial else 1):
            harder = Rivals("adversarial", rivals.n_pairs, rivals.seed, found.weights / scale[1])
            stream = pairs.stream(scale[1], harder, fold_of)
            found = self._learn(pairs, stream, scale, fold_of, run.part(f"round-{number}"))
            passes += found.passes
        return replace(found, passes=passes)

    def _learn(
        self,
        pairs: TransformedSet,
        stream: PairStream,
        scale: tuple[_Array, _Array],
        fold_of: NDArray[np.int64],
        run: Run,
    ) -> Trained:
        folds = int(fold_of.max()) + 1
        start, passes = None, 0
        Cs, accuracy = np.empty(0), np.empty((0, 0))
        C = USUAL_C if self.C is None else float(self.C)
        if self.C is None and folds >= 2:
            Cs = TRIED_CS
            trials = fit_streamed(
                stream, len(SIMILARITY_NAMES), Cs=TRIED_CS.tolist(), folds=folds, tol=ROUGH,
                n_jobs=self.n_jobs, run=run.part("choosing"), identity=self.identity,
            )  # fmt: skip
            weights, passes = trials.weights, trials.passes + 1
            judge = pairs
            if not pairs.leave_one_out:  # documents in their own classes would all be right
                judge = TransformedSet(pairs.profiles, n_jobs=pairs.n_jobs)
            hits, judged = self._judged(judge, weights / scale[1], fold_of)
            accuracy = hits / np.maximum(judged, 1)
            best = int(hits.sum(axis=1).argmax())  # of equal ones the smallest C
            C, start = float(Cs[best]), weights[best].mean(axis=0).reshape(1, 1, -1)
        fit = fit_streamed(
            stream, len(SIMILARITY_NAMES), Cs=[C], warm_start=start, tol=FINE, n_jobs=self.n_jobs,
            run=run.part("training"), identity=self.identity,
        )  # fmt: skip
        return Trained(
            weights=fit.weights[0, 0],
            lowest=scale[0],
            width=scale[1],
            C=C,
            Cs=Cs,
            accuracy=accuracy,
            objective=float(fit.objective[0, 0]),
            violation=float(fit.violation[0, 0]),
            gap=float(fit.gap[0, 0]),
            passes=passes + fit.passes,
        )

    def _judged(
        self, pairs: TransformedSet, weights: _Array, fold_of: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Hits of the weights of each C and fold, (S, F), and of how many documents, (F,).

        Blocks are drawn until they have `JUDGED` documents.
        """
        sizes = np.array([last - first for first, last in pairs.bounds])
        order = np.random.default_rng(self.seed).permutation(len(sizes))
        drawn = np.sort(order[: 1 + int(np.searchsorted(np.cumsum(sizes[order]), JUDGED))])
        asked = np.concatenate([fold_of[slice(*pairs.bounds[number])] for number in drawn.tolist()])
        judged = np.bincount(asked[asked >= 0], minlength=weights.shape[1])
        return pairs.hits(weights, fold_of, drawn.tolist()), judged


def scale_of_scores(
    pairs: TransformedSet, weights: _Array, *, several: bool, seed: int
) -> tuple[float, float]:
    """By how much a label may trail the best one, and the score halfway between right and wrong.

    The margin has the highest F1 of a document's labels, on average, where those within it of the
    best are predicted if they share a word with the document; it is 0 unless documents have
    `several` labels. The centre is the median of the means of the best true class and the best
    other one. `weights` are those of the features as they are. O(classes met) per document used.
    """
    documents = np.flatnonzero(pairs.true_classes)
    enough = SAMPLE if several else FEW
    if len(documents) > enough:
        chosen = np.random.default_rng(seed).choice(len(documents), enough, replace=False)
        documents = documents[np.sort(chosen)]
    nothing = float(ABSENT @ weights)
    gaps, listed, true_gaps, wanted, middles = [], [], [], [], []
    for document in documents.tolist():
        found = pairs.similarities(document, document + 1)
        _, own, usable = pairs.own(document, document + 1)
        scores = found.values @ weights
        is_true = np.isin(found.classes, own[usable])
        counted = is_true | ~np.isin(found.classes, own)
        unlisted = nothing if len(found.classes) < pairs.n_classes else -np.inf
        best = max(scores[counted].max(initial=-np.inf), unlisted)
        gaps.append(_smallest(best - scores[counted]))
        listed.append(int(counted.sum()))
        true_gaps.append(np.sort(best - scores[is_true]))
        wanted.append(int(usable.sum()))
        other = max(scores[counted & ~is_true].max(initial=-np.inf), unlisted)
        middles.append((scores[is_true].max(initial=nothing) + other) / 2)
    finite = np.array(middles)[np.isfinite(middles)]
    centre = float(np.median(finite)) if len(finite) else nothing
    return (_best_margin(gaps, listed, true_gaps, wanted) if several else 0.0), centre


def _smallest(gaps: _Array) -> _Array:
    """The smallest ones in ascending order; a margin with more predicts far too much."""
    if len(gaps) > NEAREST:
        gaps = np.partition(gaps, NEAREST)[:NEAREST]
    return np.sort(gaps)


def _best_margin(
    gaps: list[_Array], listed: list[int], true_gaps: list[_Array], wanted: list[int]
) -> float:
    every = np.unique(np.concatenate([[0.0], *true_gaps]))
    if len(every) > CANDIDATES:
        every = np.quantile(every, np.linspace(0, 1, CANDIDATES))
    total = np.zeros(len(every))
    for near, n_listed, ours, number in zip(gaps, listed, true_gaps, wanted, strict=True):
        hits = np.searchsorted(ours, every, side="right")
        predicted = np.searchsorted(near, every, side="right")
        predicted[predicted == NEAREST] = n_listed
        total += 2 * hits / (predicted + number)
    return float(every[total.argmax()])
