"""What an object must offer to be kept in a model folder, and how its class is found again.

A file names an object by a short name, such as "proxml". The name is looked up among the classes
that were registered when they were defined, and then by the finders that other parts of longtail
add: tables of our own classes, and entry points of installed packages. Nothing else is imported
because a file says so.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from longtail.errors import LongtailError, ModelError, ParameterError
from longtail.store.jsontext import shortened

_METHODS = ("to_state", "from_state")


@runtime_checkable
class Storable(Protocol):
    """What the class of an object in a model folder offers.

    `StoredEstimator` brings it to estimators that keep everything they learn in attributes whose
    names end in an underscore.

    Attributes
    ----------
    stored_as : str
        The name of the class in files, such as "text-features".
    """

    stored_as: ClassVar[str]

    def to_state(self) -> dict[str, Any]:
        """Everything needed to make the object again, as values that `pack` knows."""
        ...

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The object again; the state is hostile until checked."""
        ...


StorableClass = TypeVar("StorableClass", bound=type[Any])
Finder = Callable[[str], type[Any] | None]

_classes: dict[str, type[Any]] = {}
_finders: list[Finder] = []


def register(cls: StorableClass) -> StorableClass:
    """Let the objects of a class be stored, under the name `stored_as`; a class decorator.

    A class that a finder finds, such as one with an entry point, does not need it, nor does a
    subclass of `StoredEstimator`.

    Parameters
    ----------
    cls : class
        A class with the methods of `Storable` and a `stored_as` of its own. Its subclasses are not
        registered with it.

    Examples
    --------
    >>> @register
    ... class Bias:
    ...     stored_as = "example-bias"
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def to_state(self):
    ...         return {"value": self.value}
    ...     @classmethod
    ...     def from_state(cls, state):
    ...         return cls(state["value"])
    >>> from longtail.store import pack, unpack
    >>> unpack(*pack(Bias(0.5))).value
    0.5
    """
    name = getattr(cls, "stored_as", None)
    if not isinstance(name, str) or not name or not _has_methods(cls):
        raise TypeError(
            f"{full_name(cls)} cannot be registered; it needs a name, stored_as, and the methods "
            "to_state and from_state."
        )
    other = _classes.get(name, cls)
    if other.__module__ != cls.__module__:  # a module that is loaded again defines them again
        raise ValueError(
            f"The name {name!r} is already that of {full_name(other)}; choose another one for "
            f"{full_name(cls)}."
        )
    _classes[name] = cls
    return cls


def add_finder(find: Finder) -> None:
    """Add a function that is asked for the class of a name; it returns None if it knows none.

    Examples
    --------
    >>> add_finder(lambda name: None)
    """
    _finders.append(find)


def find_class(name: str) -> type[Any]:
    """The class of a name.

    Raises
    ------
    ModelError
        If nobody knows the name, or the class cannot be imported.

    Examples
    --------
    >>> find_class("os.system")
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: nothing here is called 'os.system'; install the package that brings
    it, or import the module that defines it, and try again.
    """
    for find in _finders:
        if name in _classes:
            break
        try:
            found = find(name)
        except ParameterError as error:
            raise ModelError(str(error)) from error
        if found is not None:
            register(found)
    if name not in _classes:
        raise ModelError(
            f"nothing here is called {shortened(name)!r}; install the package that brings it, or "
            "import the module that defines it, and try again."
        )
    return _classes[name]


def stored_name(cls: type[Any]) -> str | None:
    """The name under which objects of a class are stored; None if they cannot be."""
    name = getattr(cls, "stored_as", None)
    if not isinstance(name, str) or not name or not _has_methods(cls):
        return None
    try:
        return name if find_class(name) is cls else None
    except ModelError:
        return None


def state_of(value: Any) -> dict[str, Any] | None:
    """What the store would keep of an object; None for anything else.

    Examples
    --------
    >>> state_of("sea") is None
    True
    """
    return None if stored_name(type(value)) is None else value.to_state()


def homes_of(ours: Mapping[str, str], group: str) -> dict[str, str]:
    """Where the classes of a table are: ours, and those of a group of entry points; ours win."""
    theirs = {point.name: point.value for point in entry_points(group=group)}
    return dict(sorted((theirs | dict(ours)).items()))


def import_class(name: str, home: str) -> type[Any]:
    """The class at a home such as "longtail.features.text:TextFeatures"; its module is imported.

    Raises `ParameterError` if it cannot be imported, is not storable, or calls itself otherwise.
    """
    module, _, path = home.partition(":")
    try:
        found = getattr(importlib.import_module(module), path)
    except LongtailError:
        raise
    except Exception as error:
        raise ParameterError(
            f"{name!r} cannot be imported from {home} ({type(error).__name__}: "
            f"{shortened(str(error), 200)}); repair the package that brings it."
        ) from error
    own = getattr(found, "stored_as", None)
    if not inspect.isclass(found) or not _has_methods(found) or own != name:
        raise ParameterError(
            f"{name!r} leads to {home}, which is no class that the store can keep under this name; "
            "see longtail.store.Storable."
        )
    return found


def _has_methods(cls: type[Any]) -> bool:
    return all(callable(getattr(cls, needed, None)) for needed in _METHODS)


def full_name(cls: type[Any]) -> str:
    """Module and qualified name of a class; builtins without their module."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"
