"""How much memory this machine has left for a process, as far as it is known."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_OWN_GROUP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")
_NO_LIMIT = 2**60  # a limit of this size means no limit


def available_memory() -> int | None:
    """Bytes that a process may still take without swapping; None where it is unknown.

    What the system calls available, or what the limits of the process's control groups (a
    container, a batch job) leave, whichever is less.

    Examples
    --------
    >>> found = available_memory()
    >>> found is None or found > 0
    True
    """
    known = [free for free in (_of_system(), *_of_groups()) if free is not None]
    return max(min(known), 0) if known else None


def _of_system() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def _of_groups() -> list[int | None]:
    """What each group that the process is in leaves, of either version of control groups."""
    return [
        _left(folder, *names)
        for folder in _folders()
        for names in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        )
    ]


def _folders() -> list[Path]:
    found = [_GROUPS, _GROUPS / "memory"]
    try:
        lines = _OWN_GROUP.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        _, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if kinds in ("", "memory"):
            own = (_GROUPS / kinds) / path.lstrip("/")
            while own not in found and own.is_relative_to(_GROUPS):
                found.append(own)
                own = own.parent
    return found


def _left(folder: Path, limit: str, usage: str, reclaimable: str) -> int | None:
    """A group's limit less what it uses and cannot give back, or None without a limit."""
    try:
        most = int((folder / limit).read_text(encoding="ascii"))
        used = int((folder / usage).read_text(encoding="ascii"))
        cached = 0
        for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{reclaimable} "):
                cached = int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None if most >= _NO_LIMIT else most - max(used - cached, 0)
