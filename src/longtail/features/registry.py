"""What can make features, by name: our own transformers and those of other packages.

Other packages join by entry points in the group `longtail.features`, whose names are those of the
transformers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from longtail.errors import ParameterError
from longtail.store import add_finder
from longtail.store.protocol import homes_of, import_class

GROUP = "longtail.features"
"""The entry points by which other packages add transformers."""

OURS = {
    "row-scaler": "longtail.features.scaling:RowScaler",
    "text-features": "longtail.features.text:TextFeatures",
}
"""Each of our transformers: its module and its class."""


@cache
def transformers() -> dict[str, str]:
    """All transformers by name, and where their classes are; none of them is imported.

    Examples
    --------
    >>> transformers()["row-scaler"]
    'longtail.features.scaling:RowScaler'
    """
    return homes_of(OURS, GROUP)


def find_transformer(name: str) -> type[Any]:
    """The class of that name, or a sentence that lists what there is.

    Examples
    --------
    >>> find_transformer("row-scaler")()
    RowScaler()
    """
    known = transformers()
    if name not in known:
        raise ParameterError(f"There are no features {name!r}; choose among {', '.join(known)}.")
    return import_class(name, known[name])


add_finder(lambda name: find_transformer(name) if name in transformers() else None)
