"""Options that several commands have, spelt once."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from longtail.errors import ParameterError

if TYPE_CHECKING:
    from longtail.data import Dataset

READING = "How DATA is read"
TESTED = "What is tested on"

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Answer with JSON on stdout.")]
Jobs = Annotated[int, typer.Option("--n-jobs", "-j", help="Threads; -1 is all cores.", metavar="N")]
Ranks = Annotated[
    str, typer.Option("-k", help="Ranks to measure at, with commas.", metavar="K,...")
]
Tail = Annotated[
    float,
    typer.Option("--tail", help="How much rare labels are favoured; 0 is not at all.", metavar="C"),
]
Constants = Annotated[
    str | None,
    typer.Option(
        "--propensity-constants",
        help="Published data set whose constants to use, such as Amazon-670K.",
        metavar="NAME",
    ),
]
TestSize = Annotated[
    float | None,
    typer.Option(
        "--test-size",
        help="Hold out this share (or, from 1 on, number) of the points and measure on them.",
        metavar="X",
        rich_help_panel=TESTED,
    ),
]
RandomState = Annotated[
    int,
    typer.Option(
        "--random-state",
        help="Of the split.",
        min=0,
        max=2**32 - 1,
        metavar="N",
        rich_help_panel=TESTED,
    ),
]
FORMATS = "xmc, xmc-pair, svmlight, mulan, jsonl, csv"


def _reading(help: str, metavar: str) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=READING)


@dataclass(frozen=True, kw_only=True)
class ReadingTexts:
    """How points without labels are to be read, as the options say it."""

    format: Annotated[
        str | None,
        _reading(
            f"{FORMATS}, parquet or lines (a text each); by default told from the file.", "FORMAT"
        ),
    ] = None
    part: Annotated[str | None, _reading("Which part of a folder: train, test or all.", "PART")] = (
        None
    )
    text_column: Annotated[
        list[str] | None,
        _reading("Column of the texts; 'text' by default. Several are joined.", "NAME"),
    ] = None
    on_error: Annotated[
        str | None,
        _reading(
            "What becomes of a bad row: raise (the default) ends the command, skip goes on and "
            "says which rows.",
            "WHAT",
        ),
    ] = None
    read: Annotated[
        list[str] | None,
        _reading("Any other option of the reader, such as missing_value=1.", "NAME=VALUE"),
    ] = None

    def __post_init__(self) -> None:
        if self.on_error not in (None, "raise", "skip"):
            raise ParameterError(f"--on-error is raise or skip, not {self.on_error!r}.")
        for name in set(_named_values(self.read or ())) & set(vars(self)):
            if getattr(self, name):
                raise ParameterError(
                    f"--{name.replace('_', '-')} and --read both say it; give one."
                )

    @property
    def skips_errors(self) -> bool:
        """Whether bad rows are skipped."""
        return self.on_error == "skip"

    def check_format(self) -> None:
        """Refuse a format that no reader knows, before anything is read."""
        from longtail.data.reading import check_format

        check_format(self.format)

    def load(self, path: Path, *, usual_part: Literal["train", "test"]) -> Dataset:
        """Read the data set; of a folder with parts the usual one, unless the options say."""
        from longtail.data import read_dataset

        return read_dataset(path, **self.arguments(path, usual_part=usual_part))

    def arguments(self, path: Path, *, usual_part: Literal["train", "test"]) -> dict[str, Any]:
        """The options as arguments of `longtail.data.read_dataset`."""
        from longtail.data.recognise import parts_of_folder

        given = {name: value for name, value in vars(self).items() if value is not None}
        options: dict[str, Any] = {"format": None, "part": None, **given}
        options.pop("read", None)
        options |= _named_values(self.read or ())
        if self.part is None and path.is_dir() and usual_part in parts_of_folder(path):
            options["part"] = usual_part
        if self.text_column is not None and len(self.text_column) == 1:
            options["text_column"] = self.text_column[0]
        return options

    def words(self) -> list[str]:
        """The options as they are typed.

        Examples
        --------
        >>> Reading(part="test", text_column=["title", "body"]).words()
        ['--part', 'test', '--text-column', 'title', '--text-column', 'body']
        """
        found: list[str] = []
        for name, value in vars(self).items():
            for each in value if isinstance(value, list) else [value]:
                if each is not None:
                    found += [f"--{name.replace('_', '-')}", each]
        return found


@dataclass(frozen=True, kw_only=True)
class Reading(ReadingTexts):
    """How a data file is to be read, as the options say it."""

    format: Annotated[
        str | None,
        _reading(f"{FORMATS} or parquet; by default told from the file.", "FORMAT"),
    ] = None
    labels_column: Annotated[
        str | None, _reading("Column of the labels; 'labels' by default.", "NAME")
    ] = None
    label_separator: Annotated[
        str | None, _reading("What stands between labels in a string.", "TEXT")
    ] = None


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are dataclasses of options have become their options.

    Examples
    --------
    >>> @with_options
    ... def look(path: str, *, reading: ReadingTexts) -> None:
    ...     print(path, reading.words())
    >>> look(path="docs", format="csv", part=None, text_column=None, on_error=None, read=None)
    docs ['--format', 'csv']
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            of_group = get_type_hints(groups[name], include_extras=True)
            parameters += [
                parameter.replace(name=each, annotation=hint, default=getattr(groups[name], each))
                for each, hint in of_group.items()
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        command(**given)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def share_or_count(size: float) -> int | float:
    """What `--test-size` says: a share of the points, or from 1 on, if it is whole, a number.

    Examples
    --------
    >>> share_or_count(0.2), share_or_count(100.0)
    (0.2, 100)
    """
    if not 0 < size < math.inf or (size >= 1 and size != int(size)):
        raise ParameterError(
            f"--test-size is a share of the points, such as 0.2, or a number of them, not {size:g}."
        )
    return int(size) if size >= 1 else size


def parse_ranks(text: str) -> list[int]:
    """The ranks of `-k 1,3,5`.

    Examples
    --------
    >>> parse_ranks("5,1")
    [1, 5]
    """
    try:
        ranks = sorted({int(word) for word in text.split(",")})
    except ValueError:
        ranks = [0]
    if ranks[0] < 1:
        raise typer.BadParameter(f"{text!r} is not a list of ranks such as 1,3,5.")
    return ranks


def _named_values(words: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name in ("path", "format", "part", "on_error"):
            raise ParameterError(f"--read takes a name=value of the reader, not {word!r}.")
        found[name] = _number(text)
    return found


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
