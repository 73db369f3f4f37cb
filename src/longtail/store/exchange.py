"""Exchange two folders in one indivisible step, where the operating system offers it.

Python has no function for it; the C library has `renameat2` on Linux and `renamex_np` on macOS.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_NOT_OFFERED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV}


def exchange(first: Path, second: Path) -> bool:
    """Give each of two existing folders the other's name.

    Returns
    -------
    bool
        False if the system or its file system cannot do it, or one of the two is gone; then
        nothing has happened.

    Examples
    --------
    >>> exchange(Path("no/such"), Path("folder"))
    False
    """
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(os.fsencode(first), os.fsencode(second), _RENAME_SWAP)
        else:
            failed = library.renameat2(
                _AT_FDCWD,
                os.fsencode(first),
                _AT_FDCWD,
                os.fsencode(second),
                ctypes.c_uint(_RENAME_EXCHANGE),
            )
    except (OSError, TypeError, AttributeError):
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED or number == errno.ENOENT:
        return False
    raise OSError(number, os.strerror(number))
