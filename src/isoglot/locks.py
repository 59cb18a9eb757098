"""One run at a time into an output folder: a lock that dies with its process.

The lock is a hidden file beside the output that the system keeps locked for as long as the process lives, however it
ends. It says who holds it, so that the second run can tell its user.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from isoglot.errors import InputError
from isoglot.files import check_writable, follow_link

try:
    import fcntl
except ImportError:  # Windows: runs are not kept apart there
    fcntl = None  # type: ignore[assignment]

#: Outputs that this process holds, and how many times: a command holds its output while what it calls writes there.
_held: dict[str, int] = {}
_HOLDER = re.compile(r"process \d+ \(since ")
#: How many times the folder of a lock may vanish before it counts as gone.
_TRIES = 100


class OutputBusyError(InputError):
    """Another process is writing to this output."""


@contextlib.contextmanager
def output_lock(output: Path | str, *, wait: bool = False) -> Iterator[None]:
    """Hold an output for as long as the block lasts.

    If another process holds it, wait for it to end, or raise `OutputBusyError`.
    """
    where = str(output)
    output = follow_link(Path(os.path.abspath(output)))  # "." gets a name too
    key = os.path.realpath(output)
    if fcntl is None or key in _held:
        _held[key] = _held.get(key, 0) + 1
        try:
            yield
        finally:
            _held[key] -= 1
            if not _held[key]:
                del _held[key]
        return
    check_writable(output)
    path = lock_path(output)
    stream, new_folders = _acquire(path, where, wait)
    _held[key] = 1
    try:
        yield
    finally:
        del _held[key]
        path.unlink(missing_ok=True)  # before unlocking, so that whoever waits sees that the name is gone
        stream.close()
        for folder in sorted(new_folders, reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()  # only if nothing was written there


def lock_path(output: Path) -> Path:
    """The lock file: it exists while an output is held, and after its holder was killed."""
    real = Path(os.path.realpath(output))
    if real.is_dir() and not os.access(real.parent, os.W_OK | os.X_OK):
        return real / ".lock"  # such as a mounted folder
    return real.parent / f".{real.name}.lock"


def remove_dead_locks(folder: Path) -> None:
    """Remove the locks in a folder whose holders were killed, and no others."""
    for path in folder.glob(".*.lock") if fcntl is not None else ():
        with contextlib.suppress(OSError, UnicodeDecodeError), path.open(encoding="utf-8") as stream:
            if _HOLDER.match(stream.read(200)):
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)


def _acquire(path: Path, where: str, wait: bool) -> tuple[IO[str], set[Path]]:
    """The locked file, and the folders that were created for it."""
    new_folders: set[Path] = set()
    vanished = 0
    while True:
        try:
            new_folders |= _make_parents(path.parent)
            stream = path.open("a+", encoding="utf-8")
        except FileNotFoundError:
            # The last holder has just removed the folders created for it, or the working folder is gone.
            vanished += 1
            if vanished == _TRIES:
                raise
            continue
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read(200).strip() or "another run"
            stream.close()
            raise OutputBusyError(
                f"{holder} is writing here", where=where, remedy="wait until it ends, or choose another output"
            ) from None
        except OSError:
            return stream, new_folders  # a file system without locks
        with contextlib.suppress(OSError):
            if path.stat().st_ino == os.fstat(stream.fileno()).st_ino:
                break
        stream.close()  # the last holder has just removed it: the name no longer refers to this file
    stream.truncate(0)
    now = datetime.datetime.now().astimezone()
    stream.write(f"process {os.getpid()} (since {now:%Y-%m-%d %H:%M})")
    stream.flush()
    return stream, new_folders


def _make_parents(folder: Path) -> set[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
    return set(missing)
