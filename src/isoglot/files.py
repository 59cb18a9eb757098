"""Writing files so that a killed run leaves either the old file or the new one, and where caches live.

A file being written has a temporary name beside the final one that identifies its writer
(`.NAME.HOST-PID-RANDOM.part`). The next writer of the same name removes what a killed one left; nobody touches what a
live process is writing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from isoglot.errors import InputError
from isoglot.progress import Progress, silent

_OWNER = re.compile(r"\.(?P<host>[0-9a-f]{8})-(?P<pid>\d{1,10})-[0-9a-f]{8}\.(part|old|download)$")
#: File systems take names of 255 bytes, and a temporary name is longer than the final one.
_LONGEST_NAME = 180
#: Temporary names of this process. Any other name with our process number was left by a dead process that had it.
_own_parts: set[str] = set()


def cache_directory(*parts: str) -> Path:
    """The user's cache folder for Isoglot (not created): `$ISOGLOT_CACHE`, else the XDG cache folder."""
    own = os.environ.get("ISOGLOT_CACHE")
    if own:
        return Path(own).expanduser().joinpath(*parts)
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base else Path.home() / ".cache"
    return root.joinpath("isoglot", *parts)


def check_writable(path: Path) -> None:
    """Raise a clear error before long work whose result could not be written to `path` afterwards."""
    folder = path if path.is_dir() else path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise InputError(f"cannot write here: {folder} is not a folder", where=str(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError("no permission to write here", where=str(path), remedy="choose another output path")


def follow_link(path: Path) -> Path:
    """Where writing to `path` ends up: a symbolic link stays, what it points to is written."""
    if not path.is_symlink():
        return path
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise InputError("this symbolic link leads back to itself", where=str(path))
    return real


@contextlib.contextmanager
def atomic_path(path: Path | str, *, own: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it into place if the block succeeds, else remove it.

    A device or pipe, such as /dev/stdout, is written to. In a cache or work folder of ours (`own`) it is replaced:
    nobody would read from it.
    """
    path = Path(path)
    if own and is_stream(path):
        path.unlink()
    elif is_stream(path):
        with _through_a_copy(path) as temporary:
            yield temporary
        return
    path = follow_link(path)
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path.parent, path.name)
    temporary = path.parent / part_name(path.name)
    try:
        temporary.touch(0o600, exist_ok=False)
        yield temporary
        _flush(temporary)
        follow_umask(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        _own_parts.discard(temporary.name)


def part_name(name: str, suffix: str = "part") -> str:
    """A new hidden temporary name for `name` that identifies this process."""
    part = f".{_short(name)}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}.{suffix}"
    _own_parts.add(part)
    return part


def is_abandoned(name: str) -> bool:
    """Whether a temporary name belongs to a process of this machine that no longer runs.

    >>> is_abandoned("notes.part"), is_abandoned(part_name("x"))
    (False, False)
    """
    owner = _OWNER.search(name)
    if owner is None or owner["host"] != _host():
        return False
    pid = int(owner["pid"])
    if pid == os.getpid():
        return name not in _own_parts
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False  # another user's process, so it is alive
    return False


def abandoned(folder: Path, name: str = "") -> list[Path]:
    """Sorted paths of what killed runs left in `folder`, for all final names or only for `name`."""
    start = f".{_short(name)}." if name else "."
    try:
        return sorted(one for one in folder.iterdir() if one.name.startswith(start) and is_abandoned(one.name))
    except OSError:
        return []


def remove_abandoned(folder: Path, name: str = "") -> None:
    """Remove what killed runs were writing in `folder`, for all final names or only for `name`."""
    # Until the new version has its final name, what was moved aside is the only copy.
    keep = () if name and (folder / name).exists() else ".old"
    for place in abandoned(folder, name):
        if not place.name.endswith(keep):
            _remove(place)


def remove_kept(folder: Path | str, names: Iterable[str]) -> None:
    """Remove these files and folders from `folder`, and then the folder itself if it is empty."""
    folder = Path(folder)
    for name in names:
        remove_at_once(folder / name)
        remove_abandoned(folder, name)
    with contextlib.suppress(OSError):
        folder.rmdir()


def remove_at_once(place: Path) -> None:
    """Remove a file or folder if it exists; a kill never leaves half a folder under its name."""
    if not place.is_dir() or place.is_symlink():
        place.unlink(missing_ok=True)
        return
    temporary = place.replace(place.parent / part_name(place.name))
    shutil.rmtree(temporary, ignore_errors=True)
    _own_parts.discard(temporary.name)


def sha256_of_file(path: Path, progress: Progress = silent) -> str:
    """Hex digest of a file's content, read in blocks."""
    digest = hashlib.sha256()
    total = path.stat().st_size
    done = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 22):
            digest.update(block)
            done += len(block)
            progress(f"checking {path.name}", done, total)
    return digest.hexdigest()


def follow_umask(path: Path) -> None:
    """Temporary files and folders are private; what is written for the user follows their umask."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def is_stream(path: Path) -> bool:
    """A device or pipe, such as /dev/stdout: it is written to, never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextlib.contextmanager
def _through_a_copy(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / path.name
        temporary.touch()
        yield temporary
        with temporary.open("rb") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)


def _short(name: str) -> str:
    return os.fsencode(name)[:_LONGEST_NAME].decode("utf-8", "ignore")


@functools.cache
def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
