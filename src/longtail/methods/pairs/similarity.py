"""How similar a document is to a class: the ten features of the paper's Table 1.

Features 1 to 8 are sums over the words that document and class share; 9 and 10 are the distances
to the two nearest documents of the class. A class that shares no word with the document has zeros
and the largest distance, whichever class it is, so only the classes met on a walk through the
inverted index need work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._numba import csr_arrays
from longtail._sparse import from_ranked
from longtail.errors import InputError, ParameterError
from longtail.methods.pairs._neighbour_kernels import LARGEST, all_unit_weights
from longtail.methods.pairs._score_kernels import best_rows, frequent_shares, score_postings
from longtail.methods.pairs._similarity_kernels import fill_table, pair_rows
from longtail.methods.pairs.profiles import ClassProfiles, checked_counts, checked_members
from longtail.parameters import check_count
from longtail.runtime.executor import run_here_or_on_threads
from longtail.runtime.kept import kept_for

SIMILARITY_NAMES: tuple[str, ...] = (
    "log counts in the class",
    "log rarity in the collection",
    "inverse document frequency",
    "share of the class times idf",
    "log share of the class",
    "log share times idf",
    "log share over that in the collection",
    "shared words",
    "distance to the nearest document",
    "distance to the second nearest",
)
"""The ten features in the order of the paper's Table 1."""

ABSENT = np.array([0.0] * 8 + [LARGEST] * 2)
"""Features of a class that shares no word with the document."""
ABSENT.flags.writeable = False

BLOCK = 128  # documents per piece of work, whatever the number of threads
FREQUENT = 100  # a word is frequent if more than one in so many documents has it
TABLE_BYTES = 10**9  # bound on the tables kept for postings; larger ones are recomputed each time
_Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Similarities:
    """Features of a block of documents with the classes that they share a word with.

    Parameters
    ----------
    indptr : int64 array of shape (n + 1,)
        Where the classes of each document begin and end.
    classes : int64 array of shape (nnz,)
        Columns, ascending within a document.
    values : float64 array of shape (nnz, 10)
        Their features, not normalised.
    absent : float64 array of shape (10,)
        The features of all other classes: eight zeros and twice the largest distance.
    """

    indptr: NDArray[np.int64]
    classes: NDArray[np.int64]
    values: NDArray[np.float64]
    absent: NDArray[np.float64]


def similarities(
    profiles: ClassProfiles, X: Any, *, own: sp.csr_array | None = None, first: int = 0
) -> Similarities:
    """The ten features of documents with all classes that they share a word with.

    Parameters
    ----------
    profiles : ClassProfiles
    X : sparse matrix of shape (n, D)
        Counts of words. Words that the collection does not have are ignored.
    own : csr_array of shape (n, L), optional
        Leave-one-out: the documents are those of number `first`, `first` + 1, ... of the profiles,
        and these are their classes. Each is removed from the profiles of its own classes and is no
        neighbour of any document; the statistics of the collection stay. Its own classes are always
        listed, with `absent` if nothing is shared without it.
    first : int
        Number of the first document, with `own`.

    Returns
    -------
    Similarities

    Notes
    -----
    Cost per document: O(postings of its words, in classes and in documents). The first call with
    some profiles makes tables of 40 bytes for each entry of their index, unless that is more than 1
    GiB (then logarithms are recomputed for each document), and 24 for each entry of their
    documents; they are kept as long as the profiles. A thread needs 85 bytes per class and 12 per
    document. The result takes 88 bytes for each class of each document, so pass X in blocks; blocks
    of about ten documents are the fastest if many classes are met, because they stay in the
    processor's caches. Threads may call it at the same time.

    Examples
    --------
    >>> X = sp.csr_array(np.array([[2, 1, 0], [0, 1, 0], [0, 0, 4]]))
    >>> Y = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    >>> pairs = similarities(ClassProfiles.of(X, Y), sp.csr_array([[1, 0, 0]]))
    >>> pairs.classes.tolist()
    [0]
    >>> pairs.values.round(2).tolist()
    [[1.1, 1.61, 1.1, 0.55, 0.41, 0.44, 1.1, 1.0, 0.18, 1.41]]
    """
    counts = checked_counts(X, profiles.documents.shape[1])
    n, n_classes = counts.shape[0], profiles.members.shape[1]
    tables = _tables_of(profiles)
    if own is None:
        own = sp.csr_array((n, n_classes))
        left_out = np.empty(0, dtype=np.int64)
    else:
        own = checked_members(own)
        if own.shape != (n, n_classes):
            raise InputError(f"own has the shape {own.shape}, but needs {(n, n_classes)}.")
        if not 0 <= first <= profiles.documents.shape[0] - n:
            raise InputError(
                f"The documents {first} to {first + n - 1} are not all among the "
                f"{profiles.documents.shape[0]} of the profiles."
            )
        left_out = np.ascontiguousarray(tables.place[first : first + n])
    room = int(most_met(counts, own, tables.classes[0]).sum())
    indptr = np.zeros(n + 1, dtype=np.int64)
    classes = np.empty(room, dtype=np.int64)
    values = np.empty((room, len(SIMILARITY_NAMES)))
    model = (*tables.classes, *tables.neighbours)
    with tables.scratch() as scratch:
        rest = (*model, *scratch, indptr, classes, values)
        pair_rows(*csr_arrays(counts), *csr_arrays(own)[:2], left_out, *rest)
    end = indptr[-1]
    if 2 * end < room:
        return Similarities(indptr, classes[:end].copy(), values[:end].copy(), ABSENT)
    return Similarities(indptr, classes[:end], values[:end], ABSENT)


class ClassScorer:
    """Weights of the ten features, prepared to rank the classes of documents.

    Parameters
    ----------
    profiles : ClassProfiles
    weights : float64 array of shape (10,)
        Of any sign. They must include the normalisation of the features.

    Notes
    -----
    Making one costs a walk through the index; it keeps 8 bytes for each of its entries and shares
    the tables of `similarities`. Cost per document: O(postings of its words in classes, and in
    documents for words that are not frequent), plus the cost of the few classes that may be among
    the best k: only these are compared with all their documents. The result is exact: upper and
    lower bounds tell which classes may be among the best. A thread needs 37 bytes per class, 12 per
    document and 8 per word. Threads may share a scorer.

    Examples
    --------
    >>> X = sp.csr_array(np.array([[2, 1, 0], [0, 1, 0], [0, 0, 4]]))
    >>> Y = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    >>> scorer = ClassScorer(ClassProfiles.of(X, Y), np.array([0.0] * 7 + [1.0, -1.0, 0.0]))
    >>> scorer.topk(sp.csr_array([[0, 1, 2]]), k=1).toarray().round(2).tolist()
    [[0.0, 0.82]]
    """

    def __init__(self, profiles: ClassProfiles, weights: NDArray[Any]) -> None:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(SIMILARITY_NAMES),) or not np.isfinite(weights).all():
            raise ParameterError("weights must be ten finite numbers, one for each feature.")
        tables = _tables_of(profiles)
        indptr, classes, counts, _, unit, lengths, idf, rarity, log_rarity = tables.classes
        scores = np.empty(len(counts))
        score_postings(
            indptr, classes, counts, unit, lengths, idf, rarity, log_rarity, weights[:8], scores
        )
        n, n_classes = profiles.members.shape
        known = np.flatnonzero(np.diff(tables.slots[0])).astype(np.int32)
        frequent = np.diff(tables.neighbours[0]) > n / FREQUENT
        shares = np.empty(n_classes)
        frequent_shares(*tables.documents, frequent, *tables.slots, shares)
        self._model: _Arrays = (
            indptr, classes, scores, idf, *tables.neighbours, *tables.documents, frequent, shares,
        )  # fmt: skip
        self._distances = float(weights[8]), float(weights[9]), float(weights @ ABSENT)
        self._known = known
        self._shape = len(idf), n_classes
        self._scratch = _Pool(
            lambda: (
                np.zeros(n_classes),  # sums of features 1 to 8
                *_met_and_near(n_classes, n),
                np.zeros(len(idf)),  # the document
                np.empty(n_classes),  # the largest score possible
            )
        )

    def topk(self, X: Any, k: int, *, n_jobs: int | None = None) -> sp.csr_array:
        """The k best classes of every document with their scores.

        Parameters
        ----------
        X : sparse matrix of shape (n, D)
            Counts of words. Words that the collection does not have are ignored.
        k : int
            Classes per document.
        n_jobs : int, optional
            Threads, as in scikit-learn; the result does not depend on it.

        Returns
        -------
        csr_array of shape (n, L)
            Exactly k stored scores per row, or one for each class with documents if these are
            fewer; ties go to the smaller column. A class without documents is unknown and never
            listed. Classes that share no word with the document all have the same score and are
            ranked by it.
        """
        check_count(k=k)
        counts = checked_counts(X, self._shape[0])
        n, k = counts.shape[0], min(int(k), len(self._known))
        points = csr_arrays(counts)
        model = (*self._distances, self._known, *self._model)
        labels = np.empty((n, k), dtype=np.int32)
        values = np.empty((n, k))

        def work(start: int) -> None:
            with self._scratch() as scratch:
                rest = (*model, *scratch, labels, values)
                best_rows(*points, start, min(start + BLOCK, n), *rest)

        run_here_or_on_threads(work, range(0, n if k else 0, BLOCK), n_jobs=n_jobs)
        return from_ranked(labels, values, self._shape[1])


class _Tables:
    """All that can be computed from profiles before a document is seen.

    `classes` are the postings of words in classes with what they add to features 1 to 8;
    `neighbours` the postings of words in documents, as tf-idf of unit length, the places of the
    documents of each class and the classes of each place; `documents` the same vectors by places.
    Words without weight, which every document has, have no postings in documents.

    Memory: 40 bytes for each entry of the index (none beyond `TABLE_BYTES`), 24 for each entry of
    the documents, 36 per document, 40 per word and 8 per class.
    """

    def __init__(self, profiles: ClassProfiles) -> None:
        indptr, classes, counts = csr_arrays(profiles.index)
        idf, rarity = profiles.inverse_frequencies, profiles.rarities
        unit, lengths = profiles.unit, profiles.lengths
        kept = len(counts) if 40 * len(counts) <= TABLE_BYTES else 0
        table = np.empty((kept, 5))
        if kept:
            fill_table(indptr, classes, counts, unit, lengths, idf, rarity, table)
        self.classes: tuple[Any, ...] = (
            indptr, classes, counts, table, unit, lengths, idf, rarity, np.log1p(rarity),
        )  # fmt: skip
        order = _by_first_class(profiles.members)
        self.place = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order))
        members, unit = profiles.members[order], profiles.documents[order]
        weights = np.empty(unit.nnz)
        all_unit_weights(*csr_arrays(unit), idf, weights)
        unit.data = weights
        unit.eliminate_zeros()
        self.slots = csr_arrays(members.T.tocsr())[:2]
        self.neighbours: _Arrays = (
            *csr_arrays(unit.T.tocsr()), *self.slots, *csr_arrays(members)[:2],
        )  # fmt: skip
        self.documents = csr_arrays(unit)
        n, n_classes = members.shape
        self.scratch = _Pool(
            lambda: (
                np.zeros((n_classes, 8)),  # sums of features 1 to 8
                *_met_and_near(n_classes, n),
            )
        )


class _Pool:
    """Working arrays for threads; kernels leave them unchanged."""

    def __init__(self, make: Callable[[], _Arrays]) -> None:
        self._make = make
        self._free: deque[_Arrays] = deque()

    @contextmanager
    def __call__(self) -> Iterator[_Arrays]:
        """Arrays for one thread; they are not reused after an error."""
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = self._make()
        yield scratch
        self._free.append(scratch)


def _tables_of(profiles: ClassProfiles) -> _Tables:
    """The tables of profiles, made once and kept as long as the profiles. O(nnz + D + L)."""
    return kept_for(profiles, "tables", (), lambda: _Tables(profiles))


def _met_and_near(n_classes: int, n: int) -> _Arrays:
    return (
        np.zeros(n_classes, dtype=np.uint8),  # whether a class was met
        np.empty(n_classes + 1, dtype=np.int32),  # the classes met
        np.zeros(n),  # cosines
        np.empty(n, dtype=np.int32),  # the documents near
        np.zeros(n_classes),  # largest cosine in a class
        np.zeros(n_classes),  # second largest
    )


def _by_first_class(members: sp.csr_array) -> NDArray[np.int64]:
    """An order of the documents in which those of a class are adjacent."""
    first_class = np.full(members.shape[0], members.shape[1], dtype=np.int64)
    with_class = np.flatnonzero(np.diff(members.indptr))
    first_class[with_class] = members.indices[members.indptr[with_class]]
    return np.argsort(first_class, kind="stable")


def most_met(counts: sp.csr_array, own: sp.csr_array, indptr: NDArray[Any]) -> NDArray[np.int64]:
    """A bound on how many classes each document meets, with its own; `indptr` is the index's."""
    postings = np.concatenate(([0], np.cumsum(np.diff(indptr)[counts.indices])))
    met = np.diff(postings[counts.indptr]) + np.diff(own.indptr)
    return np.minimum(met, own.shape[1]).astype(np.int64)
