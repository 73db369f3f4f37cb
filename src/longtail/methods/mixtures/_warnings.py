"""The warnings of a mixture, in training and in prediction."""

from __future__ import annotations

from longtail.errors import ConvergenceWarning, LongtailWarning, warn
from longtail.methods.mixtures.decoding import LikelySets


def warn_of_one_set() -> None:
    """All points have one label set."""
    warn(
        "All training points have the same label set, and so will all predictions.",
        LongtailWarning,
    )


def warn_of_dropped(dropped: int, size: int) -> None:
    """Many components have lost their points."""
    warn(
        f"{dropped} of {size} components were dropped, since training left them no points: the "
        f"other {size - dropped} explain the labels as well; lower n_components to save time.",
        LongtailWarning,
    )


def warn_of_inexact(found: LikelySets) -> None:
    """The decoder was stopped at some points."""
    missed = int((~found.exact).sum())
    if missed:
        warn(
            f"For {missed} of {len(found.exact)} points the search was given up after "
            f"{found.visits.max():,} sets, so that more probable sets may have been missed: the "
            "labels are nearly independent coins there.",
            ConvergenceWarning,
        )
