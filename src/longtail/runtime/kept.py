"""Values computed once from a model's arrays, kept as long as the arrays stay the same.

They are not attributes of the model: predicting changes no attribute, and copies and saved models
do not contain them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from longtail.errors import say_out_of_memory
from longtail.runtime.turns import in_every_child, turns

Made = TypeVar("Made")

PLAIN = (str, int, float, type(None))
"""Kinds of sources that are the same if they are equal; others are if they are one object."""

_OWNERS: dict[int, Any] = {}
"""Whose the views are that `on_one_model` made, by the views' ids, as long as they are in use."""


class _Shelf:
    """What is kept for one owner, by name, each with the sources that it was made of."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.things: dict[str, tuple[tuple[Any, ...], Any]] = {}


_SHELVES: WeakKeyDictionary[Any, _Shelf] = WeakKeyDictionary()


@in_every_child
def _unlock() -> None:
    for shelf in _SHELVES.values():
        shelf.lock = RLock()


def kept_for(owner: Any, name: str, sources: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    """What `make` returns; it is called again only when a source has changed.

    Threads that ask at the same time get the same thing, made once.

    Parameters
    ----------
    owner : object
        For whom it is kept; it goes when the owner goes, and so must not refer to it.
    name : str
        Which of the owner's things it is.
    sources : tuple
        All that it is made of. Plain values and tuples of them are compared, arrays and other
        objects have to be the very same.
    make : callable
        It must not wait for threads that ask for things of the same owner.

    Examples
    --------
    >>> class Model:
    ...     weights = [1, 2, 3]
    >>> model = Model()
    >>> first = kept_for(model, "sum", (model.weights, "fast"), lambda: {sum(model.weights)})
    >>> kept_for(model, "sum", (model.weights, "fast"), lambda: {sum(model.weights)}) is first
    True
    >>> model.weights = [1, 2, 4]
    >>> kept_for(model, "sum", (model.weights, "fast"), lambda: {sum(model.weights)})
    {7}
    """
    shelf = _shelf_of(owner)
    with shelf.lock:
        kept = shelf.things.get(name)
        if kept is None or not _same(kept[0], sources):
            kept = shelf.things[name] = (sources, make())
        made: Made = kept[1]
    return made


def on_one_model(method: Callable[..., Made]) -> Callable[..., Made]:
    """Decorator of methods that read a model: they see it as it was when they were called.

    A model is replaced by giving the object another `__dict__`, so one that is trained anew while
    others predict gives each of them the old model or the new one, never parts of both.

    Examples
    --------
    >>> class Model:
    ...     weight = 1
    ...     @on_one_model
    ...     def predict(self, meanwhile):
    ...         meanwhile()
    ...         return self.weight
    >>> model = Model()
    >>> model.predict(lambda: setattr(model, "__dict__", {"weight": 2})), model.predict(list)
    (1, 2)
    """

    @functools.wraps(method)
    def on_view(self: Any, *args: Any, **kwargs: Any) -> Made:
        if id(self) in _OWNERS:
            return method(self, *args, **kwargs)
        view = object.__new__(type(self))
        view.__dict__ = self.__dict__
        _OWNERS[id(view)] = self
        try:
            return method(view, *args, **kwargs)
        except BaseException as error:
            say_out_of_memory(error, "to predict")
            raise
        finally:
            del _OWNERS[id(view)]

    return on_view


def _shelf_of(owner: Any) -> _Shelf:
    owner = _OWNERS.get(id(owner), owner)
    shelf = _SHELVES.get(owner)
    if shelf is None:
        with turns("kept"):
            shelf = _SHELVES.setdefault(owner, _Shelf())
    return shelf


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, PLAIN) and isinstance(other, PLAIN):
        return one == other
    return one is other
