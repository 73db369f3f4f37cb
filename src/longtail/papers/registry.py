"""The papers there are, found by looking through this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from longtail.errors import ParameterError
from longtail.papers.paper import Paper


@cache
def papers() -> dict[str, Paper]:
    """All papers by key, in alphabetical order.

    Examples
    --------
    >>> papers()["proxml"].source
    'Babbar & Schölkopf, Machine Learning 108, 2019'
    """
    package = importlib.import_module("longtail.papers")
    found: dict[str, Paper] = {}
    for info in pkgutil.iter_modules(package.__path__):
        paper = getattr(importlib.import_module(f"{package.__name__}.{info.name}"), "PAPER", None)
        if isinstance(paper, Paper):
            found[paper.key] = paper
    return dict(sorted(found.items()))


def find_paper(key: str) -> Paper:
    """The paper of that key, or a sentence that lists what there is."""
    known = papers()
    if key not in known:
        raise ParameterError(f"There is no paper {key!r}; choose among {', '.join(known)}.")
    return known[key]
