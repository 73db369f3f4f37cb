"""The sets of bench_peers.py, and what is claimed on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from peers.bars import Bars
from peers.calling import METHODS
from peers.problems import Problem, like_amazon, real, texts
from peers.results import Row

TREES = ("omikuji", "pecos", "napkinxc")
SAME = 0.3
"""How far P@1 of two solvers of one objective may be apart, in percent."""
FIGURES = {"train": "training", "predict": "prediction", "bytes": "model"}
MOST_EXPONENT = {"proxml": 1.25}
"""Of the training time over the generated sets, points, features and labels in proportion."""


@dataclass(frozen=True)
class Claim:
    """A figure of the rows of some methods, and what it has to be."""

    said: str
    methods: tuple[str, ...]
    """Without any of these the claim is left out."""
    measured: Callable[[Mapping[str, Row]], float]
    bound: float
    at_least: bool = False
    stretch: bool = False


@dataclass(frozen=True)
class Case:
    """A set: how it is read, and what is claimed on it."""

    read: Callable[[], Problem | None]
    claims: tuple[Claim, ...]
    grows: bool = False
    """Whether it is one of the sizes over which training times are compared."""

    def check(self, bars: Bars, where: str, rows: list[Row]) -> None:
        """One bar per claim on the methods of these rows; without figures it is unmeasured."""
        of = {row.method: row for row in rows}
        for claim in self.claims:
            if set(claim.methods) <= set(of):
                compare = bars.at_least if claim.at_least else bars.at_most
                compare(
                    f"{where}: {claim.said}", claim.measured(of), claim.bound, ".2f",
                    stretch=claim.stretch,
                )  # fmt: skip


def ratio(
    one: str,
    other: str,
    figure: str,
    bound: float,
    *,
    at_least: bool = False,
    stretch: bool = False,
) -> Claim:
    return Claim(
        f"{_short(one)}'s {FIGURES[figure]} / {_short(other)}'s", (one, other),
        lambda of: float(getattr(of[one], figure) / getattr(of[other], figure)),
        bound, at_least, stretch,
    )  # fmt: skip


def reaches(**bounds: float) -> tuple[Claim, ...]:
    """ProXML's metrics in percent, `P5=38.9` for P@5."""
    named = {f"{name[:-1]}@{name[-1]}": bound for name, bound in bounds.items()}

    def of_proxml(metric: str) -> Callable[[Mapping[str, Row]], float]:
        return lambda of: of["proxml"].metric(metric)

    return tuple(
        Claim(f"ProXML's {metric}", ("proxml",), of_proxml(metric), bound, at_least=True)
        for metric, bound in named.items()
    )


def above_trees(*, stretch: bool = False) -> Claim:
    def measured(of: Mapping[str, Row]) -> float:
        found = [of[tree].metric("P@1") for tree in TREES if tree in of]
        best = max((value for value in found if np.isfinite(value)), default=np.nan)
        return of["proxml"].metric("P@1") - best

    said = "ProXML's P@1 less the best tree's"
    return Claim(said, ("proxml",), measured, 0, at_least=True, stretch=stretch)


def same_accuracy(ours: str, theirs: str) -> Claim:
    return Claim(
        f"{_short(ours)}, {METHODS[theirs].title}: P@1 apart", (ours, theirs),
        lambda of: abs(of[ours].metric("P@1") - of[theirs].metric("P@1")), SAME,
    )  # fmt: skip


def _short(method: str) -> str:
    """The name of a program without what it is set to."""
    title = METHODS[method].title
    return title if title.startswith("scikit-learn") else title.split(",")[0].split()[0]


EVERYWHERE = (
    ratio("napkinxc", "proxml", "predict", 5, at_least=True),
    *(ratio("proxml", tree, "bytes", 0.1, stretch=tree == "pecos") for tree in TREES),
    ratio("svc", "dismec", "train", 10, at_least=True),
    ratio("logistic", "br", "train", 1, at_least=True),
    same_accuracy("dismec", "svc"),
    same_accuracy("br", "logistic"),
)
NOT_SLOWER = ratio("proxml", "omikuji", "train", 1)
NOR_THAN_PECOS = ratio("proxml", "pecos", "train", 1, stretch=True)


def cases(part: int) -> dict[str, Case]:
    """By the names of `--sets`; `part` says how small the smallest generated set is."""
    known = {
        "bibtex": Case(
            lambda: real("bibtex", "Bibtex", None),
            (NOT_SLOWER, NOR_THAN_PECOS, above_trees(), *EVERYWHERE),
        ),
        "eurlex": Case(
            lambda: real("eurlex-4k", "EURLex-4K", "sqrt"),
            (
                NOT_SLOWER, ratio("proxml", "pecos", "train", 1),
                *reaches(P1=83.5, P3=71.2, P5=59.2, PSP5=49.9), above_trees(), *EVERYWHERE,
            ),
        ),
        "debian": Case(
            lambda: texts("debian-depends", "debian-depends"),
            (
                NOT_SLOWER, NOR_THAN_PECOS, ratio("dismec", "omikuji", "train", 3),
                *reaches(P1=74.0, P3=50.1, P5=38.9, PSP5=33.0), above_trees(stretch=True),
                *EVERYWHERE,
            ),
        ),
        "wordnet": Case(
            lambda: texts("wordnet-hypernyms", "wordnet-hypernyms"),
            (NOT_SLOWER, NOR_THAN_PECOS, above_trees(stretch=True), *EVERYWHERE),
        ),
    }  # fmt: skip
    smallest = (ratio("proxml", "omikuji", "train", 3), above_trees(stretch=True), *EVERYWHERE)
    for number, claims in enumerate((smallest, EVERYWHERE, EVERYWHERE)):
        smaller = part // 2**number
        known[f"generated-{number + 1}"] = Case(
            lambda smaller=smaller: like_amazon(smaller), claims, grows=True
        )
    return known
