"""Methods that predict whole label sets: chains of classifiers and dependency networks."""

from longtail.joint.chain_ensemble import ChainEnsemble
from longtail.joint.chains import ClassifierChain, ProbabilisticClassifierChain
from longtail.joint.dependency_network import DependencyNetwork
from longtail.joint.label_powerset import LabelPowerset
from longtail.joint.pairwise_crf import PairwiseCRF

__all__ = [
    "ChainEnsemble",
    "ClassifierChain",
    "DependencyNetwork",
    "LabelPowerset",
    "PairwiseCRF",
    "ProbabilisticClassifierChain",
]
