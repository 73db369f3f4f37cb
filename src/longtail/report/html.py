"""Pages that are one file: values as safe text, plots as inline SVG, written whole.

Nothing on a page is fetched from elsewhere and nothing in it runs: there are no scripts, fonts or
images beside it, and a policy at its head forbids them, whatever a name in the data may hold.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from longtail import store
from longtail.errors import MissingExtraError, ParameterError, printable
from longtail.report.plots import GREY, figure_class

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure

_OF_THE_PAGE = {"#000000": "currentColor", "#ffffff": "var(--paper)", GREY: "var(--grey)"}
"""Colours of a plot that go with light and dark."""


class Best(str):
    """The text of a cell that is the best of its column."""

    is_best = True


@dataclass(frozen=True)
class Table:
    """A table of a page, whose first column names the rows; all of it is plain text.

    Attributes
    ----------
    caption : str
        Above the table.
    head : sequence of str
        Headings, one per column; none if empty.
    rows : sequence of sequences of str
        A cell that is `Best` is marked.
    groups : sequence of (str, int)
        Headings above `head` with the number of columns that each is over.
    words : bool
        Whether the cells hold words, which stand to the left and may break.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    groups: Sequence[tuple[str, int]] = ()
    words: bool = False

    @classmethod
    def of_facts(cls, caption: str, pairs: Mapping[str, str]) -> Table:
        """Names and values, one pair per row."""
        return cls(caption, (), list(pairs.items()), words=True)


def page(template: str, **values: Any) -> str:
    """A template of this folder filled in: values are text on one line, unless they are markup.

    Examples
    --------
    >>> text = _environment().from_string("<p>{{ name }}</p>").render(name="<b>\\x1b two\\n lines")
    >>> print(text)
    <p>&lt;b&gt;\\x1b two lines</p>
    """
    return _environment().get_template(template).render(**values)


def plot(figure: Figure, name: str, *, alt: str) -> str:
    """A matplotlib figure as inline SVG for a page, with its text as text.

    Parameters
    ----------
    figure : matplotlib Figure
    name : str
        Distinguishes it from the other plots of the page.
    alt : str
        What the plot shows, for those who cannot see it.

    Examples
    --------
    >>> from longtail.report import label_figure
    >>> plot(label_figure([("sea", "sun"), ("sun",)]), "labels", alt="Two labels").count("<svg ")
    1
    """
    from markupsafe import Markup

    root = ElementTree.fromstring(_svg(figure, name))
    for parent in list(root.iter()):
        for child in [child for child in parent if _local(child.tag) in ("style", "metadata")]:
            parent.remove(child)
    ids = {element.get("id"): f"{name}-{element.get('id')}" for element in root.iter()}
    for element in root.iter():
        element.tag = _local(element.tag)
        kept = {_local(key): _adapted(value, ids) for key, value in element.items()}
        element.attrib.clear()
        element.attrib.update(kept)
        if "id" in kept:
            element.set("id", f"{name}-{kept['id']}")
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", printable(alt))
    drawn = ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)
    return Markup(f"<figure>\n{drawn}\n</figure>")


def check_page_target(path: str | os.PathLike[str]) -> None:
    """Refuse a file that no page can be written to; for use before the work that makes it.

    Examples
    --------
    >>> check_page_target("report.pdf")
    Traceback (most recent call last):
        ...
    longtail.errors.ParameterError: report.pdf: reports are written as html; end the name so.
    """
    figure_class()
    _environment()
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{path}: reports are written as html; end the name so.")
    if Path(path).is_dir():
        raise ParameterError(f"{path}: is a folder; name a file for the report.")


def save_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page as `store.output_file` writes."""
    check_page_target(path)
    with store.output_file(path) as file:
        file.write(page.encode("utf-8"))


def _environment() -> Environment:
    """Where templates are filled in, or the sentence that says what to install."""
    try:
        from jinja2 import Environment, FileSystemLoader
    except ImportError:
        raise MissingExtraError("Pages", package="jinja2", extra="report") from None
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: value if hasattr(value, "__html__") else printable(value),
    )
    found.filters["thousands"] = lambda number: f"{number:,}"
    return found


def _svg(figure: Figure, name: str) -> bytes:
    """The figure as matplotlib writes it, the same every time."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return buffer.getvalue()


def _local(name: str) -> str:
    """A name without its namespace, as inline SVG has it."""
    return name.rpartition("}")[2]


def _adapted(value: str, ids: Mapping[str | None, str]) -> str:
    """An attribute with the colours of the page, and references to the ids as they are now."""
    if value.startswith("#") and value[1:] in ids:
        return f"#{ids[value[1:]]}"
    if value.startswith("url(#"):
        return f"url(#{ids[value[5:-1]]})"
    for fixed, ours in _OF_THE_PAGE.items():
        value = value.replace(fixed, ours)
    return value
