"""Prototypes: neighbours among a few learned binary codes instead of all training points."""

from longtail.methods.prototypes.codes import packed, unpacked
from longtail.methods.prototypes.deep_binary_prototypes import DeepBinaryPrototypes
from longtail.methods.prototypes.label_groups import LabelGroups, group_label_sets
from longtail.methods.prototypes.size import SizeReport

__all__ = [
    "DeepBinaryPrototypes",
    "LabelGroups",
    "SizeReport",
    "group_label_sets",
    "packed",
    "unpacked",
]
