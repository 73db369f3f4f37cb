"""Time and memory, as all benchmarks measure them."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def best_of(work: Callable[[], Any], repeats: int = 3) -> float:
    """The least seconds of several turns."""
    return min(timed(work)[0] for _ in range(repeats))


def alone(work: Callable[..., Any], *given: Any) -> Any:
    """What comes of it in a fresh process, whose peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def peak_gigabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
