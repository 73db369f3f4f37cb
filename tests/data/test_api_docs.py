"""The built-in data set: a made-up package for the rules, the installed ones for the whole."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from longtail.data import api_docs
from longtail.data.api_docs import (
    PACKAGES,
    _see_also_names,
    cache_folder,
    collect_rows,
    load_api_docs,
)
from longtail.features.text import TextFeatures

ROWS = [("one two three", ["sea", "sun"]), ("four five six", ["sun"])]

FILES = {
    "__init__.py": '''
        import warnings
        from demopkg._private import Base, Child, Public, area, hidden
        from demopkg.shapes import circle
        __all__ = ["Child", "Public", "area", "circle", "gone", "old", "number", 3]
        __all__ += ["switched_on", "_secret", "test"]
        number = 7
        def _secret():
            """A secret that nobody should read."""
        def test():
            """Run all the tests of this package."""
        def __getattr__(name):
            if name == "old":
                warnings.warn("use area", DeprecationWarning)
                return hidden
            if name == "switched_on":
                raise ImportError("import demopkg.experimental first")
            raise AttributeError(name)
        def switched_on():
            """There only after a certain import."""
    ''',
    "_private.py": '''
        class Base:
            def size(self):
                """How large the thing is in metres.

                See Also
                --------
                area : In square metres,
                    not in others.
                """
            def replaced(self):
                """Public puts another method in its place."""
            def _inner(self):
                """Not for the public eye at all."""
        class Public(Base):
            """A thing that everybody may use freely.

            See Also
            --------
            :func:`~demopkg.area`, circle
            size: A method of it
            """
            def replaced(self):
                pass
            @property
            def colour(self):
                """The colour that it is painted in."""
            @classmethod
            def make(cls):
                """Make one out of thin air."""
            @staticmethod
            def parse(text):
                """Read one from a text string."""
        class Child(Public):
            pass
        def area(x):
            """The AREA of demopkg.shapes things, area by area.

            See Also
            --------
            circle
            unheard.of

            Notes
            -----
            This is important to know about.
            """
        def hidden():
            """Only reachable under a deprecated name."""
    ''',
    "shapes.py": '''
        from os.path import join
        from demopkg._private import Public, area
        def circle(r):
            """Draw something round in many colours."""
        def same_words(r):
            """Draw something round in many colours."""
        def square(r):
            """Draw something with corners in shapes.

            See Also
            --------
            circle, triangle : Rounder, pointier
            """
        class Broken:
            @property
            def __doc__(self):
                raise RuntimeError
        broken = Broken()
    ''',
    "exits.py": "raise SystemExit(3)",
    "fails.py": "import no_such_module_anywhere",
    "tests/__init__.py": "raise RuntimeError('tests were imported')",
    "experimental.py": "raise RuntimeError('a switch was thrown')",
}


@pytest.fixture
def demopkg(tmp_path, monkeypatch):
    for name, content in FILES.items():
        path = tmp_path / "demopkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = content.split("\n")
        path.write_text("\n".join(line.removeprefix("        ") for line in lines))
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "demopkg"]:
        del sys.modules[name]


def test_rules_on_a_made_up_package(demopkg):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = collect_rows(["demopkg"])
    found = {text.splitlines()[0]: labels for text, labels in rows}
    assert found == {
        # the class, then its members in the order of their names, then functions
        "A thing that everybody may use freely.": ["demopkg", "demopkg.area", "demopkg.circle"],
        "The colour that it is painted in.": ["demopkg"],
        "Make one out of thin air.": ["demopkg"],
        "Read one from a text string.": ["demopkg"],
        "How large the thing is in metres.": ["demopkg", "demopkg.area"],
        "The … of shapes things, … by ….": ["demopkg", "demopkg.circle"],
        "Draw something round in many colours.": ["demopkg"],
        "Draw something with corners in ….": ["demopkg", "demopkg.circle"],
    }
    notes = next(text for text, _ in rows if text.startswith("The …"))
    assert "important to know" in notes
    assert "See Also" not in notes
    assert "unheard" not in notes


def test_order_is_that_of_the_paths(demopkg):
    first = [text.split()[0] for text, _ in collect_rows(["demopkg"])]
    assert first == ["A", "The", "Make", "Read", "How", "The", "Draw", "Draw"]


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("norm", ["norm"]),
        ("norm : The length.", ["norm"]),
        ("norm: The length.", ["norm"]),
        ("norm, det : Two", ["norm", "det"]),
        ("`norm`, `linalg.det`", ["norm", "linalg.det"]),
        (":func:`scipy.linalg.norm` : Other", ["scipy.linalg.norm"]),
        (":py:meth:`~A.b`", ["A.b"]),
        ("norm(), det()", ["norm", "det"]),
        ("norm\n    a : b", ["norm"]),
        ("norm\n\ndet", ["norm", "det"]),
        (":ref:`how-to-index`", []),
        ("Some prose that names nothing.", []),
        ("", []),
    ],
)
def test_see_also_entries(entry, names):
    assert _see_also_names(f"Text.\n\nSee Also\n--------\n{entry}\n") == names
    follows = f"See Also\n--------\n{entry}\n\nNotes\n-----\nother : thing"
    assert _see_also_names(follows) == names


@pytest.fixture(scope="module")
def real_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return collect_rows(PACKAGES)


def test_real_size(real_rows):
    counts: dict[str, int] = {}
    for _, labels in real_rows:
        assert labels == sorted(set(labels))
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
    assert 4000 < len(real_rows) < 8000
    assert 900 < len(counts) < 2500
    assert min(counts.values()) >= 2
    assert np.mean(np.array(list(counts.values())) < 5) > 0.4
    assert {"numpy", "scipy.sparse.linalg", "sklearn.svm"} <= set(counts)


def test_no_label_is_named_in_a_text(real_rows):
    labels = {label for _, row in real_rows for label in row}
    last_parts = {label.rpartition(".")[2].lower() for label in labels}
    words = set(TextFeatures().fit([text for text, _ in real_rows]).vocabulary_)
    assert not words & last_parts
    assert not any("See Also\n----" in text for text, _ in real_rows)


def test_another_process_collects_the_same_and_throws_no_switch(real_rows):
    code = (
        "import hashlib, json, sys; from longtail.data.api_docs import PACKAGES, collect_rows;"
        "print(hashlib.sha256(json.dumps(collect_rows(PACKAGES)).encode()).hexdigest(),"
        "*(name for name in sys.modules if name.startswith(PACKAGES)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    digest, *imported = done.stdout.split()
    assert digest == hashlib.sha256(json.dumps(real_rows).encode()).hexdigest()
    assert "scipy.sparse.linalg" in imported
    assert not any(name.endswith((".tests", ".conftest", ".setup")) for name in imported)
    assert not any(".experimental" in name or ".distutils" in name for name in imported)


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """A cache in a fresh folder and a collector that is quick and counts its calls."""
    calls = []

    def collect(packages):
        calls.append(tuple(packages))
        return ROWS

    monkeypatch.setattr(api_docs, "collect_rows", collect)
    monkeypatch.setenv("LONGTAIL_CACHE", str(tmp_path / "cache"))
    return calls


def the_cache() -> Path:
    (path,) = cache_folder().iterdir()
    return path


def check(data) -> None:
    assert data.name == "api-docs"
    assert data.X is None
    assert data.texts == ["one two three", "four five six"]
    assert data.label_names.tolist() == ["sea", "sun"]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 1]]


def test_cache_is_used(counted):
    for _ in range(3):
        check(load_api_docs())
    assert counted == [PACKAGES]
    check(load_api_docs(refresh=True))
    assert len(counted) == 2


def test_cache_name_holds_the_versions(counted, monkeypatch):
    load_api_docs()
    assert all(f"{name}-{sys.modules[name].__version__}" in the_cache().name for name in PACKAGES)
    monkeypatch.setattr("scipy.__version__", "99.0/../x")
    load_api_docs()
    assert len(counted) == 2
    assert len(list(cache_folder().iterdir())) == 2


def packed(*lines) -> bytes:
    return gzip.compress("\n".join(json.dumps(line) for line in lines).encode())


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"not gzip at all",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content[:30] + bytes([content[30] ^ 255]) + content[31:],
        lambda content: gzip.compress(b""),
        lambda content: gzip.compress(b"\xff\xfe"),
        lambda content: gzip.compress(b"[" * 100_000),
        lambda content: packed({"format": 1, "rows": 2}, {"text": "a", "labels": []}),
        lambda content: packed({"format": 0, "rows": 1}, {"text": "a", "labels": []}),
        lambda content: packed({"format": 1, "rows": 1}, {"text": 1, "labels": []}),
        lambda content: packed({"format": 1, "rows": 1}, {"text": "a", "labels": "b"}),
        lambda content: packed({"format": 1, "rows": 1}, {"text": "a", "labels": [[]]}),
        lambda content: packed({"format": 1, "rows": 1}, {"text": "a"}),
        lambda content: packed({"format": 1, "rows": 1}, 5),
    ],
)
def test_damaged_cache_is_made_again(counted, damage):
    load_api_docs()
    good = the_cache().read_bytes()
    the_cache().write_bytes(damage(good))
    check(load_api_docs())
    assert len(counted) == 2
    assert the_cache().read_bytes() == good


def test_huge_cache_is_not_read(counted, monkeypatch):
    load_api_docs()
    monkeypatch.setattr("longtail.data._budget.available_memory", lambda: 10)
    check(load_api_docs())
    assert len(counted) == 2


def test_cache_that_is_a_folder(counted):
    load_api_docs()
    path = the_cache()
    path.unlink()
    path.mkdir()
    check(load_api_docs())
    assert the_cache() == path


def test_cache_folder_that_cannot_be(counted, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LONGTAIL_CACHE", str(tmp_path / "file" / "cache"))
    check(load_api_docs())
    check(load_api_docs())
    assert len(counted) == 2


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LONGTAIL_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("LONGTAIL_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "longtail"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().name == "longtail"
    assert cache_folder().is_relative_to(Path.home())
