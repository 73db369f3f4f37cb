"""Optional extras: what each installs, and which are missing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Extra:
    """One of the extras of `pip install "longtail[...]"`."""

    name: str
    package: str
    what: str

    @property
    def command(self) -> str:
        """The command that installs it.

        Examples
        --------
        >>> EXTRAS[0].command
        'pip install "longtail[report]"'
        """
        return f'pip install "longtail[{self.name}]"'


EXTRAS = (
    Extra("report", "matplotlib", "plots and pages: --plot, --report"),
    Extra("boost", "lightgbm", "boosted trees in cbm and powerset"),
    Extra("deep", "torch", "training dbpc"),
    Extra("neighbors", "faiss", "faster searches in knn, ml-knn and lm-knn"),
)
"""All of them, the most wanted first."""


def missing_extras() -> list[Extra]:
    """The extras whose package is not installed; nothing is imported to find out.

    Examples
    --------
    >>> all(extra in EXTRAS for extra in missing_extras())
    True
    """
    return [extra for extra in EXTRAS if find_spec(extra.package) is None]
