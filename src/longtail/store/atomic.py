"""Folders and files that appear whole or not at all, whenever the writer is killed.

New content is written into a *workplace*, a hidden folder beside the target, brought to the disk,
and then renamed. An existing folder is exchanged for the new one in one step where the operating
system can do that (Linux, macOS); elsewhere the old one is set aside first, and a writer killed
between the two steps leaves it where `standing` and the next writer find it.

A writer holds a lock on its workplace, and the lock dies with it: a workplace that can be locked
was left behind by a killed writer, and the next writer to the same target removes it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from longtail.errors import ModelError
from longtail.store.files import explained

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_OCCUPIED = {errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.EPERM}
_ATTEMPTS = 100

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # of Linux, and RENAME_SWAP of macOS
_NOT_OFFERED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV}


def _only_empty(folder: Path) -> str | None:
    return "it is not empty"


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike[str], *, objection: Callable[[Path], str | None] = _only_empty
) -> Iterator[Path]:
    """A folder to fill, which takes the place of `path` when the block ends without an error.

    Parameters
    ----------
    path : path-like
        The folder to make or replace; missing parents are made.
    objection : callable
        Called with the existing folder, if it is not empty, before the work and again before the
        replacement: returns None if it may be replaced, else the reason why not. By default a
        folder that holds anything is never replaced.

    Yields
    ------
    Path
        The workplace. Nobody else sees it; after an error it is gone and `path` is as before.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "pair"
    >>> with atomic_folder(place) as folder:
    ...     _ = (folder / "a").write_text("1")
    ...     _ = (folder / "b").write_text("2")
    ...     print(place.exists())
    False
    >>> sorted(file.name for file in place.iterdir())
    ['a', 'b']
    """
    target = _resolved(path)
    refuse_to_lose(target, objection)
    with _workplace(target) as workplace:
        with _named(target, workplace):
            yield workplace
        with explained(target, "written"):
            _sync_tree(workplace)
            refuse_to_lose(target, objection)
            _put_in_place(workplace, target)
            _sync(target.parent)


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write, which takes the place of `path` when the block ends without an error.

    Parameters
    ----------
    path : path-like
        The file to make or replace; missing parents are made.

    Yields
    ------
    Path
        Where to write it: a path with the same name in a folder that nobody else sees.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_file(place) as file:
    ...     _ = file.write_text("whole")
    >>> place.read_text()
    'whole'
    """
    target = _resolved(path)
    if target.is_dir():
        raise ModelError(f"{target}: is a folder, so no file can be written there.")
    with _workplace(target) as workplace:
        file = workplace / target.name
        with _named(target, file):
            yield file
        with explained(target, "written"):
            _sync(file)
            os.replace(file, target)
            _sync(target.parent)


def standing(path: str | os.PathLike[str]) -> Path:
    """The folder at `path`, or the one set aside there by a writer that was killed in mid-step."""
    if not os.path.exists(path):
        for left in _left_behind(_resolved(path)):
            if left.suffix == ".old":
                return left
    return Path(path)


def _resolved(path: str | os.PathLike[str]) -> Path:
    try:
        target = Path(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise ModelError(f"{os.fspath(path)!r}: is not a usable path ({error}).") from None
    if not target.name:
        raise ModelError(f"{target}: is the root of a file system; name a folder within it.")
    return target


def refuse_to_lose(target: Path, objection: Callable[[Path], str | None]) -> None:
    """Refuse a target that is a file, or a folder that must not be replaced."""
    with explained(target, "written"):
        if not os.path.lexists(target):
            return
        if not target.is_dir():
            raise ModelError(f"{target}: is a file and is not overwritten; name another folder.")
        reason = objection(target) if any(target.iterdir()) else None
        if reason is not None:
            raise ModelError(
                f"{target}: is not overwritten because {reason}; name another folder or remove "
                "it first."
            )


@contextlib.contextmanager
def _workplace(target: Path) -> Iterator[Path]:
    """A locked hidden folder beside the target, removed at the end if it is still there."""
    with explained(target, "written"):
        target.parent.mkdir(parents=True, exist_ok=True)
        _clean_up(target)
        folder, lock = _make_locked(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def _named(target: Path, workplace: Path) -> Iterator[None]:
    """Let errors name the target, which the user knows, instead of the workplace."""
    try:
        yield
    except ModelError as error:
        if str(workplace) not in str(error):
            raise
        raise ModelError(str(error).replace(str(workplace), str(target))) from error


def _make_locked(target: Path) -> tuple[Path, int | None]:
    for _ in range(_ATTEMPTS):
        folder = _sibling(target, "new")
        folder.mkdir()
        lock = _lock(folder, wait=True)
        # Another writer may have taken the folder for a left-over before the lock was held.
        if folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)
    raise ModelError(f"{target}: cannot be written: another program deletes its work folders.")


def _lock(folder: Path, *, wait: bool) -> int | None:
    """A descriptor that holds the folder's lock, None where it is held already or not available."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _prefix(target: Path) -> str:
    # A digest, because the name itself could make the workplace's name too long.
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return f".longtail-{digest}-"


def _sibling(target: Path, suffix: str) -> Path:
    return target.parent / f"{_prefix(target)}{secrets.token_hex(8)}.{suffix}"


def _left_behind(target: Path) -> list[Path]:
    """Workplaces and set-aside folders of this target, the youngest first."""
    pattern = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{16}\.(new|old)")
    found = []
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if pattern.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                    age = entry.stat(follow_symlinks=False).st_mtime_ns
                    found.append((-age, target.parent / entry.name))
    return [path for _, path in sorted(found)]


def _clean_up(target: Path) -> None:
    for left in _left_behind(target):
        if left.suffix == ".old" and not os.path.lexists(target):
            with contextlib.suppress(OSError):
                os.rename(left, target)
            continue
        lock = _lock(left, wait=False)
        if lock is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def _put_in_place(workplace: Path, target: Path) -> None:
    """Rename the workplace to the target; what stood there is removed afterwards."""
    for _ in range(_ATTEMPTS):
        try:
            os.rename(workplace, target)
            return
        except OSError as error:
            if error.errno not in _OCCUPIED or not target.is_dir():
                raise
        if _exchange(workplace, target):
            return
        aside = _sibling(target, "old")
        try:
            os.rename(target, aside)
        except FileNotFoundError:
            continue
        try:
            os.rename(workplace, target)
        except OSError:
            # Another writer was faster, or the disk failed: the older folder must not be lost.
            if not os.path.lexists(target):
                os.rename(aside, target)
                raise
            shutil.rmtree(aside, ignore_errors=True)
            continue
        shutil.rmtree(aside, ignore_errors=True)
        return
    raise ModelError(f"{target}: cannot be written: other writers keep replacing it.")


def _exchange(first: Path, second: Path) -> bool:
    """Give each of two existing folders the other's name, in one indivisible step.

    Python has no function for it; the C library has `renameat2` on Linux and `renamex_np` on
    macOS. False if the system or its file system cannot do it, or one of the two is gone; then
    nothing has happened.
    """
    here, there = os.fsencode(first), os.fsencode(second)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(here, there, _RENAME_EXCHANGE)
        else:
            flags = ctypes.c_uint(_RENAME_EXCHANGE)
            failed = library.renameat2(_AT_FDCWD, here, _AT_FDCWD, there, flags)
    except (OSError, TypeError, AttributeError):
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _NOT_OFFERED or number == errno.ENOENT:
        return False
    raise OSError(number, os.strerror(number))


def _sync_tree(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(Path(place, name))
        _sync(Path(place))


def _sync(path: Path) -> None:
    if path.is_symlink() or (path.is_dir() and os.name == "nt"):
        return
    flags = os.O_RDWR if os.name == "nt" else os.O_RDONLY
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
