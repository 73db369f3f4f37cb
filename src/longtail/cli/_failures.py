"""How errors are reported: one line on stderr and an exit code; no traceback for expected ones.

0: done. 1: refused, for a reason that the line names. 2: wrong usage. 3: done, but bad rows were
skipped. 130: interrupted. 141: the reader of the output stopped reading.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from longtail.errors import (
    LongtailError,
    LongtailWarning,
    OutOfMemoryError,
    SkippedRowsWarning,
    address_space,
    is_out_of_memory,
    printable,
)

REFUSED = 1
SOME_SKIPPED = 3
INTERRUPTED = 130
NOBODY_READS = 141
_WORDS = "longtail.words"
LEAST_ADDRESS_SPACE = 1.5e9  # bytes; most of them are never touched


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence that says how to go on."""


class Commands(TyperGroup):
    """All commands, with one place for what they raise."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember the words of the command line, for `command_line`."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn expected errors into a line and an exit code."""
        try:
            check_address_space()
            with _warnings_as_lines() as kinds:
                result = super().invoke(ctx)
                sys.stdout.flush()
                if SkippedRowsWarning in kinds:
                    raise typer.Exit(SOME_SKIPPED)
                return result
        except LongtailError as error:
            complain(as_typed(str(error), self._options(ctx)))
            code = REFUSED
        except KeyboardInterrupt as error:
            complain(error if isinstance(error, Interrupted) else "Interrupted.", "")
            code = INTERRUPTED
        except BrokenPipeError:
            _let_go_of_output()
            code = NOBODY_READS
        except BaseException as error:
            if is_out_of_memory(error):
                complain(OutOfMemoryError("for this"))
            elif isinstance(error, OSError):
                place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
                complain(f"{place}{error.strerror or error}")
            else:
                raise
            code = REFUSED
        raise typer.Exit(code)

    def _options(self, ctx: Any) -> dict[str, str]:
        """The options of the command that was called, by the names of their parameters."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        return {
            each.name: next(word for word in each.opts if word.startswith("--"))
            for each in getattr(command, "params", ())
            if each.name and any(word.startswith("--") for word in each.opts)
        }


def check_address_space() -> None:
    """Refuse a process that may not even load the libraries, which hang or end it if they cannot.

    Where the limit is higher, allocators that would print what they lack are told to be quiet.
    """
    limit = address_space()
    if limit < LEAST_ADDRESS_SPACE:
        raise OutOfMemoryError(
            f"within the {limit / 1e9:.1f} GB of addresses that this process is allowed (ulimit "
            f"-v), since the libraries alone take {LEAST_ADDRESS_SPACE / 1e9:g} GB"
        )
    if limit < math.inf:
        os.environ.setdefault("_RJEM_MALLOC_CONF", "background_thread:false")


def as_typed(message: str, options: Mapping[str, str]) -> str:
    """A message of the library in the words of the command line.

    Parameters with an underscore in their name, before an = or between backticks are meant.

    Examples
    --------
    >>> options = {"text_column": "--text-column", "part": "--part", "want": "--want"}
    >>> as_typed("say it with text_column; part='test' is for folders; leave out `want`", options)
    "say it with --text-column; --part 'test' is for folders; leave out --want"
    """

    def typed(found: re.Match[str]) -> str:
        quoted, name, equals = found.groups()
        option = options.get(quoted or name)
        if option is None or not (quoted or equals or "_" in name):
            return found[0]
        has_value = equals and re.match(r"[\w'\"]", message[found.end() :])
        return f"{option} " if has_value else option

    return re.sub(r"`(\w+)`|(?<![\w-])([a-z_]+)\b(=?)", typed, message)


def command_line(context: Any) -> str:
    """The command as it was given, fit for a shell."""
    return shlex.join(["longtail", *context.meta.get(_WORDS, ())])


def complain(what: object, kind: str = "Error: ") -> None:
    """Print a message on stderr, always on one line."""
    with suppress(BrokenPipeError):
        print(f"{kind}{printable(what)}", file=sys.stderr, flush=True)


@contextmanager
def _warnings_as_lines() -> Iterator[set[type[Warning]]]:
    """Print warnings as lines on stderr; returns the kinds that occurred."""
    kinds: set[type[Warning]] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        kinds.add(category)
        complain(message, "Warning: ")

    with warnings.catch_warnings():
        warnings.simplefilter("always", LongtailWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield kinds


def _let_go_of_output() -> None:
    """Keep Python from complaining at its end about what it cannot write any more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
