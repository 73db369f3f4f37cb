"""What pyproject.toml promises: oldest versions that are tested, extras that the messages name."""

from __future__ import annotations

import re
import tomllib

from longtail.runtime.extras import EXTRAS
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def oldest(requirement: str) -> tuple[str, str]:
    name, _, version = requirement.partition(">=")
    return name, version


def test_the_oldest_versions_are_those_tested():
    """Of the dependencies, and of the extras that `make test-oldest` installs."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    extras = re.search(r"constraint oldest\.txt.*?\"\.\[(.+?)\]\"", makefile, flags=re.S)[1]
    wanted = [*PROJECT["dependencies"]]
    for extra in extras.split(","):
        wanted += PROJECT["optional-dependencies"][extra]
    stated = dict(oldest(requirement) for requirement in wanted)
    lines = (ROOT / "oldest.txt").read_text("utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    assert set(tested) == set(stated)
    for name, version in stated.items():
        assert f"{tested[name]}.".startswith(f"{version}."), name


def test_every_benchmark_takes_options_and_stands_on_the_page():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    recipes = re.findall(r"^(bench-[a-z-]+):.*\n\t(.*)", makefile, flags=re.M)
    assert len(recipes) == len(list((ROOT / "benchmarks").glob("bench_*.py")))
    for target, recipe in recipes:
        assert recipe.endswith(f"benchmarks/{target.replace('-', '_')}.py $(ARGS)"), target
        assert f"`make {target}" in page, target


def test_messages_name_extras_that_have_the_package():
    extras = PROJECT["optional-dependencies"]
    named = set()
    for extra in EXTRAS:
        assert any(wanted.startswith(extra.package) for wanted in extras[extra.name])
    for path in (ROOT / "src").rglob("*.py"):
        found = re.findall(r'package="(\w+)", extra="(\w+)"', path.read_text("utf-8"))
        for package, extra in found:
            named.add(extra)
            assert any(wanted.startswith(package) for wanted in extras[extra]), (path, package)
    assert named == {extra.name for extra in EXTRAS}


def test_the_install_page_has_every_extra():
    page = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    for extra in EXTRAS:
        assert extra.command in page
