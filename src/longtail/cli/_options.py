"""Options that several commands have, spelt once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

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
        show_default=False,
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
Format = Annotated[
    str | None,
    typer.Option(
        help="xmc, xmc-pair, svmlight, mulan, jsonl, csv or parquet; by default told from the "
        "file.",
        metavar="FORMAT",
        rich_help_panel=READING,
    ),
]
FormatOrLines = Annotated[
    str | None,
    typer.Option(
        help="xmc, xmc-pair, svmlight, mulan, jsonl, csv, parquet or lines (a text each); by "
        "default told from the file.",
        metavar="FORMAT",
        rich_help_panel=READING,
    ),
]
Part = Annotated[
    str | None,
    typer.Option(
        help="Which part of a folder: train, test or all.", metavar="PART", rich_help_panel=READING
    ),
]
TextColumn = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of the texts; 'text' by default. Several are joined.",
        metavar="NAME",
        rich_help_panel=READING,
    ),
]
LabelsColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of the labels; 'labels' by default.", metavar="NAME", rich_help_panel=READING
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        help="What stands between labels in a string.", metavar="TEXT", rich_help_panel=READING
    ),
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        help="Any other option of the reader, such as missing_value=1.",
        metavar="NAME=VALUE",
        rich_help_panel=READING,
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a data file is to be read, as the options say it."""

    format: str | None = None
    part: str | None = None
    text_column: list[str] | None = None
    labels_column: str | None = None
    label_separator: str | None = None
    read: list[str] | None = None

    def __post_init__(self) -> None:
        from longtail.errors import ParameterError

        twice = {"text_column", "labels_column", "label_separator"} & set(
            _named_values(self.read or ())
        )
        for name in twice:
            if getattr(self, name):
                raise ParameterError(
                    f"--{name.replace('_', '-')} and --read both say it; give one."
                )

    def check_format(self) -> None:
        """Refuse a format that no reader knows, before anything is read."""
        from longtail.data.loading import check_format

        check_format(self.format)

    def load(self, path: Path, *, usual_part: Literal["train", "test"]) -> Dataset:
        """Read the data set; of a folder with parts the usual one, unless the options say."""
        from longtail.data import load

        return load(path, **self.arguments(path, usual_part=usual_part))

    def arguments(self, path: Path, *, usual_part: Literal["train", "test"]) -> dict[str, Any]:
        """The options as arguments of `longtail.data.load`."""
        from longtail.data.recognise import parts_of_folder

        part = self.part
        if part is None and path.is_dir() and usual_part in parts_of_folder(path):
            part = usual_part
        options: dict[str, Any] = {
            "format": self.format,
            "part": part,
            **_named_values(self.read or ()),
        }
        if self.text_column:
            single = len(self.text_column) == 1
            options["text_column"] = self.text_column[0] if single else self.text_column
        for name in ("labels_column", "label_separator"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
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


def share_or_count(size: float) -> int | float:
    """What `--test-size` says: a share of the points, or from 1 on, if it is whole, a number.

    Examples
    --------
    >>> share_or_count(0.2), share_or_count(100.0)
    (0.2, 100)
    """
    from longtail.errors import ParameterError

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
    from longtail.errors import ParameterError

    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name in ("path", "format", "part"):
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
