"""`longtail methods`: what there is, with papers; the parameters of one method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from longtail.cli._options import Json
from longtail.cli._output import console, print_json, print_missing_extras
from longtail.methods.catalogue import described

if TYPE_CHECKING:
    from longtail.methods.registry import Method

LISTED = ("method", "class", "summary", "paper")


def methods(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A method, to see its parameters.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the methods, or the parameters of one.

    Example:

    ```text
    longtail methods
    longtail methods dismec
    ```
    """
    from longtail.methods import registry

    if name is None:
        _list(registry.methods(), as_json)
    else:
        _show(registry.find_method(name), as_json)


def _list(known: dict[str, Method], as_json: bool) -> None:
    from rich.table import Table

    entries = [described(method) for method in known.values()]
    if as_json:
        print_json([{name: entry[name] for name in LISTED} for entry in entries])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for entry in entries:
        table.add_row(entry["method"], entry["summary"], entry["paper"])
    console().print(table)
    print_missing_extras()


def _show(method: Method, as_json: bool) -> None:
    from rich.padding import Padding

    entry = described(method)
    if as_json:
        print_json(entry)
        return
    screen = console()
    screen.print(f"{entry['method']}: {entry['summary']}")
    screen.print(f"{entry['class']}; {entry['paper']}")
    screen.print()
    for parameter in entry["parameters"]:
        screen.print(
            f"  --set {parameter['name']}={parameter['default']}", style="bold", soft_wrap=True
        )
        kind = parameter["type"][:1].upper() + parameter["type"][1:]
        screen.print(Padding(f"{kind}. {parameter['about']}", (0, 0, 0, 6)))
