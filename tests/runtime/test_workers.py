"""Workers end, and whoever waits for them, wherever in the calling thread an interrupt comes."""

from __future__ import annotations

import _thread
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from longtail.runtime.workers import Workers

INTERRUPTED = """
import faulthandler
import sys
import time
from _thread import _count as count
from longtail.runtime.libraries import _libraries
from longtail.runtime.executor import run_threads
from longtail.runtime.workers import check_running

for library in _libraries():
    library.set_num_threads(2)
allowed = [library.num_threads for library in _libraries()]

def work(piece):
    for _ in range(piece):
        check_running()
        time.sleep(0.0005)
    return piece

def interrupted(number):
    '''Run, and interrupt it the moment of that number: where it was, None if it had ended before.

    Python looks for signals when a function begins, and after each call of one written in C.
    '''
    seen, where = 0, None

    def moment(frame, event, arg):
        nonlocal seen, where
        if event in ("call", "c_return"):
            seen += 1
            if seen == number:
                where = frame.f_code.co_qualname
                raise KeyboardInterrupt

    faulthandler.dump_traceback_later(20, exit=True)
    try:
        sys.setprofile(moment)
        run_threads(work, [1, 2, 1, 1], n_jobs=2, done=lambda piece, result: None)
        outcome = None
    except BaseException as error:
        outcome = type(error)
    finally:
        sys.setprofile(None)
        faulthandler.cancel_dump_traceback_later()
    assert outcome is (None if where is None else KeyboardInterrupt), (where, outcome)
    return where

places, number = [], 0
while True:
    number += 1
    where = interrupted(number)
    if where is None:
        break
    places.append(where)
    # Libraries have their threads back.
    assert [library.num_threads for library in _libraries()] == allowed, (number, where)
    # All threads end, if not before then soon after: those whose start or end was interrupted.
    deadline = time.monotonic() + 10
    while count():
        assert time.monotonic() < deadline, (number, where)
        time.sleep(0.001)
print(*dict.fromkeys(places))
"""


def test_an_interrupt_at_any_moment_ends_the_work_and_every_thread():
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert {
        "run_threads", "Workers.submit", "Workers.next_ended", "Workers.__exit__", "_next",
        "one_thread", "_restore",
    } <= set(ended.stdout.split())  # fmt: skip


def test_tasks_that_wait_are_dropped_after_an_error_and_the_others_are_waited_for():
    began, ended = [], []

    def failing():
        def task():
            began.append(1)
            while not workers.stop[0]:
                time.sleep(0.001)
            ended.append(1)

        with Workers(2) as workers:
            for number in range(10):
                workers.submit(number, task)
            while len(began) < 2:
                time.sleep(0.001)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert len(began) == len(ended) == 2


def test_no_more_threads_than_tasks_and_than_asked_for():
    seen = set()

    def look(number):
        seen.add(threading.get_ident())
        time.sleep(0.002)
        return number**2

    with Workers(3) as workers:
        workers.submit("one", lambda: look(1))
        assert workers.next_ended() == ("one", 1)
        assert len(seen) == 1
        assert workers.map(look, range(20)) == [number**2 for number in range(20)]
        assert len(seen) == 3
        assert threading.get_ident() not in seen
        assert workers.map(abs, []) == []


def test_a_map_that_fails_leaves_nothing_to_the_next_one():
    def fails(number):
        if number == 0:
            raise StopIteration("as it happens")
        time.sleep(0.01)
        return "first", number

    with Workers(2) as workers:
        with pytest.raises(StopIteration, match="as it happens"):
            workers.map(fails, range(4))
        second = workers.map(lambda number: ("second", number), range(4))
    assert second == [("second", number) for number in range(4)]


def test_after_the_end_nothing_is_taken_and_nothing_waited_for():
    with Workers(2) as workers:
        assert workers.map(abs, [-1]) == [1]
        with pytest.raises(RuntimeError, match="No task is under way"):
            workers.next_ended()
    with pytest.raises(RuntimeError, match="has ended"):
        workers.map(abs, [-1])


def settled(condition):
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


def test_threads_that_nobody_closed_go_with_their_workers():
    before = _thread._count()
    workers = Workers(2)
    assert workers.map(abs, [-1, -2]) == [1, 2]
    assert settled(lambda: _thread._count() == before + 2)
    del workers
    gc.collect()
    assert settled(lambda: _thread._count() == before)


def test_nothing_is_kept_alive_by_a_thread_that_waits():
    class Large:
        pass

    with Workers(1) as workers:
        large = Large()
        seen = weakref.ref(large)
        workers.submit("first", lambda thing=large: thing)
        assert workers.next_ended()[1] is large
        del large
        assert settled(lambda: seen() is None)


def test_debuggers_see_the_threads(monkeypatch):
    names = []

    def trace(frame, event, arg):
        names.append(frame.f_code.co_name)

    monkeypatch.setattr(threading, "_trace_hook", trace)
    with Workers(1) as workers:
        workers.submit("name", lambda: 1)
        workers.next_ended()
    assert "_work" in names
