"""`longtail inspect`: what it measures and recommends, and models of every kind of weights."""

from __future__ import annotations

import re
import shlex

import pytest

import longtail
from longtail.data import Dataset, read_dataset, save


@pytest.mark.parametrize("method", ["mrb", "logtree"])
def test_models_whose_weights_are_no_sparse_matrix(method, files, tmp_path, call):
    folder = tmp_path / "model"
    assert call("train", files / "train.jsonl", "--method", method, "--to", folder, "-q").code == 0
    assert call("inspect", folder, "--json").json["weights"] > 0
    assert call("inspect", folder).code == 0


FACTS = {
    "What decides": (
        "Points", "Features", "Labels", "Labels a point", "Points a label", "Distinct label sets",
        "Exclusivity",
    ),
    "Measured too, but no rule asks": (
        "Labels with fewer than 10 points", "Algebraic connectivity",
    ),
}  # fmt: skip


def test_every_fact_is_shown_with_the_recommendation(files, call):
    shown = call("inspect", files / "train.jsonl").out
    advice = longtail.recommend(
        read_dataset(files / "train.jsonl").texts, read_dataset(files / "train.jsonl").Y
    )
    words = advice.facts.in_words()
    for title, names in FACTS.items():
        table = shown.partition(f"{title}\n")[2].partition("\n\n")[0]
        for name in names:
            assert re.search(rf"{re.escape(name)} +{re.escape(words[name][:30])}", table), name
    assert sorted(words) == sorted(sum(FACTS.values(), ()))
    assert f"Recommended: {advice.method}\n" in shown
    assert re.search(r"Training would take about \S+ [MG]B and ", shown)
    for one in advice.alternatives:
        assert re.search(rf"or {one.method} [^(]*\(\S+ [MG]B, ", " ".join(shown.split()))


def test_the_line_that_trains_what_is_recommended_ends_it(files, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = (files / "train.jsonl", "--text-column", "text", "--format", "jsonl")
    shown = call("inspect", *words).out
    method = re.search(r"^Recommended: (\S+)$", shown, flags=re.M)[1]
    name, *given = shlex.split(shown.splitlines()[-1])
    assert name == "longtail"
    assert given[-4:] == ["--to", "MODEL", "--method", method]
    assert call("inspect", *words, "--json").json["recommendation"]["command"] == [name, *given]
    assert call(*given, "-q").code == 0
    assert call("inspect", "MODEL", "--json").json["method"] == method


def test_why_there_is_no_recommendation_is_said(call, tmp_path):
    save(Dataset([[1.0], [2.0]], [(), ()], label_names=["sea"]), tmp_path / "data.txt")
    why = "There is no point with a label, so there is no method to recommend."
    assert why in call("inspect", tmp_path / "data.txt").out
    found = call("inspect", tmp_path / "data.txt", "--json").json["recommendation"]
    assert found == {"method": None, "reasons": [why], "command": None}


def test_what_is_wanted_and_how_many_threads_are_reckoned_with(files, call):
    data = read_dataset(files / "train.jsonl")
    words = ("inspect", files / "train.jsonl", "--json", "--want", "similar", "-j", "1")
    found = call(*words).json["recommendation"]
    advice = longtail.recommend(data.texts, data.Y, want="similar", n_jobs=1)
    assert (found["method"], found["reasons"][0]) == (advice.method, advice.reasons[0])
    peaks = {name: need["peak_bytes"] for name, need in found["estimates"].items()}
    assert peaks == {name: need.peak_bytes for name, need in advice.estimates.items()}


def test_a_wish_that_there_is_not_is_refused_before_anything_is_read(call):
    outcome = call("inspect", "nowhere.jsonl", "--want", "best")
    assert outcome.code == 1
    assert "want must be one of ranking, sets" in outcome.err


@pytest.mark.parametrize("words", [(), ("--damping", "sqrt")], ids=["usual", "other features"])
def test_train_takes_what_inspect_recommends(files, call, tmp_path, words):
    for data in (files / "train.jsonl", files / "features"):
        advice = call("inspect", data, "--json").json["recommendation"]
        trained = call("train", data, "--to", tmp_path / "model", "--json", "-q", *words)
        assert trained.json["method"] == advice["method"]
        assert call("inspect", tmp_path / "model", "--json").json["method"] == advice["method"]
