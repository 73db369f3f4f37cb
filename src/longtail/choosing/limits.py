"""Which methods to try: what training would need, against the available time and memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from longtail.base import ExtremeClassifier
from longtail.choosing.problem import Problem
from longtail.errors import LongtailError, ParameterError
from longtail.runtime.estimates import size_in_words, time_in_words
from longtail.runtime.memory import available_memory


@dataclass(frozen=True)
class Limits:
    """What training a method may need, by its own estimate, to be tried at all.

    Attributes
    ----------
    time_limit : float or None
        Minutes; None for no limit.
    memory_limit : float or None
        GB of memory; None for what is available when the method's turn comes, as far as the system
        reports it.

    Examples
    --------
    >>> Limits(time_limit=-1)
    Traceback (most recent call last):
        ...
    longtail.errors.ParameterError: time_limit must be a positive number, not -1.
    """

    time_limit: float | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (isinstance(value, int | float) and 0 < value < math.inf):
                raise ParameterError(f"{name} must be a positive number, not {value!r}.")

    def objection(self, problem: Problem, classifier: ExtremeClassifier) -> str | None:
        """Why a method is not to be tried on some data, in one sentence; None if it is.

        Parameters
        ----------
        problem : Problem
            What `prepare` made.
        classifier : ExtremeClassifier
            Asked by its `estimate`, which may refuse as well.

        Examples
        --------
        >>> from longtail import DiSMEC
        >>> from longtail.choosing import prepare
        >>> from longtail.data import make_longtail
        >>> problem = prepare(*make_longtail(200, 100, 20, random_state=0).split(random_state=0))
        >>> Limits().objection(problem, DiSMEC())
        >>> Limits(memory_limit=1e-6).objection(problem, DiSMEC())
        'Not tried: it needs about ... MB of memory, and the limit is 1 kB: ...'
        """
        try:
            needed = classifier.estimate(
                problem.features(classifier.feature_kind).X, problem.train.Y
            )
        except LongtailError as error:
            return " ".join(str(error).split())
        if self.time_limit is not None and needed.seconds > 60 * self.time_limit:
            return (
                f"Not tried: it takes about {time_in_words(needed.seconds)}, and the limit is "
                f"{time_in_words(60 * self.time_limit)}: {needed.reason}."
            )
        at_hand = available_memory() if self.memory_limit is None else 1e9 * self.memory_limit
        if at_hand is not None and needed.peak_bytes > at_hand:
            there = size_in_words(at_hand)
            have = (
                f"{there} are available" if self.memory_limit is None else f"the limit is {there}"
            )
            return (
                f"Not tried: it needs about {size_in_words(needed.peak_bytes)} of memory, and "
                f"{have}: {needed.reason}."
            )
        return None
