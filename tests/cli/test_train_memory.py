"""`longtail train` says what it will take, and refuses what cannot fit."""

from __future__ import annotations

HUGE = ("-m", "dbpc", "--set", "hidden=1000000000")  # terabytes on any machine


def test_the_estimate_comes_first(call, files, tmp_path):
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model")
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


def test_force_leaves_it_to_the_method(call, files, tmp_path):
    outcome = call("train", files / "train.jsonl", "--to", tmp_path / "model", "--force", *HUGE)
    assert outcome.code == 1
    assert "This will take about" in outcome.err
    assert "GB in training; take hidden=" in outcome.err


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
