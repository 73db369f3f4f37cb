"""Estimators that the store can write, and reading them back."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from longtail import store
from longtail.errors import ModelError


class StoredEstimator(BaseEstimator):
    """An estimator that the store can write and read: its parameters and what it learned."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        store.register(cls)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder, whole or not at all; see `longtail.load`."""
        check_is_fitted(self)
        store.write(path, self)

    def _to_state(self) -> dict[str, Any]:
        """Parameters and everything learned, for the store."""
        learned = {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }
        return {"parameters": self.get_params(deep=False), "learned": learned}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        """The inverse of `_to_state`; unknown parameters are refused."""
        unknown = set(state["parameters"]) - set(inspect.signature(cls).parameters)
        if unknown:
            raise ModelError(
                f"The model has a parameter {min(unknown)!r} that this version of "
                f"{cls.__name__} does not know; use the version of longtail that wrote it."
            )
        self = cls(**state["parameters"])
        for name, value in state["learned"].items():
            if not name.isidentifier() or not name.endswith("_") or name.startswith("_"):
                raise ModelError(f"The model holds an attribute {name!r}, which none should have.")
            setattr(self, name, value)
        if state["learned"]:
            self._check_state()
        return self

    def _check_state(self) -> None:
        """Refuse, with `ModelError`, learned parts that do not fit each other."""


def load(path: str | Path, *, verify: bool = True) -> Any:
    """Read a model that `save` wrote; its arrays stay on disk until they are used.

    Parameters
    ----------
    path : path-like
        The model folder.
    verify : bool
        Whether to compare all checksums, which reads every file once.

    Returns
    -------
    estimator
        As it was when saved: same predictions, same label names.

    Raises
    ------
    ModelError
        If the folder is damaged, altered, not a model, or of a newer format.

    Examples
    --------
    >>> import tempfile
    >>> from longtail import DiSMEC
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> DiSMEC().fit([[0, 1], [1, 0]], ["sea", "snow"]).save(folder)
    >>> load(folder).predict([[1, 0]]).tolist()
    ['snow']
    """
    model = store.read(path, verify=verify)
    if not isinstance(model, StoredEstimator):
        raise ModelError(f"{path}: holds a {type(model).__name__}, which is not a model.")
    return model
