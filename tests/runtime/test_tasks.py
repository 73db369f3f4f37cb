"""Every task and its block function can be sent elsewhere, and give the same bits there."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from longtail.data import make_longtail
from longtail.methods.joint import _conditionals
from longtail.methods.linear import CCDL1, OVA
from longtail.runtime import Blocks, ProcessExecutor, Run, Stopped, ThreadExecutor, stopping
from longtail.search import neighbours
from longtail.solvers import fit_linear, fit_ridge
from longtail.solvers import liblinear as lib
from tests.forking import answer_of


@pytest.fixture(scope="module")
def data():
    return make_longtail(150, 90, 12, labels_per_sample=2, random_state=0)


class Seen(Exception):  # noqa: N818 - not an error
    """The blocks of a task, instead of their solutions."""


class Recorder:
    """An executor that solves nothing."""

    isolated = True

    def each(self, solve, task, blocks, done):
        raise Seen(solve, task, [block for _, block in blocks])


def recorded(start):
    with pytest.raises(Seen) as seen:
        start(Run(executor=Recorder()))
    return seen.value.args


def linear_work(X, Y, **settings):
    return recorded(lambda run: fit_linear(X, Y, run=run, **settings))


GROUPS = [(np.arange(0, 150, 2), np.arange(5)), (np.arange(100), np.arange(5, 12))]
TASKS = {
    "dual": lambda X, Y: linear_work(X, Y),
    "newton": lambda X, Y: linear_work(X, Y, loss="logistic"),
    "l1": lambda X, Y: linear_work(X, Y, penalty="l1", strength=0.5),
    "groups": lambda X, Y: linear_work(X, Y, groups=GROUPS),
    "ridge": lambda X, Y: recorded(lambda run: fit_ridge(X, Y.toarray(), strength=1.0, run=run)),
    "conjugate gradients": lambda X, Y: recorded(
        lambda run: fit_ridge(
            X, Y.toarray(), strength=1.0, solver="conjugate_gradient", dtype=np.float64, run=run
        )
    ),
    "sparse neighbours": lambda X, Y: recorded(
        lambda run: neighbours.find_others(
            neighbours.NeighbourIndex(X), X, 3, n_jobs=1, run=run
        )
    ),
    "dense neighbours": lambda X, Y: recorded(
        lambda run: neighbours.find_others(
            neighbours.NeighbourIndex(X.toarray()), X.toarray(), 3, n_jobs=1, run=run
        )
    ),
    "conditionals": lambda X, Y: recorded(
        lambda run: _conditionals.fit_conditionals(
            _conditionals.Task(X, sp.csr_array(Y), None, 1.0, 1e-4, 50, 0.0), n_jobs=1, run=run
        )
    ),
    "liblinear": lambda X, Y: recorded(
        lambda run: OVA()._fit(X, sp.csr_array(Y), run)
    ),
    "liblinear l1": lambda X, Y: recorded(
        lambda run: CCDL1()._train(X, sp.csr_array(Y), run, None)
    ),
    "pairs": lambda X, Y: (
        lib.solve_pairs,
        lib.LiblinearTask(X, {"random_state": 0}, classes=np.array_split(np.arange(150), 3)),
        [list(combinations(range(3), 2))],
    ),
    "all classes": lambda X, Y: (
        lib.solve_together,
        lib.LiblinearTask(X, {"random_state": 0}, y=np.arange(150) % 3),
        [np.arange(3)],
    ),
}  # fmt: skip


def same(one, other):
    assert set(one) == set(other)
    for name in set(one) - {"seconds"}:
        assert one[name].dtype == other[name].dtype
        assert one[name].tobytes() == other[name].tobytes(), name


def solve_each(pickled):
    sent = pickle.loads(pickled)  # noqa: S301
    return {name: solve(task, block) for name, (solve, task, block) in sent.items()}


@pytest.fixture(scope="module")
def solved_elsewhere(data):
    """A block of every task, solved in one new process from pickles."""
    tasks = {name: make(data.X, data.Y) for name, make in TASKS.items()}
    sent = {name: (solve, task, blocks[0]) for name, (solve, task, blocks) in tasks.items()}
    return sent, answer_of(solve_each, pickle.dumps(sent))


@pytest.mark.parametrize("name", TASKS)
def test_a_block_of_every_task_gives_the_same_bits_in_a_new_process(name, solved_elsewhere):
    sent, found = solved_elsewhere
    solve, task, block = sent[name]
    here = {}
    alone = solve.__module__ == lib.__name__  # liblinear has one random generator for all threads
    ThreadExecutor(1 if alone else 2).each(solve, task, enumerate([block, block]), here.__setitem__)
    same(here[0], found[name])
    same(here[1], found[name])


@pytest.mark.parametrize(
    "settings", [{}, {"loss": "logistic"}, {"penalty": "l1", "strength": 0.5}, {"groups": GROUPS}]
)
def test_fit_linear_by_processes_gives_the_bits_of_threads(data, settings):
    by_threads = fit_linear(data.X, data.Y, block_size=3, n_jobs=2, **settings)
    run = Run(executor=ProcessExecutor(2))
    by_processes = fit_linear(data.X, data.Y, block_size=3, run=run, **settings)
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(
            getattr(by_threads.weights, name), getattr(by_processes.weights, name)
        )
    assert np.array_equal(by_threads.objective, by_processes.objective)


def test_large_arrays_of_a_task_may_be_written_to_elsewhere():
    """Kernels are compiled for such arrays; a memory map that cannot be changed is another type."""
    found = {}
    large = np.zeros(300_000)
    ProcessExecutor(2).each(set_first, large, enumerate([1.0, 2.0]), found.__setitem__)
    assert found == {0: 1.0, 1: 2.0}
    assert large[0] == 0.0


def set_first(task, block):
    task[0] = block
    return float(task[0])


def test_what_a_process_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        ProcessExecutor(2).each(divmod, 1, enumerate([1, 0, 2]), lambda number, result: None)


def test_liblinear_is_never_solved_by_threads(data):
    run = Run(executor=ThreadExecutor(4))
    model = OVA()
    blocks = Blocks(
        [[0], [1]], lambda number, arrays: None, what="x", identity=str, run=run,
        is_sound=lambda block, arrays: True,
    )  # fmt: skip
    blocks.solve(in_main_thread, model, n_jobs=1, isolated=True)


def in_main_thread(task, block):
    import threading

    assert threading.current_thread() is threading.main_thread()
    return {}


def test_nobody_asks_the_calling_thread_to_stop():
    assert not stopping()[0]


def test_threads_are_told_to_stop():
    told = []

    def interrupted(number, result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ThreadExecutor(2).each(wait_or_end, told, enumerate([0, 1]), interrupted)
    assert told == [True]


def wait_or_end(told, block):
    if block == 0:
        return {}
    flag = stopping()
    while not flag[0]:
        pass
    told.append(True)
    raise Stopped
