"""What an estimator's docstring says about its parameters."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

_SECTION = re.compile(r"^Parameters\n-{3,}\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?:\s*:\s*(.*))?$")


@dataclass(frozen=True)
class ParameterDoc:
    """Type and meaning of a parameter, in the words of the docstring."""

    kind: str
    about: str


def parameter_docs(documented: object) -> dict[str, ParameterDoc]:
    """The entries of the numpydoc section "Parameters" by name.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> parameter_docs(DiSMEC)["C"]
    ParameterDoc(kind='float', about='Weight of the errors against the penalty.')
    """
    section = _SECTION.search(inspect.getdoc(documented) or "")
    found: dict[str, ParameterDoc] = {}
    names: list[str] = []
    kind = ""
    about: list[str] = []

    def finish() -> None:
        for name in names:
            found[name] = ParameterDoc(kind, " ".join(about))

    for line in section[1].splitlines() if section else ():
        entry = _ENTRY.match(line)
        if entry:
            finish()
            names = [name.strip() for name in entry[1].split(",")]
            kind, about = entry[2] or "", []
        elif line.strip():
            about.append(line.strip())
    finish()
    return found
