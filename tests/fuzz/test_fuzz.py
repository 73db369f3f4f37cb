"""The short form of `make fuzz`, and that it sees every way to fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from numba.core.event import trigger_event

from longtail.errors import DataError
from tests.conftest import ROOT
from tests.fuzz import children
from tests.fuzz.children import try_inputs
from tests.fuzz.every import KINDS
from tests.fuzz.kinds import Kind, Wrong, note

SHORT = {("readers",): 300, ("parquet",): 100, ("trees",): 400, ("arrays", "folders"): 60}
"""Inputs per kind; those that start from the same models are in one test."""


@pytest.mark.parametrize("names", SHORT, ids="-".join)
def test_hostile_input_is_refused_or_answered(names, tmp_path):
    for name in names:
        tally = try_inputs(KINDS[name], 0, tmp_path, enough=lambda tried: tried >= SHORT[names])
        assert tally.failures == []
        assert tally.counts["refused"] > 10
        assert tally.counts["accepted"] > 10


def misbehave(rng, folder, common):
    """In turn: accept, refuse, and fail in every way that there is."""
    number = int((common / "next").read_text()) if (common / "next").exists() else 0
    (common / "next").write_text(str(number + 1))
    note(folder, f"way {number}")
    if number == 1:
        raise DataError("the file is empty")
    if number == 2:
        raise KeyError("a raw exception")
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 4:
        time.sleep(60)
    if number == 5:
        raise Wrong("scores that are not finite")
    if number == 6:
        bytearray(b"x") * (700 * 2**20)
    if number == 7:
        bytearray(2**36)


def test_every_way_to_fail_is_seen_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "SECONDS", 6)
    monkeypatch.setattr(children, "PATIENCE", 1)
    tally = try_inputs(Kind("odd", misbehave), 3, tmp_path, enough=lambda tried: tried == 9)
    assert tally.counts == {"accepted": 2, "refused": 1, "failed": 6}
    assert tally.failures == [
        (2, "raw KeyError"),
        (3, "the process died: SIGSEGV"),
        (4, "no answer in time"),
        (5, "scores that are not finite"),
        (6, "more memory than allowed"),
        (7, "MemoryError"),
    ]
    kept = tmp_path / "failures" / "odd-3-4"
    assert (kept / "what.txt").read_text() == "way 4\n"
    assert "--kinds odd --seed 3 --only 4" in (kept / "failure.txt").read_text()


def compile_slowly(rng, folder, common):
    """Take three seconds as numba does when it compiles, and in the second call three others."""
    again = (common / "again").exists()
    (common / "again").touch()
    with trigger_event("another" if again else "numba:compile"):
        time.sleep(3)


def test_the_time_in_which_kernels_are_compiled_is_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "SECONDS", 2)
    monkeypatch.setattr(children, "PATIENCE", 1)
    tally = try_inputs(Kind("slow", compile_slowly), 0, tmp_path, enough=lambda tried: tried == 2)
    assert tally.counts == {"accepted": 1, "failed": 1}
    assert tally.failures == [(1, "no answer in time")]


def rest(*_):
    time.sleep(3)


def work(*_):
    end = time.process_time() + 20
    while time.process_time() < end:
        pass


@pytest.mark.parametrize(("way", "result"), [(rest, "accepted"), (work, "failed")])
def test_one_that_had_no_processor_is_waited_for(tmp_path, monkeypatch, way, result):
    monkeypatch.setattr(children, "SECONDS", 2)
    tally = try_inputs(Kind("slow", way), 0, tmp_path, enough=lambda tried: tried == 1)
    assert tally.counts == {result: 1}


def test_a_decoder_may_die(tmp_path):
    kind = Kind("odd", misbehave, may_die=True)
    (tmp_path / "common" / "odd").mkdir(parents=True)
    (tmp_path / "common" / "odd" / "next").write_text("3")
    tally = try_inputs(kind, 0, tmp_path, enough=lambda tried: tried == 1)
    assert tally.counts == {"decoder died": 1}


OUTSIDE = """
import numpy as np
from longtail._numba import kernel

@kernel
def behind(array):
    return array[len(array)]

behind(np.zeros(3))
"""


def test_kernels_check_bounds_on_request(tmp_path):
    program = tmp_path / "outside.py"
    program.write_text(OUTSIDE)
    bounds = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, program], env=os.environ | bounds, capture_output=True, text=True
    )
    assert "IndexError" in run.stderr


@pytest.mark.exhaustive
def test_the_arrays_once_more_with_bounds_checked():
    words = ["--kinds", "arrays", "--inputs", "250"]
    subprocess.run([sys.executable, "-m", "tests.fuzz", *words], cwd=ROOT, check=True)
