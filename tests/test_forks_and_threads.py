"""Methods in forked processes and in several threads of the caller: they end, and agree."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from longtail.testing.problem import small_problem
from tests.forking import in_a_fork
from tests.instances import instances
from tests.trainings import learned


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
