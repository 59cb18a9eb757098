"""One run at a time into an output folder: a lock that dies with its process.

The lock is a hidden file beside the output that the system keeps locked for as long as the process lives, however it
ends. It says who holds it, so that the second run can tell its user.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from isoglot.errors import InputError
from isoglot.files import check_writable, follow_link

try:
    import fcntl
except ImportError:  # Windows: no two runs are kept apart there
    fcntl = None  # type: ignore[assignment]

__all__ = ["OutputBusyError", "output_lock"]

#: Outputs that this process holds, and how often: a command holds its output while the parts that it calls write there.
_held: dict[str, int] = {}


class OutputBusyError(InputError):
    """Another process is writing to this output."""


@contextlib.contextmanager
def output_lock(output: Path | str, *, wait: bool = False) -> Iterator[None]:
    """Hold an output for as long as the block lasts.

    If another process holds it, wait for it to end, or raise `OutputBusyError`.
    """
    output = follow_link(Path(os.path.abspath(output)))  # "." has a name too
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
    made = _make_parents(output.parent)
    path = output.parent / f".{output.name}.lock"
    stream = _acquire(path, output, wait)
    _held[key] = 1
    try:
        yield
    finally:
        del _held[key]
        path.unlink(missing_ok=True)  # before it is unlocked: whoever waits finds that the name is gone
        stream.close()
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()  # only if nothing was written there


def _acquire(path: Path, output: Path, wait: bool) -> IO[str]:
    while True:
        stream = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            stream.seek(0)
            holder = stream.read(200).strip() or "another run"
            stream.close()
            raise OutputBusyError(
                f"{holder} is writing here", where=str(output), remedy="wait for it to end, or choose another output"
            ) from None
        except OSError:
            return stream  # a file system without locks
        with contextlib.suppress(OSError):
            if path.stat().st_ino == os.fstat(stream.fileno()).st_ino:
                break
        stream.close()  # its last holder has just removed it: this is no longer the file of that name
    stream.truncate(0)
    now = datetime.datetime.now().astimezone()
    stream.write(f"process {os.getpid()} (since {now:%Y-%m-%d %H:%M})")
    stream.flush()
    return stream


def _make_parents(folder: Path) -> list[Path]:
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    missing.reverse()
    for one in missing:
        one.mkdir(exist_ok=True)
    return missing
