"""longtail: classification with very many labels, most of them rare.

The names below are imported when they are first used, so that `import longtail` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from longtail._sparse import ranked
    from longtail.base import ExtremeClassifier
    from longtail.choosing import compare, recommend
    from longtail.data import Dataset
    from longtail.explanation import Explanation
    from longtail.features import RowScaler, TextFeatures
    from longtail.methods.codes import PLST, CompressedSensing, RobustBloom, StandardBloom
    from longtail.methods.joint import (
        ChainEnsemble,
        ClassifierChain,
        DependencyNetwork,
        LabelPowerset,
        PairwiseCRF,
        ProbabilisticClassifierChain,
    )
    from longtail.methods.linear import (
        CCDL1,
        MSVM,
        OVA,
        OVO,
        BinaryRelevance,
        BRDekel,
        DiSMEC,
        ProXML,
        ProXMLCV,
    )
    from longtail.methods.mixtures import ConditionalBernoulliMixture, ConditionalBernoulliMixtureCV
    from longtail.methods.neighbors import KNN, LMKNN, MLKNN
    from longtail.methods.pairs import PairRanker
    from longtail.methods.prototypes import DeepBinaryPrototypes
    from longtail.methods.trees import LogTree
    from longtail.metrics import evaluate
    from longtail.runtime.estimates import Estimate
    from longtail.tagger import Tagger, load

_HOMES = {
    "BRDekel": "longtail.methods.linear",
    "BinaryRelevance": "longtail.methods.linear",
    "CCDL1": "longtail.methods.linear",
    "ChainEnsemble": "longtail.methods.joint",
    "ClassifierChain": "longtail.methods.joint",
    "CompressedSensing": "longtail.methods.codes",
    "ConditionalBernoulliMixture": "longtail.methods.mixtures",
    "ConditionalBernoulliMixtureCV": "longtail.methods.mixtures",
    "Dataset": "longtail.data",
    "DeepBinaryPrototypes": "longtail.methods.prototypes",
    "DependencyNetwork": "longtail.methods.joint",
    "DiSMEC": "longtail.methods.linear",
    "Estimate": "longtail.runtime.estimates",
    "Explanation": "longtail.explanation",
    "ExtremeClassifier": "longtail.base",
    "KNN": "longtail.methods.neighbors",
    "LMKNN": "longtail.methods.neighbors",
    "LabelPowerset": "longtail.methods.joint",
    "LogTree": "longtail.methods.trees",
    "MLKNN": "longtail.methods.neighbors",
    "MSVM": "longtail.methods.linear",
    "OVA": "longtail.methods.linear",
    "OVO": "longtail.methods.linear",
    "PLST": "longtail.methods.codes",
    "PairRanker": "longtail.methods.pairs",
    "PairwiseCRF": "longtail.methods.joint",
    "ProXML": "longtail.methods.linear",
    "ProXMLCV": "longtail.methods.linear",
    "ProbabilisticClassifierChain": "longtail.methods.joint",
    "RobustBloom": "longtail.methods.codes",
    "RowScaler": "longtail.features",
    "StandardBloom": "longtail.methods.codes",
    "Tagger": "longtail.tagger",
    "TextFeatures": "longtail.features",
    "compare": "longtail.choosing",
    "evaluate": "longtail.metrics",
    "load": "longtail.tagger",
    "ranked": "longtail._sparse",
    "recommend": "longtail.choosing",
}

__all__ = [  # noqa: RUF022
    "__version__",
    "BRDekel",
    "BinaryRelevance",
    "CCDL1",
    "ChainEnsemble",
    "ClassifierChain",
    "CompressedSensing",
    "ConditionalBernoulliMixture",
    "ConditionalBernoulliMixtureCV",
    "Dataset",
    "DeepBinaryPrototypes",
    "DependencyNetwork",
    "DiSMEC",
    "Estimate",
    "Explanation",
    "ExtremeClassifier",
    "KNN",
    "LMKNN",
    "LabelPowerset",
    "LogTree",
    "MLKNN",
    "MSVM",
    "OVA",
    "OVO",
    "PLST",
    "PairRanker",
    "PairwiseCRF",
    "ProXML",
    "ProXMLCV",
    "ProbabilisticClassifierChain",
    "RobustBloom",
    "RowScaler",
    "StandardBloom",
    "Tagger",
    "TextFeatures",
    "compare",
    "evaluate",
    "load",
    "ranked",
    "recommend",
]


_PARTS = (
    "base",
    "choosing",
    "cli",
    "data",
    "decisions",
    "errors",
    "explanation",
    "features",
    "labels",
    "methods",
    "metrics",
    "papers",
    "parameters",
    "report",
    "runtime",
    "search",
    "solvers",
    "store",
    "tagger",
    "testing",
)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"longtail.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'longtail' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
