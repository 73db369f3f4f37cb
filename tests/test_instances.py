"""The methods that stand for others in `make test`: every base class has one."""

from __future__ import annotations

from longtail.base import ExtremeClassifier
from longtail.methods.registry import methods
from tests.instances import REPRESENTATIVES


def base_classes(estimator: type[ExtremeClassifier]) -> set[type]:
    """Ours that are no method themselves."""
    ours = {base for base in estimator.__mro__ if base.__module__.startswith("longtail.")}
    return ours - {method.estimator for method in methods().values()}


def test_every_base_class_is_represented():
    wanted = set().union(*(base_classes(method.estimator) for method in methods().values()))
    found = set().union(*(base_classes(methods()[name].estimator) for name in REPRESENTATIVES))
    assert ExtremeClassifier in wanted
    assert found == wanted
