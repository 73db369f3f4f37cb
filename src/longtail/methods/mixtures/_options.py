"""The measures that sets may be the best for, and the ways to find them, by name."""

from __future__ import annotations

from typing import Any, Literal, get_args

from longtail.errors import ParameterError

Target = Literal["subset", "hamming", "f1", "jaccard"]
Decoding = Literal["joint", "threshold", "sample"]


def check_options(*, target: Any = "subset", decoding: Any = "joint") -> None:
    """Refuse a measure or a way that there is not."""
    for name, value, kind in (("target", target, Target), ("decoding", decoding, Decoding)):
        if value not in get_args(kind):
            raise ParameterError(
                f"{name} must be one of {', '.join(get_args(kind))}, not {value!r}."
            )
