"""Trees as arrays against LightGBM's own prediction and a walk; what is no forest is refused."""

import gc
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from longtail.errors import InputError, ModelError
from longtail.solvers.boosted.trees import Forest, Memory, Tree, joined, parted


def random_tree(rng, output, n_features, n_nodes):
    """Grown like any: a leaf is replaced by a node with two leaves, again and again."""
    left, right = [-1], [-2]
    for node in range(1, n_nodes):
        leaf = int(rng.integers(node + 1))
        sides = [(i, side) for side in (left, right) for i in range(node) if side[i] == ~leaf]
        i, side = sides[0]
        side[i] = node
        left.append(~leaf)
        right.append(~(node + 1))
    return Tree(
        output=output,
        feature=rng.integers(n_features, size=n_nodes),
        threshold=rng.integers(-1, 3, size=n_nodes) / 2,
        left=np.array(left),
        right=np.array(right),
        value=rng.normal(size=n_nodes + 1),
    )


def random_forest(rng, n_outputs=3, n_features=5, n_trees=20):
    return Forest.empty(n_outputs, n_features).grown(
        random_tree(rng, int(rng.integers(n_outputs)), n_features, int(rng.integers(1, 7)))
        for _ in range(n_trees)
    )


def walked(trees, X, n_outputs):
    out = np.zeros((len(X), n_outputs))
    for i, x in enumerate(X):
        for tree in trees:
            node = 0
            while node >= 0:
                goes_left = x[tree.feature[node]] <= tree.threshold[node]
                node = int(tree.left[node] if goes_left else tree.right[node])
            out[i, tree.output] += tree.value[~node]
    return out


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 70, 150]), st.integers(1, 4))
def test_trees_say_what_a_walk_says(seed, n, n_outputs):
    """Values lie on thresholds half the time, negative and zero ones included."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 6))
    trees = [
        random_tree(rng, int(rng.integers(n_outputs)), n_features, int(rng.integers(1, 7)))
        for _ in range(int(rng.integers(0, 12)))
    ]
    X = rng.integers(-3, 5, size=(n, n_features)) / 4
    forest = Forest.empty(n_outputs, n_features).grown(trees)
    expected = walked(trees, X, n_outputs)
    assert np.array_equal(forest.predict(sp.csr_array(X)), expected)
    some = np.array([n_outputs - 1])
    assert np.array_equal(forest.predict(sp.csr_array(X), outputs=some), expected[:, some])
    early = min(3, len(trees))
    before = early, walked(trees[:early], X, n_outputs)
    assert np.array_equal(forest.predict(sp.csr_array(X), before=before), expected)
    chosen = rng.permutation(n_outputs)[: n_outputs - 1]
    assert np.array_equal(forest.only(chosen).predict(sp.csr_array(X)), expected[:, chosen])
    again = Forest.from_arrays(forest.to_arrays())
    assert np.array_equal(again.predict(sp.csr_array(X)), expected)


def test_threads_and_blocks_do_not_matter():
    rng = np.random.default_rng(0)
    forest = random_forest(rng, n_trees=50)
    X = sp.random_array((5000, 5), density=0.4, random_state=0, format="csr")
    one = forest.predict(X)
    assert np.array_equal(one, forest.predict(X, n_jobs=2))
    assert np.array_equal(one[1000:1001], forest.predict(X[1000:1001]))


def test_growing_leaves_the_old_as_it_was():
    rng = np.random.default_rng(1)
    old = random_forest(rng)
    X = sp.csr_array(rng.normal(size=(20, 5)))
    before = old.predict(X)
    trees = [random_tree(rng, 0, 5, 3), random_tree(rng, 2, 5, 2)]
    new = old.grown(trees)
    assert np.array_equal(old.predict(X), before)
    assert np.allclose(new.predict(X), before + walked(trees, X.toarray(), 3))
    assert new.trees_of_outputs().sum() == len(old) + 2
    assert old.grown([]) is old


def test_joined_forests_part_again():
    rng = np.random.default_rng(2)
    forests = [random_forest(rng, n_trees=n) for n in (4, 0, 7)]
    X = sp.csr_array(rng.normal(size=(20, 5)))
    whole = Forest.from_arrays(joined(forests).to_arrays())
    assert np.array_equal(whole.predict(X), np.hstack([f.predict(X) for f in forests]))
    for ours, given_back in zip(forests, parted(whole, 3), strict=True):
        for name, array in ours.to_arrays().items():
            assert np.array_equal(array, given_back.to_arrays()[name]), name


def test_other_features_are_refused():
    with pytest.raises(InputError, match="7 features"):
        random_forest(np.random.default_rng(0)).predict(sp.csr_array((3, 7)))


# ---- LightGBM says the same -----------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("leaves", [2, 5, 31])
def test_lightgbm_says_the_same(sparse, leaves):
    """Exactly, also where values lie on thresholds."""
    lightgbm = pytest.importorskip("lightgbm")
    from longtail.solvers.boosted.growing import Grower, Growth, bins_of

    rng = np.random.default_rng(leaves)
    X = rng.normal(size=(400, 8))
    X[:, 3] = np.round(X[:, 3])
    if sparse:
        X[rng.random(X.shape) < 0.7] = 0.0
    X = sp.csr_array(X)
    growth = Growth(leaves, 0.1, 1, 0.0, 0.0, max_bins=255, feature_share=1.0, random_state=0)
    grower = Grower(bins_of(X, growth), None, 3, growth)
    for _ in range(4):
        grower.grow(rng.normal(size=(400, 3)), np.ones((400, 3)))
        grower.scale(np.ones(3))
    forest = Forest.empty(3, 8).grown(grower.trees(np.arange(3)))
    assert len(forest) == 12
    at_thresholds = X.toarray()
    for place, (feature, threshold) in enumerate(
        zip(forest.feature, forest.threshold, strict=True)
    ):
        at_thresholds[place % 400, feature] = threshold
    for points in (X, sp.csr_array(at_thresholds), sp.csr_array((2, 8))):
        plain = sp.csr_matrix(points) if sparse else points.toarray()
        theirs = lightgbm.Booster.predict(grower.booster, plain, raw_score=True)
        assert np.array_equal(forest.predict(points), theirs)


@pytest.mark.parametrize("idle", [[0], [1], [1, 2], [0, 3]])
def test_steps_without_a_split_do_not_confuse_the_others(idle):
    pytest.importorskip("lightgbm")
    from longtail.solvers.boosted.growing import Grower, Growth, bins_of

    rng = np.random.default_rng(8)
    X = sp.csr_array(rng.normal(size=(90, 4)))
    growth = Growth(5, 0.1, 1, 1e-3, 0.0, max_bins=63, feature_share=1.0, random_state=0)
    rows = np.arange(0, 90, 2, dtype=np.int32)
    grower = Grower(bins_of(X, growth), rows, 2, growth)
    total = np.zeros((45, 2))
    for step in range(4):
        first = np.zeros((45, 2)) if step in idle else rng.normal(size=(45, 2))
        said = grower.grow(first, np.ones((45, 2)))
        factors = np.array([0.5**step, 3.0**step])
        grower.scale(factors)
        total += factors * said
    forest = Forest.empty(2, 4).grown(grower.trees(np.arange(2)))
    assert len(forest) == 2 * (4 - len(idle))
    assert forest.predict(X[rows]) == pytest.approx(total, abs=1e-12)


def test_what_was_said_is_remembered_to_the_last_bit(monkeypatch):
    rng = np.random.default_rng(6)
    X, other = sp.csr_array(rng.normal(size=(50, 5))), sp.csr_array(rng.normal(size=(9, 5)))
    forest, memory = random_forest(rng), Memory()
    assert np.array_equal(memory.predict(X, forest), forest.predict(X))
    asked = []
    true_predict = Forest.predict
    monkeypatch.setattr(
        Forest, "predict", lambda self, X, **how: asked.append(how) or true_predict(self, X, **how)
    )
    more = forest.grown([random_tree(rng, 1, 5, 3)])
    assert np.array_equal(memory.predict(X, more), true_predict(more, X))
    assert asked[-1]["before"][0] == len(forest)
    for unlike in (forest, random_forest(rng, n_trees=30)):
        assert np.array_equal(memory.predict(X, unlike), true_predict(unlike, X))
        assert asked[-1]["before"] is None
    assert np.array_equal(memory.predict(other, forest), true_predict(forest, other))
    assert np.array_equal(memory.predict(X, more, 1), true_predict(more, X))
    assert asked[-1]["before"] is None


def test_what_is_gone_or_too_much_is_not_remembered():
    rng = np.random.default_rng(7)
    forest, memory = random_forest(rng), Memory(most_bytes=8 * 3 * 60)
    X, other = (sp.csr_array(rng.normal(size=(40, 5))) for _ in range(2))
    memory.predict(X, forest)
    assert memory.pays(X, 3, 1)
    assert not memory.pays(other, 3, 1)
    memory.predict(other, forest)
    assert not memory.pays(other, 3, 1)
    del X
    gc.collect()
    assert memory.pays(other, 3, 1)
    assert not memory.pays(other, 3, 2)
    again = pickle.loads(pickle.dumps(memory))  # noqa: S301
    assert again.most_bytes == memory.most_bytes


# ---- anything that is no forest is refused ---------------------------------------------------


def altered(name, change):
    arrays = {
        key: array.copy()
        for key, array in random_forest(np.random.default_rng(3)).to_arrays().items()
    }
    arrays[name] = change(arrays[name])
    return arrays


def with_entry(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("size", lambda a: a[:1]),
        ("size", lambda a: -a),
        ("size", lambda a: np.array([1, 5])),
        ("size", lambda a: np.array([3, 2])),
        ("size", lambda a: np.array([2**40, 5])),
        ("starts", lambda a: a[:-1]),
        ("starts", with_entry(0, 1)),
        ("starts", with_entry(1, 10**6)),
        ("starts", with_entry(1, -5)),
        ("starts", with_entry(1, 0)),
        ("starts", lambda a: a.astype(np.int32)),
        ("output", with_entry(0, -1)),
        ("output", with_entry(0, 3)),
        ("output", lambda a: a[:-1]),
        ("feature", with_entry(0, -1)),
        ("feature", with_entry(-1, 5)),
        ("feature", lambda a: a[:-1]),
        ("feature", lambda a: a[:, None]),
        ("threshold", with_entry(2, np.nan)),
        ("threshold", lambda a: a[1:]),
        ("left", with_entry(0, 0)),
        ("left", with_entry(0, 10**6)),
        ("left", with_entry(0, -(2**31))),
        ("left", lambda a: np.zeros_like(a)),
        ("right", lambda a: np.full_like(a, -1)),
        ("right", lambda a: a[:-1]),
        ("value", with_entry(0, np.inf)),
        ("value", with_entry(0, 1e300)),
        ("value", lambda a: a[:-1]),
        ("value", lambda a: None),
        ("value", lambda a: a.tolist()),
    ],
)
def test_altered_forests_are_refused(name, change):
    with pytest.raises(ModelError):
        Forest.from_arrays(altered(name, change))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32 - 1))
def test_no_altered_child_leads_astray(seed):
    """One child changed at will: refused, or as good as before."""
    rng = np.random.default_rng(seed)
    arrays = {key: a.copy() for key, a in random_forest(rng, n_trees=3).to_arrays().items()}
    side = arrays[str(rng.choice(["left", "right"]))]
    place = rng.integers(len(side))
    old, side[place] = side[place], rng.integers(-9, 9)
    if side[place] == old:
        Forest.from_arrays(arrays)
    else:
        with pytest.raises(ModelError):
            Forest.from_arrays(arrays)


def test_forests_of_other_outputs_are_refused():
    arrays = random_forest(np.random.default_rng(0)).to_arrays()
    outputs = int(arrays["size"][0])
    assert Forest.from_arrays(arrays, outputs).n_outputs == outputs
    arrays["size"] = arrays["size"] * [10**6, 1]
    with pytest.raises(ModelError, match="do not fit its classes"):
        Forest.from_arrays(arrays, outputs)


def test_missing_arrays_are_refused():
    with pytest.raises(ModelError, match="'size'"):
        Forest.from_arrays({})


def test_disordered_parts_are_refused():
    rng = np.random.default_rng(5)
    forest = Forest.empty(4, 2).grown([random_tree(rng, 3, 2, 1), random_tree(rng, 0, 2, 1)])
    with pytest.raises(ModelError, match="order"):
        parted(forest, 2)
