"""Theorem 1: its three parts by brute force over T(S) of Algorithm 1."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, ParameterError
from longtail.methods.pairs import ClassProfiles, PairRanker, TransformedSet, generalization_bound
from longtail.methods.pairs.transformed_set import transformed_pairs
from longtail.solvers.streamed import fit_streamed
from tests.methods.pairs._dense import all_features


def documents(n=24, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    chances = np.where(np.arange(12) // 3 == np.arange(n_classes)[:, None], 0.8, 0.2)
    return sp.csr_array(rng.poisson(chances[y]).astype(float)), y


def by_hand(model, X, y):
    """Margins y·h(Z) and squared lengths of the pairs of T(S), one by one."""
    Y = np.eye(len(model.classes_))[np.searchsorted(model.classes_, y)]
    pairs = TransformedSet(ClassProfiles.of(X, Y), leave_one_out=model.leave_one_out)
    margins, lengths = [], []
    for document, true, other, sign in transformed_pairs(Y).tolist():
        phi = (all_features(pairs, document) - model.lowest_) / model.range_
        z = phi[true] - phi[other] if sign > 0 else phi[other] - phi[true]
        margins.append(sign * (model.weights_ @ z))
        kernel = phi @ phi.T
        lengths.append(kernel[true, true] + kernel[other, other] - 2 * kernel[true, other])
    return np.array(margins), np.array(lengths)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.01, 1.0, 100.0]), st.booleans())
def test_all_parts_equal_their_definitions(seed, C, leave_one_out):
    X, y = documents(seed=seed)
    y = y.copy()
    y[0] = 9  # a class with one document, whose pairs are of T(S) too
    model = PairRanker(C=C, leave_one_out=leave_one_out).fit(X, y)
    bound = model.generalization_bound(X, y, delta=0.1)
    margins, lengths = by_hand(model, X, y)
    m, K = 24, 5
    assert bound.n_pairs == len(margins) == m * (K - 1)
    assert (bound.n_documents, bound.n_classes) == (m, K)
    losses = np.minimum(1, np.maximum(1 - margins, 0))
    assert bound.empirical == pytest.approx(losses.mean())
    norm = np.linalg.norm(model.weights_)
    assert bound.norm == norm
    assert bound.capacity == pytest.approx(2 * norm * np.sqrt(lengths.sum()) / (m * np.sqrt(K - 1)))
    assert bound.confidence == pytest.approx(3 * np.sqrt(np.log(2 / 0.1) / (2 * m)))
    assert bound.total == bound.empirical + bound.capacity + bound.confidence
    # the truncated hinge dominates the 0/1 loss, pair by pair
    assert bound.pairwise_error == pytest.approx((margins <= 1e-12).mean(), abs=1e-9)
    assert bound.empirical >= bound.pairwise_error


def test_the_code_minimises_the_squared_hinge_on_these_pairs():
    X, y = documents(seed=1)
    model = PairRanker(C=0.3).fit(X, y)
    margins, _ = by_hand(model, X, y)
    squared = np.maximum(1 - margins, 0) ** 2
    w = model.weights_
    assert model.objective_ == pytest.approx(0.5 * w @ w + 0.3 * squared.sum())
    assert (squared >= (margins <= 0)).all()
    pairs = TransformedSet(ClassProfiles.of(X, np.eye(4)[y]))
    least = fit_streamed(pairs.stream(model.range_), 10, Cs=[0.3], tol=1e-9).objective[0, 0]
    assert model.objective_ == pytest.approx(least)


def test_pairs_of_a_lone_class_are_in_the_bound_but_not_in_the_training():
    X, y = documents(seed=1)
    y = y.copy()
    y[0] = 9
    model = PairRanker(C=0.3).fit(X, y)
    margins, _ = by_hand(model, X, y)
    squared = np.maximum(1 - margins, 0) ** 2
    lone = transformed_pairs(np.eye(10)[y])[:, 0] == 0
    w = model.weights_
    assert lone.sum() == 4
    assert squared[lone].sum() > 0.01  # so that it is seen if they are among the pairs or not
    assert model.objective_ == pytest.approx(0.5 * w @ w + 0.3 * squared[~lone].sum())
    assert (model.n_left_out_, model.n_pairs_) == (1, len(margins) - 4)
    bound = model.generalization_bound(X, y)
    assert bound.n_pairs == len(margins)
    assert bound.empirical == pytest.approx(np.clip(1 - margins, 0, 1).mean())
    assert bound.empirical != pytest.approx(np.clip(1 - margins[~lone], 0, 1).mean())


def test_the_objective_of_sampled_pairs_is_another():
    X, y = documents(60)
    for pairs in ("uniform", "adversarial"):
        model = PairRanker(C=0.3, pairs=pairs, n_pairs=1).fit(X, y)
        margins, _ = by_hand(model, X, y)
        w = model.weights_
        ours = 0.5 * w @ w + 0.3 * (np.maximum(1 - margins, 0) ** 2).sum()
        assert model.objective_ != pytest.approx(ours)
        bound = model.generalization_bound(X, y)
        assert bound.empirical == pytest.approx(np.clip(1 - margins, 0, 1).mean())


def test_threads_and_blocks_change_nothing(monkeypatch):
    X, y = documents(60)
    model = PairRanker(C=1.0).fit(X, y)
    expected = model.generalization_bound(X, y)
    monkeypatch.setattr("longtail.methods.pairs.transformed_set.BLOCK_PAIRS", 10)
    one = generalization_bound(model, X, y)
    two = generalization_bound(model.set_params(n_jobs=2), X, y)
    assert one == two
    assert one.total == pytest.approx(expected.total)


def test_the_bound_falls_with_more_documents():
    small, large = (documents(n) for n in (40, 400))
    bounds = [PairRanker(C=1.0).fit(*data).generalization_bound(*data) for data in (small, large)]
    assert bounds[1].confidence < bounds[0].confidence
    assert bounds[1].total < bounds[0].total


def test_it_is_of_all_pairs_also_if_a_sample_was_learned_from():
    X, y = documents(40)
    model = PairRanker(C=1.0, pairs="uniform", n_pairs=1).fit(X, y)
    assert model.generalization_bound(X, y).n_pairs == 40 * 3


def test_it_can_be_read():
    X, y = documents()
    bound = PairRanker(C=1.0).fit(X, y).generalization_bound(X, y)
    table = bound.table()
    assert isinstance(table, pl.DataFrame)
    assert table["value"][:3].sum() == pytest.approx(table["value"][3])
    assert f"{bound.total:.4f}" in str(bound)
    assert "95%" in str(bound)


def test_other_documents_are_refused():
    X, y = documents()
    model = PairRanker(C=1.0).fit(X, y)
    with pytest.raises(InputError, match="not the documents"):
        model.generalization_bound(X[:-1], y[:-1])
    with pytest.raises(InputError, match="not the documents"):
        model.generalization_bound(X, np.append(y[:-1], (y[-1] + 1) % 4))
    with pytest.raises(InputError, match="24 rows, Y has 23"):
        model.generalization_bound(X, y[:-1])
    with pytest.raises(ParameterError, match="delta"):
        model.generalization_bound(X, y, delta=0)
    lone = PairRanker(C=1.0).fit(X, np.zeros(24, dtype=int))
    with pytest.raises(InputError, match="one class only"):
        lone.generalization_bound(X, np.zeros(24, dtype=int))
    sets = PairRanker(C=1.0).fit(X, np.eye(4, dtype=int)[y] | np.eye(4, dtype=int)[0])
    with pytest.raises(InputError, match="one class each"):
        sets.generalization_bound(X, np.eye(4, dtype=int)[y] | np.eye(4, dtype=int)[0])
