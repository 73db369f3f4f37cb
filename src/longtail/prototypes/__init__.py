"""Prototypes: neighbours among a few learned binary codes instead of all training points."""

from longtail.prototypes.codes import packed, unpacked
from longtail.prototypes.deep_binary_prototypes import DeepBinaryPrototypes
from longtail.prototypes.explanation import PrototypeExplanation
from longtail.prototypes.hamming import nearest_codes
from longtail.prototypes.label_groups import LabelGroups, group_label_sets
from longtail.prototypes.size import SizeReport

__all__ = [
    "DeepBinaryPrototypes",
    "LabelGroups",
    "PrototypeExplanation",
    "SizeReport",
    "group_label_sets",
    "nearest_codes",
    "packed",
    "unpacked",
]
