"""Codes at the command line: sizes as numbers and shares, in train, predict and compare."""

from __future__ import annotations

import pytest

import longtail


@pytest.mark.parametrize(("size", "most"), [("30", 30), ("0.9", 0.9), ("500", 500)])
def test_a_code_size_is_a_number_or_a_share(call, files, tmp_path, size, most):
    model = tmp_path / "model"
    words = ["train", files / "features", "--to", model, "-m", "rbf", "--set", f"code_size={size}"]
    assert call(*words, "-q").code == 0
    classifier = longtail.load(model).classifier_
    limit = most * len(classifier.classes_) if most < 1 else most
    assert 1 <= classifier.code_size_ <= limit + 1
    assert call("evaluate", model, files / "features", "--json").json["metrics"]["P@1"] > 0


def test_too_small_a_code_is_one_sentence(call, files, tmp_path):
    words = ["train", files / "features", "--to", tmp_path / "model", "-m", "rbf"]
    outcome = call(*words, "--set", "code_size=1", "-q")
    assert outcome.code != 0
    assert "smallest that would do" in outcome.err
    assert not (tmp_path / "model").exists()


def test_codes_are_compared(call, files):
    words = ["compare", files / "features", "-m", "rbf,sbf,cs,plst", "--set", "sbf.n_hashes=2"]
    outcome = call(*words, "--json", "-q")
    assert outcome.code == 0
    assert [result["name"] for result in outcome.json["results"]] == ["rbf", "sbf", "cs", "plst"]
    assert all(result["failure"] is None for result in outcome.json["results"])
