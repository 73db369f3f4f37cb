"""Whether a regular expression finds words in a time that grows moderately.

Python's `re` tries one way after another, `(\\w+)+!` in 2^n ways on n letters, and a thread that
searches can neither be interrupted nor lets others run. No rule about the look of a pattern tells
the harmful from the harmless: `\\w+(?:-\\w+)*` repeats repeats and is what people use. So a pattern
is tried in another process, which the system ends after some time of the processor, on texts that
are made of its own repeats. Patterns with at most one choice, which is not repeated, cannot do harm
and are not tried.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from longtail.features import _pattern_child

LONGEST_PATTERN = 10_000  # characters
SECONDS = 0.5  # of the processor that a probe may take; an honest one takes some milliseconds
PATIENCE = 60.0  # seconds for all of them, where the system cannot limit the processor
TIMES = 64  # repeats that show exponential time
MANY_TIMES = 1_000  # repeats that show a cube; a square is allowed, since words are short
SAMPLES = 8  # texts per repeat
MOST_PROBES = 500
ENDS = ("", "!", "\n\0 ")  # after a run, so that a match has to be given up
RUNS = "aA1_. -é"

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_CATEGORIES = {
    "CATEGORY_WORD": "aB1_",
    "CATEGORY_DIGIT": "17",
    "CATEGORY_SPACE": " \n",
    "CATEGORY_NOT_WORD": " .-",
    "CATEGORY_NOT_DIGIT": "a .",
    "CATEGORY_NOT_SPACE": "a1.",
}


@cache
def is_quick(pattern: str) -> bool:
    """Whether a search takes no more than the square of what it is given, as far as tried.

    Examples
    --------
    >>> is_quick(r"\\w+"), is_quick(r"\\w+(?:-\\w+)*"), is_quick(r"(?:\\w+)+!")
    (True, True, False)
    """
    tree = _parsed(pattern)
    nested = _is_nested(tree)
    if not nested and len(list(_choices(tree))) <= 1:
        return True
    verdict = _tried(pattern, list(_probes(tree)))
    return not nested if verdict is None else verdict


def _tried(pattern: str, probes: list[str]) -> bool | None:
    """Whether another process came to an end with all probes; None if there can be none."""
    if not sys.executable:
        return None
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", _pattern_child.__file__, str(SECONDS)],
            input=json.dumps([pattern, *probes]).encode(),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    except OSError:
        return None
    if ended.stdout.startswith(_pattern_child.BEGUN):
        return ended.stdout.startswith(_pattern_child.BEGUN + _pattern_child.ENDED)
    return None


def _parsed(pattern: str) -> Any:
    from re import _parser  # type: ignore[attr-defined]  # the one parser whose word counts

    return _parser.parse(pattern)


def _parts(node: Any) -> Iterator[Any]:
    """What is nested in an operation: lists of operations."""
    operation, value = str(node[0]), node[1]
    if operation in (*_REPEATS, "POSSESSIVE_REPEAT"):
        yield value[2]
    elif operation == "BRANCH":
        yield from value[1]
    elif operation == "SUBPATTERN":
        yield value[3]
    elif operation in ("ASSERT", "ASSERT_NOT"):
        yield value[1]
    elif operation == "ATOMIC_GROUP":
        yield value
    elif operation == "GROUPREF_EXISTS":
        yield from (part for part in value[1:] if part is not None)


def _choices(tree: Any) -> Iterator[Any]:
    """The operations that a search may do in several ways."""
    for node in tree:
        operation = str(node[0])
        if operation in ("BRANCH", "GROUPREF", "GROUPREF_EXISTS") or (
            operation in _REPEATS and node[1][0] != node[1][1]
        ):
            yield node
        for part in _parts(node):
            yield from _choices(part)


def _is_nested(tree: Any) -> bool:
    """Whether a choice stands within a repeat, without which no time is exponential."""
    return any(bool(list(_choices(part))) for node in _repeats(tree) for part in _parts(node))


def _repeats(tree: Any) -> Iterator[Any]:
    for node in tree:
        if str(node[0]) in _REPEATS and node[1][1] > 1:
            yield node
        for part in _parts(node):
            yield from _repeats(part)


def _probes(tree: Any) -> Iterator[str]:
    """Texts with long runs of what a pattern repeats, each ended so that the run fails."""
    found = dict.fromkeys(
        run * times + end for run in RUNS for times in (TIMES, MANY_TIMES) for end in ENDS[1:]
    )
    for node in _repeats(tree):
        for number in range(SAMPLES):
            for times in (TIMES, MANY_TIMES)[: 2 if number == 0 else 1]:
                text = _Sample(number, node, times).of(tree)
                found |= dict.fromkeys(text + end for end in ENDS)
    yield from list(found)[:MOST_PROBES]


class _Pumped(Exception):  # noqa: N818 (it is no error)
    """The run is written; what comes after it would let the search succeed."""


class _Sample:
    """A text that a pattern matches up to one of its repeats, which is repeated many times."""

    def __init__(self, number: int, pumped: Any, times: int) -> None:
        self._short = number == 0
        self._random = random.Random(number)
        self._pumped, self._times = pumped, times
        self._written: list[str] = []

    def of(self, tree: Any) -> str:
        """The text; without the rest of the pattern."""
        with suppress(_Pumped):
            self._write(tree)
        return "".join(self._written)[: 4 * MANY_TIMES]

    def _write(self, tree: Any) -> None:
        for node in tree:
            operation, value = str(node[0]), node[1]
            if node is self._pumped:
                before = len(self._written)
                self._write(value[2])
                run = "".join(self._written[before:])
                self._written[before:] = [run * self._times]
                raise _Pumped
            if operation in (*_REPEATS, "POSSESSIVE_REPEAT"):
                least = min(int(value[0]), MANY_TIMES)
                more = 0 if self._short else self._random.randint(0, 2)
                inside = any(each is self._pumped for each in _repeats(value[2]))
                for _ in range(max(min(least + more, int(value[1])), int(inside))):
                    self._write(value[2])
            elif operation == "BRANCH":
                ways = [w for w in value[1] if any(r is self._pumped for r in _repeats(w))]
                self._write(self._one_of(ways or list(value[1])))
            elif operation == "LITERAL":
                self._written.append(chr(value))
            elif operation == "NOT_LITERAL":
                self._written.append("a" if value != ord("a") else "b")
            elif operation == "ANY":
                self._written.append(self._one_of("a1 ."))
            elif operation == "IN":
                self._written.append(self._member(value))
            elif not operation.startswith("ASSERT"):
                for part in _parts(node):
                    self._write(part)

    def _member(self, members: Any) -> str:
        """A character of a set."""
        if str(members[0][0]) == "NEGATE":
            kept = re.compile("[" + RUNS.replace("-", r"\-") + "]")
            others = [c for c in kept.findall(RUNS) if not _is_among(c, members[1:])]
            return self._one_of(others or ["\u4e2d"])
        operation, value = self._one_of(members)
        if str(operation) == "RANGE":
            return chr(value[0])
        if str(operation) == "CATEGORY":
            return self._one_of(_CATEGORIES.get(str(value), "a1 ."))
        return chr(value)

    def _one_of(self, options: Any) -> Any:
        return options[0] if self._short else self._random.choice(list(options))


def _is_among(character: str, members: Any) -> bool:
    code = ord(character)
    for operation, value in members:
        name = str(operation)
        if (name == "LITERAL" and code == value) or (
            name == "RANGE" and value[0] <= code <= value[1]
        ):
            return True
        if name == "CATEGORY" and character in _CATEGORIES.get(str(value), ""):
            return True
    return False
