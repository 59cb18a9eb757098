"""Reading files out of a zip or tar without unpacking it, installing it or trusting its names and sizes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from isoglot.errors import FormatError
from isoglot.opening import open_source
from isoglot.progress import Progress, silent
from isoglot.spaces import reading

#: No file of the catalogue's packages comes near this many bytes; a bomb would.
FILE_LIMIT = 1 << 30

_BLOCK = 1 << 20


class Archive:
    """A zip or tar (gz, xz, plain), read file by file.

    Only plain files are seen: links and devices of a tar are left out. Nothing is ever written to a place
    that a name inside the archive chooses.
    """

    def __init__(self, source: Path | io.BytesIO, where: str | None = None) -> None:
        self._source = source
        self.where = where or str(source)
        if isinstance(source, Path):
            open_source(source).close()  # raises for a pipe or device, which zipfile would wait for
        self._is_zip = zipfile.is_zipfile(source)
        if isinstance(source, io.BytesIO):
            source.seek(0)

    def walk(
        self, wanted: Callable[[str], bool], progress: Progress = silent, step: str = "reading"
    ) -> Iterator[tuple[str, bytes]]:
        """(name, content) of every plain file whose name is wanted, in one pass over the archive."""
        with reading(self.where, "archive"):
            if self._is_zip:
                yield from self._walk_zip(wanted, progress, step)
            else:
                yield from self._walk_tar(wanted, progress, step)

    def read(self, *endings: str) -> list[bytes]:
        """Content of the one file with each of these name endings, in this order.

        An ending begins at a folder: "b/c.txt" fits "a/b/c.txt" and not "a/bb/c.txt".
        """
        found: dict[str, bytes] = {}
        for name, content in self.walk(lambda name: any(_ends(name, ending) for ending in endings)):
            for ending in endings:
                if _ends(name, ending):
                    if ending in found:
                        raise FormatError(f"holds several files {ending}", where=self.where)
                    found[ending] = content
            if len(found) == len(endings):
                break
        for ending in endings:
            if ending not in found:
                raise FormatError(f"holds no file {ending}", where=self.where)
        return [found[ending] for ending in endings]

    def _walk_zip(self, wanted: Callable[[str], bool], progress: Progress, step: str) -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(self._source) as archive:
            infos = [
                info for info in archive.infolist() if info.filename and not info.is_dir() and wanted(info.filename)
            ]
            for done, info in enumerate(infos, start=1):
                with archive.open(info) as stream:
                    yield info.filename, self._content(stream, info.filename)
                progress(step, done, len(infos))

    def _walk_tar(self, wanted: Callable[[str], bool], progress: Progress, step: str) -> Iterator[tuple[str, bytes]]:
        total = self._source.stat().st_size if isinstance(self._source, Path) else None
        raw: IO[bytes] = self._source.open("rb") if isinstance(self._source, Path) else self._source
        with raw, tarfile.open(fileobj=raw, mode="r:*") as archive:
            for count, member in enumerate(archive, start=1):
                # tarfile keeps a list of all members it met; a large tar would only fill memory with them.
                archive.members = []  # type: ignore[attr-defined]
                if count % 256 == 0 and total:
                    progress(step, min(raw.tell(), total), total)
                if not member.isfile() or not wanted(member.name):
                    continue
                stream = archive.extractfile(member)
                if stream is not None:
                    with stream:
                        yield member.name, self._content(stream, member.name)
        if total:
            progress(step, total, total)

    def _content(self, stream: IO[bytes], name: str) -> bytes:
        # The size in the header may lie, so it is the bytes that come out that are counted.
        parts, size = [], 0
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > FILE_LIMIT:
                raise FormatError(f"{name} unpacks to more than it should", where=self.where)
            parts.append(block)
        return b"".join(parts)


def _ends(name: str, ending: str) -> bool:
    return name == ending or name.endswith("/" + ending)
