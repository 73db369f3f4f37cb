"""Boosted trees: each is a Newton step, no step raises the objective, and nothing else matters."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, softmax

from longtail.errors import (
    CheckpointError,
    InputError,
    MissingExtraError,
    ModelError,
    ParameterError,
)
from longtail.runtime.checkpoint import Checkpoint
from longtail.runtime.run import Run
from longtail.solvers.boosted import boosted_softmax, boosting, growing
from longtail.solvers.boosted.boosted_softmax import (
    BoostedSoftmax,
    boosting_bytes,
    fit_boosted_softmax,
)
from longtail.solvers.boosted.boosting import boost_binary, boost_softmax, cross_entropy, log_shares
from longtail.solvers.boosted.growing import Growth, bins_of, harmless
from longtail.solvers.boosted.trees import Forest
from tests.solvers.boosted import random_problem, without_lightgbm

pytest.importorskip("lightgbm")


def binary_forest(X, y, weights=None, n_steps=10, start=0.0, **how):
    """All columns of y as problems on all rows, from the same log-odds."""
    n, size = y.shape
    weights = np.ones((n, 1)) if weights is None else weights
    growth, rows, scores = Growth(**how), np.arange(n, dtype=np.int32), np.full((n, size), start)
    trees = boost_binary(
        bins_of(X, growth), rows, np.arange(size), scores, y, weights, growth, n_steps=n_steps,
        place=(0,),
    )  # fmt: skip
    return Forest.empty(size, X.shape[1]).grown(trees)


def class_problem(seed=0, n=150, n_features=6, n_classes=5, soft=False):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(rng.normal(size=(n, n_features)))
    scores = X @ rng.normal(size=(n_features, n_classes))
    if soft:
        return X, sp.csr_array(softmax(scores, axis=1))
    which = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, sp.csr_array(np.eye(n_classes)[which])


# ---- one tree --------------------------------------------------------------------------------


def assert_best_stump(forest, X, first, second, *, l2, shrinkage):
    """By brute force: no split has a higher gain, and leaves say -G / (H + l2)."""

    def sums(side):
        return first[side].sum(), second[side].sum() + l2

    def gain(left):
        return sum(g * g / h for g, h in (sums(left), sums(~left)))

    dense = X.toarray()
    left = dense[:, forest.feature[0]] <= forest.threshold[0]
    best = max(gain(column <= cut) for column in dense.T for cut in np.sort(column)[5:-5])
    assert gain(left) >= best * (1 - 1e-5)
    for value, side in zip(forest.value, (left, ~left), strict=True):
        g, h = sums(side)
        assert value == pytest.approx(-shrinkage * g / h, rel=1e-5)


@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_a_tree_is_the_weighted_newton_step(l2):
    rng = np.random.default_rng(4)
    X, Y = random_problem(rng, n=150, n_labels=1)
    weights, y = rng.uniform(0.1, 1.0, size=(150, 1)), Y.toarray()
    how = {"leaves": 2, "shrinkage": 0.3, "l2": l2, "min_points": 1, "max_bins": 500}
    forest = binary_forest(X, y, weights, n_steps=1, start=-0.4, **how)
    p = expit(-0.4)
    first, second = weights[:, 0] * (p - y[:, 0]), weights[:, 0] * p * (1 - p)
    assert_best_stump(forest, X, first, second, l2=l2, shrinkage=0.3)


@pytest.mark.parametrize("soft", [False, True])
def test_a_tree_of_a_class_is_the_newton_step_of_the_softmax(soft):
    X, targets = class_problem(soft=soft)
    growth = Growth(leaves=2, shrinkage=0.3, l2=1.0, min_points=1, max_bins=500)
    base = log_shares(targets)
    trees = boost_softmax(X, targets, np.tile(base, (150, 1)), growth, n_steps=1, place=0)
    p = softmax(base)
    for tree in trees:
        k = tree.output
        first, second = p[k] - targets.toarray()[:, k], np.full(150, 1.25 * p[k] * (1 - p[k]))
        assert_best_stump(tree, X, first, second, l2=1.0, shrinkage=0.3)
    assert [tree.output for tree in trees] == [0, 1, 2, 3, 4]


def test_the_scores_are_what_the_trees_say():
    X, targets = class_problem(soft=True)
    base = log_shares(targets)
    scores = np.tile(base, (150, 1))
    trees = boost_softmax(X, targets, scores, Growth(shrinkage=3.0), n_steps=7, place=0, width=2)
    said = Forest.empty(5, 6).grown(trees).predict(X)
    assert scores == pytest.approx(base + said, abs=1e-10)


# ---- what trees learn ------------------------------------------------------------------------


def test_soft_targets_become_the_probabilities():
    """Where the features say nothing but which of two groups, these are the groups' means."""
    rng = np.random.default_rng(1)
    side = rng.integers(2, size=400)
    X = sp.csr_array(side[:, None].astype(float))
    targets = rng.dirichlet([1.0, 2.0, 3.0], size=400)
    targets[side == 1] = targets[side == 1][:, ::-1]
    fit = fit_boosted_softmax(X, sp.csr_array(targets), growth=Growth(shrinkage=0.3), n_trees=60)
    found = np.exp(fit.model.logs(sp.csr_array([[0.0], [1.0]])))
    assert found[0] == pytest.approx(targets[side == 0].mean(axis=0), abs=1e-4)
    assert found[1] == pytest.approx(targets[side == 1].mean(axis=0), abs=1e-4)


def test_wide_sparse_features_are_not_spread_out():
    """A dense copy of this X would take 1.6 GB."""
    rng = np.random.default_rng(17)
    n, wide = 200, 1_000_000
    rows, columns = np.repeat(np.arange(n), 6), rng.integers(100, wide, size=6 * n)
    X = sp.csr_array((np.ones(6 * n), (rows, columns)), shape=(n, wide)).tolil()
    telling = rng.random(n) < 0.5
    X[np.flatnonzero(telling), 7] = 1.0
    X = sp.csr_array(X.tocsr())
    forest = binary_forest(X, telling[:, None].astype(float), n_steps=30)
    assert ((forest.predict(X)[:, 0] > 0) == telling).all()


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 20.0]), st.booleans())
def test_no_step_raises_the_objective(seed, shrinkage, soft):
    """Even with steps far too long."""
    X, targets = class_problem(seed, n=60, soft=soft)
    growth = Growth(shrinkage=shrinkage, min_points=1)
    scores = np.tile(log_shares(targets), (60, 1))
    last = cross_entropy(targets, scores)[0]
    for place in range(4):
        boost_softmax(X, targets, scores, growth, n_steps=1, place=place)
        now = cross_entropy(targets, scores)[0]
        assert now <= last
        last = now


def test_a_step_that_never_helps_is_given_up():
    assert harmless(lambda scale: scale, np.zeros(2)).tolist() == [0.0, 0.0]
    assert harmless(lambda scale: scale * [1.0, -1.0], np.zeros(2)).tolist() == [0.0, 1.0]


# ---- the same, every time --------------------------------------------------------------------


def test_cross_entropy_is_the_sum(monkeypatch):
    _, targets = class_problem(soft=True)
    rng = np.random.default_rng(0)
    scores, step = rng.normal(size=(2, 150, 5))
    wanted = -(targets.toarray() * log_softmax(scores + 0.25 * step, axis=1)).sum()
    for cells in (2**21, 50):
        monkeypatch.setattr(boosting, "ROW_CELLS", cells)
        for kind in (targets, targets.toarray()):
            for n_jobs in (1, 2):
                found = cross_entropy(kind, scores, step, np.array([0.25]), n_jobs=n_jobs)
                assert found == pytest.approx([wanted])


@pytest.mark.parametrize("cells", [2**21, 100])
def test_threads_do_not_matter(cells, monkeypatch):
    monkeypatch.setattr(boosting, "ROW_CELLS", cells)
    X, targets = class_problem(n=200, n_features=60, n_classes=19)
    models = [
        fit_boosted_softmax(X, targets, growth=Growth(), n_trees=4, n_jobs=n_jobs).model
        for n_jobs in (1, 2, 3)
    ]
    for model in models[1:]:
        for name, array in model.to_arrays().items():
            assert np.array_equal(array, models[0].to_arrays()[name]), name


def test_hard_targets_may_be_dense_or_sparse():
    X, targets = class_problem()
    scores = np.tile(log_shares(targets), (150, 1))
    dense = scores.copy()
    boost_softmax(X, targets, scores, Growth(), n_steps=5, place=0)
    boost_softmax(X, targets.toarray(), dense, Growth(), n_steps=5, place=0)
    assert np.array_equal(scores, dense)
    assert log_shares(targets) == pytest.approx(log_shares(targets.toarray()))


def test_sparse_and_dense_give_the_same_trees():
    """Explicit zeros, as a dense matrix in CSR form has them, are zeros like the others."""
    rng = np.random.default_rng(16)
    X, Y = random_problem(rng, n=200, n_features=10)
    X = sp.csr_array(X.multiply(rng.random(X.shape) < 0.3))
    X.eliminate_zeros()
    full = sp.csr_array(np.ones(X.shape))
    full.data[:] = X.toarray().ravel()
    sparse, dense = (binary_forest(matrix, Y.toarray()).predict(matrix) for matrix in (X, full))
    assert np.array_equal(sparse, dense)
    assert (np.ptp(sparse, axis=0) > 0).all()


def test_features_of_any_magnitude():
    """Trees ask for order only."""
    X, targets = class_problem()
    X.data[X.indices == 2] *= 1e290
    fit = fit_boosted_softmax(X, targets, growth=Growth(), n_trees=10)
    assert np.isfinite(fit.model.logs(X)).all()
    assert 2 in fit.model.forest.feature
    assert fit.objective == pytest.approx(-(targets.toarray() * fit.model.logs(X)).sum())


def test_features_are_binned_once_and_forgotten():
    X, targets = class_problem()
    place = id(X)
    for step in range(3):
        boost_softmax(X, targets, np.zeros((150, 5)), Growth(), n_steps=1, place=step)
    assert [key[0] for key in growing._known].count(place) == 1
    del X
    gc.collect()
    assert place not in [key[0] for key in growing._known]


def test_lightgbm_keeps_quiet(capfd):
    X, targets = class_problem(n=20, n_classes=12)
    for n_jobs in (1, 2):
        fit_boosted_softmax(X, targets, growth=Growth(), n_trees=3, n_jobs=n_jobs)
        binary_forest(X, targets.toarray())
    assert capfd.readouterr() == ("", "")


# ---- checkpoints and the store ---------------------------------------------------------------


class StopError(Exception):
    pass


def test_an_interrupted_run_goes_on_bit_for_bit(tmp_path):
    X, targets = class_problem(n_features=40)
    how = {"growth": Growth(shrinkage=0.5), "n_trees": 8}

    def interrupt(what, done, total):
        assert total == 8
        if done == 5:
            raise StopError

    with pytest.raises(StopError):
        fit_boosted_softmax(X, targets, **how, run=Run(progress=interrupt, checkpoint=tmp_path))
    heard = []
    resumed = fit_boosted_softmax(
        X, targets, **how,
        run=Run(progress=lambda what, done, total: heard.append(done), checkpoint=tmp_path),
    )  # fmt: skip
    assert heard == [5, 6, 7, 8]
    whole = fit_boosted_softmax(X, targets, **how)
    assert resumed.objective == whole.objective
    for name, array in whole.model.to_arrays().items():
        assert np.array_equal(array, resumed.model.to_arrays()[name]), name
    with pytest.raises(CheckpointError):
        fit_boosted_softmax(X, targets, growth=Growth(), n_trees=8, run=Run(checkpoint=tmp_path))


@pytest.mark.parametrize(
    "change", [{"steps": np.array([99])}, {"size": np.array([4, 40])}, {"left": np.zeros(2)}]
)
def test_checkpoints_that_are_no_forest_are_not_used(tmp_path, change):
    X, targets = class_problem(n_features=40)
    how = {"growth": Growth(), "n_trees": 2}
    whole = fit_boosted_softmax(X, targets, **how, run=Run(checkpoint=tmp_path))
    store = Checkpoint(
        tmp_path, boosted_softmax.fingerprint(X=X, targets=targets, settings=(Growth(), 2))
    )
    store.save(0, store.load(0) | change)
    again = fit_boosted_softmax(X, targets, **how, run=Run(checkpoint=tmp_path))
    assert again.objective == whole.objective


def test_arrays_bring_everything_back(monkeypatch):
    X, targets = class_problem()
    model = fit_boosted_softmax(X, targets, growth=Growth(), n_trees=3).model
    without_lightgbm(monkeypatch)
    again = BoostedSoftmax.from_arrays(model.to_arrays())
    assert np.array_equal(again.logs(X), model.logs(X))
    with pytest.raises(ModelError, match="classes"):
        BoostedSoftmax.from_arrays(model.to_arrays() | {"base": np.zeros(4)})
    with pytest.raises(ModelError, match="start values"):
        BoostedSoftmax.from_arrays(model.to_arrays() | {"base": np.full(5, np.nan)})


# ---- few classes, nothing to learn, wrong input ----------------------------------------------


@pytest.mark.parametrize("X", [sp.csr_array((30, 3)), sp.csr_array((30, 0))])
def test_features_that_say_nothing_leave_the_shares(X):
    targets = sp.csr_array(np.eye(3)[[0] * 15 + [1] * 10 + [2] * 5])
    fit = fit_boosted_softmax(X, targets, growth=Growth(), n_trees=3)
    assert np.exp(fit.model.logs(X[:1])) == pytest.approx(np.array([[1 / 2, 1 / 3, 1 / 6]]))


def test_one_class_is_certain():
    X, _ = class_problem()
    fit = fit_boosted_softmax(X, sp.csr_array(np.ones((150, 1))), growth=Growth(), n_trees=3)
    assert (fit.model.logs(X) == 0).all()
    assert fit.objective == 0


def test_memory_grows_with_points_times_classes():
    def need(n, n_classes):
        how = {"growth": Growth(), "n_trees": 1, "threads": 1}
        return boosting_bytes(n, n_classes, 10, **how)

    assert need(200_000, 18_000) > 16 * 200_000 * 18_000
    assert need(1000, 10) < 2**27


@pytest.mark.parametrize(
    "how",
    [
        {"leaves": 1}, {"leaves": 2.5}, {"shrinkage": 0}, {"shrinkage": "x"}, {"min_points": 0},
        {"min_curvature": -1}, {"l2": np.nan}, {"max_bins": 1}, {"feature_share": 0.0},
        {"feature_share": 1.5}, {"random_state": -1},
    ],
)  # fmt: skip
def test_senseless_settings_are_refused(how):
    with pytest.raises(ParameterError):
        Growth(**how)


def test_wrong_input_is_refused():
    X, targets = class_problem()
    with pytest.raises(ParameterError):
        fit_boosted_softmax(X, targets, growth=Growth(), n_trees=0)
    with pytest.raises(InputError, match="149"):
        fit_boosted_softmax(X, targets[:149], growth=Growth(), n_trees=1)


def test_without_lightgbm_one_sentence_says_what_to_install(monkeypatch):
    without_lightgbm(monkeypatch)
    X, targets = class_problem()
    with pytest.raises(MissingExtraError, match=r'Boosted trees .* "longtail\[boost\]"'):
        fit_boosted_softmax(X, targets, growth=Growth(), n_trees=1)
