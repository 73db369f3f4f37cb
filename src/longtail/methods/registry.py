"""All methods by name; a family is imported when one of its methods is needed.

Our own are listed here. Other packages add methods by entry points in the group `longtail.methods`;
the name of an entry point is that of its method.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from longtail.errors import ParameterError
from longtail.store.protocol import add_finder, homes_of, import_class

if TYPE_CHECKING:
    from longtail.base import ExtremeClassifier
    from longtail.parameters import Parameter

GROUP = "longtail.methods"
"""The entry points by which other packages add methods."""

OURS = {
    "br": "linear:BinaryRelevance",
    "br-dekel": "linear:BRDekel",
    "cbm": "mixtures:ConditionalBernoulliMixture",
    "cbm-cv": "mixtures:ConditionalBernoulliMixtureCV",
    "cc": "joint:ClassifierChain",
    "ccd-l1": "linear:CCDL1",
    "cdn": "joint:DependencyNetwork",
    "cs": "codes:CompressedSensing",
    "dbpc": "prototypes:DeepBinaryPrototypes",
    "dismec": "linear:DiSMEC",
    "ecc": "joint:ChainEnsemble",
    "knn": "neighbors:KNN",
    "lm-knn": "neighbors:LMKNN",
    "logtree": "trees:LogTree",
    "ml-knn": "neighbors:MLKNN",
    "mrb": "pairs:PairRanker",
    "msvm": "linear:MSVM",
    "ova": "linear:OVA",
    "ovo": "linear:OVO",
    "pair-crf": "joint:PairwiseCRF",
    "pcc": "joint:ProbabilisticClassifierChain",
    "plst": "codes:PLST",
    "powerset": "joint:LabelPowerset",
    "proxml": "linear:ProXML",
    "proxml-cv": "linear:ProXMLCV",
    "rbf": "codes:RobustBloom",
    "sbf": "codes:StandardBloom",
}
"""Each of our methods: its family, a folder here, and its class."""


@dataclass(frozen=True)
class Method:
    """One classifier as the command line knows it.

    Attributes
    ----------
    name : str
        What `--method` takes.
    home : str
        The module that offers the class, and the class: "longtail.methods.linear:DiSMEC".
    """

    name: str
    home: str

    @cached_property
    def estimator(self) -> type[ExtremeClassifier]:
        """The class; this imports its module."""
        from longtail.base import ExtremeClassifier

        found = import_class(self.name, self.home)
        if not issubclass(found, ExtremeClassifier):
            raise ParameterError(
                f"{self.name!r} leads to {self.home}, which is not an ExtremeClassifier; derive "
                "it from longtail.ExtremeClassifier."
            )
        return found

    @property
    def paper(self) -> str:
        """Where the method comes from; nothing if its package cannot be imported."""
        try:
            return self.estimator.paper
        except ParameterError:
            return ""

    @property
    def summary(self) -> str:
        """The first line of the class's docstring, or why it cannot be imported."""
        try:
            return (inspect.getdoc(self.estimator) or "").partition("\n")[0]
        except ParameterError as error:
            return str(error)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The constructor's parameters by name."""
        from longtail.parameters import declared

        return declared(self.estimator)


@cache
def methods() -> dict[str, Method]:
    """All methods by name, in alphabetical order; none of them is imported.

    Examples
    --------
    >>> methods()["dismec"].estimator.__name__
    'DiSMEC'
    """
    ours = {name: f"longtail.methods.{home}" for name, home in OURS.items()}
    return {name: Method(name, home) for name, home in homes_of(ours, GROUP).items()}


def find_method(name: str) -> Method:
    """The method of that name, or an error that lists all names.

    Examples
    --------
    >>> find_method("br").estimator.__name__
    'BinaryRelevance'
    """
    known = methods()
    if name not in known:
        raise ParameterError(f"There is no method {name!r}; choose among {', '.join(known)}.")
    return known[name]


add_finder(lambda name: methods()[name].estimator if name in methods() else None)


def parse_settings(method: Method, settings: Iterable[str]) -> dict[str, Any]:
    """Turn `name=value` words into constructor arguments, as the constructor declares them.

    Examples
    --------
    >>> parse_settings(find_method("dismec"), ["C=0.5", "n_jobs=none"])
    {'C': 0.5, 'n_jobs': None}
    """
    known = method.parameters
    chosen: dict[str, Any] = {}
    for word in settings:
        name, equals, text = map(str.strip, word.partition("="))
        if not equals:
            raise ParameterError(f"{word!r} is not of the form name=value.")
        if name not in known:
            raise ParameterError(
                f"{method.name} has no parameter {name!r}; it has {', '.join(known)}."
            )
        chosen[name] = known[name].parse(text, f"{method.name}'s {name}")
    return chosen
