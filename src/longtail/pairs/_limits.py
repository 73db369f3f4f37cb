"""The limit on memory that the competitors keep: what exceeds it is refused before any work."""

from __future__ import annotations

from longtail.base import ExtremeClassifier
from longtail.errors import InputError
from longtail.estimates import Estimate


def refuse_beyond(
    model: ExtremeClassifier, need: Estimate, limit: float, remedy: str = "select features"
) -> None:
    """Refuse training that would need more than `limit` GB, with the estimate and what to do.

    Examples
    --------
    >>> from longtail.pairs.log_tree import LogTree
    >>> refuse_beyond(LogTree(), Estimate(3_000_000_000, None, 60.0, "9,999 nodes"), 4.0)
    """
    if need.peak_bytes > limit * 1e9:
        raise InputError(
            f"{type(model).__name__} would need some {need.peak_bytes / 1e9:.1f} GB for "
            f"{need.reason}, above memory_limit of {limit:g} GB; use a method for many classes, "
            f"such as mrb or dismec, {remedy}, or raise memory_limit."
        )
