"""The examples of docs/formats.md run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.conftest import ROOT


def test_formats_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "formats.md"
    if not page.is_file():
        pytest.skip("the documentation is not part of this copy")
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert result.attempted > 5
    assert result.failed == 0
