"""Peak memory of a piece of work, above what the process held before it.

`ru_maxrss` does not help here: it is the peak of the process so far and never falls, so only the
method that needs most would ever be seen. Linux keeps such a mark as well (VmHWM), but can reset
it.
"""

from __future__ import annotations

import ctypes
import gc
import re
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
_EVERY = 0.005
"""Seconds between two looks at the memory, where the mark cannot be reset."""
_SLACK = 1 << 20
"""How much a mark that was just reset may lie above the memory held."""


class PeakMemory:
    """Measures the peak memory of what is done inside a `with` block.

    Resident memory of this process is meant: what is swapped out, allocated and never touched, or
    held by other processes does not count.
    Memory that was freed before and kept for reuse is given back first, so that work does not look
    smaller than it is because something larger came before it. Where the mark of the system cannot
    be reset, a thread looks at the memory every 5 ms, which may miss a short peak; where the system
    does not report it, as on anything but Linux, the result is None.

    Attributes
    ----------
    peak_bytes : int or None
        The peak above what was held at the start of the block; known when it has ended.

    Examples
    --------
    >>> import numpy as np
    >>> with PeakMemory() as memory:
    ...     size = np.ones(2_000_000).nbytes
    >>> memory.peak_bytes is None or memory.peak_bytes > 0.9 * size
    True
    """

    def __init__(self) -> None:
        self.peak_bytes: int | None = None
        self._start: int | None = None
        self._sampler: _Sampler | None = None

    def __enter__(self) -> Self:
        gc.collect()
        _give_back()
        self._start = _held("VmRSS")
        if self._start is not None and not _reset_mark():
            self._sampler = _Sampler()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        peak = _held("VmHWM") if self._sampler is None else self._sampler.stop()
        if self._start is not None and peak is not None:
            self.peak_bytes = max(peak - self._start, 0)


class _Sampler:
    """A thread that looks at the memory held again and again."""

    def __init__(self) -> None:
        self._most = _held("VmRSS") or 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(_EVERY):
            self._most = max(self._most, _held("VmRSS") or 0)

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return max(self._most, _held("VmRSS") or 0)


def _held(name: str) -> int | None:
    """A figure of the process in bytes: VmRSS, the memory held, or VmHWM, its mark."""
    try:
        text = _STATUS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return None if found is None else int(found[1]) * 1024


def _reset_mark() -> bool:
    """Start VmHWM anew; whether that worked."""
    try:
        _RESET.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return False
    mark, now = _held("VmHWM"), _held("VmRSS")
    return mark is not None and now is not None and mark <= now + _SLACK


def _give_back() -> None:
    """Hand freed memory to the system, where the C library can (glibc)."""
    trim: Callable[[int], int] | None
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim(0)
