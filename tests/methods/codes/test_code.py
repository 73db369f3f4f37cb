"""Codes: the paper's two figures exactly, and its conditions on random clusterings."""

from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from longtail.errors import ParameterError
from longtail.labels import LabelClusters
from longtail.methods.codes.code import (
    batch_size,
    encode,
    hashed_code,
    random_code,
    robust_code,
)
from tests.methods.codes.conditions import shared_bits

FIGURE_1 = [
    (2, 3, 5), (2, 4, 5), (1, 2, 5), (1, 5, 3), (1, 2, 6), (3, 5, 6), (3, 4, 5), (2, 5, 6),
]  # fmt: skip
FIGURE_2 = {
    1: {1, 2, 3, 4, 5}, 2: {1, 6, 7, 8, 9}, 3: {2, 6, 10, 11, 12}, 4: {3, 7, 10, 13, 14},
    5: {4, 8, 11, 13, 15}, 6: {5, 9, 12, 14, 15},
    7: {16, 17, 18, 19, 20}, 8: {16, 21, 22, 23, 24}, 9: {17, 21, 25, 26, 27},
    10: {18, 22, 25, 28, 29}, 11: {19, 23, 26, 28, 30}, 12: {20, 24, 27, 29, 30},
}  # fmt: skip


def label_set(*labels, n=8):
    row = np.zeros((1, n), dtype=np.uint8)
    row[0, [label - 1 for label in labels]] = 1
    return sp.csr_array(row)


def clusters_of(of_label):
    return LabelClusters(np.empty(0, dtype=np.int64), np.asarray(of_label, dtype=np.int64))


@pytest.fixture
def figure_1():
    return hashed_code(np.array(FIGURE_1) - 1, 6)


def bits(matrix):
    return [(row + 1).tolist() for row in map(np.flatnonzero, matrix.toarray())]


def test_figure_1_gives_the_encodings_of_single_labels(figure_1):
    assert bits(encode(label_set(1), figure_1)) == [[2, 3, 5]]
    assert bits(encode(label_set(4), figure_1)) == [[1, 3, 5]]


def test_figure_1_gives_the_false_positive(figure_1):
    two, three = encode(label_set(1, 4), figure_1), encode(label_set(1, 3, 4), figure_1)
    assert bits(two) == bits(three) == [[1, 2, 3, 5]]


def test_figure_2_gives_the_table_of_representative_bits():
    code = robust_code(clusters_of(list(range(15)) * 2), 2)
    assert code.shape == (30, 12)
    table = {b + 1: set((np.flatnonzero(code.toarray()[:, b]) + 1).tolist()) for b in range(12)}
    assert table == FIGURE_2


@given(st.integers(1, 3000), st.integers(1, 5))
def test_a_batch_is_as_small_as_it_can_be(n_clusters, n_hashes):
    q = batch_size(n_clusters, n_hashes)
    assert comb(q, n_hashes) >= n_clusters
    assert q == n_hashes or comb(q - 1, n_hashes) < n_clusters


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=60), st.integers(1, 4))
def test_robust_codes_keep_both_conditions(of_label, n_hashes):
    used = sorted(set(of_label) - {-1})
    of_label = np.array([used.index(c) if c >= 0 else -1 for c in of_label])
    clusters = clusters_of(of_label)
    code = robust_code(clusters, n_hashes)
    assert code.shape == (
        len(of_label), clusters.largest * batch_size(clusters.number, n_hashes)
    )  # fmt: skip
    assert np.array_equal(np.diff(code.indptr), np.where(of_label >= 0, n_hashes, 0))
    coded = np.flatnonzero(of_label >= 0)
    within, between = shared_bits(sp.csr_array(code[coded]), of_label[coded])
    assert within == 0
    assert between <= n_hashes - 1


def test_a_batch_may_be_larger_than_needed_but_not_smaller():
    clusters = clusters_of([0, 1, 2, 3])
    assert robust_code(clusters, 2, batch=7).shape == (4, 7)
    with pytest.raises(ParameterError, match="4 bits would do"):
        robust_code(clusters, 2, batch=3)
    with pytest.raises(ParameterError, match="at least 3"):
        robust_code(clusters, 3, batch=2)
    with pytest.raises(ParameterError, match="n_hashes"):
        robust_code(clusters, 0)


def test_no_clusters_make_an_empty_code():
    assert robust_code(clusters_of([-1, -1]), 2).shape == (2, 0)


def test_random_codes_are_seeded_and_spread():
    labels = np.arange(500)
    code = random_code(labels, 500, 100, 3, random_state=1)
    assert (code != random_code(labels, 500, 100, 3, random_state=1)).nnz == 0
    assert (code != random_code(labels, 500, 100, 3, random_state=2)).nnz > 0
    a_bit = np.asarray(code.sum(axis=0)).ravel()
    assert a_bit.min() > 5
    assert a_bit.max() < 30
    assert set(np.diff(code.indptr).tolist()) <= {1, 2, 3}


@given(st.integers(0, 2**16), st.integers(1, 12), st.integers(1, 12))
def test_a_set_has_the_bits_of_its_members(seed, n_labels, n_bits):
    rng = np.random.default_rng(seed)
    code = sp.csr_array((rng.random((n_labels, n_bits)) < 0.4).astype(np.uint8))
    Y = sp.csr_array((rng.random((5, n_labels)) < 0.4).astype(np.uint8))
    expected = (Y.toarray()[:, :, None] & code.toarray()[None]).any(axis=1)
    encoded = encode(Y, code)
    assert np.array_equal(encoded.toarray(), expected)
    assert (encoded.data == 1).all()
