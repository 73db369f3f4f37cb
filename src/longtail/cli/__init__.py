"""The command `longtail`: one file per command, on the public API.

What the commands need is imported when they run, so that `longtail --help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from longtail.cli._failures import INTERRUPTED, Commands, complain
from longtail.cli.compare import compare
from longtail.cli.demo import demo
from longtail.cli.evaluate import evaluate
from longtail.cli.extend import extend
from longtail.cli.inspect import inspect
from longtail.cli.methods import methods
from longtail.cli.predict import predict
from longtail.cli.reproduce import reproduce
from longtail.cli.tail import tail
from longtail.cli.train import train

app = typer.Typer(
    cls=Commands,
    name="longtail",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, inspect, train, extend, predict, evaluate, tail, compare, reproduce, methods):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        from longtail import __version__

        typer.echo(f"longtail {__version__}")
        raise typer.Exit()


@app.callback()
def longtail(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Classification with very many labels, most of them rare.

    Example:

    ```text
    longtail demo                                 try it on built-in data
    longtail inspect docs.jsonl                   look at a file
    longtail train docs.jsonl --to tagger         train a tagger on it
    longtail predict tagger new.jsonl             use it
    longtail evaluate tagger test.jsonl           measure it
    ```

    Exit codes: 0 done, 1 refused (one line on stderr says why), 2 wrong usage, 3 done but bad rows
    were skipped, 130 interrupted.
    """


def main() -> None:
    """Run the command line; the entry point of `longtail`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show
    try:
        app(prog_name="longtail")
    except KeyboardInterrupt:
        complain("Interrupted.", "")
        sys.exit(INTERRUPTED)
