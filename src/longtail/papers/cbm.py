"""Li, Wang, Pavlu & Aslam: Conditional Bernoulli Mixtures for Multi-Label Classification, 2016.

Tables 1 and 2 of the paper, and Table 2 of its supplement ("S2"): subset accuracy, Jaccard index
and Hamming loss in percent. Of the five data sets Scene, RCV1 (subset 1) and Mediamill are
available.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from longtail.data import MIXTURE_COLUMNS, Dataset, make_mixture
from longtail.papers.paper import FigureNote, Paper, PublishedTable, Trial, read_table

_METHODS = {
    "CBM+LR": "cbm",
    "BinRel+LR": "br",
    "PowSet+LR": "powerset",
    "CC": "cc",
    "PCC": "pcc",
    "ECC-label": "ecc",
    "ECC-subset": "ecc",
    "CDN": "cdn",
    "pairCRF": "pair-crf",
    "BinRel+GB": "cbm",
    "PowSet+GB": "powerset",
    "CBM+GB": "cbm",
    "CBM+LR:K=2": "cbm",
    "CBM+LR:one-start": "cbm",
}

# Columns as above: the boosted ones, then two of Table 1; the last is its K = 3 again, for ours
# from the paper's own start alone.
_ARTIFICIAL = """
argmax       A  98.4  82.0  97.5  -  -  -  -  -  96.7  -  -  -  89.9  98.4
argmax-noise A  75.8  49.9  74.1  -  -  -  -  -  73.6  -  -  -  69.3  75.8
sample       A  65.0  48.0  64.6  -  -  -  -  -  64.7  -  -  -  60.2  65.0
sample-noise A  48.0  40.0  47.3  -  -  -  -  -  45.9  -  -  -  45.8  48.0
"""

_SUBSET = """
Scene     A  69.7  51.5  68.1  62.9  64.8  60.6  63.1  59.9  68.8  59.3  70.5  70.5  -  -
RCV1      A  49.9  40.4  50.2  48.2  48.3  46.5  49.2  12.6  46.4  30.1  38.2  43.0  -  -
TMC2007   A  28.7  25.3  28.2  26.2  26.8  26.0  25.9  16.8  28.1  25.4  23.1  27.5  -  -
Mediamill A  13.5   9.6   9.0  10.9  10.9  11.3  11.5   5.4  10.3  11.2  10.1  14.1  -  -
NUS-WIDE  A  27.3  24.7  26.6  26.0  26.3  26.0  26.0  17.1  26.4  24.4  23.6  26.5  -  -
"""

_OTHERS = """
Scene     J  73.6  58.4  71.9  67.5  69.4  65.6  68.0  66.4  72.8  63.9  74.9  75.2  -  -
Scene     H   8.9  10.8   9.5  10.9  10.3  10.1  10.3  10.9   9.2   8.3   8.6   8.5  -  -
RCV1      J  69.5  64.9  67.2  63.4  63.5  64.8  67.4  50.9  64.6  55.8  51.3  62.5  -  -
RCV1      H   1.4   1.4   1.9   1.6   1.6   1.4   1.4   2.8   1.7   1.7   2.9   1.8  -  -
TMC2007   J  53.1  52.2  51.9  52.4  52.8  52.1  52.2  44.0  53.4  52.2  42.7  52.8  -  -
TMC2007   H   6.7   6.5   6.8   6.5   6.5   6.5   6.5   8.5   6.5   6.7   9.0   6.8  -  -
Mediamill J  41.2  42.3  35.2  40.5  38.0  41.1  41.1  38.6  35.9  44.2  38.5  43.0  -  -
Mediamill H   3.4   3.1   3.6   3.2   3.5   3.1   3.2   4.2   3.5   3.0   3.9   3.2  -  -
NUS-WIDE  J  34.2  32.3  32.3  32.2  32.1  32.3  32.3  32.8  32.7  30.6  24.3  31.6  -  -
NUS-WIDE  H   2.1   2.1   2.1   2.1   2.2   2.1   2.1   2.7   2.2   2.1   2.4   2.2  -  -
"""

_AS_THEY_ARE = {"norm": None}
_SEEDS = tuple(range(10))
_ONE_COMPONENT = {"n_components": 1, "experts": "boosting", "allow_empty": True}


def _artificial(column: str, _: Path, seed: int) -> tuple[Dataset, Dataset, dict[str, float]]:
    data = make_mixture(random_state=seed, **MIXTURE_COLUMNS[column])
    return data.train, data.test, {"subset_accuracy": data.upper_bound}


def _logistic(C: float, K: int, **boosted: Any) -> dict[str, dict[str, Any]]:
    """The paper's tuned variance of the Gaussian prior and numbers of components."""
    return {
        "BinRel+LR": {"C": C},
        "PowSet+LR": {"C": C},
        "CC": {"C": C, "order": "given"},
        "PCC": {"C": C, "order": "given"},
        "CDN": {"C": C, "target": "hamming"},
        "CBM+LR": {"C": C, "n_components": K},
        "CBM+LR:K=2": {"C": C, "n_components": 2},
        "CBM+LR:one-start": {"C": C, "n_components": K},
        "ECC-label": {"C": C, "voting": "label"},
        "ECC-subset": {"C": C, "voting": "subset"},
        "pairCRF": {"C": 1.0},
        "BinRel+GB": _ONE_COMPONENT,
        "PowSet+GB": {"learner": "boosting"},
        "CBM+GB": {"experts": "boosting", **boosted},
    }


def _mediamill() -> dict[str, dict[str, Any]]:
    """As tuned there; the power-set over its 4,913 sets with fewer trees than by default."""
    settings = _logistic(1e3, 50, n_components=5)
    settings["PowSet+GB"] = {**settings["PowSet+GB"], "n_trees": 20}
    return settings


def _mixture_trial(column: str) -> Trial:
    name = column.replace(" + ", "-")
    settings = _logistic(100.0, 3, n_components=3)
    settings["pairCRF"] = {"C": 100.0}
    settings["CBM+LR"]["n_fits"] = 6
    return Trial(
        dataset=name,
        folder=name,
        features=_AS_THEY_ARE,
        parameters=settings,
        about="Made up: labels from a mixture of 3 components, 7 features.",
        make=partial(_artificial, column),
        seeds=_SEEDS,
        made_up=True,
    )


PAPER = Paper(
    key="cbm",
    title="Conditional Bernoulli Mixtures for Multi-Label Classification",
    source="Li, Wang, Pavlu & Aslam, ICML 2016",
    methods=_METHODS,
    tables=(
        PublishedTable(
            "1", "section 3.3", read_table(_ARTIFICIAL, _METHODS, {"A": "subset_accuracy"})
        ),
        PublishedTable("2", "section 6", read_table(_SUBSET, _METHODS, {"A": "subset_accuracy"})),
        PublishedTable(
            "S2",
            "supplement",
            read_table(_OTHERS, _METHODS, {"J": "jaccard", "H": "hamming_loss"}),
        ),
    ),
    trials=(
        *map(_mixture_trial, MIXTURE_COLUMNS),
        Trial(
            dataset="Scene",
            folder="scene",
            features=_AS_THEY_ARE,
            parameters=_logistic(1.0, 20, n_components=25),
            about="Variance of the prior and numbers of components as the paper tuned them.",
        ),
        Trial(
            dataset="RCV1",
            folder="rcv1-subset1",
            features=_AS_THEY_ARE,
            parameters=_logistic(1e6, 45, n_components=45),
            slow=("ECC-label", "ECC-subset", "BinRel+GB", "PowSet+GB", "CBM+GB"),
            shift_test_labels=1,
            about=(
                "The numbers of the test part's labels are one too low in the file and are mended."
            ),
        ),
        Trial(
            dataset="Mediamill",
            folder="mediamill",
            features=_AS_THEY_ARE,
            parameters=_mediamill(),
            slow=("PowSet+LR", "pairCRF", "ECC-label", "ECC-subset", "PowSet+GB"),
            about="Variance of the prior and numbers of components as the paper tuned them.",
        ),
    ),
    notes=(
        FigureNote(
            "the paper states neither the number of labels nor the scale of weights and noise of "
            "its artificial data; ours are chosen so that the best possible comes near the paper's "
            "100, 76.4, 65.2 and 48.1 on average over many seeds",
            table="1",
        ),
        FigureNote(
            "from the package MEKA, with a penalty that is not stated; unless told otherwise MEKA "
            "cuts probabilities where test points get as many labels as training points have, ours "
            "are cut at one half; cut like MEKA's, ours on RCV1 has 4.1 / 32.7 / 3.1, 16.9 / 45.5 "
            "/ 2.6 and 27.7 / 37.6 / 3.9 with C = 1, 10 and 1e6, at one half 3.1 / 15.7 / 2.5, "
            "20.4 / 32.9 / 2.2 and 30.4 / 37.9 / 2.5; by sets ours are higher",
            table="2",
            method="CDN",
        ),
        FigureNote(
            "all of ours are higher; at so weak a penalty (variance 1e6) the figures depend on "
            "where the optimiser stops: with L-BFGS a power-set has 48.2, 53.3 and 50.5 after 10, "
            "15 and 20 steps and 57.7 at the optimum, binary relevance 31.8, 43.9 and 47.0; ours "
            "are solved to a proven tolerance",
            table="2",
            dataset="RCV1",
        ),
        FigureNote(
            "with L-BFGS it has 8.4, 28.8, 40.2 and 49.9 after 20, 60, 100 and 200 steps and 53.5 "
            "at the optimum; the paper does not say where it stopped",
            table="2",
            dataset="RCV1",
            method="pairCRF",
        ),
        FigureNote(
            "the paper does not state how many trees it boosts; on RCV1 boosted BinRel has 10.3, "
            "23.5, 30.4 and 35.8 with 10, 20, 30 and 50 trees a label, ours has 200",
            table="2",
            method="BinRel+GB",
        ),
        FigureNote(
            "with L-BFGS it has 6.6, 6.7 and 7.8 after 10, 20 and 40 steps and 13.6 at the optimum",
            table="2",
            dataset="Mediamill",
            method="PowSet+LR",
        ),
        FigureNote(
            "with 3, 10 and 20 trees a set it has 7.8 / 33.3 / 4.1, 10.3 / 35.6 / 3.8 and 11.7 / "
            "37.6 / 3.7; ours has 20, not the 100 of the default",
            table="2",
            dataset="Mediamill",
            method="PowSet+GB",
        ),
        FigureNote(
            "the supplement tunes K = 20 for a training set of 14 distinct label sets",
            table="2",
            dataset="Scene",
            method="CBM+LR",
        ),
    ),
)
