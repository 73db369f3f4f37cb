"""Which classes may come out of a model folder, and under which names.

A file names a class; the name is looked up here and nowhere else. No module is imported because a
file says so, with one exception: a well-formed name within longtail itself may be resolved by
importing the module of longtail that would hold it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar, overload

from longtail.errors import LongtailError, ModelError
from longtail.store.jsontext import shortened


class Storable(Protocol):
    """What a class must offer to be registered."""

    def _to_state(self) -> dict[str, Any]:
        """Everything needed to make the object again, as values that `pack` knows."""
        ...

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """The object again; the state is hostile until checked."""
        ...


StorableClass = TypeVar("StorableClass", bound=type[Storable])

_OURS = re.compile(r"longtail(?:\.(?!__)[A-Za-z_][A-Za-z0-9_]{0,99}){1,8}")

_class_of: dict[str, type[Any]] = {}
_name_of: dict[type[Any], str] = {}


@overload
def register(cls: StorableClass, /) -> StorableClass: ...


@overload
def register(
    *, name: str | None = None, formerly: tuple[str, ...] = ()
) -> Callable[[StorableClass], StorableClass]: ...


def register(
    cls: type[Any] | None = None, /, *, name: str | None = None, formerly: tuple[str, ...] = ()
) -> Any:
    """Let a class be stored in model folders; a decorator, with or without arguments.

    The class needs a method `_to_state()` that returns a dict, and a class method
    `_from_state(state)` that makes the object from it. The state may hold other registered
    objects.

    Parameters
    ----------
    cls : class
        The class. Its subclasses are not registered with it.
    name : str, optional
        The name in the file; module and qualified name by default.
    formerly : tuple of str
        Names under which older files know the class, after it was moved or renamed.

    Examples
    --------
    >>> @register
    ... class Bias:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def _to_state(self):
    ...         return {"value": self.value}
    ...     @classmethod
    ...     def _from_state(cls, state):
    ...         return cls(state["value"])
    >>> from longtail.store import pack, unpack
    >>> unpack(*pack(Bias(0.5))).value
    0.5
    """
    if cls is None:
        return lambda cls: _register(cls, name, formerly)
    return _register(cls, name, formerly)


def _register(cls: StorableClass, name: str | None, formerly: tuple[str, ...]) -> StorableClass:
    for needed in ("_to_state", "_from_state"):
        if not callable(getattr(cls, needed, None)):
            raise TypeError(f"{cls.__qualname__} has no method {needed} and cannot be registered.")
    own_name = name or full_name(cls)
    for known in (own_name, *formerly):
        other = _class_of.get(known, cls)
        # A module that is loaded again defines its classes again, under the same names.
        if full_name(other) != full_name(cls):
            raise ValueError(f"The name {known!r} is already that of {full_name(other)}.")
    for known in (own_name, *formerly):
        _class_of[known] = cls
    _name_of[cls] = own_name
    return cls


def state_of(value: Any) -> dict[str, Any] | None:
    """What the store would keep of a registered object; None for anything else.

    Examples
    --------
    >>> state_of("sea") is None
    True
    """
    return None if registered_name(type(value)) is None else value._to_state()


def registered_name(cls: type[Any]) -> str | None:
    """The name of a registered class in files, None for any other.

    Examples
    --------
    >>> registered_name(dict) is None
    True
    """
    return _name_of.get(cls)


def registered_class(name: str) -> type[Any]:
    """The class that a file names.

    Examples
    --------
    >>> registered_class("os.system")
    Traceback (most recent call last):
        ...
    longtail.errors.ModelError: the class os.system is not known here: import the module that
    defines it first.
    """
    if name not in _class_of and _OURS.fullmatch(name):
        _import_our_module_of(name)
    if name in _class_of:
        return _class_of[name]
    if _OURS.fullmatch(name):
        raise ModelError(f"the class {shortened(name, 200)} is not one that this longtail stores.")
    raise ModelError(
        f"the class {shortened(name, 200)} is not known here: import the module that defines it "
        "first."
    )


def _import_our_module_of(name: str) -> None:
    """Import the longest leading part of the name that is a module; a class may be nested."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:length])
        try:
            importlib.import_module(module)
            return
        except LongtailError:
            raise
        except ModuleNotFoundError as error:
            if error.name is None or not (module + ".").startswith(error.name + "."):
                raise ModelError(
                    f"the class {name} needs {error.name}, which is not installed."
                ) from error


def full_name(cls: type[Any]) -> str:
    """Module and qualified name of a class; builtins without their module.

    Examples
    --------
    >>> full_name(int), full_name(re.Pattern)
    ('int', 're.Pattern')
    """
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"
