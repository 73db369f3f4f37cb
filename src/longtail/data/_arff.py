"""The syntax of ARFF: what a header declares and what a row of data says.

A row comes back as (attribute, value) pairs for what is not zero. A nominal attribute whose values
are all numbers counts as a number. Another with k values becomes k - 1 columns `name=value`, the
first value being the one without a column; that is also what leaving it out of a sparse row means.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from longtail.data._budget import NAME, NAME_TOO_LONG, Budget
from longtail.data._source import LineBlocks, decoded, shown
from longtail.labels import LONGEST_NAME

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_MOST_REPEATED = 8
"""How many times as long as its declaration the names of an attribute's columns may be."""
_NUMERIC_TYPES = ("numeric", "real", "integer")


class ArffError(ValueError):
    """What is wrong with a line, for the reader to say where."""


@dataclass(frozen=True)
class Values:
    """What an attribute may be, shared by all that are declared alike; None for any number."""

    values: tuple[str, ...] | None = None

    @cached_property
    def is_number(self) -> bool:
        """Whether its values are numbers, declared numeric or listed."""
        return self.values is None or all(_NUMBER.fullmatch(value) for value in self.values)

    @cached_property
    def zero_first(self) -> bool:
        """Whether leaving it out of a sparse row means zero."""
        return self.values is None or not self.is_number or float(self.values[0]) == 0

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The number that each listed value stands for, where all are numbers."""
        return {value: float(value) for value in self.values or ()} if self.is_number else {}

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each listed value."""
        return {value: place for place, value in enumerate(self.values or ())}

    @cached_property
    def is_binary(self) -> bool:
        """Whether its values are listed as 0 and 1."""
        return bool(self.numbers) and set(self.numbers.values()) <= {0, 1}


class Attribute(NamedTuple):
    """A declared attribute."""

    name: str
    of: Values

    @property
    def column_names(self) -> list[str]:
        """The columns that it becomes."""
        if self.of.is_number or self.of.values is None:
            return [self.name]
        return [f"{self.name}={value}" for value in self.of.values[1:]]

    def entry(self, token: str) -> tuple[int, float]:
        """Which of its columns gets which value; a value of zero needs no entry."""
        of = self.of
        if token in of.numbers:
            return 0, of.numbers[token]
        if of.is_number:
            number = self._number(token)
            if of.values is not None and number not in of.numbers.values():
                raise ArffError(self._not_listed(token))
            return 0, number
        if token not in of.places:
            raise ArffError(self._not_listed(token))
        return max(0, of.places[token] - 1), float(of.places[token] > 0)

    def _number(self, token: str) -> float:
        if _NUMBER.fullmatch(token):
            return float(token)
        if _NOT_FINITE.fullmatch(token):
            raise ArffError(
                f"the value {shown(token)} of {shown(self.name)} is not finite; replace it"
            )
        raise ArffError(f"the value {shown(token)} of {shown(self.name)} is not a number")

    def _not_listed(self, token: str) -> str:
        listed = ",".join(self.of.values or ())
        return f"{shown(token)} is not among the values {shown(listed)} of {shown(self.name)}"


def read_arff_header(blocks: LineBlocks) -> tuple[str, list[Attribute]]:
    """The relation's name and the attributes, up to and with the line `@data`."""
    relation = ""
    attributes: list[Attribute] = []
    seen: set[str] = set()
    alike: dict[str, Values] = {}
    if blocks.is_empty:
        raise blocks.error("the file is empty; expected ARFF, which starts with @relation")
    started = False
    while (raw := blocks.next_line()) is not None:
        number = blocks.line - 1
        blocks.budget.look_at_line(raw, b",")
        line = decoded(blocks, number, raw).strip()
        if not line or line.startswith("%"):
            continue
        keyword, rest = _first_word(line)
        keyword = keyword.lower()
        try:
            if keyword == "@relation":
                relation, _ = _word(rest)
                started = True
            elif keyword == "@attribute":
                attribute = _attribute(rest, alike, blocks.budget)
                if attribute.name in seen:
                    raise ArffError(f"the attribute {shown(attribute.name)} is declared twice")
                seen.add(attribute.name)
                attributes.append(attribute)
            elif keyword == "@data":
                if not attributes:
                    raise ArffError("there is no @attribute before @data")
                return relation, attributes
            else:
                raise ArffError(f"expected @relation, @attribute or @data, found {shown(line)}")
        except ArffError as fault:
            raise blocks.error(str(fault), line=number) from None
    what = "@data" if started else "ARFF, which starts with @relation"
    raise blocks.error(f"the file ends without {what}", line=max(1, blocks.line - 1))


def row_tokens(line: str) -> list[tuple[str, bool]]:
    """The fields of a line between commas, without quotes, and whether each was quoted."""
    if "'" not in line and '"' not in line:
        return [(token.strip(), False) for token in line.split(",")]
    tokens = []
    position = 0
    while True:
        while position < len(line) and line[position].isspace():
            position += 1
        quoted = _QUOTED.match(line, position)
        if quoted:
            tokens.append((_unquoted(quoted), True))
            position = quoted.end()
            while position < len(line) and line[position].isspace():
                position += 1
            if position < len(line) and line[position] != ",":
                raise ArffError(
                    f"expected a comma after a quoted value, found {shown(line[position:])}"
                )
        else:
            end = line.find(",", position)
            end = len(line) if end < 0 else end
            token = line[position:end].strip()
            if token[:1] in ("'", '"'):
                raise ArffError("a quote is not closed")
            tokens.append((token, False))
            position = end
        if position >= len(line):
            return tokens
        position += 1


def sparse_tokens(line: str) -> Iterator[tuple[int, str, bool]]:
    """(attribute number, value, whether it was quoted) of a row in braces."""
    if not line.endswith("}"):
        raise ArffError("a row that starts with { must end with }")
    inner = line[1:-1].strip()
    if not inner:
        return
    seen = set()
    for piece in _pieces(inner):
        index, rest = _first_word(piece)
        if index.startswith("-") and index[1:].isdecimal():
            raise ArffError(f"the attribute number {shown(index)} is negative; numbers start at 0")
        if not (index.isascii() and index.isdigit()):
            raise ArffError(f"expected the number of an attribute, found {shown(piece)}")
        value, quoted, after = _word_or_quoted(rest)
        if not value and not quoted:
            raise ArffError(f"attribute {shown(index)} has no value; write '{index[:20]} 1'")
        if after:
            raise ArffError(f"expected a comma, found {shown(after)}")
        number = int(index) if len(index) <= 18 else 2**63
        if number in seen:
            raise ArffError(f"attribute {number} occurs twice; remove one")
        seen.add(number)
        yield number, value, quoted


def quoted_name(name: str) -> str:
    """A name in quotes, as ARFF has it.

    Examples
    --------
    >>> print(quoted_name("it's"))
    'it\\'s'
    """
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    for letter, control in _CONTROLS.items():
        escaped = escaped.replace(control, f"\\{letter}")
    return f"'{escaped}'"


def _pieces(inner: str) -> Iterator[str]:
    """The parts between commas that stand outside of quotes."""
    if "'" not in inner and '"' not in inner:
        yield from (piece.strip() for piece in inner.split(","))
        return
    begin = position = 0
    while position < len(inner):
        quoted = _QUOTED.match(inner, position) if inner[position] in "'\"" else None
        if quoted:
            position = quoted.end()
        elif inner[position] in "'\"":
            raise ArffError("a quote is not closed")
        elif inner[position] == ",":
            yield inner[begin:position].strip()
            position += 1
            begin = position
        else:
            position += 1
    yield inner[begin:].strip()


def _attribute(text: str, alike: dict[str, Values], budget: Budget) -> Attribute:
    name, rest = _word(text)
    if not name:
        raise ArffError("an attribute has no name")
    if len(name) > LONGEST_NAME:
        raise ArffError(NAME_TOO_LONG)
    budget.take_name(name)
    if rest not in alike:
        alike[rest] = values = _values(name, rest)
        budget.take(NAME * (1 + len(values.values or ())) + 8 * len(rest))
    values = alike[rest]
    if not values.is_number:
        columns = len(values.values or ())
        if columns * len(name) > max(2**20, _MOST_REPEATED * len(text)):
            raise ArffError(
                f"the name {shown(name)} of {len(name):,} characters would be repeated in the "
                f"names of {columns:,} columns; shorten it"
            )
        budget.take(columns * (NAME + 2 * sys.getsizeof(name)))
    return Attribute(name, values)


def _values(name: str, declared: str) -> Values:
    """What is declared behind the name of an attribute."""
    if declared.startswith("{"):
        if not declared.endswith("}"):
            raise ArffError(f"the values of {shown(name)} start with {{ and must end with }}")
        values = tuple(value for value, _ in row_tokens(declared[1:-1]))
        if len(set(values)) < len(values):
            raise ArffError(f"the attribute {shown(name)} lists a value twice")
        return Values(values)
    if declared.split(" ")[0].lower() in _NUMERIC_TYPES:
        return Values()
    raise ArffError(
        f"the attribute {shown(name)} is of type {shown(declared)}; only numbers and listed values "
        "can be features"
    )


def _first_word(text: str) -> tuple[str, str]:
    """What stands before the first gap and what comes after."""
    parts = text.split(None, 1)
    return (parts[0] if parts else ""), (parts[1] if len(parts) > 1 else "")


def _word(text: str) -> tuple[str, str]:
    word, _, rest = _word_or_quoted(text.strip())
    return word, rest


def _word_or_quoted(text: str) -> tuple[str, bool, str]:
    """The first word, quoted or not, whether it was, and what follows."""
    quoted = _QUOTED.match(text)
    if quoted:
        return _unquoted(quoted), True, text[quoted.end() :].strip()
    if text[:1] in ("'", '"'):
        raise ArffError("a quote is not closed")
    word, rest = _first_word(text)
    brace = word.find("{")
    if brace > 0:
        return word[:brace], False, text[text.index("{") :].strip()
    return word, False, rest.strip()


def _unquoted(match: re.Match[str]) -> str:
    inner = match[1] if match[1] is not None else match[2]
    return _ESCAPED.sub(lambda escape: _CONTROLS.get(escape[1], escape[1]), inner)
