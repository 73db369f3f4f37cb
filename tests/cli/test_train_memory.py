"""`longtail train` says what it will take, and refuses what cannot fit."""

from __future__ import annotations

import pytest

import longtail
from longtail.methods.linear.multiclass import OVA
from longtail.runtime.estimates import Estimate

HUGE = ("-m", "dbpc", "--set", "hidden=1000000000")  # terabytes on any machine


def test_the_estimate_comes_first(call, files, tmp_path):
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model", "-m", "dismec")
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    said = next(i for i, line in enumerate(lines) if line.startswith("This will take about "))
    assert "linear problems on" in lines[said]
    assert lines[said - 1].startswith("Training dismec on ")


def test_quiet_says_nothing(call, files, tmp_path):
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model", "-q")
    assert (outcome.code, outcome.err) == (0, "")


def test_what_cannot_fit_is_refused_and_leaves_nothing(call, files, tmp_path):
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model", "-q", *HUGE)
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert line.startswith("Error: Training would take about ")
    assert "GB of memory are available" in line
    assert "--force" in line
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def greedy(monkeypatch):
    """A method that says it needs more than its limit on memory, and than any machine has."""
    needs = Estimate(10**15, None, 1.0, "a million weights")
    monkeypatch.setattr(OVA, "_estimate", lambda self, X, Y: needs)
    return "-m", "ova"


def test_force_lifts_the_limit_of_the_method(call, files, tmp_path, greedy):
    words = ("train", files / "train.jsonl", "--to", tmp_path / "model", *greedy)
    assert call(*words).code == 1
    outcome = call(*words, "--force")
    assert outcome.code == 0
    assert "This will take about 1000000 GB" in outcome.err
    assert longtail.load(tmp_path / "model").classifier.memory_limit == float("inf")
    assert call("predict", tmp_path / "model", files / "test.jsonl").code == 0


def test_but_not_one_that_was_given(call, files, tmp_path, greedy):
    words = ("train", files / "train.jsonl", "--to", tmp_path / "model", "--force", *greedy)
    outcome = call(*words, "--set", "memory_limit=5")
    assert outcome.code == 1
    (line,) = (line for line in outcome.err.splitlines() if line.startswith("Error: "))
    assert "OVA would need some 1000000 GB for a million weights, above memory_limit of 5" in line
    assert list(tmp_path.iterdir()) == []


def test_no_limit_may_be_given_too(call, files, tmp_path):
    words = ("train", files / "train.jsonl", "--to", tmp_path / "model", "-q", "-m", "ova")
    assert call(*words, "--set", "memory_limit=inf").code == 0
    assert longtail.load(tmp_path / "model").classifier.memory_limit == float("inf")


def test_force_does_nothing_to_a_method_without_a_limit(call, files, tmp_path):
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model", "-q", "--force")
    assert (outcome.code, outcome.err) == (0, "")


def test_inspect_ends_with_a_method(call, files):
    outcome = call("inspect", files / "train.jsonl")
    assert outcome.code == 0
    assert "Recommended: " in outcome.out
    assert "Training would take about" in outcome.out


def test_inspect_as_json(call, files):
    found = call("inspect", files / "train.jsonl", "--json").json["recommendation"]
    assert found["method"] in found["estimates"]
    assert found["reasons"]
    without = call("inspect", files / "train.jsonl", "--json", "--no-recommend").json
    assert without["recommendation"] is None


@pytest.mark.parametrize("words", [("-m", "dismec"), ()], ids=["named", "recommended"])
def test_features_are_made_once(call, files, tmp_path, monkeypatch, words):
    """For the choice of a method, for the estimate and for the training."""
    made = []
    make = longtail.TextFeatures.fit_transform
    monkeypatch.setattr(
        longtail.TextFeatures,
        "fit_transform",
        lambda self, *given: made.append(len(given[0])) or make(self, *given),
    )
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model", *words)
    assert outcome.code == 0
    assert made == [225]
