"""What pyproject.toml promises: oldest versions that are tested, extras that the messages name."""

from __future__ import annotations

import re
import tomllib

from longtail.extras import EXTRAS
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def oldest(requirement: str) -> tuple[str, str]:
    name, _, version = requirement.partition(">=")
    return name, version


def test_the_oldest_versions_are_those_tested():
    stated = dict(oldest(requirement) for requirement in PROJECT["dependencies"])
    lines = (ROOT / "oldest.txt").read_text("utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    for name, version in stated.items():
        assert f"{tested[name]}.".startswith(f"{version}."), name


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
