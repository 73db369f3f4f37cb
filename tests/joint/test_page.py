"""The page on joint models: its examples run, one after another."""

import re

from tests.conftest import ROOT


def test_the_examples_of_the_page_run(capsys):
    page = (ROOT / "docs" / "joint.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) >= 6
    shared: dict = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"joint.md, example {number}", "exec"), shared)
    printed = capsys.readouterr().out
    assert "of the sets are right" in printed
    assert "C = 1e+06: network" in printed
