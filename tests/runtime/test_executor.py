"""Threads: order does not matter, errors come through, a stop reaches the workers."""

from __future__ import annotations

import re
import threading

import numpy as np  # noqa: F401 - loads the BLAS whose threads are counted
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from longtail.errors import ParameterError
from longtail.runtime.executor import run_threads, thread_count
from longtail.runtime.run import Stopped
from longtail.runtime.workers import stopping


def test_every_piece_is_done_once_and_reported_here():
    results = {}
    here = threading.get_ident()

    def done(piece, result):
        assert threading.get_ident() == here
        results[piece] = result

    run_threads(lambda piece: piece**2, range(50), n_jobs=3, done=done)
    assert results == {i: i * i for i in range(50)}


def test_an_error_in_a_worker_comes_through_and_stops_the_others():
    started = threading.Event()
    stopped = threading.Event()

    def work(piece):
        if piece == 0:
            started.set()
            while not stopping()[0]:
                stopped.wait(0.01)
            stopped.set()
            raise Stopped
        started.wait(10)
        raise ZeroDivisionError("as it happens")

    with pytest.raises(ZeroDivisionError, match="as it happens"):
        run_threads(work, [0, 1, 2, 3], n_jobs=2, done=lambda *_: None)
    assert stopped.is_set()


def test_blas_does_not_add_threads_of_its_own():
    """That of numpy and scipy, which is what work calls; faiss and torch bring others."""

    def is_ours(pool):
        return pool["user_api"] == "blas" and re.search(r"(numpy|scipy)[^/]*/", pool["filepath"])

    def work(piece):
        return {pool["num_threads"] for pool in threadpool_info() if is_ours(pool)}

    seen = []
    with threadpool_limits(limits=2, user_api="blas"):
        assert work(0) == {2}
        run_threads(work, range(4), n_jobs=2, done=lambda piece, result: seen.append(result))
    assert seen == [{1}] * 4


@pytest.mark.parametrize("value", [0, 1.5, "two", True])
def test_odd_thread_counts_are_refused(value):
    with pytest.raises(ParameterError):
        thread_count(value)


def test_all_cores():
    assert thread_count(-1) >= 1
