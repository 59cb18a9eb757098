"""Writing files so that a killed run leaves either the old file or the new one, and where caches live."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from isoglot.errors import InputError
from isoglot.progress import Progress, silent

__all__ = [
    "atomic_directory",
    "atomic_path",
    "cache_directory",
    "check_replaceable",
    "check_writable",
    "remove_kept",
    "sha256_of_file",
]


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


def check_replaceable(path: Path, *, marker: str) -> None:
    """Raise unless `path` is free, an empty folder, or a folder of ours (it holds `marker`) in a writable place."""
    if path.name in ("", ".."):
        raise InputError("a folder cannot be replaced by this name", where=str(path), remedy="name a folder within it")
    if path.exists():
        if not path.is_dir():
            raise InputError("is a file, not a folder", where=str(path), remedy="choose another output path")
        if any(path.iterdir()) and not (path / marker).exists():
            raise InputError(
                f"this folder holds other things (no {marker}) and will not be overwritten",
                where=str(path),
                remedy="choose another output path",
            )
    check_writable(path)


@contextlib.contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it into place when the block ends well, else remove it."""
    path = Path(path)
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        # mkstemp makes private files; what we write for the user follows their umask.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_directory(path: Path | str, *, marker: str) -> Iterator[Path]:
    """The same for a folder. An existing folder is replaced only if it holds our `marker` file or is empty."""
    path = Path(path)
    check_replaceable(path, marker=marker)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part"))
    old = temporary.with_suffix(".old")
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        if path.exists():
            path.replace(old)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def remove_kept(folder: Path | str, names: Iterable[str]) -> None:
    """Remove these files and folders of `folder`, and the folder if it holds nothing else."""
    folder = Path(folder)
    for name in names:
        for place in [folder / name, *folder.glob(f".{name}.*")]:  # with a dot: what a killed run was writing
            if place.is_dir():
                shutil.rmtree(place, ignore_errors=True)
            else:
                place.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


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


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
