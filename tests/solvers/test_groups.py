"""Problems on a subset of the rows, with only the columns that occur there."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.data import make_longtail
from longtail.errors import InputError
from longtail.runtime.run import Run
from longtail.solvers import Group, fit_linear
from longtail.solvers.linear.groups import restricted
from longtail.solvers.linear.task import make_task

SETTINGS = {
    "l2 hinge": {},
    "l2 logistic": {"loss": "logistic"},
    "l1 hinge": {"penalty": "l1", "strength": 0.3},
    "l1 logistic": {"penalty": "l1", "loss": "logistic", "strength": 0.3},
    "no bias": {"bias": 0.0},
    "pruned": {"prune": 0.05, "dtype": np.float64},
}


@pytest.fixture(scope="module")
def data():
    return make_longtail(200, 400, 25, labels_per_sample=3, random_state=1)


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    problems = rng.permutation(25)
    return [
        Group(np.sort(rng.choice(200, 80, replace=False)), problems[:3]),
        Group(rng.choice(200, 50, replace=False), problems[3:14]),
        Group(np.empty(0, dtype=int), problems[14:15]),
        Group(np.arange(200), problems[15:]),
    ]


def alone(data, group, **settings):
    """The problems of a group on their sub-matrix, and the columns that occur there."""
    part = sp.csr_array(data.X[group.rows])
    used = np.unique(part.indices)
    return fit_linear(part[:, used], data.Y[group.rows][:, group.problems], **settings), used


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("block_size", [None, 4])
def test_the_bits_are_those_of_the_sub_matrix(data, groups, name, block_size):
    settings = SETTINGS[name]
    fit = fit_linear(data.X, data.Y, groups=groups, block_size=block_size, n_jobs=2, **settings)
    assert fit.weights.shape == (401, 25)
    assert fit.weights.has_sorted_indices
    for group in groups:
        wanted, used = alone(data, group, **settings)
        ours = sp.csc_array(fit.weights)[:, group.problems].toarray()
        rows = np.append(used, 400)
        assert np.array_equal(ours[rows], wanted.weights.toarray())
        assert not np.delete(ours, rows, axis=0).any()  # columns that do not occur
        for field in ("objective", "gap", "violation", "iterations", "converged"):
            assert np.array_equal(
                getattr(fit, field)[group.problems], getattr(wanted, field), equal_nan=True
            )


@pytest.mark.parametrize("name", ["l2 hinge", "l2 logistic", "l1 hinge", "l1 logistic"])
def test_the_same_as_on_the_rows_with_all_columns(data, groups, name):
    settings = {**SETTINGS[name], "tol": 1e-7, "dtype": np.float64, "max_iter": 1000}
    fit = fit_linear(data.X, data.Y, groups=groups, **settings)
    for group in (groups[0], groups[1]):
        wanted = fit_linear(data.X[group.rows], data.Y[group.rows][:, group.problems], **settings)
        np.testing.assert_allclose(
            fit.weights[:, group.problems].toarray(), wanted.weights.toarray(), atol=1e-5
        )


def test_weights_of_rows_and_warm_starts_follow(data, groups):
    rng = np.random.default_rng(2)
    dense, shared = rng.random((200, 25)), rng.random(200)
    start = sp.random_array((401, 25), density=0.1, rng=rng, format="csr")
    for settings in (
        {"sample_weight": shared}, {"sample_weight": dense}, {"sample_weight": sp.csr_array(dense)},
        {"warm_start": start}, {"warm_start": start, "penalty": "l1", "strength": 0.3},
    ):  # fmt: skip
        fit = fit_linear(data.X, data.Y, groups=groups, **settings)
        for group in groups:
            rows, problems = group
            used = np.unique(sp.csr_array(data.X[rows]).indices)
            local = dict(settings)
            weight = settings.get("sample_weight")
            if weight is not None:
                local["sample_weight"] = (
                    weight[rows] if weight.ndim == 1 else sp.csr_array(weight)[rows][:, problems]
                )
                if isinstance(weight, np.ndarray) and weight.ndim == 2:
                    local["sample_weight"] = weight[np.ix_(rows, problems)]
            if "warm_start" in settings:
                local["warm_start"] = start[np.append(used, 400)][:, problems]
            wanted, used = alone(data, group, **local)
            ours = fit.weights[:, problems].toarray()[np.append(used, 400)]
            assert np.array_equal(ours, wanted.weights.toarray())


def test_goes_on_where_it_stopped(data, groups, tmp_path):
    undisturbed = fit_linear(data.X, data.Y, groups=groups, block_size=4)

    class StopError(Exception):
        pass

    def stop(what, done, total):
        if done > 8:
            raise StopError

    with pytest.raises(StopError):
        fit_linear(data.X, data.Y, groups=groups, block_size=4, run=Run(stop, tmp_path / "c"))
    seen = []
    run = Run(lambda what, done, total: seen.append((done, total)), tmp_path / "c")
    again = fit_linear(data.X, data.Y, groups=groups, block_size=4, run=run)
    assert seen[0][0] > 8
    assert seen[-1] == (25, 25)
    assert np.array_equal(again.weights.toarray(), undisturbed.weights.toarray())


def test_other_groups_are_other_work(data, groups, tmp_path):
    fit_linear(data.X, data.Y, groups=groups, run=Run(checkpoint=tmp_path / "c"))
    other = [groups[0]._replace(rows=groups[0].rows[1:]), *groups[1:]]
    for changed in (other, None):
        with pytest.raises(ValueError, match="other work"):
            fit_linear(data.X, data.Y, groups=changed, run=Run(checkpoint=tmp_path / "c"))


class Recorder:
    """An executor that remembers what it solves."""

    isolated = False

    def __init__(self):
        self.solved = []

    def each(self, solve, task, blocks, done):
        for number, block in blocks:
            self.solved.append((solve, task, block))
            done(number, solve(task, block))


def test_small_groups_share_a_block(data):
    groups = [(np.arange(8 * j, 8 * j + 8), [j]) for j in range(25)]
    recorder = Recorder()
    fit_linear(data.X, data.Y, groups=groups, run=Run(executor=recorder))
    assert [len(block.parts) for _, _, block in recorder.solved] == [25]


@pytest.mark.parametrize("name", ["l2 hinge", "l2 logistic", "l1 hinge"])
def test_a_group_takes_memory_for_its_rows_only(data, name):
    groups = [(np.arange(8 * j, 8 * j + 8), [j]) for j in range(25)]
    narrow = fit_linear(data.X, data.Y, groups=groups, **SETTINGS[name])
    far = 25_000
    shape = (200, 400 * far)
    wide = sp.csr_array((data.X.data, data.X.indices * far, data.X.indptr), shape=shape)
    recorder = Recorder()
    run = Run(executor=recorder)
    fit = fit_linear(wide, data.Y, groups=groups, run=run, **SETTINGS[name])
    assert np.array_equal(fit.weights[::far].toarray(), narrow.weights.toarray())
    solve, task, block = recorder.solved[0]
    tracemalloc.start()
    solve(task, block)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < wide.shape[1]  # bytes: not one per column


def test_a_restricted_task_has_the_size_of_its_rows(data):
    task = make_task(
        data.X, data.Y, loss="logistic", penalty="l2", strength=1.0, bias=1.0, sample_weight=None,
        penalize_bias=True, warm_start=None, tol=None, max_iter=5, max_seconds=None,
    )  # fmt: skip
    part, used = restricted(task, np.array([7, 3]), np.array([4, 2]))
    wanted = sp.csr_array(data.X[[7, 3]])
    assert used.tolist() == np.unique(wanted.indices).tolist()
    assert (part.n_points, part.n_features) == (2, len(used))
    assert np.array_equal(part.targets.toarray(), data.Y[[7, 3]][:, [4, 2]].toarray())


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ([([0], [0])], "Problem 1 is in 0 groups"),
        ([([0], [0, 1]), ([1], [1])], "Problem 1 is in 2 groups"),
        ([([0, 9], [0, 1])], "Group 0 names a row that is not among the 3"),
        ([([0], [0, 1, 2])], "Group 0 names a problem that is not among the 2"),
        ([([0, 0], [0, 1])], "Group 0 names a row twice"),
    ],
)
def test_senseless_groups_are_refused(groups, why):
    with pytest.raises(InputError, match=why):
        fit_linear(np.eye(3), np.eye(3)[:, :2], groups=groups)
