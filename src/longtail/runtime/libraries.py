"""Limits libraries to one thread each, where our own threads share the work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_found: tuple[int, ThreadpoolController] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread meanwhile, in the whole process.

    Finding these libraries takes milliseconds, far longer than a small product, so it is repeated
    only after a new import. threadpoolctl's own limits are set before a with statement has them, so
    that an interrupt in between would leave them for good.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    libraries = _libraries()
    before = [library.num_threads for library in libraries]
    try:
        for library in libraries:
            library.set_num_threads(1)
        yield
    finally:
        try:
            _restore(libraries, before)
        except BaseException:
            _restore(libraries, before)
            raise


def _libraries() -> list[Any]:
    global _found
    imported = len(sys.modules)
    found = _found
    if found is None or found[0] != imported:
        found = _found = imported, ThreadpoolController()
    return list(found[1].lib_controllers)


def _restore(libraries: list[Any], numbers: list[int]) -> None:
    for library, number in zip(libraries, numbers, strict=True):
        library.set_num_threads(number)
