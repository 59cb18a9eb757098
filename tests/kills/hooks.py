"""Counting changes to the file system, and dying at one of them.

`watch_libc` must be called before Isoglot is imported: it sees calls of the C library by way of `ctypes`, such as
`renameat2`. `arm` is called in the process that is to die.
"""

from __future__ import annotations

import builtins
import ctypes
import fcntl
import io
import os
import signal
from collections.abc import Callable
from typing import Any

__all__ = ["arm", "count", "watch_libc"]

#: What changes names or makes content lasting; `open` is added for files that are written.
_CALLS = ("rename", "replace", "link", "symlink", "unlink", "remove", "rmdir", "mkdir", "fsync", "truncate", "chmod")
_LIBC = ("renameat2", "renameat", "rename", "syscall", "renamex_np")
_state: dict[str, Any] = {"armed": False, "count": 0, "names": [], "root": "", "at": 0, "when": ""}


def arm(root: str, at: int = 0, when: str = "before") -> None:
    """Count from now on changes below `root`; die at the change of this number (from 1), before or after it."""
    _state.update(armed=True, count=0, root=os.path.realpath(root), at=at, when=when, names=[])
    for name in _CALLS:
        setattr(os, name, _counted(name, getattr(os, name)))
    fcntl.flock = _counted("flock", fcntl.flock)
    opened = _counted("open", io.open, _writes)
    io.open = opened  # type: ignore[assignment]
    builtins.open = opened  # type: ignore[assignment]


def count() -> list[str]:
    """Names of the changes so far."""
    return list(_state["names"])


def watch_libc() -> None:
    """Hand out counted functions for the C library's ways to rename."""
    plain = ctypes.CDLL.__getitem__

    def watched(library: Any, name: Any) -> Any:
        function = plain(library, name)
        return _Foreign(str(name), function) if name in _LIBC else function

    ctypes.CDLL.__getitem__ = watched  # type: ignore[method-assign]


class _Foreign:
    """A C function that is counted once this process is armed; its types are set as on the function itself."""

    def __init__(self, name: str, function: Any) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_function", function)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._function, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, *arguments: Any) -> Any:
        if not _state["armed"]:
            return self._function(*arguments)
        # Files are named relative to the working folder or in full; either way they are the command's own.
        with _Change(self._name):
            return self._function(*arguments)


class _Change:
    """One change: dies before or after it if it is the one."""

    def __init__(self, name: str) -> None:
        _state["count"] += 1
        _state["names"].append(name)
        self._mine = _state["count"] == _state["at"]

    def __enter__(self) -> None:
        if self._mine and _state["when"] == "before":
            _die()

    def __exit__(self, *_: object) -> None:
        if self._mine:
            _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _counted(name: str, function: Callable[..., Any], counts: Callable[..., bool] | None = None) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        wanted = arguments and (counts is None or counts(*arguments, **named))
        if not wanted or not any(map(_ours, _places(arguments, named))):
            return function(*arguments, **named)
        with _Change(name):
            return function(*arguments, **named)

    return call


def _writes(file: Any, mode: str = "r", *_: Any, **__: Any) -> bool:
    return any(letter in mode for letter in "wax+")


def _places(arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """The paths or file descriptors that a call names; a path relative to an open folder stands for that folder."""
    folder = named.get("dir_fd") or named.get("src_dir_fd")
    return [folder] if folder is not None else list(arguments[:2])


def _ours(place: Any) -> bool:
    try:
        if isinstance(place, int):
            path = os.readlink(f"/proc/self/fd/{place}")
        elif hasattr(place, "fileno"):
            path = os.readlink(f"/proc/self/fd/{place.fileno()}")
        else:
            path = os.path.realpath(os.path.dirname(os.path.abspath(os.fsdecode(place))))
    except (OSError, TypeError, ValueError):
        return False
    return path == _state["root"] or path.startswith(_state["root"] + "/")
