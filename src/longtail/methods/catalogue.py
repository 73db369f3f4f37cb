"""The catalogue: a file of what each of our classes declares.

`longtail methods` and `longtail train --help` answer at once, so they read `catalogue.json` instead
of importing the classes. `make signatures` rewrites that file and the tables of the page with all
constructors. A test compares both with the classes.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from longtail.errors import ParameterError
from longtail.methods.registry import OURS, Method, methods

FILE = Path(__file__).with_name("catalogue.json")
START = "<!-- From here on the page is written by `make signatures`. -->\n"


@cache
def catalogue() -> dict[str, Any]:
    """What the file holds: methods by their names, `TextFeatures` and `RowScaler` by theirs.

    Examples
    --------
    >>> catalogue()["dismec"]["parameters"][0]["name"]
    'C'
    """
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def described(method: Method) -> dict[str, Any]:
    """Name, class, summary, paper and parameters of a method; imported if not in the file.

    Examples
    --------
    >>> from longtail.methods.registry import find_method
    >>> described(find_method("dismec"))["class"]
    'longtail.methods.linear.DiSMEC'
    """
    known = catalogue().get(method.name, {})
    return dict(known) if known.get("class") == _class(method) else _described(method)


def _described(method: Method) -> dict[str, Any]:
    try:
        parameters = _parameters(method.estimator)
    except ParameterError:  # its package cannot be imported, as the summary says
        parameters = []
    return {
        "method": method.name,
        "class": _class(method),
        "summary": method.summary,
        "paper": method.paper,
        "parameters": parameters,
    }


def _class(method: Method) -> str:
    return method.home.replace(":", ".")


def _parameters(owner: type) -> list[dict[str, Any]]:
    from longtail.parameters import declared

    return [
        {"name": one.name, "type": one.kind, "default": one.default, "about": one.sentence}
        for one in declared(owner).values()
    ]


# ---- writing ---------------------------------------------------------------------------------


def catalogue_text() -> str:
    """What the file should hold: one line per parameter, so that changes are easy to read."""
    from longtail.features import RowScaler, TextFeatures

    entries = {name: _described(methods()[name]) for name in sorted(OURS)}
    for owner in (RowScaler, TextFeatures):
        entries[owner.__name__] = {
            "class": f"longtail.features.{owner.__name__}",
            "parameters": _parameters(owner),
        }
    written = []
    for name, entry in entries.items():
        lines = ",\n  ".join(_json(one) for one in entry.pop("parameters"))
        written.append(f'{_json(name)}: {_json(entry)[:-1]}, "parameters": [\n  {lines}\n]}}')
    return "{\n" + ",\n".join(written) + "\n}\n"


def page_text() -> str:
    """The tables of the page with all constructors."""
    rows: dict[str, dict[tuple[str, str], dict[str, list[str]]]] = {}
    constructors = []
    for name, entry in ((name, _described(methods()[name])) for name in sorted(OURS)):
        arguments = []
        for one in entry["parameters"]:
            default = _spelled(one["default"])
            arguments.append(f"{one['name']}={default}")
            variants = rows.setdefault(one["name"], defaultdict(lambda: defaultdict(list)))
            variants[one["type"], one["about"]][default].append(name)
        line = f"{name}: {entry['class'].rpartition('.')[2]}({', '.join(arguments)})"
        constructors.append(textwrap.fill(line, 110, subsequent_indent="    "))
    lines = ["## What each parameter means", "", "| parameter | value | default | meaning |"]
    lines.append("|---|---|---|---|")
    for name in sorted(rows, key=lambda word: (word.lower(), word)):
        for (kind, about), defaults in rows[name].items():
            told = "; ".join(f"`{value}` in {', '.join(of)}" for value, of in defaults.items())
            lines.append(f"| `{name}` | {kind.removeprefix('a ')} | {told} | {about} |")
    lines += ["", "## The constructors", "", "```text", *constructors, "```", ""]
    return "\n".join(lines)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _spelled(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def write(page: Path) -> None:
    """Write the file and the part of the page below the mark."""
    by_hand, mark, _ = page.read_text(encoding="utf-8").partition(START)
    page.write_text(f"{by_hand}{mark}\n{page_text()}", encoding="utf-8")
    FILE.write_text(catalogue_text(), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
