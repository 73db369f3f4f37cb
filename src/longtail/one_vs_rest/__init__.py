"""One linear classifier a label: DiSMEC and binary relevance."""

from longtail.one_vs_rest.binary_relevance import BinaryRelevance
from longtail.one_vs_rest.dismec import DiSMEC

__all__ = ["BinaryRelevance", "DiSMEC"]
