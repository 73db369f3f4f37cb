"""Figures of a paper that cannot all be right, found by how the metrics depend on each other.

1. With one rank the discount is 1: nDCG@1 is P@1, and PSnDCG@1 is PSP@1.
2. nDCG@k is at least the least discounted gain that P@1, P@3, ... allow, with all hits as far down
   as they can be, over the ideal of k hits.
3. PSP and PSnDCG weigh ranks differently: equal pairs at all ranks beyond 1 are one row twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from longtail.papers.paper import Paper

_ROUNDING = 0.15
"""In percent; figures are rounded to a tenth, and sums of them are a little further off."""


@dataclass(frozen=True)
class Contradiction:
    """Metrics of one method on one data set that contradict each other.

    Examples
    --------
    >>> print(Contradiction("Bibtex", "Parabel", ("PSP@1", "PSnDCG@1"), "must be equal"))
    Bibtex, Parabel: PSP@1, PSnDCG@1 must be equal
    """

    dataset: str
    method: str
    metrics: tuple[str, ...]
    about: str

    def __str__(self) -> str:
        return f"{self.dataset}, {self.method}: {', '.join(self.metrics)} {self.about}"


def find_contradictions(paper: Paper) -> list[Contradiction]:
    """All contradictions among the ranking metrics of a paper's tables.

    Examples
    --------
    >>> from longtail.papers import find_paper
    >>> [found.metrics for found in find_contradictions(find_paper("proxml"))
    ...  if (found.dataset, found.method) == ("EURLex-4K", "CCD-L1")]
    [('PSP@3', 'PSnDCG@3', 'PSP@5', 'PSnDCG@5')]
    """
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for table in paper.tables:
        for dataset, methods in table.values.items():
            for method, values in methods.items():
                rows.setdefault((dataset, method), {}).update(values)
    return [
        Contradiction(dataset, method, metrics, about)
        for (dataset, method), values in rows.items()
        for metrics, about in (*_unequal_at_one(values), *_too_low(values), *_copied(values))
    ]


Found = list[tuple[tuple[str, ...], str]]


def _unequal_at_one(values: Mapping[str, float]) -> Found:
    return [
        (pair, f"must be equal, but are {values[pair[0]]:g} and {values[pair[1]]:g}")
        for pair in (("P@1", "nDCG@1"), ("PSP@1", "PSnDCG@1"))
        if set(pair) <= set(values) and values[pair[0]] != values[pair[1]]
    ]


def _copied(values: Mapping[str, float]) -> Found:
    pairs = [
        (f"PSP@{k}", f"PSnDCG@{k}")
        for k in _ranks(values, "PSP")
        if k > 1 and f"PSnDCG@{k}" in values
    ]
    if len(pairs) < 2 or any(values[a] != values[b] for a, b in pairs):
        return []
    return [(tuple(name for pair in pairs for name in pair), "are one row printed twice")]


def _too_low(values: Mapping[str, float]) -> Found:
    found: Found = []
    gain, last_k, last_hits = 0.0, 0, 0.0
    for k in _ranks(values, "P"):
        hits = k * values[f"P@{k}"]
        left = hits - last_hits  # hits, in percent of points, at the ranks since the last k
        for rank in range(k, last_k, -1):
            here = min(max(left, 0.0), 100.0)
            gain += here / math.log2(rank + 1)
            left -= here
        last_k, last_hits = k, hits
        least = gain / sum(1 / math.log2(rank + 1) for rank in range(1, k + 1))
        given = values.get(f"nDCG@{k}", math.inf)
        if k > 1 and given < least - _ROUNDING:
            found.append(
                (
                    (f"nDCG@{k}",),
                    f"is {given:g}, but cannot be below {least:.1f} with the precision given",
                )
            )
    return found


def _ranks(values: Mapping[str, float], metric: str) -> list[int]:
    return sorted(int(name.rpartition("@")[2]) for name in values if name.startswith(f"{metric}@"))
