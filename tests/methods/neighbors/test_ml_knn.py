"""ML-kNN against the equations of the paper, written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import longtail
from longtail import ranked
from longtail.data import make_longtail
from longtail.errors import InputError, ModelError, ParameterError
from longtail.methods.neighbors import MLKNN


def nearest(points, queries, k, skip=False):
    squares = ((queries[:, None] - points[None]) ** 2).sum(axis=2).astype(float)
    if skip:
        np.fill_diagonal(squares, np.inf)
    return np.argsort(squares, axis=1, kind="stable")[:, :k]


def by_the_paper(X, Y, queries, k, s=1.0):
    """Figure 1 of Zhang & Zhou 2007, label by label: the posteriors of the queries."""
    m, n_labels = Y.shape
    around, posterior = nearest(X, X, k, skip=True), np.empty((len(queries), n_labels))
    of_queries = nearest(X, queries, k)
    for label in range(n_labels):
        prior = (s + Y[:, label].sum()) / (s * 2 + m)
        c, c_not = np.zeros(k + 1), np.zeros(k + 1)
        for i in range(m):
            votes = Y[around[i], label].sum()
            if Y[i, label] == 1:
                c[votes] += 1
            else:
                c_not[votes] += 1
        with_label = (s + c) / (s * (k + 1) + c.sum())
        without = (s + c_not) / (s * (k + 1) + c_not.sum())
        for t, neighbours in enumerate(of_queries):
            votes = Y[neighbours, label].sum()
            yes, no = prior * with_label[votes], (1 - prior) * without[votes]
            posterior[t, label] = yes / (yes + no)
    return posterior


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, (70, 5)).astype(float)
    Y = (rng.random((70, 8)) < np.linspace(0.05, 0.95, 8)).astype(int)
    Y[:, 6] = X[:, 0] > 1
    Y[0] = 1
    return X, Y, rng.integers(0, 4, (25, 5)).astype(float)


@pytest.mark.parametrize(("k", "s"), [(1, 1.0), (5, 1.0), (10, 1.0), (4, 0.3)])
def test_posteriors_are_those_of_the_paper(small, k, s):
    X, Y, queries = small
    expected = by_the_paper(X, Y, queries, k, s)
    model = MLKNN(n_neighbors=k, smoothing=s).fit(X, Y)
    assert np.allclose(model.predict_proba(queries), expected)
    assert np.array_equal(model.predict(queries), (expected >= 0.5).astype(int))
    log_odds = np.log(expected) - np.log1p(-expected)
    assert np.allclose(model.predict_topk(queries, 8).toarray(), log_odds)


@pytest.mark.parametrize("wanted", [1, 3, 7])
def test_labels_without_votes_take_part_in_the_ranking(small, wanted):
    X, Y, queries = small
    posterior = MLKNN(n_neighbors=2).fit(X, Y).predict_proba(queries)
    top = MLKNN(n_neighbors=2).fit(X, sp.csr_array(Y)).predict_topk(queries, wanted)
    order = np.argsort(-posterior, axis=1, kind="stable")[:, :wanted]
    assert (np.diff(top.indptr) == wanted).all()
    assert np.allclose(
        np.take_along_axis(posterior, order, 1), 1 / (1 + np.exp(-ranked(top, wanted)[1]))
    )


def test_a_label_nobody_near_has_can_be_predicted():
    """Holders without a holder beside them, others with one: no vote speaks for the label."""
    X = (10.0 * np.arange(8)[:, None] + [0.0, 0.4, 0.8]).reshape(-1, 1)
    Y = np.tile([[1, 0], [0, 1], [0, 1]], (8, 1))
    model = MLKNN(n_neighbors=2).fit(X, sp.csr_array(Y))
    assert model.odds_[0, 0] > 0 > model.odds_[0, 1]
    query = [[0.65]]  # its neighbours are the two others
    assert model.explain(query, 0).summary["votes"] == 0
    assert model.predict(query).toarray().tolist() == [[1, 0]]
    assert ranked(model.predict_topk(query, 1), 1)[0].tolist() == [[0]]
    assert model.predict_topk(query, 2)[0, 0] == model.odds_[0, 0]


def test_sparse_probabilities_leave_out_the_small_ones(small):
    X, Y, queries = small
    dense = MLKNN(n_neighbors=3).fit(X, Y).predict_proba(queries)
    sparse = MLKNN(n_neighbors=3).fit(X, sp.csr_array(Y))
    for threshold in (0.01, 0.3):
        likely = sparse.predict_proba(queries, threshold=threshold)
        assert np.allclose(likely.toarray(), np.where(dense >= threshold, dense, 0))
    everything = sparse.predict_proba(queries, threshold=0)
    assert np.allclose(everything.toarray(), dense)


def test_cross_validation_makes_the_counts_anew(small):
    from longtail.search import random_folds

    X, Y, _ = small
    model = MLKNN(random_state=2).fit(X, Y)
    fold_of = random_folds(70, 5, 2)
    for size, score in zip(model.tried_neighbors_, model.tried_f1_, strict=True):
        total = 0.0
        for fold in range(5):
            out = fold_of == fold
            sets = by_the_paper(X[~out], Y[~out], X[out], int(size)) >= 0.5
            sets &= Y[~out].any(axis=0)
            both = (sets & (Y[out] == 1)).sum(axis=1)
            whole = sets.sum(axis=1) + Y[out].sum(axis=1)
            total += np.where(whole > 0, 2 * both / np.maximum(whole, 1), 1.0).sum()
        assert score == pytest.approx(total / 70)


def test_thresholds(small):
    X, Y, queries = small
    posterior = MLKNN(n_neighbors=3).fit(X, Y).predict_proba(queries)
    strict = MLKNN(n_neighbors=3, threshold=0.8).fit(X, Y)
    assert np.array_equal(strict.predict(queries), (posterior >= 0.8).astype(int))
    free = MLKNN(threshold=None).fit(X, Y)
    assert 0 < free.threshold_ <= 1


def test_more_neighbours_than_points():
    model = MLKNN(n_neighbors=10).fit([[0.0], [1.0], [2.0]], [["a"], ["a"], ["a", "b"]])
    assert model.n_neighbors_ == 2
    assert model.predict([[9.0]])[0][0] == "a"
    one = MLKNN().fit([[1.0]], [["a"]])
    assert one.predict_topk([[1.0]], 1).nnz == 1


def test_labels_without_points_are_never_named(small):
    X, Y, queries = small
    padded = np.column_stack([np.zeros(70, int), Y])
    model = MLKNN(n_neighbors=3).fit(X, padded)
    assert not model.predict(queries)[:, 0].any()
    assert (np.diff(model.predict_topk(queries, 9).indptr) == 8).all()
    assert (model.predict_proba(queries)[:, 0] == 0).all()


def test_empty_rows_and_one_label():
    X = sp.csr_array((6, 4))
    model = MLKNN(n_neighbors=2).fit(X, np.array([[1], [0], [1], [0], [0], [0]]))
    assert model.predict(X).shape == (6, 1)


def test_explanation_adds_up(small):
    X, Y, queries = small
    model = MLKNN(n_neighbors=5).fit(X, Y)
    why = model.explain(queries[0], 6)
    assert why.score == why.bias == pytest.approx(why.summary["prior"] + why.summary["evidence"])
    assert why.score == pytest.approx(model.predict_topk(queries[:1], 8)[0, 6])
    assert why.summary["votes"] == why.table("votes")["vote"].sum()
    assert "prior" in str(why)


def test_threads_do_not_matter():
    data = make_longtail(300, 100, 40, random_state=0)
    one, two = (MLKNN(n_jobs=n).fit(data.X, data.Y) for n in (1, 2))
    assert np.array_equal(one.odds_, two.odds_)
    assert np.array_equal(one.predict_topk(data.X, 5).data, two.predict_topk(data.X, 5).data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("odds_", np.zeros((8, 2))),
        ("odds_", np.zeros((7, 6))),
        ("odds_", np.zeros((8, 6), dtype=np.float32)),
        ("prior_", np.zeros(7)),
        ("prior_", None),
        ("n_neighbors_", 9),
        ("smoothing", 0.0),
    ],
)
def test_altered_models_are_refused(small, tmp_path, name, value):
    model = MLKNN(n_neighbors=5).fit(*small[:2])
    setattr(model, name, value)
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


def test_doubled_labels_in_a_file_are_refused(small, tmp_path):
    model = MLKNN(n_neighbors=5).fit(*small[:2])
    model.labels_.indices[: model.labels_.indptr[1]] = 0
    model.labels_.has_canonical_format = True
    model.save(tmp_path / "model")
    with pytest.raises(ModelError):
        longtail.load(tmp_path / "model")


def test_tables_that_do_not_fit_are_refused():
    X, Y = sp.csr_array(np.eye(30)), sp.csr_array(([1], ([0], [0])), shape=(30, 10**7))
    wanted = (
        r"[6-7]\.\d GB .* 10,000,000 labels, above memory_limit of 4 GB; give a smaller n_neigh"
    )
    with pytest.raises(InputError, match=wanted):
        MLKNN().fit(X, Y)


@pytest.mark.parametrize("smoothing", [0, -1, np.nan, "1"])
def test_odd_smoothing_is_refused(smoothing):
    with pytest.raises(ParameterError, match="smoothing must be"):
        MLKNN(smoothing=smoothing).fit([[0.0], [1.0]], ["a", "b"])
