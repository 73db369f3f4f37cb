"""The data that classifiers are checked on, and the words in which a check says what is wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longtail.base import ExtremeClassifier

NAMES = ("sea", "sun", "snow", "sky", "sand", "salt")
"""The labels of `small_problem`."""


def small_problem(estimator: ExtremeClassifier) -> tuple[NDArray[Any], NDArray[Any]]:
    """60 points that 6 labels describe well, in whole numbers for a method that wants counts.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> X, Y = small_problem(DiSMEC())
    >>> X.shape, Y.shape
    ((60, 10), (60, 6))
    """
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 6)) < 0.3).astype(int)
    Y[:6] = np.eye(6, dtype=int)
    X = np.hstack([Y + 0.1 * rng.random((60, 6)), rng.random((60, 4))])
    return (X.round() if estimator.feature_kind == "counts" else X), Y


def names_of(Y: NDArray[Any]) -> list[tuple[str, ...]]:
    """The rows of a label matrix as tuples of `NAMES`.

    Examples
    --------
    >>> names_of(np.eye(6, dtype=int)[:2])
    [('sea',), ('sun',)]
    """
    return [tuple(NAMES[column] for column in np.flatnonzero(row)) for row in Y]


def require(condition: bool, sentence: str) -> None:
    """Raise an error with a message unless a condition holds."""
    if not condition:
        raise AssertionError(sentence)


def same(found: Any, wanted: Any, what: str) -> None:
    """Raise an error unless what was found is what was expected."""
    require(found == wanted, f"{what} is {found!r:.200} instead of {wanted!r:.200}.")


@contextmanager
def refused(kind: type[Exception], what: str, *, naming: str = "") -> Iterator[None]:
    """Whatever is done within must be refused, in one sentence that names the cause."""
    try:
        yield
    except kind as error:
        message = str(error)
        require(
            "\n" not in message and message.endswith("."),
            f"the refusal of {what} is not one sentence: {message}",
        )
        require(naming in message, f"the refusal of {what} does not name {naming!r}: {message}")
    except Exception as error:
        raise AssertionError(
            f"{what} is refused by {type(error).__name__} instead of {kind.__name__}: {error}"
        ) from error
    else:
        raise AssertionError(f"{what} is not refused.")


def files(model: ExtremeClassifier) -> dict[str, bytes]:
    """Every file of the saved model; how many threads it used is set aside."""
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=None)
    with tempfile.TemporaryDirectory() as place:
        model.save(f"{place}/model")
        return {path.name: path.read_bytes() for path in Path(place, "model").iterdir()}
