"""Patterns of words that would search for ever are refused; those that people use are not."""

from __future__ import annotations

import subprocess

import pytest

from longtail import TextFeatures
from longtail.errors import ParameterError
from longtail.features import _patterns
from longtail.features._patterns import is_quick
from longtail.features.text import CODE_PATTERN, WORD_PATTERN

QUICK = [
    r"\w+",
    r"\w+(?:-\w+)*",
    r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:\.\d+)*",
    r"https?://\S+|\w+(?:['-]\w+)*|[^\w\s]",
]
SLOW = [
    r"(?:\w+)+!",
    r"(?:a|a)*b",
    r"x(?:a+b?)+y",
    r"(?:foo|foofoo)*z",
    r"(?:[a-z]+\s?)+:",
    r"\w*\w*\w*\w*\w*x",
    r"(?:.*,){20}P",
]


@pytest.mark.parametrize("pattern", QUICK)
def test_what_people_use_is_quick(pattern):
    assert is_quick(pattern)
    TextFeatures(token_pattern=pattern).fit(["sun and sea"])


@pytest.mark.parametrize("pattern", SLOW)
def test_what_searches_for_ever_is_refused(pattern):
    with pytest.raises(ParameterError, match="without long trying") as caught:
        TextFeatures(token_pattern=pattern).fit(["sun and sea"])
    assert "\n" not in str(caught.value)


def test_the_usual_patterns_cost_no_process(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a process was started"))
    for pattern in (WORD_PATTERN, CODE_PATTERN, r"[^\W\d_]+"):
        TextFeatures(token_pattern=pattern).fit(["sun and sea"])


def test_where_there_can_be_no_process_repeats_within_repeats_are_refused(monkeypatch):
    monkeypatch.setattr(_patterns.sys, "executable", None)
    assert is_quick.__wrapped__(r"\w+\d*")
    assert not is_quick.__wrapped__(r"(?:\w+)+!")


@pytest.mark.parametrize("pattern", ["(" * 3000, "(?:" * 3000 + ")" * 3000, "a" * 10_001, b"a", 3])
def test_what_is_no_pattern_is_refused_in_one_sentence(pattern):
    with pytest.raises(ParameterError, match="token_pattern must be"):
        TextFeatures(token_pattern=pattern).fit(["sun and sea"])
