"""The online tree against a literal version of the paper's algorithm, and what must hold of it."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import longtail
from longtail import ranked
from longtail.choosing.peak_memory import PeakMemory
from longtail.errors import InputError, ModelError, ParameterError
from longtail.methods.trees._growth import is_nested, is_tree, resumed, seedling
from longtail.methods.trees._log_tree_kernels import LEFT, PARENT, REGRESSOR, RIGHT, find, slot_of
from longtail.methods.trees.log_tree import LogTree


class Node:
    """A node as the paper has it: dictionaries by class."""

    def __init__(self):
        self.parent = self.left = self.right = self.regressor = None
        self.set_node()
        self.C = 0

    def set_node(self):
        self.m, self.l, self.n = {}, {}, {}

    @property
    def is_leaf(self):
        return self.left is None


class LiteralTree:
    """Algorithm 1 of Choromanska & Langford, line by line, for dense rows."""

    def __init__(self, n_features, T, R_S, rate):
        self.root, self.t, self.T, self.R_S, self.rate = Node(), 0, T, R_S, rate
        self.w = np.zeros((T, n_features + 1), dtype=np.float32)
        self.swaps = 0

    def update_c(self, v):
        while v is not self.root and v.parent.C != v.C:
            v = v.parent
            v.C = min(v.left.C, v.right.C)

    def leaves(self, v=None):
        v = v or self.root
        return [v] if v.is_leaf else self.leaves(v.left) + self.leaves(v.right)

    def swap(self, v):
        s = [leaf for leaf in self.leaves() if self.root.C == leaf.C]
        s = s[-1]
        s_pa = s.parent
        s_gpa = s_pa.parent
        if s_gpa is None or s is v:
            return False
        s_sib = s_pa.left if s_pa.right is s else s_pa.right
        if s_pa is s_gpa.left:
            s_gpa.left = s_sib
        else:
            s_gpa.right = s_sib
        s_sib.parent = s_gpa
        self.update_c(s_sib)
        v.regressor = s_pa.regressor
        for node in (s, s_pa):
            node.set_node()
            node.left = node.right = node.regressor = None
            node.parent = v
        v.left, v.right = s, s_pa
        self.swaps += 1
        return True

    def learn(self, regressor, x, c):
        w = self.w[regressor]
        h, norm = float(w[-1]), 1.0
        used = np.flatnonzero(x)
        for f in used:
            h += float(x[f]) * float(w[f])
            norm += float(x[f]) * float(x[f])
        step = self.rate * (c - h) / norm
        for f in used:
            w[f] = np.float32(float(w[f]) + step * float(x[f]))
        w[-1] = np.float32(float(w[-1]) + step)
        return h + self.rate * (c - h)

    def show(self, x, y):
        j = self.root
        while True:
            for statistic in (j.m, j.l, j.n):
                statistic.setdefault(y, 0)
            j.l[y] += 1
            if j.is_leaf and len(j.l) >= 2:
                grown = False
                if self.t < self.T:
                    j.left, j.right = Node(), Node()
                    j.left.parent = j.right.parent = j
                    j.regressor = self.t
                    self.t += 1
                    grown = True
                elif j.C - max(j.l.values()) > self.R_S * (self.root.C + 1):
                    grown = self.swap(j)
                if grown:
                    j.left.C = j.C // 2
                    j.right.C = j.C - j.left.C
                    self.update_c(j.left)
            if j.is_leaf:
                j.C += 1
                self.update_c(j)
                return
            steps = sum(j.n.values())
            E = sum_in_order(j) / max(steps, 1)
            e = j.m[y] / max(j.n[y], 1)
            c = -1.0 if e < E else 1.0
            h = self.learn(j.regressor, x, c)
            j.total = sum_in_order(j) + h
            j.n[y] += 1
            j.m[y] += h
            j = j.left if h < 0 else j.right

    def links(self):
        """As `LogTree.links_`: level by level from the root."""
        order, queue = [], deque([self.root])
        while queue:
            node = queue.popleft()
            order.append(node)
            if not node.is_leaf:
                queue.extend([node.left, node.right])
        number = {id(node): i for i, node in enumerate(order)}
        return [
            [
                -1 if node.parent is None else number[id(node.parent)],
                -1 if node.is_leaf else number[id(node.left)],
                -1 if node.is_leaf else number[id(node.right)],
                -1 if node.is_leaf else node.regressor,
            ]
            for node in order
        ]


def sum_in_order(node):
    """The sum of all margins, added up in the order in which they came."""
    return getattr(node, "total", 0.0) if node.n and sum(node.n.values()) else 0.0


def literal(X, y, T, R_S, rate, n_passes, seed):
    tree = LiteralTree(X.shape[1], T, R_S, rate)
    for number in range(n_passes):
        for i in np.random.default_rng([seed, number]).permutation(len(y)):
            tree.show(X[i], int(y[i]))
    return tree


def blobs(n_classes, n_each, n_features=20, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, n_features))
    y = np.repeat(np.arange(n_classes), n_each)
    return centres[y] + noise * rng.normal(size=(len(y), n_features)), y


class TestAgainstTheLiteralAlgorithm:
    @given(
        seed=st.integers(0, 10_000),
        n_classes=st.integers(2, 9),
        T=st.integers(1, 10),
        resistance=st.sampled_from([0.0, 0.5, 4.0]),
        rate=st.sampled_from([0.2, 0.5, 1.0]),
    )
    @settings(max_examples=40, deadline=None)
    def test_same_tree(self, seed, n_classes, T, resistance, rate):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.7)
        y = rng.integers(0, n_classes, 40)
        y[:2] = 0, 1
        tree = LogTree(
            max_nodes=T, swap_resistance=resistance, learning_rate=rate, n_passes=3,
            random_state=seed,
        ).fit(X, y)  # fmt: skip
        _, numbers = np.unique(y, return_inverse=True)
        wanted = literal(X, numbers, T, resistance, rate, 3, seed)
        assert tree.links_.tolist() == wanted.links()
        assert tree.n_swaps_ == wanted.swaps
        assert np.array_equal(tree.weights_.reshape(-1, 5), wanted.w[: wanted.t])

    def test_swaps_do_occur_and_keep_a_tree(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 3)), rng.integers(0, 12, 300)
        tree = LogTree(max_nodes=8, swap_resistance=0.0, n_passes=3).fit(X, y)
        assert tree.n_swaps_ > 0
        assert is_tree(tree.links_)
        assert (tree.links_[:, REGRESSOR] >= 0).sum() == 8
        wanted = literal(X, y, 8, 0.0, 0.5, 3, 0)
        assert wanted.swaps == tree.n_swaps_
        assert tree.links_.tolist() == wanted.links()

    def test_a_table_that_has_to_grow_changes_nothing(self):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(400, 3)), rng.integers(0, 300, 400)
        tree = LogTree(max_nodes=40, swap_resistance=0.0, n_passes=2).fit(X, y)
        _, numbers = np.unique(y, return_inverse=True)
        assert tree.links_.tolist() == literal(X, numbers, 40, 0.0, 0.5, 2, 0).links()

    def test_first_steps_by_hand(self):
        """A class whose mean is below that of all is drawn to -1, any other to +1."""
        X, y = np.array([[1.0], [-1.0]]), np.array([0, 1])
        order = [np.random.default_rng([0, number]).permutation(2) for number in range(2)]
        splits = order[0][1]  # the second point meets a root of another class
        w, b = 0.25 * X[splits, 0], 0.25  # from 0 half the way to +1, over |(x, 1)|² = 2
        assert LogTree(n_passes=1).fit(X, y).weights_.tolist() == [w, b]
        means = {y[splits]: 0.5, 1 - y[splits]: 0.0}
        overall, steps = 0.5, 1
        for i in order[1]:
            target = -1.0 if overall > means[y[i]] else 1.0
            value = w * X[i, 0] + b
            assert target == (1.0 if i == splits else -1.0)
            w, b = w + 0.25 * (target - value) * X[i, 0], b + 0.25 * (target - value)
            value += 0.5 * (target - value)
            means[y[i]] = (0.5 + value) / 2 if i == splits else value
            overall, steps = (overall * steps + value) / (steps + 1), steps + 1
        assert LogTree(n_passes=2).fit(X, y).weights_ == pytest.approx([w, b])


class TestLearning:
    def test_separable_classes_are_learned(self):
        X, y = blobs(32, 20, n_features=100)
        tree = LogTree().fit(X[::2], y[::2])
        assert tree.score(X[1::2], y[1::2]) > 0.97
        assert tree.depth_ <= 10  # twice log2 of the classes
        assert (len(tree.links_) + 1) // 2 <= 32

    def test_root_split_is_balanced_and_pure(self):
        """J = 2 Σ p(y) |P(right) - P(right | y)| is 1 at best; classes apart get near it."""
        X, y = blobs(16, 20, seed=3)
        tree = LogTree().fit(X, y)
        counts = tree.counts_.toarray()
        right = counts[tree.links_[0, RIGHT]] / counts[0]
        p = counts[0] / counts[0].sum()
        assert 2 * (p * np.abs(p @ right - right)).sum() > 0.9

    @given(seed=st.integers(0, 1000), max_nodes=st.integers(1, 12))
    @settings(max_examples=20, deadline=None)
    def test_never_more_nodes_than_allowed(self, seed, max_nodes):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.integers(0, 20, 60)
        tree = LogTree(max_nodes=max_nodes, swap_resistance=0.0, n_passes=2).fit(X, y)
        assert len(tree.links_) <= 2 * max_nodes + 1
        assert is_tree(tree.links_)
        depths = [0] * len(tree.links_)
        for node in range(1, len(tree.links_)):
            depths[node] = depths[tree.links_[node, PARENT]] + 1
        assert tree.depth_ == max(depths)

    def test_default_bound_is_one_fewer_than_the_classes(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(200, 3)), rng.integers(0, 7, 200)
        assert (LogTree().fit(X, y).links_[:, REGRESSOR] >= 0).sum() == 6

    def test_one_class_and_rows_without_features(self):
        tree = LogTree().fit(sp.csr_array((3, 2)), ["a", "a", "a"])
        assert tree.depth_ == 0
        assert tree.predict(sp.csr_array((2, 2))).tolist() == ["a", "a"]

    def test_rows_with_several_labels_count_once_for_each(self):
        Y = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]])
        tree = LogTree().fit(np.eye(4), Y)
        assert tree.counts_[[0]].toarray().ravel().tolist() == [1, 2, 1]
        assert tree.predict(np.eye(4)).sum(axis=1).tolist() == [1, 1, 1, 1]

    def test_no_labels_at_all_are_refused(self):
        with pytest.raises(InputError, match="No row of Y has a label"):
            LogTree().fit(np.eye(2), np.zeros((2, 3), int))

    def test_scale_of_the_features_does_not_upset_it(self):
        X, y = blobs(8, 20)
        assert LogTree().fit(1e6 * X, y).score(1e6 * X, y) > 0.95

    def test_seed_decides_and_threads_do_not(self):
        X, y = blobs(20, 30, noise=1.0)
        one, two, other = (
            LogTree(random_state=seed, n_jobs=jobs).fit(X, y)
            for seed, jobs in ((1, 1), (1, 2), (2, 1))
        )
        assert np.array_equal(one.weights_, two.weights_)
        many = np.vstack([X] * 10)
        first, second = one.predict_topk(many, 4), two.predict_topk(many, 4)
        assert np.array_equal(first.data, second.data)
        assert np.array_equal(first.indices, second.indices)
        assert not np.array_equal(one.weights_, other.weights_)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("max_nodes", 0), ("n_passes", 0), ("learning_rate", 0.0), ("learning_rate", 1.5),
            ("swap_resistance", -1), ("table_bits", 0), ("table_bits", 31), ("random_state", -1),
            ("memory_limit", 0),
        ],
    )  # fmt: skip
    def test_odd_parameters_are_refused(self, name, value):
        with pytest.raises(ParameterError, match=name):
            LogTree(**{name: value}).fit(np.eye(2), [0, 1])

    def test_a_table_that_is_too_large_is_refused(self):
        with pytest.raises(ParameterError, match="table_bits must be a whole number from 1 to 30"):
            LogTree(table_bits=31).fit(np.eye(2), [0, 1])


class TestMemory:
    def test_what_exceeds_the_limit_is_refused_before_any_work(self):
        X, y = blobs(50, 10)
        need = LogTree().estimate(X, y).peak_bytes / 1e9
        seen = []
        with pytest.raises(InputError, match=r"LogTree .* [\d.]+ MB .* memory_limit of") as caught:
            LogTree(memory_limit=need / 2).fit(X, y, progress=lambda *told: seen.append(told))
        assert "max_nodes" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert seen == []
        LogTree(memory_limit=need).fit(X, y)

    def test_it_is_not_the_table_alone_that_counts(self):
        """More nodes and more points need more, with as many weights as the table can hold."""
        X, y = blobs(200, 10)
        small, large = (LogTree(table_bits=4, max_nodes=n).estimate(X, y) for n in (20, 199))
        more = LogTree(table_bits=4, max_nodes=199).estimate(np.vstack([X] * 5), np.tile(y, 5))
        assert small.peak_bytes + 200 * 179 <= large.peak_bytes
        assert more.peak_bytes > large.peak_bytes + 100 * 4 * len(y)

    def test_the_table_is_not_copied_in_the_end(self):
        """A table of 60 MB; a copy would make it 120."""
        X = sp.csr_array((np.ones(100), (np.arange(100), np.arange(100))), shape=(100, 150_000))
        y = np.arange(100)
        LogTree().fit(X[:20], y[:20])  # kernels compiled
        with PeakMemory() as memory:
            tree = LogTree().fit(X, y)
        assert 14 * 2**20 < len(tree.weights_) <= 2**24
        if memory.peak_bytes is None:
            pytest.skip("the system does not tell")
        assert memory.peak_bytes < 1.5 * tree.weights_.nbytes


class TestScores:
    @given(seed=st.integers(0, 1000), k=st.integers(1, 12))
    @settings(max_examples=25, deadline=None)
    def test_top_classes_by_their_definition(self, seed, k):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(50, 3)), rng.integers(0, 9, 50)
        tree = LogTree(n_passes=1).fit(X, y)
        n_labels, counts = len(tree.classes_), tree.counts_.toarray()
        shares = np.empty(counts.shape)
        for node, (parent, *_) in enumerate(tree.links_):
            prior = 1 / n_labels if parent < 0 else shares[parent]
            shares[node] = (counts[node] + prior) / (counts[node].sum() + 1)
        leaves = tree._leaves(sp.csr_array(X))
        assert (tree.links_[leaves, LEFT] < 0).all()
        labels, values = ranked(tree.predict_topk(X, k), min(k, n_labels))
        for i, leaf in enumerate(leaves):
            order = np.argsort(-np.log(shares[leaf]).round(9), kind="stable")[: min(k, n_labels)]
            assert np.allclose(values[i], np.log(shares[leaf][order]))
            assert np.allclose(shares[leaf][labels[i]], shares[leaf][order])
        best = tree.predict(X)
        most = counts[leaves].max(axis=1)
        filled = most > 0
        chosen = np.searchsorted(tree.classes_, best)
        assert (counts[leaves, chosen] == most)[filled].all()

    def test_classes_without_points_are_not_listed(self):
        Y = sp.csr_array(np.array([[1, 0, 0], [0, 0, 1]]))
        top = LogTree().fit(np.eye(2), Y).predict_topk(np.eye(2), 3)
        assert set(top.indices.tolist()) == {0, 2}
        assert math.isinf(LogTree().fit(np.eye(2), Y).explain([1.0, 0.0], 1).summary["log share"])

    def test_explanation_follows_the_path(self):
        X, y = blobs(12, 10)
        tree = LogTree().fit(X, y)
        why = tree.explain(X[0], 0, n=100)
        assert why.score == pytest.approx(why.bias + why.parts["contribution"].sum())
        assert why.summary["log share"] == pytest.approx(
            ranked(tree.predict_topk(X[:1], 1), 1)[1][0, 0]
        )
        node = 0
        for number, value in why.table("path").select("node", "margin").iter_rows():
            assert number == node
            node = tree.links_[node, LEFT if value < 0 else RIGHT]
        assert node == tree._leaves(sp.csr_array(X[:1]))[0]
        assert why.score > 0  # the point lies where its class does
        assert why.table("path")["went"].to_list()[0] in ("left", "right")
        assert "path" in str(why)


class TestHashing:
    def test_places_are_spread_evenly(self):
        places = np.array([slot_of(r, f, 100, 10) for r in range(50) for f in range(101)])
        assert places.min() >= 0
        assert places.max() < 1024
        load = np.bincount(places, minlength=1024)
        assert load.max() < 20  # 5 on average

    def test_small_table_still_learns(self):
        X, y = blobs(16, 20)
        exact = LogTree().fit(X, y)
        assert exact.table_bits_ == 0
        assert len(exact.weights_) == 15 * 21
        hashed = LogTree(table_bits=8).fit(X, y)  # 256 places for 315 weights
        assert hashed.table_bits_ == 8
        assert hashed.weights_.shape == (256,)
        assert hashed.score(X, y) > 0.8

    def test_keys_are_found_again(self):
        keys = np.full(8, -1, dtype=np.int64)
        for key in (3, 11, 19, 0):
            keys[find(keys, key)] = key
        assert [int(keys[find(keys, key)]) for key in (3, 11, 19, 0)] == [3, 11, 19, 0]
        assert keys[find(keys, 27)] == -1


class TestStored:
    @pytest.fixture
    def tree(self):
        X, y = blobs(6, 5)
        return LogTree().fit(X, y)

    def test_comes_back_as_it_was(self, tree, tmp_path):
        X, _ = blobs(6, 5)
        tree.save(tmp_path / "model")
        loaded = longtail.load(tmp_path / "model")
        assert np.array_equal(loaded.predict_topk(X, 6).data, tree.predict_topk(X, 6).data)
        assert loaded.depth_ == tree.depth_

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("links_", lambda a: a[:-1]),
            ("links_", lambda a: np.where(a == 2, 1, a)),
            ("links_", lambda a: a.astype(np.int64)),
            ("weights_", lambda a: a[:-1]),
            ("weights_", lambda a: a * np.float32(np.nan)),
            ("table_bits_", lambda a: 70),
            ("counts_", lambda a: a[:-1]),
            ("counts_", lambda a: a * 0.5),
            ("counts_", lambda a: sp.csr_array(np.ones(a.shape, dtype=np.int64))),
        ],
    )
    def test_altered_trees_are_refused(self, tree, tmp_path, name, change):
        setattr(tree, name, change(getattr(tree, name)))
        tree.save(tmp_path / "model")
        with pytest.raises(ModelError):
            longtail.load(tmp_path / "model")

    def test_cycles_are_no_trees(self, tree):
        assert is_tree(tree.links_)
        assert is_nested(tree.counts_, tree.links_)
        circular = tree.links_.copy()
        circular[-1, LEFT] = circular[-1, RIGHT] = 0
        assert not is_tree(circular)

    def test_goes_on_after_a_pass(self, tmp_path):
        X, y = blobs(6, 5)

        def stop(what, done, total):
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            LogTree(n_passes=4).fit(X, y, checkpoint=tmp_path / "c", progress=stop)
        seen = []
        again = LogTree(n_passes=4).fit(
            X, y, checkpoint=tmp_path / "c", progress=lambda _, done, total: seen.append(done)
        )
        assert seen == [2, 3, 4]
        assert np.array_equal(again.weights_, LogTree(n_passes=4).fit(X, y).weights_)

    def test_damaged_checkpoints_are_not_used(self):
        fresh = seedling(3, 2, 0)
        arrays = {"passes": np.array([1]), **fresh._asdict()}
        assert resumed(arrays, 3, 2, 0, 5)[0] == 1
        assert resumed({}, 3, 2, 0, 5) is None
        assert resumed({**arrays, "links": fresh.links[:-1]}, 3, 2, 0, 5) is None
        circular = fresh.links.copy()
        circular[0, [LEFT, RIGHT]] = 0
        assert resumed({**arrays, "links": circular}, 3, 2, 0, 5) is None
