"""Class profiles: the sums they are said to be, new classes, and hostile model folders."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, ModelError
from longtail.methods.pairs.profiles import ClassProfiles, checked_counts
from longtail.store import pack, unpack


def corpus(seed, m=8, n_words=7, n_classes=4, density=0.4):
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 4, (m, n_words)) * (rng.random((m, n_words)) < density)
    Y = (rng.random((m, n_classes)) < 0.35).astype(int)
    return X, Y


def same(one, other):
    for name in ClassProfiles.__annotations__:
        a, b = getattr(one, name), getattr(other, name)
        if sp.issparse(a):
            a, b = a.toarray(), b.toarray()
        assert np.array_equal(a, b), name


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_profiles_are_the_sums_they_are_said_to_be(seed):
    X, Y = corpus(seed)
    profiles = ClassProfiles.of(sp.csr_array(X), sp.csr_array(Y))
    assert np.array_equal(profiles.index.toarray(), X.T @ Y)
    assert profiles.index.has_sorted_indices
    assert np.array_equal(profiles.lengths, (X.T @ Y).sum(axis=0))
    assert np.array_equal(profiles.totals, X.sum(axis=0))
    assert np.array_equal(profiles.frequencies, (X > 0).sum(axis=0))
    assert profiles.n_documents == len(X)
    assert profiles.collection_length == X.sum()
    having = (X > 0).sum(axis=0)
    wanted = [np.log(len(X) / df) if df else 0.0 for df in having]
    assert np.allclose(profiles.inverse_frequencies, wanted)


def test_the_input_is_left_alone():
    X = sp.csr_matrix((np.array([1.0, 0.0, 2.0]), np.array([1, 0, 1]), np.array([0, 2, 3])))
    before = X.copy()
    ClassProfiles.of(X, sp.csr_matrix([[1], [1]]))
    assert np.array_equal(X.data, before.data)
    assert np.array_equal(X.indices, before.indices)


@pytest.mark.parametrize("value", [-1.0, 0.5, np.nan, np.inf, -np.inf, 2.0**54])
def test_only_counts_are_counts(value):
    X = sp.csr_array(np.array([[1.0, value]]))
    with pytest.raises(InputError, match="whole numbers"):
        checked_counts(X)
    with pytest.raises(InputError, match="whole numbers"):
        ClassProfiles.of(X, sp.csr_array([[1]]))


def test_matrices_that_do_not_fit_are_refused():
    X, Y = sp.csr_array([[1, 2], [0, 1]]), sp.csr_array([[1], [1]])
    profiles = ClassProfiles.of(X, Y)
    with pytest.raises(InputError, match="rows"):
        ClassProfiles.of(X, Y[:1])
    with pytest.raises(InputError, match="no documents"):
        ClassProfiles.of(X[:0], Y[:0])
    with pytest.raises(InputError, match="ones"):
        ClassProfiles.of(X, 2 * Y)
    with pytest.raises(InputError, match="words"):
        profiles.with_classes(sp.csr_array([[1, 2, 3]]), sp.csr_array([[1]]))
    with pytest.raises(InputError, match="rows"):
        profiles.with_classes(X, Y[:1])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_added_classes_are_those_made_from_scratch(seed):
    """All but the statistics of the collection, which stay; only new words get some."""
    (X, Y), (X_new, Y_new) = corpus(seed), corpus(seed + 1, m=5, n_classes=3)
    X[:, :2] = 0
    old = ClassProfiles.of(sp.csr_array(X), sp.csr_array(Y))
    more = old.with_classes(sp.csr_array(X_new), sp.csr_array(Y_new))
    together = np.zeros((len(X) + len(X_new), Y.shape[1] + Y_new.shape[1]))
    together[: len(X), : Y.shape[1]] = Y
    together[len(X) :, Y.shape[1] :] = Y_new
    scratch = ClassProfiles.of(sp.csr_array(np.vstack([X, X_new])), sp.csr_array(together))
    for name in ("index", "documents", "members"):
        assert np.array_equal(getattr(more, name).toarray(), getattr(scratch, name).toarray())
    assert np.array_equal(more.lengths, scratch.lengths)
    assert more.n_documents == old.n_documents
    assert more.collection_length == old.collection_length
    known = X.sum(axis=0) > 0
    assert np.array_equal(more.totals, np.where(known, X.sum(axis=0), X_new.sum(axis=0)))
    assert np.array_equal(
        more.frequencies, np.where(known, (X > 0).sum(axis=0), (X_new > 0).sum(axis=0))
    )
    assert (more.inverse_frequencies >= 0).all()


def test_no_idf_is_negative_where_new_documents_outnumber_the_collection():
    old = ClassProfiles.of(sp.csr_array([[1, 0], [1, 0]]), sp.csr_array([[1], [1]]))
    more = old.with_classes(sp.csr_array(np.ones((5, 2))), sp.csr_array(np.ones((5, 1))))
    assert more.frequencies.tolist() == [2, 5]
    assert more.inverse_frequencies.tolist() == [0.0, 0.0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_round_trip(seed):
    X, Y = corpus(seed)
    profiles = ClassProfiles.of(sp.csr_array(X), sp.csr_array(Y))
    same(ClassProfiles.from_arrays(profiles.to_arrays()), profiles)
    more = profiles.with_classes(sp.csr_array(X), sp.csr_array(Y))
    same(ClassProfiles.from_arrays(unpack(*pack(more.to_arrays()))), more)


def damaged(matrix, **parts):
    """A CSR matrix with some of its arrays replaced, as a hostile file could hold it."""
    out = matrix.copy()
    for name, value in parts.items():
        setattr(out, name, value)
    return out


def replaced(array, place, value):
    out = np.array(array)
    out[place] = value
    return out


HOSTILE = {
    "a name too many": lambda a: a | {"more": 1},
    "a name missing": lambda a: {k: v for k, v in a.items() if k != "totals"},
    "no dict": lambda a: list(a.values()),
    "documents are no matrix": lambda a: a | {"documents": a["documents"].toarray()},
    "documents by columns": lambda a: a | {"documents": sp.csc_array(a["documents"])},
    "a row too few": lambda a: a | {"documents": a["documents"][:-1]},
    "other words": lambda a: a | {"documents": a["documents"][:, :-1]},
    "a member too few": lambda a: a | {"members": a["members"][:-1]},
    "members that are not ones": lambda a: a | {"members": 2 * a["members"]},
    "a word out of range": lambda a: a | {
        "documents": damaged(a["documents"], indices=replaced(a["documents"].indices, 0, 999))
    },
    "a word below range": lambda a: a | {
        "documents": damaged(a["documents"], indices=replaced(a["documents"].indices, 0, -1))
    },
    "a class out of range": lambda a: a | {
        "members": damaged(a["members"], indices=replaced(a["members"].indices, -1, 50))
    },
    "rows that end before they begin": lambda a: a | {
        "documents": damaged(a["documents"], indptr=replaced(a["documents"].indptr, 1, 10**6))
    },
    "rows beyond the end": lambda a: a | {
        "documents": damaged(a["documents"], indptr=replaced(a["documents"].indptr, -1, 10**6))
    },
    "a word twice": lambda a: a | {
        "documents": damaged(
            a["documents"],
            indices=replaced(a["documents"].indices, 1, a["documents"].indices[0]),
        )
    },
    "NaN": lambda a: a | {
        "documents": damaged(a["documents"], data=replaced(a["documents"].data, 0, np.nan))
    },
    "a negative count": lambda a: a | {
        "documents": damaged(a["documents"], data=replaced(a["documents"].data, 0, -1))
    },
    "a stored zero": lambda a: a | {
        "documents": damaged(a["documents"], data=replaced(a["documents"].data, 0, 0))
    },
    "half a word": lambda a: a | {
        "documents": damaged(a["documents"], data=replaced(a["documents"].data, 0, 0.5))
    },
    "strings": lambda a: a | {"totals": a["totals"].astype(str)},
    "totals too short": lambda a: a | {"totals": a["totals"][:-1]},
    "totals NaN": lambda a: a | {"totals": replaced(a["totals"], 0, np.nan)},
    "totals infinite": lambda a: a | {"totals": replaced(a["totals"], 0, np.inf)},
    "totals negative": lambda a: a | {"totals": replaced(a["totals"], 0, -3)},
    "a known word without total": lambda a: a | {"totals": replaced(a["totals"], 0, 0)},
    "frequencies of floats": lambda a: a | {"frequencies": a["frequencies"].astype(float)},
    "frequencies negative": lambda a: a | {"frequencies": replaced(a["frequencies"], 0, -1)},
    "a known word in no document": lambda a: a | {"frequencies": replaced(a["frequencies"], 0, 0)},
    "an unknown word in documents": lambda a: a | {
        "frequencies": replaced(a["frequencies"], -1, 1)
    },
    "more documents than words": lambda a: a | {"frequencies": replaced(a["frequencies"], 0, 999)},
    "no documents": lambda a: a | {"n_documents": 0},
    "too many documents": lambda a: a | {"n_documents": 10**9},
    "half a document": lambda a: a | {"n_documents": 1.5},
    "length NaN": lambda a: a | {"collection_length": float("nan")},
    "length zero": lambda a: a | {"collection_length": 0.0},
    "length infinite": lambda a: a | {"collection_length": float("inf")},
    "length no number": lambda a: a | {"collection_length": "long"},
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_arrays_are_refused(case):
    X = np.array([[1, 2, 0, 0], [3, 0, 1, 0], [1, 1, 1, 0]])
    Y = np.array([[1, 0], [1, 1], [0, 1]])
    arrays = ClassProfiles.of(sp.csr_array(X), sp.csr_array(Y)).to_arrays()
    ClassProfiles.from_arrays(arrays)
    with pytest.raises(ModelError):
        ClassProfiles.from_arrays(HOSTILE[case](arrays))


def test_the_number_of_classes_can_be_demanded():
    arrays = ClassProfiles.of(sp.csr_array([[1, 2]]), sp.csr_array([[1, 0]])).to_arrays()
    ClassProfiles.from_arrays(arrays, n_classes=2)
    with pytest.raises(ModelError):
        ClassProfiles.from_arrays(arrays, n_classes=3)
    huge = sp.csr_array((np.ones(1), np.zeros(1, dtype=np.int64), [0, 1]), shape=(1, 2**40))
    for name in ("documents", "members"):
        with pytest.raises(ModelError):
            ClassProfiles.from_arrays(arrays | {name: huge}, n_classes=2)
