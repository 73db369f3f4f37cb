"""Babbar & Schölkopf, Data scarcity, robustness and extreme multi-label classification, 2019.

The order of the columns in Tables 4 to 6 is that of the groups in their headings: the proposed
method, two embedding methods, three tree methods, three linear methods; figures that are published
elsewhere as well agree with it. Table 5 prints the column of LEML twice. Tables 5 and 6 call L1-SVM
what is CCD-L1 in Table 4 and in the text.
"""

from __future__ import annotations

from longtail.papers.paper import ChosenParameter, Trial, read_paper

Scaling = dict[str, str | None]

_UNIT: Scaling = {}
_ROOT: Scaling = {"damping": "sqrt"}


def _choice(*strengths: float, features: tuple[Scaling, ...]) -> ChosenParameter:
    """The paper cross-validated λ on these three sets, and does not say how."""
    return ChosenParameter("ProXML", "strength", strengths, features)


PAPER = read_paper(
    "proxml",
    trials=(
        Trial(
            dataset="EURLex-4K",
            folder="eurlex-4k",
            features=_ROOT,
            parameters={"ProXML": {"strength": 0.5}, "CCD-L1": {"strength": 0.5}},
            choice=_choice(0.3, 0.5, 0.7, 1.0, features=(_UNIT, _ROOT)),
            slow=("CCD-L1",),
            about="The raw values span four decades.",
        ),
        Trial(
            dataset="Bibtex",
            folder="bibtex",
            features=_UNIT,
            parameters={"ProXML": {"strength": 1.5}, "CCD-L1": {"strength": 1.5}},
            choice=_choice(0.5, 0.7, 1.0, 1.5, 2.0, 3.0, features=(_UNIT,)),
            about="The raw values are 0 and 1.",
        ),
        Trial(
            dataset="Mediamill",
            folder="mediamill",
            features=_UNIT,
            parameters={"ProXML": {"strength": 0.05}, "CCD-L1": {"strength": 0.05}},
            choice=_choice(0.05, 0.1, 0.2, 0.5, 1.0, features=(_UNIT,)),
            slow=("CCD-L1",),
            about="The raw values are dense and positive; the penalty hardly matters.",
        ),
    ),
)
