"""The pages for newcomers: every command runs in an empty folder, and prints what the page says."""

from __future__ import annotations

import ast
import math
import re
import shlex

import pytest

from longtail import load
from tests.conftest import ROOT
from tests.forking import run_longtail
from tests.pages import run_command, steps, tasks, versions, versions_of

PAGES = ("getting-started", "tutorial", "walkthroughs", "scores", "tail", "choosing-strength")
LONG = {"choosing-strength-0", "tail-0", "walkthroughs-2"}
"""Tasks that train many models at full size; `make test-all` runs them."""
TASKS = [
    pytest.param(
        page,
        number,
        id=f"{page}-{number}",
        marks=pytest.mark.exhaustive if f"{page}-{number}" in LONG else (),
    )
    for page in PAGES
    for number in range(len(tasks((ROOT / "docs" / f"{page}.md").read_text("utf-8"))))
]
MEASURED = ("train s", "predict s", "ms/point", "points/s", "MB", "peak MB")
"""Columns of tables that differ from run to run."""
QUANTITY = re.compile(r"([\d.,]+ (seconds?|minutes?|hours?|m?s|[kMG]B)|less than a second)\b")
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


def cells(line):
    return re.split(r" {2,}", line.strip())


def comparable(text):
    """Without times and sizes, in sentences and in tables, and without what depends on them."""
    lines, measured = [], []
    rows = text.splitlines() or [""]
    for line, following in zip(rows, [*rows[1:], ""], strict=True):
        if set(following.strip()) == {"─"}:
            measured = [column for column, name in enumerate(cells(line)) if name in MEASURED]
        elif not line:
            measured = []
        elif measured and set(line.strip()) != {"─"}:
            line = "  ".join(c for at, c in enumerate(cells(line)) if at not in measured)
        lines.append("Best:" if line.startswith("Best:") else line)
    return QUANTITY.sub("#", re.sub(r"[\s─]+", " ", " ".join(lines)))  # which may be wrapped


def same(one, other):
    """Equal words, and numbers that are equal up to rounding.

    Another processor rounds sums in another order, which may turn a tie in the ranking of one of
    some hundred points: that moves a percentage by up to 0.3 % of itself.
    """
    one, other = comparable(one), comparable(other)
    numbers = [
        [float(number.replace(",", "")) for number in NUMBER.findall(text)] for text in (one, other)
    ]
    return NUMBER.sub("0", one) == NUMBER.sub("0", other) and all(
        math.isclose(*pair, rel_tol=4e-3, abs_tol=1e-9) for pair in zip(*numbers, strict=True)
    )


@pytest.mark.parametrize(
    ("printed", "equal"),
    [
        ("P@1 71.20, trained in 3.1 s", True),
        ("P@1 71.20, trained in 12 s", True),
        ("P@1 71.20, trained in 12\n  s", True),
        ("P@1 72.20, trained in 3.1 s", False),
        ("R@1 71.20, trained in 3.1 s", False),
    ],
)
def test_times_may_differ_and_nothing_else(printed, equal):
    assert same("P@1 71.20, trained in 3.1 s", printed) is equal


def test_measured_columns_may_differ_and_no_others():
    table = "method    P@1  train s\n──────────────────────\nbr      63.42     {}\n\nBest: {}"
    assert same(table.format("4.46", "br"), table.format("14.4", "dismec"))
    assert not same(table.format("4.46", "br"), table.replace("63", "65").format("4.46", "br"))


def run_forked(command, environment):
    """A command of `longtail` alone costs a fork; others go to the shell."""
    words = shlex.split(command)
    if words[0] != "longtail" or set(command) & set("|<>"):
        return run_command(command, environment)
    code, said = run_longtail(words[1:], environment)
    assert code == 0, f"{command} ends with {code}: {said}"
    return said


@pytest.mark.parametrize(("page", "number"), TASKS)
def test_commands_print_what_the_page_says(page, number, tmp_path, monkeypatch):
    """With other versions of what the built-in data is made of, only that they run and print.

    A page that has not been printed yet says nothing to compare with; its commands run.
    """
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    as_printed = versions_of(text) == versions()
    count = 0
    for _, done in steps(tasks(text)[number], tmp_path, run_forked):
        for step in done:
            count += 1
            if versions_of(text):
                assert bool(step.printed) == bool(step.expected), step
            if as_printed:
                assert same(step.expected, step.printed), (
                    f"{step.code}\nprints\n{step.printed}\nand the page says\n{step.expected}"
                )
    assert count


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "README.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n.*?```", page, flags=re.S)
    ((_, (step,)),) = steps(code, tmp_path)
    assert "ice" in step.printed
    (text, answer) = re.search(r"predict\((.*)\)  # (\[\(.*\)\])", code).groups()
    assert load("tagger").predict(ast.literal_eval(text)) == ast.literal_eval(answer)
