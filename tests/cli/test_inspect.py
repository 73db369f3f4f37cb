"""`longtail inspect` on models of every kind of weights."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("method", ["mrb", "logtree"])
def test_models_whose_weights_are_no_sparse_matrix(method, files, tmp_path, call):
    folder = tmp_path / "model"
    assert call("train", files / "train.jsonl", "--method", method, "--to", folder, "-q").code == 0
    assert call("inspect", folder, "--json").json["weights"] > 0
    assert call("inspect", folder).code == 0
