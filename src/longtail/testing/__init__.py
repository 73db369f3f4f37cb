"""The contract of every classifier as functions, for authors of new classifiers.

`check_classifier` runs all of `CHECKS` on an estimator. Each check takes an estimator, works on
copies of it and raises an `AssertionError` whose sentence says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from longtail.base import ExtremeClassifier
from longtail.testing import answers, refusals, training
from longtail.testing.problem import NAMES, names_of, small_problem

__all__ = ["CHECKS", "NAMES", "check_classifier", "names_of", "small_problem"]

CHECKS: tuple[Callable[[ExtremeClassifier], None], ...] = tuple(
    check
    for part in (training, answers, refusals)
    for name, check in vars(part).items()
    if name.startswith("check_")
)
"""Every check in the files beside this one, for a test runner that wants them one by one."""


def check_classifier(estimator: ExtremeClassifier) -> None:
    """Hold a classifier to the contract of `longtail.base`; nothing is returned if it keeps it.

    All checks together train the classifier some fifty times, on 60 points of 10 features and 6
    labels. Give it settings that make it learn such data well and fast.

    Parameters
    ----------
    estimator : ExtremeClassifier
        Not fitted, or fitted: copies of it are trained.

    Raises
    ------
    AssertionError
        For the first part of the contract that the classifier breaks: which check it is, and what
        is wrong.

    Examples
    --------
    >>> from longtail import DiSMEC
    >>> from longtail.testing import check_classifier
    >>> check_classifier(DiSMEC())
    >>> check_classifier("dismec")
    Traceback (most recent call last):
        ...
    AssertionError: check_can_be_stored: 'dismec' is not an ExtremeClassifier; derive from it.
    """
    for check in CHECKS:
        name = check.__name__
        try:
            check(estimator)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        except Exception as error:
            raise AssertionError(
                f"{name}: {type(error).__name__} where none should be: {error}"
            ) from error
