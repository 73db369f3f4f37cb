"""Estimators that the store can keep: their parameters, and what they learned."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from longtail.errors import ModelError
from longtail.store.folder import write
from longtail.store.protocol import register

LARGEST = 1e18
"""The largest magnitude of a learned number: its square, and a score, fit into float32."""


class StoredEstimator(BaseEstimator):
    """A `Storable` estimator: kept are its parameters, and what it learned, `name_` by `name_`.

    A subclass gets its name in files by a class attribute `stored_as`. It may override
    `_check_state`, which is called when a fitted one was read. Learned numbers are finite and of
    moderate size, whatever holds them, except in the attributes that `any_numbers` of a class or
    its bases names, such as what is noted about the training.

    Examples
    --------
    >>> import tempfile
    >>> from longtail import load
    >>> class Centre(StoredEstimator):
    ...     stored_as = "example-centre"
    ...     def fit(self, X, y=None):
    ...         self.mean_ = sum(X) / len(X)
    ...         return self
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> Centre().fit([1.0, 2.0]).save(folder)
    >>> load(folder).mean_
    1.5
    """

    stored_as: ClassVar[str] = ""
    any_numbers: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if vars(cls).get("stored_as"):
            register(cls)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, whole or not at all; see `longtail.load`."""
        check_is_fitted(self)
        write(path, self)

    def to_state(self) -> dict[str, Any]:
        """Parameters and everything learned, for the store."""
        learned = {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }
        return {"parameters": self.get_params(deep=False), "learned": learned}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The inverse of `to_state`; unknown parameters are refused."""
        parameters, learned = state.get("parameters"), state.get("learned")
        if not isinstance(parameters, dict) or not isinstance(learned, dict):
            raise ModelError(f"The state of the {cls.__name__} is damaged; save it again.")
        unknown = set(parameters) - set(inspect.signature(cls).parameters)
        if unknown:
            raise ModelError(
                f"The model has a parameter {min(unknown)!r} that this version of "
                f"{cls.__name__} does not know; use the version that wrote it."
            )
        self = cls(**parameters)
        for name, value in learned.items():
            if not name.isidentifier() or not name.endswith("_") or name.startswith("_"):
                raise ModelError(f"The model holds an attribute {name!r}, which none should have.")
            setattr(self, name, value)
        if learned:
            cls._check_numbers(learned)
            self._check_state()
        return self

    @classmethod
    def _check_numbers(cls, learned: dict[str, Any]) -> None:
        """Refuse, with `ModelError`, learned numbers that no score should be made of."""
        free = {name for each in cls.__mro__ for name in vars(each).get("any_numbers", ())}
        for name, value in learned.items():
            if name not in free and not _is_moderate(value):
                raise ModelError(
                    f"The model's {name} holds NaN, infinity or a number beyond ±{LARGEST:g}; "
                    "it was altered."
                )

    def _check_state(self) -> None:
        """Refuse, with `ModelError`, learned parts that do not fit each other."""


def is_trained(value: Any) -> bool:
    """Whether a value is none of our estimators, or one that has learned something."""
    try:
        if isinstance(value, StoredEstimator):
            check_is_fitted(value)
    except NotFittedError:
        return False
    return True


def _is_moderate(value: Any) -> bool:
    """Whether the numbers in a value are; objects within it look after themselves.

    Arrays are read in place: they may be larger than the memory.
    """
    if isinstance(value, dict):
        return all(map(_is_moderate, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_moderate, value))
    if isinstance(value, int | float):
        return -LARGEST <= value <= LARGEST
    data = value.data if sp.issparse(value) else value
    if not isinstance(data, np.ndarray | np.floating) or data.dtype.kind != "f" or not data.size:
        return True
    # float16 ends at 65,504: sums overflow, and kernels do not know it
    return data.dtype.itemsize > 2 and bool(data.min() >= -LARGEST and data.max() <= LARGEST)
