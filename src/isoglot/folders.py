"""Folders that we write: how to recognise one of ours, and how to replace it without losing anything.

Every such folder holds a manifest, a JSON file whose `format` says what the folder is and whose `files` lists what we
put there, with checksums. A folder is replaced only if its manifest names the same format. The new folder is written
beside the old one and the two are swapped in one file system operation. What the manifest does not list is the
user's: it is carried over into the new folder.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from isoglot.card_content import CARD
from isoglot.errors import FormatError, InputError
from isoglot.files import (
    abandoned,
    check_writable,
    follow_link,
    follow_umask,
    part_name,
    remove_abandoned,
    sha256_of_file,
)
from isoglot.locks import output_lock
from isoglot.manifests import Fields, TensorFile, read_json_object

_published: contextvars.ContextVar[bool] = contextvars.ContextVar("published", default=False)


@contextlib.contextmanager
def publishing() -> Iterator[None]:
    """Manifests written meanwhile name files by their last part: where a person keeps them is nobody else's business.

    >>> with publishing():
    ...     _without_places({"source": "/home/me/wiki.en.vec", "limits": [5], "pairs": "en-fr.txt"})
    {'source': 'wiki.en.vec', 'limits': [5], 'pairs': 'en-fr.txt'}
    """
    token = _published.set(True)
    try:
        yield
    finally:
        _published.reset(token)


class Manifest(Fields):
    """The manifest of a folder that is being read."""

    def __init__(self, content: dict[str, Any], folder: Path, where: str, remedy: str) -> None:
        super().__init__(content, where, remedy=remedy)
        self.folder = folder

    def file(self, name: str) -> Path:
        """A file of the folder; raises unless its content is as it was written."""
        path = self.folder / name
        if not path.is_file():
            raise FormatError("no such file", where=str(path), remedy=self.remedy)
        if sha256_of_file(path) != self.mapping("files").get(name):
            raise FormatError(
                "has changed since it was written (checksum mismatch)", where=str(path), remedy=self.remedy
            )
        return path

    def tensors(self, name: str) -> TensorFile:
        """The arrays of a safetensors file of the folder."""
        return TensorFile.read(self.file(name), remedy=self.remedy)


@dataclasses.dataclass(frozen=True)
class FolderKind:
    """One kind of folder.

    Args:
        format: what `format` in its manifest says, such as "isoglot-alignment".
        what: for messages, such as "an alignment".
        made_by: for messages: what writes such folders.
        manifest: the manifest's file name. Folders laid out for other programs get an `isoglot.json` beside theirs.
        version: a folder of another version is not read.
        later: names that we may add to a finished folder.
    """

    format: str
    what: str
    made_by: str
    manifest: str = "isoglot.json"
    version: int = 1
    later: tuple[str, ...] = ()

    def owns(self, folder: Path) -> bool:
        """Whether the folder's manifest says that it is of this kind, in any version."""
        try:
            return read_json_object(folder / self.manifest).get("format") == self.format
        except (InputError, OSError):
            return False

    def read(self, folder: str | Path) -> Manifest:
        """The manifest of a folder of this kind and version; its fields are checked when they are read."""
        folder = Path(folder)
        recover(folder)
        where, remedy = str(folder / self.manifest), f"give a folder written by {self.made_by}"
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "no such folder"
            raise InputError(what, where=str(folder), remedy=remedy)
        try:
            content = read_json_object(folder / self.manifest)
        except FileNotFoundError as error:
            what = f"not {self.what} (it has no {self.manifest})"
            raise InputError(what, where=str(folder), remedy=remedy) from error
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=where, remedy=remedy) from error
        except FormatError as error:
            raise FormatError(f"not {self.what}: {error.what}", where=where, remedy=remedy) from error
        if content.get("format") != self.format:
            raise FormatError(f"not {self.what}", where=where, remedy=remedy)
        if content.get("version") != self.version:
            raise FormatError(
                f"{self.what} in format version {content.get('version')!r}; this release reads version {self.version}",
                where=where,
                remedy="use the Isoglot release that wrote it, or create it again",
            )
        return Manifest(content, folder, where, f"it is damaged or was edited: create it again with {self.made_by}")

    def write_manifest(self, folder: Path, content: dict[str, Any] | None = None) -> None:
        """Write the manifest: these fields, and the list of files that are now in the folder."""
        files = {one.relative_to(folder).as_posix(): sha256_of_file(one) for one in _files(folder)}
        files.pop(self.manifest, None)
        whole = {"format": self.format, "version": self.version, **_without_places(content or {}), "files": files}
        # File names may hold bytes that are not UTF-8; Python's escapes of these are also JSON's.
        text = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
        (folder / self.manifest).write_text(text, "utf-8", errors="backslashreplace")

    def check_replaceable(self, path: Path) -> None:
        """Raise unless `path` is free, an empty folder, or a folder of this kind, in a writable place."""
        if path.name in ("", ".."):
            raise InputError("cannot be replaced as a whole", where=str(path), remedy="give a folder inside it")
        recover(path)
        path = follow_link(path)
        if path.exists():
            if not path.is_dir():
                raise InputError("is a file, not a folder", where=str(path), remedy="choose another output path")
            if any(path.iterdir()) and not self.owns(path):
                raise InputError(
                    f"this folder is not {self.what}: it holds other things and will not be overwritten",
                    where=str(path),
                    remedy="choose another output path",
                )
        check_writable(path)

    @contextlib.contextmanager
    def replacing(self, path: Path | str) -> Iterator[Path]:
        """Yield a new folder to fill; if the block succeeds it replaces `path`, else it is removed."""
        path = Path(path)
        self.check_replaceable(path)
        path = follow_link(path)
        with output_lock(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_abandoned(path.parent, path.name)
            temporary = path.parent / part_name(path.name)
            temporary.mkdir(0o700)
            try:
                yield temporary
                if not (temporary / self.manifest).exists():
                    self.write_manifest(temporary)
                _bring_to_disk(temporary)
                carried = self._carry_over(path, temporary) if path.exists() else set()
                _put_in_place(temporary, path)
                if temporary.exists():  # now the old folder: carry over what was added in the meantime
                    self._carry_over(temporary, path, but=carried)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)

    def _carry_over(self, old: Path, new: Path, but: Collection[Path] = ()) -> set[Path]:
        """Link the user's files of the old folder into the new one, and return their names.

        They are in at least one of the two at all times. Where the new folder has a file of the same name, the user's
        is renamed to end in `.kept`.
        """
        ours = self._listed(old)
        carried = set()
        for one in _files(old):
            name = one.relative_to(old)
            if name.as_posix() in ours or name in but:
                continue
            target = new / name
            while target.exists() or target.is_symlink():
                target = target.with_name(f"{target.name}.kept")
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(one, target)
            carried.add(name)
        for one in sorted(place for place in old.rglob("*") if place.is_dir() and not place.is_symlink()):
            if not any(one.iterdir()):  # an empty folder: the user's, or one that we create again
                (new / one.relative_to(old)).mkdir(parents=True, exist_ok=True)
        return carried

    def _listed(self, folder: Path) -> set[str]:
        try:
            files = read_json_object(folder / self.manifest).get("files")
        except (InputError, OSError):
            files = None
        listed = {self.manifest, *self.later, *(files if isinstance(files, dict) else ())}
        card = folder / CARD
        # A card is for people, who may have rewritten it: then it is theirs.
        if CARD in listed and isinstance(files, dict) and card.is_file() and sha256_of_file(card) != files[CARD]:
            listed.remove(CARD)
        return listed


def _without_places(value: Any) -> Any:
    """The value, and while `publishing` only the last part of every full path in it."""
    if not _published.get():
        return value
    if isinstance(value, dict):
        return {key: _without_places(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_places(inner) for inner in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def recover(path: Path) -> None:
    """Undo a replacement that was killed between its two renames (where `exchange` is not possible)."""
    if path.exists() or path.is_symlink() or not path.name:
        return
    old = [one for one in abandoned(path.parent, path.name) if one.name.endswith(".old")]
    if old:
        with contextlib.suppress(OSError):
            old[-1].rename(path)


def exchange(one: Path, other: Path) -> bool:
    """Swap two paths in one step; False where the system cannot."""
    names = (os.fsencode(one), os.fsencode(other))
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return bool(libc.renamex_np(*names, 2) == 0)  # RENAME_SWAP
        here = -100  # AT_FDCWD: names are relative to the working directory
        return bool(libc.renameat2(here, names[0], here, names[1], 2) == 0)  # RENAME_EXCHANGE
    except (AttributeError, OSError, TypeError):
        return False


def _put_in_place(temporary: Path, path: Path) -> None:
    if not path.exists():
        temporary.replace(path)
    elif not exchange(temporary, path):
        old = path.parent / part_name(path.name, "old")
        path.replace(old)
        temporary.replace(path)
        old.replace(temporary)


def _bring_to_disk(folder: Path) -> None:
    follow_umask(folder)
    for one in _files(folder):
        with one.open("rb") as stream:
            os.fsync(stream.fileno())


def _files(folder: Path) -> Iterator[Path]:
    for place in sorted(folder.rglob("*")):
        if place.is_symlink() or not place.is_dir():
            yield place


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # a file system without links
        shutil.copy2(source, target, follow_symlinks=False)
