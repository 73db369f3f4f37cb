"""The API reference has every public name of every package.

mkdocstrings shows what a package exports, except a name that is also that of a module in it, and a
value that has no docstring.
"""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import longtail
from longtail.methods import methods
from tests.conftest import ROOT

PACKAGES = [
    info.name
    for info in pkgutil.iter_modules(longtail.__path__)
    if info.ispkg and info.name != "cli"  # the command line has a page of its own
]
PAGE = ROOT / "docs" / "reference.md"
SHOWN = set(re.findall(r"^::: (\S+)$", PAGE.read_text("utf-8"), flags=re.M))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_package(package):
    module = importlib.import_module(f"longtail.{package}")
    modules = {info.name for info in pkgutil.iter_modules(module.__path__)}
    assert module.__name__ in SHOWN
    for name in set(module.__all__) & modules:
        home = getattr(module, name).__module__
        assert f"{home}.{name}" in SHOWN


@pytest.mark.parametrize("package", PACKAGES)
def test_every_value_says_what_it_is(package):
    module = importlib.import_module(f"longtail.{package}")
    sources = [path.read_text("utf-8") for path in (ROOT / "src/longtail" / package).glob("*.py")]
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and hasattr(value, "__module__") and hasattr(value, "__qualname__"):
            continue  # a class or function, whose docstring the linter asks for
        told = re.compile(rf'^{name}\b[^\n]*=.*?\n[)\]}}]?(?:\n)?"""', flags=re.M | re.S)
        assert any(told.search(source) for source in sources), name


def test_the_names_of_longtail_itself():
    text = PAGE.read_text("utf-8")
    classifiers = {method.estimator.__name__ for method in methods().values()}
    for name in set(longtail.__all__) - classifiers:
        assert f"`{name}`" in text or f"longtail.{name}`" in text, name
    for name in ("Tagger", "load", "ranked", "Explanation", "ExtremeClassifier"):
        value = getattr(longtail, name)
        assert f"{value.__module__}.{name}" in SHOWN
    families = {method.home.partition(":")[0] for method in methods().values()}
    assert {"longtail.errors", "longtail.methods", *families} <= SHOWN
