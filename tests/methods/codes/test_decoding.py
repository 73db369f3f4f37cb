"""Decoding: against a plain reading of the paper, Figure 1's error, and Theorem 1."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError
from longtail.labels import LabelClusters
from longtail.methods.codes import (
    Taking,
    decode_filter,
    decode_robust,
    encode,
    error_bound,
    hashed_code,
    identify_clusters,
    robust_code,
)
from longtail.methods.codes._decode_kernels import chance
from longtail.runtime.seeds import point_seeds
from tests.methods.codes.test_code import FIGURE_1


def robust(of_label, n_hashes=2):
    clusters = LabelClusters(np.empty(0, dtype=np.int64), np.asarray(of_label, dtype=np.int64))
    return robust_code(clusters, n_hashes)


def labels_of(matrix):
    return [row.indices.tolist() for row in (matrix[[i]] for i in range(matrix.shape[0]))]


def log_odds(bits):
    return np.where(np.asarray(bits) > 0, 2.0, -2.0)


def read_plainly(odds, code, of_label, threshold):
    """Steps a and b of the paper, ties by sums of posteriors, then the first cluster."""
    code = code.toarray().astype(bool)
    out = []
    for row in odds:
        on, posterior = row >= 0, 1 / (1 + np.exp(-row))
        best, best_key = None, (0, 0.0)
        for c in range(of_label.max(initial=-1) + 1):
            its_bits = code[of_label == c].any(axis=0)
            key = (int(on[its_bits].sum()), float(posterior[its_bits].sum()))
            if key[0] > 0 and (best is None or key[0] > best_key[0] or (
                key[0] == best_key[0] and key[1] > best_key[1] + 1e-12
            )):  # fmt: skip
                best, best_key = c, key
        out.append([
            label for label in range(len(code))
            if best is not None and of_label[label] == best
            and on[code[label]].sum() >= threshold * code[label].sum()
            and on[code[label]].any()
        ])  # fmt: skip
    return out


def random_partition(rng, n_labels):
    of_label = rng.integers(-1, max(1, n_labels // 2), size=n_labels)
    used = np.unique(of_label[of_label >= 0])
    return np.where(of_label >= 0, np.searchsorted(used, of_label), -1)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 4), st.sampled_from([0.3, 0.5, 1]))
def test_robust_decoding_is_the_papers(seed, n_labels, n_hashes, threshold):
    rng = np.random.default_rng(seed)
    of_label = random_partition(rng, n_labels)
    code = robust(of_label, n_hashes)
    odds = rng.normal(size=(6, code.shape[1]))
    odds[rng.random(odds.shape) < 0.3] = 0.0  # ties; a bit is on from one half on
    decoded = decode_robust(odds, code, of_label, Taking(threshold))
    assert labels_of(decoded) == read_plainly(odds, code, of_label, threshold)


def test_figure_1_one_wrong_bit_makes_three_wrong_labels():
    code = hashed_code(np.array(FIGURE_1) - 1, 6)
    true = sp.csr_array(np.eye(8, dtype=np.uint8)[[0]] + np.eye(8, dtype=np.uint8)[[3]])
    right = encode(true, code).toarray()
    assert labels_of(decode_filter(log_odds(right), code)) == [[0, 2, 3]]  # l3 is a false positive
    wrong = right.copy()
    wrong[0, 2] = 0
    assert wrong.tolist() == [[1, 1, 0, 0, 1, 0]]
    assert labels_of(decode_filter(log_odds(wrong), code)) == [[2]]  # l1 and l4 lost, l3 wrong


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.integers(1, 15), st.integers(1, 12), st.sampled_from([0.4, 1.0]))
def test_standard_decoding_asks_for_the_bits_of_each_label(seed, n_labels, n_bits, threshold):
    rng = np.random.default_rng(seed)
    drawn = hashed_code(rng.integers(n_bits, size=(n_labels, 3)), n_bits)
    odds = rng.normal(size=(5, n_bits))
    code = drawn.toarray().astype(bool)
    expected = [
        [
            label for label in range(n_labels)
            if (row[code[label]] >= 0).any()
            and (row[code[label]] >= 0).sum() >= threshold * code[label].sum()
        ]
        for row in odds
    ]  # fmt: skip
    assert labels_of(decode_filter(odds, drawn, Taking(threshold))) == expected


def test_chance_is_uniform_and_does_not_repeat():
    draws = np.array([[chance(seed, label) for label in range(60)] for seed in range(60)])
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(draws.mean() - 0.5) < 0.02
    assert abs(draws.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(draws[:-1].ravel(), draws[1:].ravel())[0, 1]) < 0.05
    assert len(np.unique(draws)) == draws.size


def test_decoding_by_chance_takes_labels_as_often_as_their_bits_are_on():
    of_label = np.zeros(2, dtype=np.int64)
    code = robust(of_label, 4)
    by_chance = Taking(by_chance=True)
    n = 4000
    odds = np.tile(log_odds([1, 1, 1, 1, 1, 0, 0, 0]), (n, 1))
    first = decode_robust(odds, code, of_label, by_chance)
    chosen = first.toarray().mean(axis=0)
    assert chosen[0] == 1.0
    assert abs(chosen[1] - 0.25) < 0.03
    assert (decode_robust(odds, code, of_label, by_chance) != first).nnz == 0
    other = decode_robust(odds, code, of_label, Taking(by_chance=True, random_state=1))
    assert (other != first).nnz > 0
    seeds = point_seeds(n, 0)
    same = decode_robust(odds, code, of_label, Taking(by_chance=True, seeds=seeds))
    assert (same != first).nnz == 0
    later = decode_robust(odds[100:], code, of_label, Taking(by_chance=True, seeds=seeds[100:]))
    assert (later != first[100:]).nnz == 0


def test_a_seed_a_row_is_wanted():
    code = robust(np.zeros(2, dtype=np.int64), 4)
    for seeds in (np.zeros(2, dtype=np.uint64), np.zeros(3, dtype=np.int64)):
        for decode in (decode_filter, lambda *given: decode_robust(*given[:2], [0, 0], given[2])):
            with pytest.raises(InputError, match="3 numbers of type uint64"):
                decode(np.zeros((3, 8)), code, Taking(by_chance=True, seeds=seeds))


def expected_wrong_labels(code, of_label, bits, true):
    """Wrong labels, in expectation over decoding by chance, counted label by label."""
    cluster = identify_clusters(log_odds(bits), code, of_label)[:, 0]
    code = code.toarray()
    share = (code @ bits.T).T / np.maximum(code.sum(axis=1), 1)
    share[of_label[None, :] != cluster[:, None]] = 0
    return np.abs(share - true).sum(axis=1)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 2**32), st.integers(1, 24), st.integers(1, 4), st.floats(0, 0.6))
def test_theorem_1(seed, n_labels, n_hashes, error_rate):
    """Wrong labels never exceed twice the wrong bits, whatever the errors."""
    rng = np.random.default_rng(seed)
    of_label = rng.integers(0, max(1, n_labels // 2), size=n_labels)
    of_label = np.searchsorted(np.unique(of_label), of_label)
    code = robust(of_label, n_hashes)
    n = 20
    its = rng.integers(of_label.max() + 1, size=n)  # each set within one cluster: condition (2)
    true = (rng.random((n, n_labels)) < 0.7) & (of_label[None, :] == its[:, None])
    right = encode(sp.csr_array(true.astype(np.uint8)), code).toarray()
    bits = right ^ (rng.random(right.shape) < error_rate)
    wrong_bits = (bits != right).sum(axis=1)
    wrong_labels = expected_wrong_labels(code, of_label, bits, true)
    assert (wrong_labels <= 2 * wrong_bits + 1e-9).all()
    all_bits = decode_robust(log_odds(bits), code, of_label).toarray()
    assert (np.abs(all_bits - true).sum(axis=1) <= 2 * wrong_bits).all()
    bound = error_bound(bits, right, n_labels)
    assert wrong_labels.sum() / (n * n_labels) <= bound + 1e-12
    assert bound == pytest.approx(2 * wrong_bits.sum() / (n * n_labels))


def test_theorem_1_says_more_than_nothing_and_standard_filters_break_it():
    """One wrong bit of Figure 1 costs three labels, which no robust code allows."""
    assert error_bound([[1, 0]], [[1, 1]], 2) == 1.0
    code = hashed_code(np.array(FIGURE_1) - 1, 6)
    true = np.zeros((1, 8))
    true[0, [0, 3]] = 1
    predicted = decode_filter(log_odds([[1, 1, 0, 0, 1, 0]]), code).toarray()
    assert np.abs(predicted - true).sum() == 3 > 2 * 1


def test_the_decoding_of_wrong_bits_meets_the_expectation():
    """The kernel's draws, averaged, are what the theorem's expectation counts."""
    rng = np.random.default_rng(5)
    of_label = np.repeat(np.arange(6), 3)
    code = robust(of_label, 3)
    true = np.zeros((1, 18))
    true[0, [0, 1]] = 1
    right = encode(sp.csr_array(true.astype(np.uint8)), code).toarray()
    bits = right ^ (rng.random(right.shape) < 0.2)
    many = np.repeat(bits, 5000, axis=0)
    drawn = decode_robust(log_odds(many), code, of_label, Taking(by_chance=True)).toarray()
    wrong = np.abs(drawn - true).sum(axis=1).mean()
    assert wrong == pytest.approx(expected_wrong_labels(code, of_label, bits, true)[0], abs=0.05)


def test_one_point_may_be_given_flat():
    assert error_bound([1, 1, 0, 0], [1, 0, 0, 0], 8) == error_bound(
        [[1, 1, 0, 0]], [[1, 0, 0, 0]], 8
    )


@pytest.mark.parametrize(
    ("odds", "of_label"),
    [
        (np.ones((1, 2)), [0, 1, 2]),
        (np.ones((1, 1)), [0, 1, 2]),
        (np.ones((1, 3)), [0, 1]),
        (np.ones((1, 3)), [0, 1, -1]),
        (np.ones((1, 3)), [0, 1, -7]),
        (np.ones((1, 3)), [0.0, 1.0, 2.0]),
    ],
)
def test_decoders_refuse_what_does_not_fit_the_code(odds, of_label):
    code = hashed_code([[0, 1], [1, 2], [0, 2]], 3)
    with pytest.raises(InputError):
        decode_robust(odds, code, np.array(of_label))
    with pytest.raises(InputError):
        identify_clusters(odds, code, np.array(of_label))
    if odds.shape[1] != 3:
        with pytest.raises(InputError):
            decode_filter(odds, code)


def test_the_bound_refuses_what_does_not_fit():
    with pytest.raises(InputError, match="shape"):
        error_bound([[1, 0]], [[1, 0, 1]], 3)
    with pytest.raises(InputError, match="at least 1"):
        error_bound([[1, 0]], [[1, 0]], 0)
