"""Pieces of a page that is one file: safe text, tables, plots as inline SVG, and the frame.

Nothing on the page is fetched from elsewhere and nothing in it runs: there are no scripts, fonts or
images beside it, and a policy at its head forbids them, whatever a name in the data may hold.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from longtail import store
from longtail.errors import ParameterError, printable
from longtail.report.plots import GREY, figure_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What the browser may load for the page: nothing but the styles inside it."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --paper: #ffffff; --soft: #56606b;
  --line: #d5dae0; --best: #dff0e0; --note: #fff3d6; --grey: #666666; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --soft: #a3adb8;
  --line: #3a414a; --best: #1f4029; --note: #43360f; --grey: #a6a6a6; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.5rem; border-bottom: 1px solid var(--line); }
p, ul { max-width: 46rem; margin: 0.6rem 0; }
ul { padding-left: 1.4rem; }
.note { background: var(--note); padding: 0.5rem 0.8rem; border-radius: 0.3rem; }
.soft, figcaption, caption { color: var(--soft); font-size: 0.9rem; }
code { font-size: 0.9em; }
.wide { overflow-x: auto; margin: 0.8rem 0; }
.wide:focus-visible { outline: 2px solid var(--soft); }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums;
  overflow-wrap: break-word; }
caption { text-align: left; padding-bottom: 0.3rem; max-width: calc(100vw - 2rem); }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; white-space: nowrap; }
thead th { font-weight: 600; vertical-align: bottom; }
th[scope="colgroup"] { text-align: center; }
th:first-child, table.words th, table.words td { text-align: left; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--paper); }
table.words th, table.words td { white-space: normal; }
table.words td:last-child { min-width: 10rem; }
td.best { background: var(--best); font-weight: 700; }
.side { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0.8rem 0; }
.side figure { margin: 0; }
svg { display: block; width: 100%; height: auto; max-width: 34rem; }
svg * { stroke-linejoin: round; }
svg text { fill: currentColor; }
@media print { :root { color-scheme: light; --ink: #000000; --paper: #ffffff; --soft: #444444;
  --line: #bbbbbb; --best: #e4e4e4; --note: #f0f0f0; --grey: #666666; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: 0.1rem 0.3rem; }
  tbody th { position: static; } figure, tr { break-inside: avoid; } h2 { break-after: avoid; }
  .side { grid-template-columns: 1fr 1fr; } }
"""

_OF_THE_PAGE = {"#000000": "currentColor", "#ffffff": "var(--paper)", GREY: "var(--grey)"}
"""Colours of a plot that go with light and dark."""


class Cell(NamedTuple):
    """A cell of a table: its text, and whether it is the best of its column."""

    text: str
    best: bool = False


def text(value: Any, limit: int | None = None) -> str:
    """Anything as text of the page: on one line, without control characters, and never as markup.

    Examples
    --------
    >>> text("<script>alert('a & b')</script>")
    '&lt;script&gt;alert(&#x27;a &amp; b&#x27;)&lt;/script&gt;'
    """
    return escape(printable(value, limit), quote=True)


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str | Cell]],
    *,
    groups: Sequence[tuple[str, int]] = (),
    words: bool = False,
) -> str:
    """A table whose first column names the rows; wider than the screen, it scrolls on its own.

    Parameters
    ----------
    caption : str
        Above the table.
    head : sequence of str
        Headings, one a column; none if empty.
    rows : iterable of sequences of str or Cell
        Plain text; it is escaped here.
    groups : sequence of (str, int)
        Headings above `head` with the number of columns that each is over.
    words : bool
        Whether the cells hold words, which stand to the left and may break.

    Examples
    --------
    >>> print(table("Tiny", ["method", "P@1"], [["<a>", Cell("50.00", best=True)]]))
    <div class="wide" role="region" aria-label="Tiny" tabindex="0"><table>
    <caption>Tiny</caption>
    <thead><tr><th scope="col">method</th><th scope="col">P@1</th></tr></thead>
    <tbody>
    <tr><th scope="row">&lt;a&gt;</th><td class="best">50.00</td></tr>
    </tbody></table></div>
    """
    kind, marked = ' class="words"' if words else "", ' class="best"'
    lines = [
        f'<div class="wide" role="region" aria-label="{text(caption)}" tabindex="0"><table{kind}>',
        f"<caption>{text(caption)}</caption>",
    ]
    if head:
        over = "".join(
            f'<th scope="colgroup" colspan="{span}">{text(name)}</th>' for name, span in groups
        )
        heads = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
        lines.append(f"<thead>{f'<tr>{over}</tr>' if over else ''}<tr>{heads}</tr></thead>")
    lines.append("<tbody>")
    for first, *others in rows:
        name = first.text if isinstance(first, Cell) else first
        cells = (cell if isinstance(cell, Cell) else Cell(cell) for cell in others)
        lines.append(
            f'<tr><th scope="row">{text(name)}</th>'
            + "".join(f"<td{marked * best}>{text(shown)}</td>" for shown, best in cells)
            + "</tr>"
        )
    return "\n".join([*lines, "</tbody></table></div>"])


def facts(caption: str, pairs: Mapping[str, Any]) -> str:
    """Names and values, one pair a row."""
    return table(caption, [], [[name, str(value)] for name, value in pairs.items()], words=True)


def plot(figure: Figure, name: str, *, alt: str, caption: str = "") -> str:
    """A matplotlib figure as inline SVG, with its text as text.

    Parameters
    ----------
    figure : matplotlib Figure
    name : str
        Told apart from the other plots of the page by it.
    alt : str
        What the plot shows, for those who cannot see it.
    caption : str
        Below the plot; plain text.

    Examples
    --------
    >>> from longtail.report import label_figure
    >>> plot(label_figure([("sea", "sun"), ("sun",)]), "labels", alt="Two labels").count("<svg ")
    1
    """
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
    below = f"\n<figcaption>{text(caption)}</figcaption>" if caption else ""
    return f"<figure>\n{drawn}{below}\n</figure>"


def page(title: str, body: Iterable[str]) -> str:
    """The whole page around its parts.

    Examples
    --------
    >>> page("a < b", ["<p>c</p>"]).splitlines()[-3:]
    ['<p>c</p>', '</main></body>', '</html>']
    """
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{text(title)}</title>",
            f"<style>{STYLE}</style></head>",
            "<body><main>",
            *body,
            "</main></body>",
            "</html>\n",
        ]
    )


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
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{path}: reports are written as html; end the name so.")
    if Path(path).is_dir():
        raise ParameterError(f"{path}: is a folder; name a file for the report.")


def save_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file, whole or not at all."""
    check_page_target(path)
    with store.atomic_file(path) as place:
        place.write_text(page, encoding="utf-8")


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
