"""The short form of `make torture`."""

from __future__ import annotations

import os

import pytest

from tests.torture.__main__ import trials

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

KILLS = 6
COUNTED = {
    "kills": "ended with the same bytes",
    "killed-writers": "killed",
    "loading": "loaded",
    "two-writers": "saved",
    "two-trainings": "done",
    "full-disk": "ended with the same bytes",
    "interrupts": None,
}
"""Trials of the short form, and what each must have seen, if that does not depend on the moment;
forks and threads have tests already."""


@pytest.mark.parametrize("name", COUNTED)
def test_nothing_is_lost(name, tmp_path):
    findings = trials(KILLS, 0, ["dismec"])[name](tmp_path)
    assert findings.failures == []
    seen = COUNTED[name]
    assert (findings.counts.total() if seen is None else findings.counts[seen]) > 0
