"""Methods in forked processes and in several threads of the caller: they end, and agree."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading

import numpy as np
import pytest
from sklearn.base import clone

from longtail.testing.problem import small_problem
from tests.instances import instances

FORK = multiprocessing.get_context("fork")
SECONDS = 60


def learned(classifier, X, Y):
    """The scores of all labels, which say what was learned."""
    return clone(classifier).fit(X, Y).predict_topk(X, Y.shape[1]).toarray().tolist()


def in_a_fork(work):
    """What a forked process answers; None if it hangs or dies."""
    ours, theirs = FORK.Pipe(duplex=False)

    def answer():
        theirs.send(work())

    process = FORK.Process(target=answer)
    process.start()
    try:
        return ours.recv() if ours.poll(SECONDS) else None
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.join()


@pytest.mark.parametrize("classifier", instances(), ids=lambda c: c.method)
def test_a_child_can_train_what_its_parent_has_trained(classifier):
    X, Y = small_problem(classifier)
    here = learned(classifier, X, Y)
    assert in_a_fork(lambda: learned(classifier, X, Y)) == here


@pytest.mark.parametrize(
    "classifier",
    [c for c in instances() if c.method in ("ova", "ovo", "msvm", "ccd-l1", "dismec", "rbf")],
    ids=lambda c: c.method,
)
def test_threads_of_the_caller_do_not_disturb_each_other(classifier):
    rng = np.random.default_rng(0)
    X = rng.random((120, 30))
    Y = np.eye(6, dtype=int)[rng.integers(6, size=120)]
    alone = learned(classifier, X, Y)
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(learned(classifier, X, Y))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4
