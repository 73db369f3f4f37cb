"""Methods that predict whole label sets: chains of classifiers and dependency networks."""

from longtail.methods.joint.chain_ensemble import ChainEnsemble
from longtail.methods.joint.chains import ClassifierChain, ProbabilisticClassifierChain
from longtail.methods.joint.dependency_network import DependencyNetwork
from longtail.methods.joint.label_powerset import LabelPowerset
from longtail.methods.joint.pairwise_crf import PairwiseCRF

__all__ = [
    "ChainEnsemble",
    "ClassifierChain",
    "DependencyNetwork",
    "LabelPowerset",
    "PairwiseCRF",
    "ProbabilisticClassifierChain",
]
