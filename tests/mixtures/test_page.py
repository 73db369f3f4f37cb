"""The page on mixtures: its examples run, one after another."""

import re

from tests.conftest import ROOT


def test_the_examples_of_the_page_run(capsys):
    page = (ROOT / "docs" / "mixtures.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) >= 4
    shared: dict = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"mixtures.md, example {number}", "exec"), shared)
    printed = capsys.readouterr().out
    assert "is the best possible" in printed
    assert "component of weight" in printed
    right, bound = shared["right"].mean(), shared["data"].upper_bound
    assert bound - 0.05 < right < bound + 0.05
