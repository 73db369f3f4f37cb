"""RobustBloom and StandardBloom as classifiers: parameters, fallbacks, reasons, bad input."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

import longtail
from longtail.errors import LongtailWarning, ModelError, ParameterError
from longtail.methods.codes import PLST, CompressedSensing, RobustBloom, StandardBloom, encode
from longtail.metrics import hamming_loss
from tests.methods.codes.conditions import shared_bits


def exclusive(n=600, groups=12, size=3, seed=0):
    """Points with labels of one group each, and features that tell them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=n)
    Y = (rng.random((n, groups * size)) < 0.6) & (
        np.arange(groups * size)[None, :] // size == group[:, None]
    )
    X = Y + 0.05 * rng.random(Y.shape)
    return sp.csr_array(X), sp.csr_array(Y.astype(np.uint8))


@pytest.fixture(scope="module")
def data():
    return exclusive()


@pytest.fixture(scope="module")
def fitted(data):
    return RobustBloom(n_hubs=0, max_cluster_size=3, C=1000).fit(*data)


def test_exclusive_groups_are_learned_with_fewer_problems_than_labels(fitted, data):
    X, Y = data
    assert fitted.unrecoverable_loss_ == 0
    assert fitted.code_size_ == fitted.weights_.shape[1] == 3 * 6  # C(6, 2) >= 12 clusters
    assert hamming_loss(Y, fitted.predict(X)) < 0.002
    assert np.bincount(fitted.clusters_).tolist() == [3] * 12


def test_its_code_keeps_the_conditions(fitted):
    assert shared_bits(fitted.code_, fitted.clusters_) == (0, 1)


@pytest.mark.parametrize("method", [RobustBloom(code_size=24), StandardBloom(code_size=24)])
def test_no_more_problems_than_asked_for(method, data):
    method.fit(*data)
    assert method.weights_.shape[1] <= 24
    assert method.code_.shape[0] == data[1].shape[1]


def test_a_share_of_the_labels_is_a_code_size(data):
    assert StandardBloom(code_size=0.5, n_hashes=2).fit(*data).code_.shape[1] == 18
    assert RobustBloom(code_size=0.5).fit(*data).code_size_ <= 18


def test_all_labels_as_hubs_is_binary_relevance(data):
    X, Y = data
    hubs = RobustBloom(n_hubs=Y.shape[1], max_cluster_size=3, C=10).fit(X, Y)
    plain = longtail.BinaryRelevance(C=10).fit(X, Y)
    assert hubs.code_.shape[1] == 0
    assert (sp.csr_array(hubs.predict(X)) != sp.csr_array(plain.predict(X))).nnz == 0
    ours, theirs = hubs.predict_topk(X, 4), plain.predict_topk(X, 4)
    assert np.array_equal(ours.indices, theirs.indices)
    assert ours.data == pytest.approx(theirs.data, rel=1e-6, abs=1e-6)


def test_hubs_are_predicted_beside_a_cluster():
    rng = np.random.default_rng(1)
    X, Y = exclusive(n=400)
    hub = (rng.random((400, 1)) < 0.5).astype(np.uint8)
    X, Y = sp.hstack([X, 1.0 * hub]).tocsr(), sp.hstack([Y, hub]).tocsr()
    model = RobustBloom(n_hubs=1, max_cluster_size=3, C=1000).fit(X, Y)
    assert model.hubs_.tolist() == [36]
    assert model.unrecoverable_loss_ == 0
    assert hamming_loss(Y, model.predict(X)) < 0.002


def test_scores_are_the_log_odds_of_all_bits(fitted, data):
    X, _ = data
    odds = next(fitted._log_odds(X[:5]))
    p = np.array(
        [[expit(z)[row.astype(bool)].prod() for row in fitted.code_.toarray()] for z in odds]
    )
    everything = fitted.predict_topk(X[:5], 36).toarray()
    assert expit(everything) == pytest.approx(p, rel=1e-6, abs=1e-12)


def test_explains_the_vote(fitted, data):
    X, Y = data
    row = int(np.flatnonzero(np.diff(Y.indptr) == 2)[0])
    label = int(Y[[row]].indices[0])
    why = fitted.explain(X[[row]], label, n=50)
    assert why.table("bits")["bit"].to_list() == fitted.code_[[label]].indices.tolist()
    assert (why.table("bits")["posterior"] > 0.5).all()
    clusters = dict(why.table("clusters").iter_rows())
    assert clusters["first"] == np.flatnonzero(fitted.clusters_ == fitted.clusters_[label]).tolist()
    assert not set(clusters.get("runner-up", ())) & set(clusters["first"])
    assert why.score == pytest.approx(fitted.predict_topk(X[[row]], 36).toarray()[0, label])
    assert why.bias + why.parts["contribution"].sum() == pytest.approx(why.score)
    assert why.table("bits")["on"].all()
    assert "clusters:" in str(why)
    assert "bits:" in str(why)


def test_the_contributions_are_derivatives_times_values(fitted, data):
    X, Y = data
    x, label = X[[3]], int(Y[[3]].indices[0])
    why = fitted.explain(x, label, n=50)
    feature = why.parts["feature"][0]
    moved = x.toarray()
    moved[0, feature] += 1e-5
    change = fitted.explain(sp.csr_array(moved), label).score - why.score
    assert change / 1e-5 == pytest.approx(why.parts["weight"][0], rel=1e-3)


def test_labels_never_seen_are_never_predicted(data):
    X, Y = data
    Y = sp.hstack([Y, sp.csr_array((Y.shape[0], 2), dtype=np.uint8)]).tocsr()
    for model in (RobustBloom(code_size=30), StandardBloom(code_size=30, n_hashes=2)):
        model.fit(X, Y)
        assert not np.diff(model.code_.indptr)[-2:].any()
        assert not sp.csr_array(model.predict(X))[:, [36, 37]].nnz
        assert set(model.predict_topk(X, 38).indices.tolist()) == set(range(36))
        assert model.explain(X[[0]], 37).score == -np.inf


def test_decoding_by_chance_is_reproducible(data):
    X, Y = data
    model = RobustBloom(n_hubs=0, max_cluster_size=3, C=0.1, decoding="random").fit(X, Y)
    first = sp.csr_array(model.predict(X))
    assert (first != sp.csr_array(model.predict(X))).nnz == 0
    other = model.set_params(random_state=5).predict(X)
    assert (first != sp.csr_array(other)).nnz > 0


@pytest.mark.parametrize("method", [RobustBloom, StandardBloom])
def test_decoding_by_chance_draws_for_a_point_the_same_labels_alone(method, data, monkeypatch):
    X, Y = data
    model = method(code_size=24, n_hashes=3, C=0.1, decoding="random").fit(X, Y)
    among = sp.csr_array(model.predict(X))
    strict = sp.csr_array(copy.copy(model).set_params(decoding="threshold").predict(X))
    assert (among != strict).nnz > 0
    backwards = sp.csr_array(model.predict(X[::-1]))
    assert (backwards[::-1] != among).nnz == 0
    alone = sp.vstack([sp.csr_array(model.predict(X[[i]])) for i in range(X.shape[0])])
    assert (alone != among).nnz == 0
    monkeypatch.setattr("longtail.methods.codes._bits.BLOCK_BYTES", 1)
    assert (sp.csr_array(model.predict(X)) != among).nnz == 0


def test_a_lower_threshold_predicts_more(data):
    X, Y = data
    model = RobustBloom(n_hubs=0, max_cluster_size=3, C=0.3).fit(X, Y)
    strict = sp.csr_array(model.predict(X))
    loose = sp.csr_array(model.set_params(threshold=0.5).predict(X))
    assert loose.nnz > strict.nnz
    assert strict.multiply(loose).nnz == strict.nnz


def test_labels_that_all_occur_together_bring_a_warning_and_still_work():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 12)) < 0.5).astype(np.uint8)
    X = Y + 0.1 * rng.random(Y.shape)
    with pytest.warns(LongtailWarning, match="occur together"):
        model = RobustBloom(code_size=8).fit(X, Y)
    assert model.unrecoverable_loss_ > 0.05
    assert model.predict(X).shape == Y.shape
    assert model.predict(X).any()


def test_one_cluster_needs_no_decision(data):
    X, Y = data
    model = RobustBloom(n_hubs=0, max_cluster_size=36, C=1000).fit(X[:, :3], Y[:, :3])
    assert model.clusters_.max() == 0
    assert model.code_.shape[1] == 6


def test_the_number_of_hashes_is_chosen_on_held_out_rows(data):
    X, Y = data
    model = StandardBloom(code_size=40, C=100).fit(X, Y)
    table = model.choice_table()
    assert table["n_hashes"].to_list() == list(range(1, 11))
    losses = table["hamming_loss"].to_numpy()
    assert model.n_hashes_ == 1 + int(losses.argmin())
    given = StandardBloom(code_size=40, C=100, n_hashes=model.n_hashes_).fit(X, Y)
    assert (given.code_ != model.code_).nnz == 0
    assert given.weights_.toarray() == pytest.approx(model.weights_.toarray())
    assert given.choice_table().is_empty()


def test_bits_are_trained_on_the_sets_they_stand_for(fitted, data):
    X, Y = data
    bits = encode(Y, fitted.code_)
    odds = np.vstack(list(fitted._log_odds(X)))
    assert ((odds >= 0) == bits.toarray()).mean() > 0.99


@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        ({"code_size": 0}, "code_size"),
        ({"code_size": 1.5}, "code_size"),
        ({"code_size": True}, "code_size"),
        ({"code_size": 10, "n_hubs": 1, "max_cluster_size": 3}, "give either"),
        ({"n_hubs": 3}, "give both"),
        ({"n_hubs": -1, "max_cluster_size": 3}, "n_hubs"),
        ({"n_hubs": 1, "max_cluster_size": 0}, "max_cluster_size"),
        ({"n_hashes": 0}, "n_hashes"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"decoding": "median"}, "decoding"),
        ({"C": -1}, "C must"),
        ({"tol": np.inf}, "tol"),
        ({"code_size": 2}, "too small"),
        ({"code_size": 10, "n_hashes": 11}, "too small"),
    ],
)
def test_odd_parameters_of_robust_filters(parameters, cause, data):
    with pytest.raises(ParameterError, match=cause):
        RobustBloom(**parameters).fit(*data)


@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        ({"validation": 0}, "validation"),
        ({"validation": 1.0}, "validation"),
        ({"n_hashes": 0}, "n_hashes"),
        ({"code_size": -4}, "code_size"),
    ],
)
def test_odd_parameters_of_standard_filters(parameters, cause, data):
    with pytest.raises(ParameterError, match=cause):
        StandardBloom(**parameters).fit(*data)


def test_too_few_rows_to_choose_from():
    with pytest.raises(ValueError, match="give n_hashes"):
        StandardBloom().fit([[1.0]], [["a"]])
    model = StandardBloom(n_hashes=2).fit([[1.0], [0.0]], [["a"], ["b"]])
    assert model.predict_topk([[1.0]], 2).shape == (1, 2)


def test_a_saved_model_explains_itself_the_same(fitted, data, tmp_path):
    fitted.save(tmp_path / "model")
    again = longtail.load(tmp_path / "model")
    X, _ = data
    assert (sp.csr_array(again.predict(X)) != sp.csr_array(fitted.predict(X))).nnz == 0
    assert str(again.explain(X[[0]], 3)) == str(fitted.explain(X[[0]], 3))


@pytest.mark.parametrize(
    ("part", "alter"),
    [
        ("code_", lambda m: sp.csr_array(m.code_ * np.uint8(0) + m.code_ * np.uint8(2))),
        ("code_", lambda m: sp.csr_array(m.code_[:-1])),
        ("clusters_", lambda m: np.full_like(m.clusters_, -1)),
        ("clusters_", lambda m: m.clusters_ + 10**6),
        ("clusters_", lambda m: m.clusters_.astype(np.float64)),
        ("clusters_", lambda m: m.clusters_[:-1]),
        ("hubs_", lambda m: np.array([10**9])),
        ("hubs_", lambda m: np.array([0, 0])),
        ("hubs_", lambda m: np.array([0])),
        ("weights_", lambda m: m.weights_ * np.float32("nan")),
        ("weights_", lambda m: sp.csr_array(m.weights_[:, :-1])),
    ],
)
def test_altered_models_are_refused(fitted, tmp_path, part, alter):
    model = copy.copy(fitted)
    setattr(model, part, alter(fitted))
    model.save(tmp_path / "model")
    with pytest.raises(ModelError, match="altered"):
        longtail.load(tmp_path / "model")


@pytest.mark.parametrize("method", [RobustBloom, StandardBloom, CompressedSensing, PLST])
@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, True, "a"])
def test_odd_seeds(method, seed, data):
    with pytest.raises(ParameterError, match="random_state"):
        method(random_state=seed).fit(*data)


def test_numpy_seeds_will_do(data):
    model = RobustBloom(code_size=24, random_state=np.int64(3), decoding="random").fit(*data)
    assert model.predict(data[0]).shape == data[1].shape
