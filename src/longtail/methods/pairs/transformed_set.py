"""The transformed set T(S): one binary problem over pairs of a document with two classes.

For a document x of class y and every other class k, Algorithm 1 of the paper has the pair
(Φ(x^y) - Φ(x^k), +1) if y > k and (Φ(x^k) - Φ(x^y), -1) if y < k. Without a bias the two forms of a
pair, each the other's mirror image, give the same loss: y·⟨w, z⟩ = (-y)·⟨w, -z⟩. So the streamed
form has Φ(x^y) - Φ(x^k) with the sign +1 throughout. All classes that share no word with x have the
same features, so they are one pair, whose weight is their number: that is T(S) exactly, at the cost
of the classes that share a word. T(S) itself is never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import ParameterError
from longtail.methods.pairs._transformed_set_kernels import (
    ALL,
    HARDEST,
    UNIFORM,
    count_hits,
    difference_rows,
    widen,
)
from longtail.methods.pairs.profiles import ClassProfiles
from longtail.methods.pairs.similarity import (
    SIMILARITY_NAMES,
    Similarities,
    most_met,
    similarities,
)
from longtail.runtime.executor import run_threads
from longtail.solvers.streamed import Block

BLOCK_PAIRS = 2**15  # document-class pairs per block, at most, unless a document has more
KEPT_BYTES = 2**27  # of pairs kept from one pass to the next
ROW_BYTES = 96  # per pair: ten features, a weight and a fold

Kind = Literal["all", "uniform", "adversarial"]
_CODES = {"all": ALL, "uniform": UNIFORM, "adversarial": HARDEST}


def transformed_pairs(Y: Any) -> NDArray[np.int64]:
    """T(S) as Algorithm 1 lists it: documents, their classes, the other classes, and the signs.

    Parameters
    ----------
    Y : sparse matrix or array of shape (m, K)
        Ones: the class of each document. If a document has several, each of them is a true class
        and only the classes that it does not have are others. Columns without documents are no
        classes.

    Returns
    -------
    int64 array of shape (n, 4)
        One row per pair: document, true class y, other class k, sign. The difference vector of the
        pair is Φ(x^y) - Φ(x^k) times the sign. n = m(K - 1) with one class per document.

    Notes
    -----
    O(m·K): for small examples and for tests of the streamed form.

    Examples
    --------
    The example of the paper's first figure, three documents of three classes:

    >>> transformed_pairs(np.eye(3)).tolist()
    [[0, 0, 1, -1], [0, 0, 2, -1], [1, 1, 0, 1], [1, 1, 2, -1], [2, 2, 0, 1], [2, 2, 1, 1]]
    """
    members = as_csr(Y)
    classes = np.unique(members.indices).tolist()
    pairs = []
    for document in range(members.shape[0]):
        ours = members.indices[members.indptr[document] : members.indptr[document + 1]].tolist()
        for true in ours:
            others = (other for other in classes if other not in ours)
            pairs += [(document, true, k, 1 if true > k else -1) for k in others]
    return np.array(pairs, dtype=np.int64).reshape(-1, 4)


def proper_cover(n_documents: int, n_classes: int) -> list[NDArray[np.int64]]:
    """The K - 1 sets that T(S) splits into, each of m independent pairs, one per document.

    Parameters
    ----------
    n_documents, n_classes : int
        m and K, where every document has one class.

    Returns
    -------
    list of int64 arrays of shape (m,)
        Numbers of pairs as `transformed_pairs` lists them. With weights of one they are the proper
        exact fractional cover of the paper.

    Examples
    --------
    >>> [numbers.tolist() for numbers in proper_cover(3, 3)]
    [[0, 2, 4], [1, 3, 5]]
    """
    return [
        np.arange(n_documents, dtype=np.int64) * (n_classes - 1) + k for k in range(n_classes - 1)
    ]


@dataclass(frozen=True, eq=False)
class Rivals:
    """Which of the classes that share a word with a document compete with its true class.

    Attributes
    ----------
    kind : {"all", "uniform", "adversarial"}
        All of them; `n_pairs` drawn at random, each with the weight (their number) / n_pairs, so
        that sums over pairs have the right expectation; or the `n_pairs` that score highest, with
        the same weight. Classes without a shared word are one pair in any case, exactly.
    n_pairs : int
        Rivals for each document and true class, where there are more.
    seed : int
        Of the draws, which depend on it, the document and the class only.
    weights : array of shape (10,), optional
        Weights of the features, not normalised, by which rivals score.
    """

    kind: Kind = "all"
    n_pairs: int = 0
    seed: int = 0
    weights: NDArray[np.float64] | None = None


class TransformedSet:
    """The pairs of the documents of some class profiles, block by block.

    Parameters
    ----------
    profiles : ClassProfiles
    leave_one_out : bool
        Whether a document is removed from its own classes: then it neither meets its own words
        there nor is its own neighbour. Pairs with a true class that has no other document are left
        out, since nothing is known about the class.
    keep_lone : bool
        Whether to include these pairs nevertheless, as the definition of T(S) does.
    n_jobs : int, optional
        Threads of passes over all documents.

    Examples
    --------
    >>> X = [[2, 1, 0], [0, 1, 0], [0, 0, 4], [0, 1, 3]]
    >>> profiles = ClassProfiles.of(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> pairs = TransformedSet(profiles)
    >>> pairs.n_left_out, pairs.n_pairs
    (0, 4)
    >>> lowest, width = pairs.normalisation()
    >>> stream = pairs.stream(width)
    >>> [make().rows.shape for make in stream()]
    [(4, 10)]
    """

    def __init__(
        self,
        profiles: ClassProfiles,
        *,
        leave_one_out: bool = True,
        keep_lone: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.profiles, self.leave_one_out, self.n_jobs = profiles, leave_one_out, n_jobs
        counts = np.bincount(profiles.members.indices, minlength=profiles.members.shape[1])
        self.n_documents = profiles.members.shape[0]
        self.n_classes = int((counts > 0).sum())  # a class without documents is none
        least = 2 if leave_one_out and not keep_lone else 1
        self.usable = counts[profiles.members.indices] >= least
        if self.n_classes < 2:
            self.usable[:] = False

    @cached_property
    def met(self) -> NDArray[np.int64]:
        """A bound on the classes that are listed for each document. O(words of the documents)."""
        profiles = self.profiles
        met = most_met(profiles.documents, profiles.members, profiles.index.indptr)
        return np.minimum(met, self.n_classes)

    @cached_property
    def true_classes(self) -> NDArray[np.int64]:
        """How many usable true classes each document has."""
        ends = np.concatenate(([0], np.cumsum(self.usable)))
        return np.diff(ends[self.profiles.members.indptr]).astype(np.int64)

    @property
    def n_left_out(self) -> int:
        """Pairs of a document and a true class of it that are left out of training."""
        return int(len(self.usable) - self.usable.sum())

    @property
    def n_pairs(self) -> int:
        """Pairs of T(S), without those that are left out."""
        own = np.diff(self.profiles.members.indptr)
        return int((self.true_classes * (self.n_classes - own)).sum())

    @property
    def n_met(self) -> int:
        """A bound on the pairs whose other class shares a word with the document."""
        return int((self.true_classes * self.met).sum())

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """First and last document, exclusively, of every block; the same for any n_jobs."""
        blocks, first, size = [], 0, 0
        for document, met in enumerate(self.met.tolist()):
            if size and size + met > BLOCK_PAIRS:
                blocks.append((first, document))
                first, size = document, 0
            size += met
        return [*blocks, (first, self.n_documents)]

    def similarities(self, first: int, last: int) -> Similarities:
        """Features of the documents from `first` on, below `last`, with the classes they meet."""
        own = self.profiles.members[first:last] if self.leave_one_out else None
        return similarities(
            self.profiles, self.profiles.documents[first:last], own=own, first=first
        )

    def own(self, first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Where the true classes of each document begin, their numbers, and if they are usable."""
        members = self.profiles.members
        ends = members.indptr[first : last + 1].astype(np.int64)
        inside = slice(ends[0], ends[-1])
        return ends - ends[0], members.indices[inside].astype(np.int64), self.usable[inside]

    def normalisation(
        self, stream: PairStream | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Least value and range of each feature over all documents and classes. One pass.

        A feature that is the same everywhere gets the range 1. A stream that is not scaled yet is
        scaled by the ranges, and fills its kept blocks in the same pass.
        """
        width = len(SIMILARITY_NAMES)
        low, high = np.full(width, np.inf), np.full(width, -np.inf)

        def look(number: int) -> tuple[Any, Any]:
            first, last = self.bounds[number]
            found = self.similarities(first, last)
            least, most = np.full(width, np.inf), np.full(width, -np.inf)
            widen(found.values, least, most)
            if len(found.values) < (last - first) * self.n_classes:
                widen(found.absent.reshape(1, -1), least, most)
            if stream is not None:
                stream.keep(number, found)
            return least, most

        def done(number: int, result: tuple[Any, Any]) -> None:
            np.minimum(low, result[0], out=low)
            np.maximum(high, result[1], out=high)

        run_threads(look, range(len(self.bounds)), n_jobs=self.n_jobs, done=done)
        spread = high - low
        spread = np.where(spread > 0, spread, 1.0)
        if stream is not None:
            stream.scale(spread)
        return low, spread

    def stream(
        self,
        width: NDArray[np.float64] | None,
        rivals: Rivals | None = None,
        fold_of: NDArray[np.int64] | None = None,
    ) -> PairStream:
        """A source of blocks of difference vectors for `solvers.streamed.fit_streamed`.

        Parameters
        ----------
        width : array of shape (10,) or None
            Range of each feature, which differences are divided by. None: `normalisation` sets it.
        rivals : Rivals, optional
            All by default.
        fold_of : int64 array of shape (m,), optional
            The fold of each document.
        """
        return PairStream(self, width, rivals or Rivals(), fold_of)

    def hits(
        self,
        weights: NDArray[np.float64],
        fold_of: NDArray[np.int64],
        blocks: Sequence[int] | None = None,
    ) -> NDArray[np.int64]:
        """How many held-out documents have a true class on top, (C, F). One pass.

        Parameters
        ----------
        weights : array of shape (C, F, 10)
            Those of [c, f] judge the documents of fold f; of features that are not normalised.
        fold_of : int64 array of shape (m,)
            The fold of each document; negative for documents that are ignored.
        blocks : sequence of int, optional
            The blocks of documents to use; all by default.
        """
        by_fold = np.ascontiguousarray(weights.transpose(1, 2, 0))
        total = np.zeros((weights.shape[1], weights.shape[0]), dtype=np.int64)

        def look(number: int) -> NDArray[np.int64]:
            bounds = self.bounds[number]
            found, own = self.similarities(*bounds), self.own(*bounds)
            hits = np.zeros_like(total)
            count_hits(
                found.indptr, found.classes, found.values, found.absent, *own, self.n_classes,
                fold_of[slice(*bounds)], by_fold, hits,
            )  # fmt: skip
            return hits

        def done(number: int, hits: NDArray[np.int64]) -> None:
            np.add(total, hits, out=total)

        numbers = range(len(self.bounds)) if blocks is None else blocks
        run_threads(look, numbers, n_jobs=self.n_jobs, done=done)
        return total.T


class PairStream:
    """Difference vectors Φ(x^y) - Φ(x^k), a block of documents at a time, for any number of passes.

    Blocks are kept up to 128 MB in total; the others are recomputed every time. The values are the
    same either way.
    """

    def __init__(
        self,
        pairs: TransformedSet,
        width: NDArray[np.float64] | None,
        rivals: Rivals,
        fold_of: NDArray[np.int64] | None,
    ) -> None:
        if rivals.kind not in _CODES:
            raise ParameterError(f"The rivals are {', '.join(_CODES)}, not {rivals.kind!r}.")
        self._pairs, self._rivals = pairs, rivals
        self._per_unit = np.ones(len(SIMILARITY_NAMES)) if width is None else 1.0 / width
        self._folds = np.full(pairs.n_documents, -1, dtype=np.int64) if fold_of is None else fold_of
        self._kept: dict[int, Block] = {}
        self._room, self._lock = KEPT_BYTES, Lock()

    def __call__(self) -> Iterable[Callable[[], Block]]:
        """One pass."""
        return (partial(self.block, number) for number in range(len(self._pairs.bounds)))

    def block(self, number: int) -> Block:
        """Rows, weights and folds of the documents of one block; O(classes they meet)."""
        block = self._kept.get(number)
        if block is not None:
            return block
        found = self._pairs.similarities(*self._pairs.bounds[number])
        return self.keep(number, found) or self._made(number, found)

    def keep(self, number: int, found: Similarities) -> Block | None:
        """Make and keep a block, if there is room for it."""
        needed = ROW_BYTES * self._most_rows(number, found)
        with self._lock:
            if needed > self._room:
                return None
            self._room -= needed
        block = self._made(number, found)
        with self._lock:
            self._room += needed - ROW_BYTES * len(block.rows)
            self._kept[number] = block
        return block

    def scale(self, width: NDArray[np.float64]) -> None:
        """Divide the kept blocks, and all later ones, by ranges."""
        self._per_unit = 1.0 / width
        for block in self._kept.values():
            np.multiply(block.rows, self._per_unit, out=block.rows)

    def _most_rows(self, number: int, found: Similarities) -> int:
        listed = np.diff(found.indptr)
        if self._rivals.kind != "all":
            listed = np.minimum(listed, self._rivals.n_pairs)
        return int(self._pairs.true_classes[slice(*self._pairs.bounds[number])] @ (listed + 1))

    def _made(self, number: int, found: Similarities) -> Block:
        pairs, rivals = self._pairs, self._rivals
        first, last = pairs.bounds[number]
        room = self._most_rows(number, found)
        scores = np.empty(0) if rivals.weights is None else found.values @ rivals.weights
        rows, weights = np.empty((room, len(SIMILARITY_NAMES))), np.empty(room)
        folds = np.empty(room, dtype=np.int64)
        size = difference_rows(
            found.indptr, found.classes, found.values, found.absent, *pairs.own(first, last),
            pairs.n_classes, self._per_unit, _CODES[rivals.kind], rivals.n_pairs, rivals.seed,
            first, scores, self._folds[first:last], rows, weights, folds,
        )  # fmt: skip
        if 2 * size < room:
            return Block(rows[:size].copy(), weights[:size].copy(), folds=folds[:size].copy())
        return Block(rows[:size], weights[:size], folds=folds[:size])
