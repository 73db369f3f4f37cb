"""The methods there are, found by looking through the wings, with their parameters.

A new method is one file in a wing's folder: a subclass of `ExtremeClassifier` that names its
`method` and `paper`. The command line, the contract tests and the store find it here.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from longtail.base import ExtremeClassifier
from longtail.errors import ParameterError

WINGS = ("codes", "joint", "mixtures", "neighbors", "one_vs_rest", "pairs", "prototypes")


@dataclass(frozen=True)
class Method:
    """One classifier as the command line knows it."""

    name: str
    estimator: type[ExtremeClassifier]
    wing: str
    paper: str
    summary: str

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The constructor's parameters by name."""
        return dict(inspect.signature(self.estimator).parameters)


@cache
def methods() -> dict[str, Method]:
    """All methods by name, in alphabetical order.

    Examples
    --------
    >>> methods()["dismec"].estimator.__name__
    'DiSMEC'
    """
    found: dict[str, Method] = {}
    for wing in WINGS:
        package = importlib.import_module(f"longtail.{wing}")
        for module_info in pkgutil.iter_modules(package.__path__):
            if module_info.name.startswith("_"):
                continue
            module = importlib.import_module(f"{package.__name__}.{module_info.name}")
            for value in vars(module).values():
                if (
                    inspect.isclass(value)
                    and issubclass(value, ExtremeClassifier)
                    and value.__module__ == module.__name__
                    and value.method
                ):
                    summary = (inspect.getdoc(value) or "").partition("\n")[0]
                    found[value.method] = Method(value.method, value, wing, value.paper, summary)
    return dict(sorted(found.items()))


def find_method(name: str) -> Method:
    """The method of that name, or a sentence that lists what there is.

    Examples
    --------
    >>> find_method("br").estimator.__name__
    'BinaryRelevance'
    """
    known = methods()
    if name not in known:
        raise ParameterError(f"There is no method {name!r}; choose among {', '.join(known)}.")
    return known[name]


def parse_settings(method: Method, settings: Iterable[str]) -> dict[str, Any]:
    """Turn `name=value` words into constructor arguments, by the annotations of the constructor.

    Examples
    --------
    >>> parse_settings(find_method("dismec"), ["C=0.5", "n_jobs=none"])
    {'C': 0.5, 'n_jobs': None}
    """
    hints = typing.get_type_hints(method.estimator.__init__)
    chosen: dict[str, Any] = {}
    for word in settings:
        name, equals, text = word.partition("=")
        name, text = name.strip(), text.strip()
        if not equals:
            raise ParameterError(f"{word!r} is not of the form name=value.")
        if name not in method.parameters:
            raise ParameterError(
                f"{method.name} has no parameter {name!r}; it has {', '.join(method.parameters)}."
            )
        chosen[name] = _parse_value(text, hints.get(name, Any), f"{method.name}'s {name}")
    return chosen


def _parse_value(text: str, hint: Any, what: str) -> Any:
    options = typing.get_args(hint) if _is_union(hint) else (hint,)
    if type(None) in options and text.lower() in ("none", "null"):
        return None
    for kind in options:
        if kind is bool:
            if text.lower() in ("true", "yes", "1", "false", "no", "0"):
                return text.lower() in ("true", "yes", "1")
        elif kind is int or kind is float:
            try:
                return kind(text)
            except ValueError:
                continue
        elif kind is str:
            return text
        elif typing.get_origin(kind) is typing.Literal:
            if text in typing.get_args(kind):
                return text
        elif kind is Any or typing.get_origin(kind) in (tuple, list, dict):
            try:
                return ast.literal_eval(text)
            except (ValueError, SyntaxError):
                if kind is Any:
                    return text
    wanted = " or ".join(_spell(kind) for kind in options)
    raise ParameterError(f"{what} must be {wanted}, not {text!r}.")


def _is_union(hint: Any) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union


def _spell(kind: Any) -> str:
    if kind is type(None):
        return "none"
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(map(str, typing.get_args(kind)))
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
    return names.get(kind, str(kind))
