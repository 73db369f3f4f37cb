"""Methods that would need too much are not tried."""

from __future__ import annotations

import pytest

from longtail import DiSMEC
from longtail.choosing import Limits, compare, limits, prepare
from longtail.data import make_longtail
from longtail.errors import InputError, ParameterError


@pytest.fixture(scope="module")
def parts():
    return make_longtail(200, 100, 20, random_state=0).split(random_state=0)


def test_what_exceeds_a_limit_is_not_trained(parts, monkeypatch):
    needed = DiSMEC().estimate(parts[0].X, parts[0].Y)
    monkeypatch.setattr(DiSMEC, "_fit", lambda *_: pytest.fail("it was trained"))
    for given, word in [
        (Limits(time_limit=needed.seconds / 60 / 2), "takes"),
        (Limits(memory_limit=needed.peak_bytes / 1e9 / 2), "needs"),
    ]:
        result = compare(*parts, ["dismec"], limits=given)["dismec"]
        assert result.failure.startswith(f"Not tried: it {word} about")
        assert result.failure.endswith(f": {needed.reason}.")
        assert result.evaluation is None


def test_what_keeps_to_them_is(parts):
    needed = DiSMEC().estimate(parts[0].X, parts[0].Y)
    enough = Limits(time_limit=2 * needed.seconds / 60, memory_limit=2 * needed.peak_bytes / 1e9)
    assert compare(*parts, ["dismec"], limits=enough)["dismec"].failure is None


def test_an_estimate_that_refuses(parts, monkeypatch):
    def refuse(*_):
        raise InputError("There are too many\nlabels for it.")

    monkeypatch.setattr(DiSMEC, "_estimate", refuse)
    problem = prepare(*parts)
    assert Limits().objection(problem, DiSMEC()) == "There are too many labels for it."


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), "much"])
@pytest.mark.parametrize("name", ["time_limit", "memory_limit"])
def test_limits_are_positive(name, value):
    with pytest.raises(ParameterError, match=f"{name} must be a positive number"):
        Limits(**{name: value})


def test_what_is_available_is_the_limit_unless_another_is_given(parts, monkeypatch):
    monkeypatch.setattr(limits, "available_memory", lambda: 1000)
    problem = prepare(*parts)
    assert "of memory, and 1 kB are available: " in Limits().objection(problem, DiSMEC())
    assert Limits(memory_limit=1000).objection(problem, DiSMEC()) is None
    monkeypatch.setattr(limits, "available_memory", lambda: None)
    assert Limits().objection(problem, DiSMEC()) is None
