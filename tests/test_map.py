"""The map of the code: every part speaks to the others by their public names alone."""

from __future__ import annotations

import ast
import re

import pytest

from longtail.methods import WINGS
from tests.conftest import ROOT

SOURCE = ROOT / "src" / "longtail"
FILES = sorted(SOURCE.rglob("*.py"))
LARGEST = 500  # lines of a file; most have fewer than 400


def part_of(words):
    """The folder, or file beside the folders, that a module of longtail belongs to."""
    return words[1] if len(words) > 1 else ""


def private_imports(path, text):
    """Imports of another part's private modules or names, as (line, what)."""
    words = ("longtail", *path.relative_to(SOURCE).with_suffix("").parts)
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            named = [[*(node.module or "").split("."), alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            named = [alias.name.split(".") for alias in node.names]
        else:
            continue
        for name in named:
            within = name[0] == "longtail" and part_of(name) != part_of(words)
            # longtail._x stands beside the folders, for all of them
            if within and any(re.match(r"_(?!_)", word) for word in name[2:]):
                found.append((node.lineno, ".".join(name)))
    return found


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("from longtail.engine._growing import Growth", True),
        ("from longtail.engine.train import _fit", True),
        ("import longtail.engine._loss_kernels", True),
        ("from longtail.base import _plain", True),
        ("from longtail.pairs._counts import as_counts", False),
        ("from longtail._sparse import ranked", False),
        ("from longtail import __version__", False),
        ("from numpy import _core", False),
    ],
)
def test_private_imports_are_seen(line, refused):
    assert bool(private_imports(SOURCE / "pairs" / "x.py", line)) is refused


def test_no_part_imports_what_is_private_to_another():
    found = {str(path): private_imports(path, path.read_text()) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_files_say_what_they_are_for_and_are_of_a_size_to_read():
    for path in FILES:
        text = path.read_text()
        assert ast.get_docstring(ast.parse(text)), path
        assert len(text.splitlines()) <= LARGEST, path


def test_the_page_shows_every_part():
    page = (ROOT / "docs" / "architecture.md").read_text()
    shown = set(re.findall(r"`([a-z_]+)(?:/|\.py)`", page))
    parts = {
        path.stem
        for path in SOURCE.iterdir()
        if not path.name.startswith("_") and path.suffix in ("", ".py")
    }
    assert parts - shown == set()
    assert set(WINGS) <= shown
