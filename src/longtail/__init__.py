"""longtail: classification with very many labels, most of them rare.

The names below are imported when they are first used, so that `import longtail` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from longtail._version import __version__

if TYPE_CHECKING:
    from longtail._sparse import ranked
    from longtail.base import ExtremeClassifier
    from longtail.codes import RobustBloom
    from longtail.comparison import compare
    from longtail.data import Dataset
    from longtail.estimates import Estimate
    from longtail.explanation import Explanation
    from longtail.metrics import evaluate
    from longtail.mixtures import ConditionalBernoulliMixture
    from longtail.one_vs_rest import BinaryRelevance, DiSMEC, ProXML, ProXMLCV
    from longtail.pairs import PairRanker
    from longtail.prototypes import DeepBinaryPrototypes
    from longtail.recommendation import recommend
    from longtail.stored import load
    from longtail.tagger import Tagger

_HOMES = {
    "BinaryRelevance": "longtail.one_vs_rest",
    "ConditionalBernoulliMixture": "longtail.mixtures",
    "Dataset": "longtail.data",
    "DeepBinaryPrototypes": "longtail.prototypes",
    "DiSMEC": "longtail.one_vs_rest",
    "Estimate": "longtail.estimates",
    "Explanation": "longtail.explanation",
    "ExtremeClassifier": "longtail.base",
    "PairRanker": "longtail.pairs",
    "ProXML": "longtail.one_vs_rest",
    "ProXMLCV": "longtail.one_vs_rest",
    "RobustBloom": "longtail.codes",
    "Tagger": "longtail.tagger",
    "compare": "longtail.comparison",
    "evaluate": "longtail.metrics",
    "load": "longtail.stored",
    "ranked": "longtail._sparse",
    "recommend": "longtail.recommendation",
}

__all__ = [
    "BinaryRelevance",
    "ConditionalBernoulliMixture",
    "Dataset",
    "DeepBinaryPrototypes",
    "DiSMEC",
    "Estimate",
    "Explanation",
    "ExtremeClassifier",
    "PairRanker",
    "ProXML",
    "ProXMLCV",
    "RobustBloom",
    "Tagger",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "ranked",
    "recommend",
]


_PARTS = (
    "base", "cli", "codes", "comparison", "data", "engine", "errors", "estimates", "explanation",
    "extras", "joint", "labels", "marginal", "methods", "metrics", "mixtures", "neighbors",
    "one_vs_rest", "pairs", "probabilities", "prototypes", "published", "recommendation", "report",
    "store", "stored", "tagger", "tail", "voting",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"longtail.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'longtail' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
