"""The demonstration, on a part of the built-in data."""

from __future__ import annotations

import longtail
import longtail.data


def test_demo(call, tmp_path, monkeypatch):
    docs = longtail.data.load_api_docs()
    monkeypatch.setattr(longtail.data, "load_api_docs", lambda: docs.subset(slice(0, 5000, 10)))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    outcome = call("demo")
    assert outcome.code == 0, outcome
    for part in ("nDCG", "PSP", "@5", "tail", "head", "because of", "bias", "demo-model"):
        assert part in outcome.out
    assert outcome.out.count("right") == 3
    assert "Training DiSMEC" in outcome.err
    model = longtail.load("demo-model")
    assert model.takes_text
    again = call("demo", "--to", "elsewhere", "-q")
    assert (again.code, again.err) == (0, "")
    assert (tmp_path / "elsewhere" / "model.json").exists()
    answer = call("predict", "demo-model", "-", "-k", 2, stdin="eigenvalues of a matrix\n")
    assert len(answer.records[0]["labels"]) == 2
    assert set(answer.records[0]["labels"]) <= set(model.classes_.tolist())


def test_demo_does_not_overwrite(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo-model").mkdir()
    (tmp_path / "demo-model" / "mine").write_text("mine")
    outcome = call("demo")
    assert outcome.code == 1
    assert "is not overwritten" in outcome.err
