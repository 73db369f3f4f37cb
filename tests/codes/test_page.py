"""The page on codes: its examples run, one after another."""

import re
import warnings

from tests.conftest import ROOT


def test_the_examples_of_the_page_run(capsys):
    page = (ROOT / "docs" / "codes.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) >= 8
    shared: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, block in enumerate(blocks):
            exec(compile(block, f"codes.md, example {number}", "exec"), shared)
    assert "bits: bit" in capsys.readouterr().out
