"""Checks of parameters that many methods have; each refuses with one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from longtail.errors import ParameterError


def check_positive(**values: Any) -> None:
    """Refuse parameters that are not positive, finite numbers."""
    for name, value in values.items():
        if not (is_number(value) and 0 < value < math.inf):
            raise ParameterError(f"{name} must be a positive, finite number, not {value!r}.")


def check_not_negative(**values: Any) -> None:
    """Refuse parameters that are not finite numbers from zero on."""
    for name, value in values.items():
        if not (is_number(value) and 0 <= value < math.inf):
            raise ParameterError(f"{name} must be zero or a positive number, not {value!r}.")


def check_limit(**values: Any) -> None:
    """Refuse limits that are not positive numbers; infinity is no limit."""
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise ParameterError(
                f"{name} must be a positive number, or inf for no limit, not {value!r}."
            )


def check_count(*, least: int = 1, **values: Any) -> None:
    """Refuse parameters that are not whole numbers from `least` on."""
    for name, value in values.items():
        if not is_count(value, least):
            raise ParameterError(
                f"{name} must be a whole number of at least {least}, not {value!r}."
            )


def check_share(**values: Any) -> None:
    """Refuse parameters that are not shares between 0 and 1."""
    for name, value in values.items():
        if not (is_number(value) and 0 < value < 1):
            raise ParameterError(f"{name} must be a share between 0 and 1, not {value!r}.")


def check_flag(**values: Any) -> None:
    """Refuse parameters that are neither True nor False."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_):
            raise ParameterError(f"{name} must be True or False, not {value!r}.")


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of threads that is neither None nor a whole number other than 0."""
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer)
    ):
        raise ParameterError(f"n_jobs must be a whole number or None, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ParameterError("n_jobs must not be 0; use 1 for one thread or -1 for all cores.")


def check_seed(random_state: Any) -> None:
    """Refuse a seed that is not a whole number from 0 to 2³² - 1."""
    if (
        isinstance(random_state, bool)
        or not isinstance(random_state, int | np.integer)
        or not 0 <= random_state < 2**32
    ):
        raise ParameterError(
            f"random_state must be a whole number from 0 to 2**32 - 1, not {random_state!r}."
        )


def generator_of(random_state: Any) -> np.random.RandomState:
    """The generator of a seed; a RandomState goes on from where it stands."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    check_seed(random_state)
    return np.random.RandomState(random_state)


def is_count(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number from `least` on; True and False are none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= least)


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
