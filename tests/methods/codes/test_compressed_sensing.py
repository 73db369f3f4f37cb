"""Compressed sensing: decoders against scikit-learn's, exact recovery, choosing, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, orthogonal_mp

import longtail
from longtail import ranked
from longtail.data import make_longtail
from longtail.errors import InputError, ModelError, ParameterError
from longtail.methods.codes import CompressedSensing, _regression, compressed_sensing
from longtail.methods.codes._sensing_kernels import lasso
from longtail.methods.codes.compressed_sensing import SparseDecoder, random_signs
from longtail.solvers import fit_ridge, ridge_values

DECODINGS = ("omp", "lasso", "correlation")


def decoder_of(code, decoding, sizes, *, table, allowed=None):
    """A decoder with the inner products of all labels, or without."""
    allowed = np.ones(len(code), dtype=bool) if allowed is None else allowed
    points = 10**9 if table else 0
    return SparseDecoder(code, decoding, allowed, np.asarray(sizes), n_points=points)


def sets_of(code, decoding, z, sizes, *, table=True, allowed=None):
    decoder = decoder_of(code, decoding, sizes, table=table, allowed=allowed)
    assert (len(decoder._products) > 0) == (table and decoding != "correlation")
    return decoder.sets(decoder.correlations(np.atleast_2d(z)))


def projection(code, labels):
    return code[list(labels)].sum(axis=0) / np.sqrt(code.shape[1])


@pytest.mark.parametrize("table", [True, False])
class TestMatchingPursuit:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10**6), st.integers(10, 40), st.integers(20, 80), st.integers(1, 8))
    def test_is_greedy_least_squares_as_in_scikit_learn(self, table, seed, size, n_labels, most):
        rng = np.random.default_rng(seed)
        code = random_signs(n_labels, size, seed)
        z = rng.standard_normal((5, size))
        sizes = np.arange(1, most + 1)
        labels, values = sets_of(code, "omp", z, sizes, table=table)
        A = code.T / np.sqrt(size)
        for row in range(5):
            left, tied = z[row], False
            for number, k in enumerate(sizes):
                found = labels[row, number, :k]
                assert (labels[row, number, k:] == -1).all()
                assert np.array_equal(found[:-1], labels[row, max(number - 1, 0), : k - 1])
                height = np.abs(A.T @ left)
                best = np.flatnonzero(height > height.max() - 1e-9)
                assert found[-1] == best[0]
                fitted = np.linalg.lstsq(A[:, found], z[row], rcond=None)[0]
                assert np.allclose(values[row, number, :k], fitted)
                left = z[row] - A[:, found] @ fitted
                tied |= len(best) > 1  # then rounding errors decide elsewhere
                if not tied:
                    wanted = orthogonal_mp(A, z[row], n_nonzero_coefs=int(k))
                    assert set(found) == set(np.flatnonzero(wanted))
                    assert np.allclose(values[row, number, :k], wanted[found])

    def test_recovers_every_sparse_set_from_enough_projections(self, table):
        code = random_signs(60, 48, random_state=1)
        rng = np.random.default_rng(0)
        for size in (1, 2, 3):
            for _ in range(30):
                wanted = rng.choice(60, size, replace=False)
                labels, values = sets_of(code, "omp", projection(code, wanted), [size], table=table)
                assert set(labels[0, 0]) == set(wanted)
                assert np.allclose(values, 1.0)

    def test_ends_where_nothing_is_left(self, table):
        code = random_signs(20, 12, random_state=0)
        labels, _ = sets_of(code, "omp", projection(code, [4]), [1, 3, 20], table=table)
        assert labels[0, :, 0].tolist() == [4, 4, 4]
        assert (labels[0, :, 1:] == -1).all()
        labels, _ = sets_of(code, "omp", np.zeros(12), [5], table=table)
        assert (labels == -1).all()

    def test_never_more_labels_than_projections(self, table):
        code = random_signs(30, 6, random_state=0)
        z = np.random.default_rng(0).standard_normal((20, 6))
        labels, values = sets_of(code, "omp", z, [20], table=table)
        assert ((labels >= 0).sum(axis=2) <= 6).all()
        assert np.isfinite(values).all()


@pytest.mark.parametrize("table", [True, False])
class TestLasso:
    def test_coefficients_are_those_of_scikit_learn_at_the_penalty(self, table):
        rng = np.random.default_rng(3)
        code = random_signs(40, 25, random_state=2)
        z = np.array([projection(code, rng.choice(40, 3)) for _ in range(6)])
        z += 0.1 * rng.standard_normal(z.shape)
        sizes = np.array([1, 2, 5])
        decoder = decoder_of(code, "lasso", sizes, table=table)
        labels, values = np.empty((6, 3, 5), dtype=np.int64), np.empty((6, 3, 5))
        penalties = np.empty((6, 3))
        lasso(
            decoder.correlations(z), code, decoder._products, decoder.allowed, sizes, labels,
            values, penalties,
        )  # fmt: skip
        A = code.T / np.sqrt(25)
        for row in range(6):
            for number, k in enumerate(sizes):
                penalty = penalties[row, number]
                model = Lasso(
                    alpha=penalty / 25, positive=True, fit_intercept=False, tol=1e-10,
                    max_iter=100_000,
                )  # fmt: skip
                wanted = model.fit(A, z[row]).coef_
                best = np.argsort(-wanted, kind="stable")[:k]
                assert (wanted > 1e-4).sum() >= k
                assert labels[row, number, :k].tolist() == best.tolist()
                assert np.allclose(values[row, number, :k], wanted[best], atol=1e-3)
                # with the penalty before, there were too few
                model.set_params(alpha=penalty / 0.9 / 25)
                assert (model.fit(A, z[row]).coef_ > 1e-4).sum() < k or penalty > 0.89 * (
                    decoder.correlations(z)[row].max()
                )

    def test_recovers_easy_sets(self, table):
        code = random_signs(60, 48, random_state=1)
        rng = np.random.default_rng(0)
        for _ in range(20):
            wanted = rng.choice(60, 2, replace=False)
            labels, _ = sets_of(code, "lasso", projection(code, wanted), [2], table=table)
            assert set(labels[0, 0]) == set(wanted)

    def test_is_empty_where_no_label_correlates(self, table):
        code = np.ones((1, 4), dtype=np.int8)
        labels, _ = sets_of(code, "lasso", -np.ones(4), [1], table=table)
        assert (labels == -1).all()


def test_correlation_takes_the_largest_inner_products():
    code = random_signs(30, 20, random_state=0)
    z = np.random.default_rng(0).standard_normal((9, 20))
    labels, values = sets_of(code, "correlation", z, [1, 4])
    products = z @ code.T / np.sqrt(20)
    order = np.argsort(-products, axis=1)
    assert np.array_equal(labels[:, 1], order[:, :4])
    assert np.array_equal(labels[:, 0, 0], order[:, 0])
    assert np.allclose(values[:, 1], np.take_along_axis(products, order[:, :4], axis=1))
    single, _ = sets_of(
        code, "correlation", np.array([projection(code, [j]) for j in range(30)]), [1]
    )
    assert single[:, 0, 0].tolist() == list(range(30))


@pytest.mark.parametrize("decoding", DECODINGS)
@pytest.mark.parametrize("table", [True, False])
def test_labels_that_are_not_allowed_are_in_no_set(decoding, table):
    code = random_signs(30, 20, random_state=0)
    allowed = np.arange(30) % 3 != 0
    z = np.array([projection(code, [j]) for j in range(30)])
    labels, _ = sets_of(code, decoding, z, [3], table=table, allowed=allowed)
    assert (labels[labels >= 0] % 3 != 0).all()
    assert (labels[allowed, 0, 0] == np.flatnonzero(allowed)).all()


def test_signs_are_distinct_and_balanced():
    for n_labels, size in ((1, 1), (2, 2), (4, 3), (64, 7), (1000, 11), (500, 40)):
        signs = random_signs(n_labels, size, random_state=5)
        assert signs.dtype == np.int8
        assert set(np.unique(signs)) <= {-1, 1}
        assert len(np.unique(signs * signs[:, :1], axis=0)) == n_labels
    assert random_signs(10, 2, 0).shape == (10, 2)  # too few for that
    assert abs(random_signs(1000, 100, 0).mean()) < 0.02
    assert not np.array_equal(random_signs(9, 9, 0), random_signs(9, 9, 1))


# ---- the classifier --------------------------------------------------------------------------


def linear_problem(n=150, n_labels=40, per_row=2, seed=0):
    """Label sets that the features spell out."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, n_labels), dtype=int)
    for number, row in enumerate(Y):
        others = rng.choice(n_labels - 1, per_row - 1, replace=False) + 1
        row[(number + np.append(others, 0)) % n_labels] = 1
    return sp.csr_array(Y.astype(float)), Y


@pytest.mark.parametrize(
    ("decoding", "least"), [("omp", 1.0), ("lasso", 0.95), ("correlation", 0.5)]
)
def test_label_sets_come_back(decoding, least):
    X, Y = linear_problem()
    model = CompressedSensing(code_size=32, decoding=decoding, set_size=2, strength=1e-4)
    predicted = model.fit(X, Y).predict(X)
    assert (predicted.sum(axis=1) <= 2).all()
    assert (predicted == Y).all(axis=1).mean() >= least
    assert model.code_.shape == (40, 32)


@pytest.mark.parametrize("decoding", DECODINGS)
def test_the_size_with_the_lowest_hamming_loss_is_chosen(decoding):
    X, Y = linear_problem(per_row=3)
    model = CompressedSensing(code_size=38, decoding=decoding, strength=1e-3).fit(X, Y)
    losses = model.choice_table()
    assert losses["set_size"].to_list() == list(range(1, 31))
    assert model.set_size_ == 1 + int(np.argmin(losses["hamming_loss"].to_numpy()))
    if decoding == "omp":
        assert model.set_size_ == 3
    # the same by hand
    order = np.random.default_rng(0).permutation(150)
    held, rest = np.sort(order[:50]), np.sort(order[50:])
    A = model.code_.T / np.sqrt(38)
    weights = fit_ridge(X[rest], Y[rest] @ A.T, strength=1e-3).weights
    decoder = decoder_of(model.code_, decoding, [1, 2, 7], table=True)
    labels, values = decoder.sets(decoder.correlations(ridge_values(X[held], weights)))
    for number, k in enumerate((1, 2, 7)):
        guess = np.zeros((50, 40), dtype=int)
        for row in range(50):
            found = labels[row, number][values[row, number] > 0]
            guess[row, found] = 1
        assert losses["hamming_loss"][k - 1] == pytest.approx((guess != Y[held]).mean())


def test_the_model_is_trained_on_all_rows():
    X, Y = linear_problem()
    chosen = CompressedSensing(code_size=30).fit(X, Y)
    given = CompressedSensing(code_size=30, set_size=chosen.set_size_).fit(X, Y)
    assert np.array_equal(chosen.weights_, given.weights_)
    A = given.code_.T / np.sqrt(30)
    assert np.allclose(given.weights_, fit_ridge(X, Y @ A.T, strength=1.0).weights, atol=1e-6)
    assert given.choice_table().height == 0


def test_the_size_may_be_set_by_hand():
    X, Y = linear_problem()
    model = CompressedSensing(code_size=32, set_size=1, strength=1e-3).fit(X, Y)
    one = model.predict(X)
    model.set_size_ = 2
    assert (one.sum(axis=1) == 1).all()
    assert (model.predict(X).sum(axis=1) == 2).all()


@pytest.mark.parametrize("decoding", DECODINGS)
def test_scores_rank_the_set_first(decoding):
    X, Y = linear_problem()
    model = CompressedSensing(code_size=20, decoding=decoding, set_size=3).fit(X, Y)
    sets = model.predict(X)
    best, values = ranked(model.predict_topk(X, 40), 40)
    assert (values[:, 1:] <= values[:, :-1]).all()
    products = ridge_values(X, model.weights_) @ model.code_.T / np.sqrt(20)
    for row in range(len(Y)):
        size = sets[row].sum()
        assert set(best[row, :size]) == set(np.flatnonzero(sets[row]))
        if decoding == "correlation":
            assert np.allclose(values[row], products[row, best[row]])
        else:
            rest = products[row, best[row, size:]]
            assert np.allclose(values[row, size:], rest / (1 + np.abs(rest)))
            assert (values[row, :size] > 1).all()


def test_decoding_without_the_table_of_inner_products_is_the_same(monkeypatch):
    X, Y = linear_problem()
    for decoding in ("omp", "lasso"):
        model = CompressedSensing(code_size=20, decoding=decoding, set_size=3).fit(X, Y)
        with_table = model.predict_topk(X, 5)
        with monkeypatch.context() as patch:
            patch.setattr(compressed_sensing, "PRODUCTS_BYTES", 10)
            without = model.predict_topk(X, 5)
        assert np.array_equal(with_table.indices, without.indices)
        assert np.allclose(with_table.data, without.data)


@pytest.mark.parametrize("decoding", DECODINGS)
def test_blocks_do_not_change_predictions(decoding, monkeypatch):
    X, Y = linear_problem()
    model = CompressedSensing(code_size=20, decoding=decoding, set_size=3).fit(X, Y)
    whole, top = model.predict(X), model.predict_topk(X, 5)
    monkeypatch.setattr(_regression, "BLOCK_ROWS", 7)
    for n_jobs in (1, 2):
        model.n_jobs = n_jobs
        assert np.array_equal(model.predict(X), whole)
        again = model.predict_topk(X, 5)
        assert np.array_equal(again.indices, top.indices)
        assert np.allclose(again.data, top.data)


def test_explains_the_correlation():
    X, Y = linear_problem()
    model = CompressedSensing(code_size=20, decoding="correlation", set_size=2).fit(X, Y)
    scores = model.predict_topk(X, 40).toarray()
    for row, label in ((0, 3), (5, 17)):
        why = model.explain(X[[row]], label, n=40)
        assert why.score == pytest.approx(scores[row, label], abs=1e-5)
        assert why.bias + why.parts["contribution"].sum() == pytest.approx(why.score)


@pytest.mark.parametrize("decoding", DECODINGS)
def test_a_label_without_a_point_is_never_predicted(decoding):
    X, Y = linear_problem()
    Y[:, 7] = 0
    model = CompressedSensing(code_size=20, decoding=decoding, set_size=10).fit(X, Y)
    assert not model.predict(X)[:, 7].any()
    assert not (model.predict_topk(X, 40).indices == 7).any()


def test_no_labels_at_all():
    X, Y = linear_problem()
    model = CompressedSensing().fit(X, Y * 0)
    assert not model.predict(X).any()
    assert model.predict_topk(X, 3).nnz == 0


def test_constant_labels_and_one_label():
    X, Y = linear_problem()
    Y[:, 0] = 1
    assert CompressedSensing(code_size=30, strength=0.1).fit(X, Y).predict(X)[:, 0].mean() > 0.9
    assert CompressedSensing().fit(X, Y[:, :1]).predict(X).all()


def test_a_single_row_needs_no_held_out_rows():
    model = CompressedSensing().fit([[1.0, 2.0]], [["sea", "sun"]])
    assert model.set_size_ == 2


@pytest.mark.parametrize("decoding", DECODINGS)
def test_saved_and_loaded_it_is_the_same(decoding, tmp_path):
    X, Y = linear_problem()
    model = CompressedSensing(code_size=20, decoding=decoding).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = longtail.load(tmp_path / "model")
    here, there = model.predict_topk(X, 5), loaded.predict_topk(X, 5)
    assert np.array_equal(here.data, there.data)
    assert np.array_equal(here.indices, there.indices)
    assert np.array_equal(model.predict(X), loaded.predict(X))
    assert loaded.set_size_ == model.set_size_
    assert loaded.choice_table().equals(model.choice_table())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("set_size_", 0),
        ("set_size_", 10**9),
        ("set_size_", "many"),
        ("code_", np.zeros((40, 20), dtype=np.int8)),
        ("code_", np.ones((40, 20))),
        ("code_", np.ones((39, 20), dtype=np.int8)),
        ("weights_", np.zeros((41, 19), dtype=np.float32)),
        ("weights_", np.zeros((41, 20))),
    ],
)
def test_altered_models_are_refused(name, value, tmp_path):
    X, Y = linear_problem()
    model = CompressedSensing(code_size=20, set_size=1).fit(X, Y)
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"code_size": 0}, "code_size"),
        ({"code_size": 41}, "code_size is 41, but there are 40 labels"),
        ({"code_size": 1.5}, "code_size"),
        ({"set_size": 41}, "set_size is 41, but there are 40 labels"),
        ({"set_size": 0}, "set_size"),
        ({"set_size": 2.0}, "set_size"),
        ({"decoding": "magic"}, "decoding"),
        ({"validation": 1.0}, "validation"),
        ({"strength": 0.0}, "strength"),
        ({"tol": -1}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_odd_settings_get_one_sentence(settings, cause):
    X, Y = linear_problem()
    with pytest.raises(ParameterError, match=cause) as caught:
        CompressedSensing(**settings).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_a_code_that_is_too_large_is_refused(monkeypatch):
    X, Y = linear_problem()
    monkeypatch.setattr(_regression, "LARGEST", 100)
    with pytest.raises(ParameterError, match="take a smaller code_size"):
        CompressedSensing().fit(X, Y)


def test_nan_is_refused():
    X, Y = linear_problem()
    X.data[0] = np.nan
    with pytest.raises(InputError, match="NaN"):
        CompressedSensing().fit(X, Y)


def test_the_order_of_the_labels_does_not_matter():
    data = make_longtail(200, 150, 60, random_state=0)
    order = np.random.default_rng(0).permutation(60)
    here = CompressedSensing(set_size=2).fit(data.X, data.Y)
    there = CompressedSensing(set_size=2).fit(data.X, sp.csr_array(data.Y)[:, order])
    seen = np.flatnonzero(here.label_counts_[order] > 0)
    a = here.predict(data.X).toarray()[:, order][:, seen]
    b = there.predict(data.X).toarray()[:, seen]
    assert (a == b).mean() > 0.999  # but for labels with the same points
