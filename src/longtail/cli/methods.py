"""`longtail methods`: what there is, with papers; the parameters of one method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from longtail.cli._options import Json

if TYPE_CHECKING:
    from longtail.methods.registry import Method


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

    from longtail.cli._output import console, print_json, print_missing_extras

    if as_json:
        print_json([_described(method) for method in known.values()])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for method in known.values():
        table.add_row(method.name, method.summary, method.paper)
    console().print(table)
    print_missing_extras()


def _show(method: Method, as_json: bool) -> None:
    from rich.padding import Padding

    from longtail.cli._docstrings import parameter_docs
    from longtail.cli._output import console, print_json

    docs = parameter_docs(method.estimator)
    described = _described(method)
    described["parameters"] = [
        {
            "name": parameter.name,
            "type": docs[parameter.name].kind if parameter.name in docs else "",
            "default": parameter.default,
            "about": docs[parameter.name].about if parameter.name in docs else "",
        }
        for parameter in method.parameters.values()
    ]
    if as_json:
        print_json(described)
        return
    screen = console()
    screen.print(f"{method.name}: {method.summary}")
    screen.print(f"{method.home.replace(':', '.')}; {method.paper}")
    screen.print()
    for parameter in described["parameters"]:
        screen.print(
            f"  --set {parameter['name']}={parameter['default']}", style="bold", soft_wrap=True
        )
        about = f"{parameter['type']}. {parameter['about']}" if parameter["about"] else "(no text)"
        screen.print(Padding(about, (0, 0, 0, 6)))


def _described(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "class": method.home.replace(":", "."),
        "summary": method.summary,
        "paper": method.paper,
    }
