"""One linear classifier a label: ProXML, DiSMEC and binary relevance."""

from longtail.one_vs_rest.binary_relevance import BinaryRelevance
from longtail.one_vs_rest.br_dekel import BRDekel
from longtail.one_vs_rest.ccd_l1 import CCDL1
from longtail.one_vs_rest.certify import Certificate, certify
from longtail.one_vs_rest.dismec import DiSMEC
from longtail.one_vs_rest.proxml import ProXML
from longtail.one_vs_rest.proxml_cv import ProXMLCV

__all__ = [
    "CCDL1",
    "BRDekel",
    "BinaryRelevance",
    "Certificate",
    "DiSMEC",
    "ProXML",
    "ProXMLCV",
    "certify",
]
