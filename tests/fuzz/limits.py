"""What one input may take, and how a process finds out what it took."""

from __future__ import annotations

import os
import resource
from pathlib import Path

SECONDS = 60.0
"""Seconds that one input may take, without those in which kernels are compiled."""

ADDRESS_SPACE = 4 * 2**30
"""Bytes of address space that a process may take beyond what it has after its start."""

MEBIBYTE = 2**20


def memory_bound(n_bytes: int) -> int:
    """Bytes that the resident memory may grow by for an input of so many bytes, unpacked."""
    return 512 * MEBIBYTE + 40 * n_bytes


def reading_bound(n_bytes: int) -> int:
    """The same while a file of so many bytes, unpacked, is read; stated in `docs/formats.md`."""
    return 32 * MEBIBYTE + 25 * n_bytes


_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakGrowth:
    """By how much the resident memory grew at its peak; always 0 where there is no /proc."""

    def __init__(self) -> None:
        self._counts = _RESET.exists()
        if self._counts:
            _RESET.write_text("5")
        self._before = self._field("VmRSS")

    def bytes(self) -> int:
        """The growth since this object was made."""
        return max(self._field("VmHWM") - self._before, 0)

    def _field(self, name: str) -> int:
        if not self._counts:
            return 0
        lines = _STATUS.read_text().splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024


def limit_address_space(extra: int = ADDRESS_SPACE) -> None:
    """Take no more than so many bytes beyond what there is now; without /proc, no limit."""
    sizes = Path("/proc/self/statm")
    if sizes.exists():
        now = int(sizes.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (now + extra, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY))
