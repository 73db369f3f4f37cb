"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real benchmark sets, from LONGTAIL_DATA or beside the project."""
    folder = Path(os.environ.get("LONGTAIL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no benchmark sets at {folder}; set LONGTAIL_DATA to a folder that has them")
    return folder
