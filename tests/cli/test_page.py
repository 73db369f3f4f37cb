"""The pages about the command line name only what there is, and all of it."""

from __future__ import annotations

import re

import pytest
import typer

from longtail.cli import app
from tests.cli.test_help import COMMANDS
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text("utf-8")
COMPARING = (ROOT / "docs" / "comparing.md").read_text("utf-8")
LINES = re.findall(r"^\$ (?:echo .* \| )?longtail (\w+)(.*)$", PAGE, re.M)
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
ELSEWHERE = {"compare": "On your own data", "reproduce": "A paper's own experiments"}
"""Sections of the page on comparing, to which two commands' own sections lead."""


def options(command):
    """All that a command takes, in every spelling, as the parser has them."""
    parameters = typer.main.get_command(app).commands[command].params
    return {name for each in parameters for name in (*each.opts, *each.secondary_opts)} - {
        each.name for each in parameters
    }


def section(page, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.M | re.S).group(1)


def explained(text):
    """Options that are named in the text itself, not only in an example."""
    code = re.findall(r"`(-[^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return {option for words in code for option in OPTION.findall(words)}


@pytest.mark.parametrize(("command", "rest"), LINES, ids=lambda value: value.strip())
def test_examples_use_options_that_exist(command, rest):
    assert set(OPTION.findall(re.sub(r'"[^"]*"', "", rest))) <= options(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command):
    """In the command's section, or where the page says what all commands, or all DATA, have."""
    told = explained(PAGE.partition("\n## ")[0]) | explained(section(PAGE, command))
    if command in ELSEWHERE:
        told |= explained(section(COMPARING, ELSEWHERE[command]))
    if "--format" in options(command):
        told |= explained(section(PAGE, "DATA"))
    if command == "compare":  # which makes the features as train does, by the same options
        told |= explained(section(PAGE, "train"))
    assert options(command) - told == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_what_stands_for_a_value_is_upper_case(call, command):
    usage = re.search(r"Usage: longtail \w+ (.*)", call(command, "--help").out).group(1)
    assert usage == usage.upper()


@pytest.mark.parametrize("command", ["train", "predict"])
def test_lines_are_a_format_of_what_is_predicted(call, command):
    help_ = re.sub(r"[\s│]+", " ", call(command, "--help").out)
    assert ("or lines (a text each)" in help_) == (command == "predict")
