"""The methods of a comparison: their names there, their features, the folders of their models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from sklearn.base import clone

from longtail import store
from longtail.base import ExtremeClassifier
from longtail.errors import ParameterError
from longtail.features.made import FeatureKind
from longtail.methods.registry import find_method

Methods = Mapping[str, str | ExtremeClassifier] | Iterable[str | ExtremeClassifier]


def named_classifiers(
    methods: Methods, *, n_jobs: int | None = None
) -> dict[str, ExtremeClassifier]:
    """Classifiers by the name they have in a comparison, checked before any work.

    Examples
    --------
    >>> named_classifiers({"usual": "dismec", "loose": "dismec"}, n_jobs=2)
    {'usual': DiSMEC(n_jobs=2), 'loose': DiSMEC(n_jobs=2)}
    """
    if isinstance(methods, str):
        methods = [methods]
    if isinstance(methods, Mapping):
        pairs = list(methods.items())
    else:
        pairs = [
            (each if isinstance(each, str) else getattr(each, "method", ""), each)
            for each in methods
        ]
    if not pairs:
        raise ParameterError("There is no method to compare; name at least one.")
    found: dict[str, ExtremeClassifier] = {}
    for name, given in pairs:
        classifier = find_method(given).estimator() if isinstance(given, str) else given
        if not isinstance(classifier, ExtremeClassifier):
            raise ParameterError(
                f"A comparison takes names of methods or classifiers, not {given!r}."
            )
        if name in found:
            raise ParameterError(
                f"Two methods are called {name!r}; give a mapping with a name for each."
            )
        if n_jobs is not None and classifier.get_params(deep=False).get("n_jobs", 0) is None:
            classifier = clone(classifier).set_params(n_jobs=n_jobs)
        classifier.check_parameters()
        found[name] = classifier
    return found


def check_places(keep: str | os.PathLike[str], names: Iterable[str]) -> None:
    """Refuse a folder in which the models of these names cannot be kept."""
    for name in names:
        if name in ("", ".", "..") or Path(name).name != name or "\0" in name:
            raise ParameterError(f"A method called {name!r} cannot be kept; it names no folder.")
        store.check_target(Path(keep) / name)


def kinds_of(
    classifiers: Iterable[ExtremeClassifier | type[ExtremeClassifier]],
) -> tuple[FeatureKind, ...]:
    """The kinds of features that some classifiers want, each once.

    Examples
    --------
    >>> kinds_of(named_classifiers(["dismec", "br"]).values())
    ('scaled',)
    """
    return tuple(dict.fromkeys(classifier.feature_kind for classifier in classifiers))
