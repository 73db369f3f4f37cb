"""The page that shows how to add a method: its example is a whole method, and works."""

from __future__ import annotations

import re
import sys
import types

import numpy as np
import pytest

import longtail
from tests.conftest import ROOT


def test_the_example_method_fulfils_the_contract(tmp_path):
    page = (ROOT / "docs" / "architecture.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, flags=re.S).group(1)
    assert len(code.splitlines()) < 60
    module = types.ModuleType("example_of_the_page")
    sys.modules[module.__name__] = module
    exec(compile(code, "architecture.md", "exec"), vars(module))
    X = np.random.default_rng(0).random((10, 3))
    model = module.MostFrequent().fit(X, [["sea", "sun"]] * 6 + [["snow"]] * 4)
    assert model.predict(X) == [("sea", "sun")] * 10
    assert longtail.ranked(model.predict_topk(X, 2), 2)[0].tolist() == [[0, 2]] * 10
    assert model.explain(X[0], "snow").score == pytest.approx(0.4)
    model.save(tmp_path / "model")
    assert longtail.load(tmp_path / "model").predict(X) == model.predict(X)
