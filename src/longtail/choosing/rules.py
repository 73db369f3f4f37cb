"""The rules, one entry each: for which data a method is recommended, and why.

They are asked from top to bottom; the first one whose method fits the machine is the
recommendation, and later ones are its alternatives. Every rule follows from what the page named by
`page` measured; `docs/which-method.md` has them as a table, in the words of `data` and `first`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from longtail.choosing.facts import DataFacts

Want = Literal["ranking", "sets", "hamming", "rare", "accuracy", "similar"]
"""What the answers are for: the best few labels in order; whole label sets; few wrong decisions by
few problems; rare labels and classes; the right class of most points; similar points shown."""


@dataclass(frozen=True)
class Rule:
    """One method, and the data it is for.

    Attributes
    ----------
    method : str
        Its name at the command line.
    wants : tuple of Want
        What it is good at.
    why : callable
        A sentence with the measured numbers.
    prefer : str
        When to prefer it to the recommended method.
    page : str
        The page that has the measurements.
    data : str
        The data that it suits, in words.
    first : str
        When it comes first where nothing is said of what is wanted, in words.
    suits : callable
        Whether it suits the data, whatever is wanted.
    leads : callable
        Whether, of what suits, it comes first where nothing is said of what is wanted.
    """

    method: str
    wants: tuple[Want, ...]
    why: Callable[[DataFacts], str]
    prefer: str
    page: str
    data: str = "any"
    first: str = "never"
    suits: Callable[[DataFacts], bool] = lambda facts: True
    leads: Callable[[DataFacts], bool] = lambda facts: False


MANY_CLASSES = 500  # from which on one ranker has more macro-F1 than one-versus-all, C = 1
FEW_POINTS = 20  # points of a class, in the median, up to which that holds
SOME_HUNDRED = 500  # labels up to which a mixture is for them
FEW_LABELS = 150  # up to which label sets are modelled as such by default
REPEATED = 3.0  # points of a distinct label set, on average, from which on sets can be learned
EXCLUSIVE = 0.9  # share of the labels in reach of one cluster from which on codes lose little
ENOUGH_LABELS = 100  # from which on it pays to solve fewer problems than labels
ENOUGH_POINTS = 1000  # from which on prototypes can be learned
FEW_ENOUGH = 100_000  # points up to which all of them are looked through for a prediction

DECISIVE = frozenset(
    {"points", "labels", "text", "one_class", "points_per_label", "label_sets", "exclusivity"}
)
"""The facts that rules ask for. Others stand in the reasons or go into the estimates, except
connectivity, which is shown: exclusivity says the same of the clusters that a code would use."""


SETS_REPEAT = f"at most {FEW_LABELS} labels in sets that {REPEATED:g} points have on average"


def _several(facts: DataFacts) -> bool:
    return not facts.one_class


def _sets_repeat(facts: DataFacts) -> bool:
    return _several(facts) and facts.labels <= FEW_LABELS and facts.points_per_set >= REPEATED


def _many_rare_classes(facts: DataFacts) -> bool:
    return (
        facts.text
        and facts.one_class
        and facts.labels >= MANY_CLASSES
        and facts.points_per_label <= FEW_POINTS
    )


def _is_exclusive(facts: DataFacts) -> bool:
    return facts.exclusivity is not None and facts.exclusivity >= EXCLUSIVE


RULES: tuple[Rule, ...] = (
    Rule(
        "mrb",
        ("rare",),
        data="texts of one class each",
        first=f"{MANY_CLASSES} classes or more, of at most {FEW_POINTS} texts in the median",
        suits=lambda f: f.text and f.one_class,
        leads=_many_rare_classes,
        why=lambda f: (
            f"Every text has one of {f.labels:,} classes, with {f.points_per_label:g} texts in the "
            f"median: from {MANY_CLASSES} such classes on, one ranker for all of them had a higher "
            "macro-F1 than one-versus-all at its default C, and found the most classes."
        ),
        prefer="if rare classes must be found, and new ones added without training",
        page="pairs.md",
    ),
    Rule(
        "msvm",
        ("accuracy",),
        data=f"one class a point, fewer than {MANY_CLASSES} classes",
        first="always",
        suits=lambda f: f.one_class and f.labels < MANY_CLASSES,
        leads=lambda f: f.one_class and f.labels < MANY_CLASSES,
        why=lambda f: (
            f"Every point has one of {f.labels:,} classes: below {MANY_CLASSES} of them the joint "
            "support vector machine was the most accurate."
        ),
        prefer="if accuracy matters most and there are a few thousand classes at most",
        page="pairs.md",
    ),
    Rule(
        "ova",
        ("accuracy",),
        data="one class a point",
        first="always",
        suits=lambda f: f.one_class,
        leads=lambda f: f.one_class,
        why=lambda f: (
            f"Every point has one of {f.labels:,} classes, with {f.points_per_label:g} points in "
            "the median: one problem a class was the most accurate of the methods that can do so "
            "many."
        ),
        prefer="if the right class of most points matters more than rare classes",
        page="pairs.md",
    ),
    Rule(
        "cbm",
        ("sets",),
        data=f"several labels a point, at most {SOME_HUNDRED} in all",
        first=SETS_REPEAT,
        suits=lambda f: _several(f) and f.labels <= SOME_HUNDRED,
        leads=_sets_repeat,
        why=lambda f: (
            f"Points have {f.labels_per_point:.2f} of {f.labels:,} labels, in {f.label_sets:,} "
            f"distinct sets of {f.points_per_set:.1f} points each: whole label sets can be "
            "learned, and on Scene and RCV1 a mixture was right about them most often."
        ),
        prefer="if whole label sets must be right",
        page="mixtures.md",
    ),
    Rule(
        "powerset",
        ("sets",),
        data=f"several labels a point, {SETS_REPEAT}",
        suits=_sets_repeat,
        why=lambda f: (
            f"There are only {f.label_sets:,} distinct label sets, of {f.points_per_set:.1f} "
            "points each: as classes of one problem they did about as well as a mixture."
        ),
        prefer="if sets that were never seen need not be predicted",
        page="joint.md",
    ),
    Rule(
        "proxml",
        ("ranking", "rare"),
        first="several labels a point",
        leads=_several,
        why=lambda f: (
            f"{f.labels:,} labels, {f.tail_share:.0%} of them with fewer than 10 points, are to be "
            "ranked: sparse one-vs-rest problems ranked best on Bibtex and Mediamill, nearly best "
            "on EURLex-4K, and gave the smallest models."
        ),
        prefer="to rank labels, in a small and fast model, rare ones by a tail weight",
        page="comparing.md",
    ),
    Rule(
        "dismec",
        ("ranking",),
        why=lambda f: (
            f"{f.labels:,} labels are to be ranked: on EURLex-4K dense one-vs-rest weights had the "
            "highest precision, in a larger model."
        ),
        prefer="if the last point of precision matters more than the size of the model",
        page="comparing.md",
    ),
    Rule(
        "rbf",
        ("hamming",),
        data=(
            f"several labels a point, {ENOUGH_LABELS} or more in all, "
            f"{100 * EXCLUSIVE:.0f} % of them in reach of one cluster a point"
        ),
        suits=lambda f: _several(f) and f.labels >= ENOUGH_LABELS and _is_exclusive(f),
        why=lambda f: (
            f"{f.exclusivity:.1%} of the labels are in reach of one cluster a point, so labels "
            "exclude each other by groups: there a robust Bloom code had the lowest Hamming loss "
            f"with fewer problems than the {f.labels:,} labels."
        ),
        prefer="if the Hamming loss counts and training must do with fewer problems than labels",
        page="codes.md",
    ),
    Rule(
        "br",
        ("hamming", "sets"),
        why=lambda f: (
            f"{f.labels:,} labels are decided one by one, each with a probability of its own."
        ),
        prefer="if every label needs a probability of its own",
        page="one-vs-rest.md",
    ),
    Rule(
        "dbpc",
        ("similar",),
        data=f"several labels a point, {ENOUGH_POINTS:,} points or more",
        suits=lambda f: _several(f) and f.points >= ENOUGH_POINTS,
        why=lambda f: (
            f"{f.points:,} points become {f.points // 10:,} prototypes of 128 bits, so that a "
            "prediction is fast and shows similar training points."
        ),
        prefer="if answers must be fast and small and show similar training points",
        page="prototypes.md",
    ),
    Rule(
        "knn",
        ("similar",),
        data=f"at most {FEW_ENOUGH:,} points",
        suits=lambda f: f.points <= FEW_ENOUGH,
        why=lambda f: (
            f"{f.points:,} points are few enough to be looked through for every prediction, which "
            "then rests on cases that can be shown."
        ),
        prefer="as the first thing that others should beat, with the cases that decided",
        page="neighbors.md",
    ),
)
"""From top to bottom."""
