"""The folder of the benchmark sets, for every benchmark.

It is the folder that the environment variable LONGTAIL_DATA names; where it names none,
`shared/data` beside the project's own folder.
"""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("LONGTAIL_DATA", PROJECT.parent / "shared" / "data"))


def missing(name: str = "") -> str | None:
    """What to do where the folder, or the one of a set in it, is not there; None where it is."""
    folder = DATA / name
    if folder.is_dir():
        return None
    return f"There is no folder {folder}; set LONGTAIL_DATA to the folder that has the sets."


def data_folder(name: str = "") -> Path:
    """The folder, or the one of a set in it; where it is not there the program stops."""
    sentence = missing(name)
    if sentence is not None:
        raise SystemExit(sentence)
    return DATA / name
