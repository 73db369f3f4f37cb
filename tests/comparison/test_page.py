"""The page on comparing: its example runs, on a small stand-in for the built-in data."""

from __future__ import annotations

import re

from longtail.data import Dataset, make_longtail
from tests.conftest import ROOT


def test_the_example_runs(tmp_path, monkeypatch):
    made = make_longtail(200, 150, 30, random_state=0)
    texts = [" ".join(f"word{column}" for column in row.indices) for row in made.X]
    names = [[f"label {column}" for column in row.indices] for row in made.Y]
    monkeypatch.setattr("longtail.data.load_api_docs", lambda: Dataset(None, names, texts=texts))
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "comparing.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    space: dict = {}
    exec(compile(code, "comparing.md", "exec"), space)
    assert space["found"].table()["failure"].null_count() == 3
    written = (tmp_path / "compare.html").read_text("utf-8")
    assert "<h1>Three taggers</h1>" in written
    assert "What a tail weight would bring" in written
