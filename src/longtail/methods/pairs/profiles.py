"""Classes as mega-documents: what the training documents of each class say together.

A class is the concatenation of its documents. An inverted index leads from each word to the classes
that use it, so that a document meets only classes it shares a word with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longtail._sparse import as_csr
from longtail.errors import InputError, ModelError
from longtail.methods._soundness import is_array

LARGEST_COUNT = 2.0**53  # larger whole numbers are not exact in float64
_KEPT = ("totals", "frequencies", "n_documents", "collection_length", "documents", "members")


@dataclass(frozen=True, eq=False)
class ClassProfiles:
    """Profiles of classes, statistics of the collection, and the documents they come from.

    Make one with `of`. The arrays must not be changed afterwards.

    Parameters
    ----------
    totals : float64 array of shape (D,)
        Count of each word in the collection, S_t; zero for words it does not have.
    frequencies : int64 array of shape (D,)
        Documents of the collection with each word.
    n_documents : int
        Documents of the collection, m.
    collection_length : float
        Words of the collection, l_S.
    documents : csr_array of shape (n, D)
        Counts of the documents that are neighbours of others: those of the collection and, behind
        them, those of classes that were added later.
    members : csr_array of shape (n, L)
        Ones: the classes of each document, any number.
    unit : float
        The value of a count of one: 1 for words, less for weights of terms in small units.

    Attributes
    ----------
    index : csr_array of shape (D, L)
        Count of each word in the mega-document of each class, y_t in the paper's Table 1.
    lengths : float64 array of shape (L,)
        Words of each class, \\|y\\|.

    Notes
    -----
    Memory: 12 bytes for each entry of `documents`, `members` and `index`, which has at most as
    many entries as `documents` where a document has one class; 8 bytes for each class and 16 for
    each word.

    Examples
    --------
    >>> X = sp.csr_array(np.array([[2, 1, 0], [0, 1, 0], [0, 0, 4]]))
    >>> Y = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    >>> profiles = ClassProfiles.of(X, Y)
    >>> profiles.index.toarray().T.tolist(), profiles.lengths.tolist()
    ([[2.0, 2.0, 0.0], [0.0, 0.0, 4.0]], [4.0, 4.0])
    >>> profiles.totals.tolist(), profiles.frequencies.tolist()
    ([2.0, 2.0, 4.0], [1, 2, 1])
    """

    totals: NDArray[np.float64]
    frequencies: NDArray[np.int64]
    n_documents: int
    collection_length: float
    documents: sp.csr_array
    members: sp.csr_array
    unit: float = 1.0

    @classmethod
    def of(cls, X: Any, Y: Any, *, unit: float = 1.0) -> Self:
        """Profiles of the classes of a collection of documents.

        Parameters
        ----------
        X : sparse matrix of shape (m, D)
            Counts of words: whole numbers, not negative.
        Y : sparse matrix of shape (m, L)
            Ones: the classes of each document. A class may be without documents, and a document
            without classes; it then counts in the statistics of the collection only.
        unit : float
            The value of a count of one.

        Notes
        -----
        Cost: O(nnz(X)·labels per document + D + L).
        """
        documents, members = checked_counts(X), checked_members(Y)
        _check_rows(documents, members)
        if not documents.shape[0]:
            raise InputError("There are no documents; class profiles need at least one.")
        totals, frequencies = _statistics(documents)
        return cls(
            totals, frequencies, documents.shape[0], float(totals.sum()), documents, members, unit
        )

    def with_classes(self, X: Any, Y_new: Any) -> Self:
        """These profiles and those of more classes, without reading the old documents again.

        The statistics of the collection stay as they are, so that nothing changes between the old
        classes and a document of old words: the number of documents, the length of the
        collection, and counts and frequencies of its words. Words that the collection does not
        have get theirs from the new documents.

        Parameters
        ----------
        X : sparse matrix of shape (n, D)
            Counts of words in the documents of the new classes.
        Y_new : sparse matrix of shape (n, L_new)
            Ones: the classes of each document, which become columns behind the present ones.

        Examples
        --------
        >>> X = sp.csr_array(np.array([[2, 1, 0], [0, 1, 0]]))
        >>> profiles = ClassProfiles.of(X, sp.csr_array(np.array([[1], [1]])))
        >>> more = profiles.with_classes(sp.csr_array([[0, 3, 4]]), sp.csr_array([[1]]))
        >>> more.lengths.tolist(), more.totals.tolist()
        ([4.0, 7.0], [2.0, 2.0, 4.0])
        """
        documents, members = checked_counts(X, self.documents.shape[1]), checked_members(Y_new)
        _check_rows(documents, members)
        totals, frequencies = _statistics(documents)
        known = self.totals > 0
        return replace(
            self,
            totals=np.where(known, self.totals, totals),
            frequencies=np.where(known, self.frequencies, frequencies),
            documents=sp.csr_array(sp.vstack([self.documents, documents], format="csr")),
            members=sp.csr_array(sp.block_diag([self.members, members], format="csr")),
        )

    @cached_property
    def index(self) -> sp.csr_array:
        """Count of each word in the mega-document of each class, (D, L)."""
        return as_csr((self.documents.T @ self.members).tocsr())

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Words of each class, (L,)."""
        return self.members.T @ np.asarray(self.documents.sum(axis=1)).ravel()

    @property
    def inverse_frequencies(self) -> NDArray[np.float64]:
        """I_t = ln(m / df_t) of each word, shape (D,); zero for words that no document has.

        Never negative: a word of added classes may occur in more of their documents than the
        collection has; it then counts as little as a word that every document has.
        """
        share = self.n_documents / np.maximum(self.frequencies, 1)
        return np.where(self.frequencies > 0, np.log(np.maximum(share, 1.0)), 0.0)

    @property
    def rarities(self) -> NDArray[np.float64]:
        """l_S / S_t of each word, shape (D,)."""
        return self.collection_length / np.maximum(self.totals, 1.0)

    def to_arrays(self) -> dict[str, Any]:
        """The arrays of a model folder; index and lengths are recomputed from the documents."""
        return {name: getattr(self, name) for name in _KEPT}

    @classmethod
    def from_arrays(cls, arrays: Any, *, n_classes: int | None = None, unit: float = 1.0) -> Self:
        """The inverse of `to_arrays`; an error for arrays that are no valid profiles.

        Parameters
        ----------
        arrays : dict
        n_classes : int, optional
            What L must be; checked before any array of that size is made.
        unit : float
            The value of a count of one.

        Notes
        -----
        Cost: as for `of`.

        Examples
        --------
        >>> profiles = ClassProfiles.of(sp.csr_array([[1, 2]]), sp.csr_array([[1]]))
        >>> ClassProfiles.from_arrays(profiles.to_arrays()).lengths.tolist()
        [3.0]
        >>> ClassProfiles.from_arrays({})
        Traceback (most recent call last):
            ...
        longtail.errors.ModelError: The class profiles of the model are incomplete; it was altered.
        """
        if not isinstance(arrays, dict) or set(arrays) != set(_KEPT):
            raise ModelError("The class profiles of the model are incomplete; it was altered.")
        documents, members = arrays["documents"], arrays["members"]
        if not (
            _is_sound(documents)
            and _is_sound(members)
            and documents.shape[0] == members.shape[0]
            and n_classes in (None, members.shape[1])
            and _are_counts(documents.data, least=1)
            and (members.data == 1).all()
        ):
            raise ModelError(
                "The documents of the class profiles are damaged; the model was altered."
            )
        n_documents, length = arrays["n_documents"], arrays["collection_length"]
        totals, frequencies = arrays["totals"], arrays["frequencies"]
        damaged = ModelError(
            "The statistics of the class profiles are damaged; the model was altered."
        )
        if np.shape(totals) != (documents.shape[1],):  # before an array of that size is made
            raise damaged
        known = np.bincount(documents.indices, minlength=documents.shape[1]) > 0
        if not (
            _is_vector(totals, np.float64, known)
            and _is_vector(frequencies, np.int64, known)
            and (totals >= frequencies).all()
            and type(n_documents) is int
            and 1 <= n_documents <= documents.shape[0]
            and type(length) is float
            and 0 <= length < np.inf
            and (length > 0 or not known.any())
        ):
            raise damaged
        return cls(
            totals, frequencies, n_documents, length, as_csr(documents, np.float64),
            as_csr(members, np.float64), unit,
        )  # fmt: skip


def checked_counts(X: Any, n_words: int | None = None) -> sp.csr_array:
    """Counts of words as float64 CSR without stored zeros; an error for other values. O(nnz).

    Examples
    --------
    >>> checked_counts(sp.csr_array([[0.5, 1.0]]))
    Traceback (most recent call last):
        ...
    longtail.errors.InputError: X holds 0.5, but counts of words are whole numbers from 0 on; pass
    raw counts, not tf-idf or other weights.
    """
    counts = as_csr(X, np.float64)
    if n_words is not None and counts.shape[1] != n_words:
        raise InputError(f"X has {counts.shape[1]} words, but the class profiles have {n_words}.")
    if not _are_counts(counts.data, least=0):
        odd = (counts.data < 0) | (counts.data != np.floor(counts.data))
        odd |= ~(counts.data <= LARGEST_COUNT)
        raise InputError(
            f"X holds {counts.data[odd][0]:g}, but counts of words are whole numbers from 0 on; "
            "pass raw counts, not tf-idf or other weights."
        )
    return _without_zeros(counts)


def checked_members(Y: Any) -> sp.csr_array:
    """Ones in CSR without stored zeros; an error for other values. O(nnz).

    Examples
    --------
    >>> checked_members(sp.csr_array([[2]]))
    Traceback (most recent call last):
        ...
    longtail.errors.InputError: Y must hold ones only, one for each class of a document.
    """
    members = _without_zeros(as_csr(Y, np.float64))
    if (members.data != 1).any():
        raise InputError("Y must hold ones only, one for each class of a document.")
    return members


def _check_rows(documents: sp.csr_array, members: sp.csr_array) -> None:
    if documents.shape[0] != members.shape[0]:
        raise InputError(f"X has {documents.shape[0]} rows, but Y has {members.shape[0]}.")


def _without_zeros(matrix: sp.csr_array) -> sp.csr_array:
    if not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _statistics(documents: sp.csr_array) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Counts of all words, and in how many documents they occur."""
    frequencies = np.bincount(documents.indices, minlength=documents.shape[1]).astype(np.int64)
    return np.asarray(documents.sum(axis=0), dtype=np.float64).ravel(), frequencies


def _are_counts(values: NDArray[Any], *, least: int) -> bool:
    return bool(
        ((values >= least) & (values <= LARGEST_COUNT) & (values == np.floor(values))).all()
    )


def _is_sound(matrix: Any) -> bool:
    """Whether something is a CSR matrix of real numbers, in canonical form, that can be used."""
    if not isinstance(matrix, sp.csr_array) or matrix.data.dtype.kind not in "fiu":
        return False
    try:
        fresh = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        fresh.check_format(full_check=True)
    except (ValueError, TypeError):
        return False
    return bool(fresh.has_canonical_format)


def _is_vector(values: Any, dtype: Any, known: NDArray[np.bool_]) -> bool:
    """Whether these are counts of words, positive where a word is known and zero elsewhere."""
    return (
        is_array(values, known.shape, dtype)
        and _are_counts(values, least=0)
        and bool(((values > 0) == known).all())
    )
