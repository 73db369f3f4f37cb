"""The pages about the command line name only what there is, and all of it."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_help import COMMANDS
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "command-line.md"
LINES = re.findall(r"^\$ (?:echo .* \| )?longtail (\w+)(.*)$", PAGE.read_text("utf-8"), re.M)


@pytest.fixture(scope="module")
def options(call):
    def of(command):
        return set(re.findall(r"--[a-z][a-z-]+", call(command, "--help").out))

    return of


@pytest.mark.parametrize(("command", "rest"), LINES, ids=lambda value: value.strip())
def test_examples_use_options_that_exist(options, command, rest):
    assert set(re.findall(r"--[a-z][a-z-]+", rest)) <= options(command)


def test_every_option_is_explained(options):
    text = PAGE.read_text("utf-8") + PAGE.with_name("comparing.md").read_text("utf-8")
    missing = {
        option
        for command in COMMANDS
        for option in options(command)
        if f"{option}`" not in text and f"{option} " not in text
    }
    assert missing <= {"--graph", "--help"}
