"""Foreign text made fit for a terminal."""

from __future__ import annotations

from typing import Any


def printable(value: Any, limit: int | None = None) -> str:
    """A name or text on one line: white space as single blanks, control characters as escapes.

    Parameters
    ----------
    value : object
        Anything; its `str` is shown.
    limit : int, optional
        Characters at most; what is cut off is replaced by an ellipsis.

    Examples
    --------
    >>> printable("two\\n lines \\x1b[31m")
    'two lines \\\\x1b[31m'
    >>> printable("a long name", limit=6)
    'a lon…'
    """
    text = str(value)
    if limit is not None:
        text = text[: 4 * limit + 100]
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
            for letter in line
        )
    if limit is not None and len(line) > limit:
        line = line[: max(limit - 1, 0)].rstrip() + "…"
    return line
