"""Linear classifiers: one problem per label or class, by our own solvers or liblinear."""

from longtail.methods.linear.binary_relevance import BinaryRelevance
from longtail.methods.linear.br_dekel import BRDekel
from longtail.methods.linear.ccd_l1 import CCDL1
from longtail.methods.linear.certify import Certificate, certify
from longtail.methods.linear.dismec import DiSMEC
from longtail.methods.linear.multiclass import MSVM, OVA, OVO
from longtail.methods.linear.proxml import ProXML
from longtail.methods.linear.proxml_cv import ProXMLCV

__all__ = [
    "CCDL1",
    "MSVM",
    "OVA",
    "OVO",
    "BRDekel",
    "BinaryRelevance",
    "Certificate",
    "DiSMEC",
    "ProXML",
    "ProXMLCV",
    "certify",
]
