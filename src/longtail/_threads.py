"""Libraries held to one thread each, where threads of our own share the work."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController

_found: tuple[int, ThreadpoolController] | None = None


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP down to one thread meanwhile; a setting of the whole process.

    To find these libraries takes milliseconds, far longer than a small product: it is done again
    only after something was imported.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    global _found
    imported = len(sys.modules)
    found = _found
    if found is None or found[0] != imported:
        found = _found = imported, ThreadpoolController()
    return found[1].limit(limits=1)
