"""The binary cache: slow formats are parsed once, then memory-mapped.

An entry is a file in native form, named after the sha256 of the source's content. A small record for each path holds
the source's size, times and inode: while these stay the same, a second load hashes nothing. If they changed, the hash
of the whole content decides. Entries and records get their names by renaming, so a killed writer leaves nothing
broken and two writers do not disturb each other. The folder can be removed at any time.

An entry that has changed since it was written is made again, and the load's report says so: `isoglot.verified`
compares a digest of all its bytes, but only when its size, times or inode have changed since the last check.

Loads of the first n words have their own entries: these can serve n words or fewer, never the whole file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from isoglot.errors import FormatError, IsoglotError
from isoglot.files import atomic_path, cache_directory, part_name, remove_abandoned, sha256_of_file
from isoglot.manifests import read_json_object
from isoglot.progress import Progress
from isoglot.resumable import digest
from isoglot.spaces.formats.base import Content, Request
from isoglot.spaces.formats.native import NativeFile, NativeWriter, open_native
from isoglot.spaces.report import LoadReport
from isoglot.spaces.space import FloatMatrix
from isoglot.spaces.subwords import SubwordTable
from isoglot.verified import find_damage, seal, stat_of, unchanged

_LONGEST_REPORT = 8000


class CacheFailure(Exception):
    """The cache cannot be used; the caller continues without it."""


class SpaceCache:
    """The cache of one source file, read as one format."""

    def __init__(self, path: Path, format: str) -> None:
        self.path = path
        self.format = format
        # The number changes with the readers, so that entries of an older reader are not used.
        self.folder = cache_directory("spaces", "v2")
        self._record_path = self.folder / "paths" / f"{digest(format, str(path.resolve()))}.json"
        #: Names of entries that had changed since they were written, for a note.
        self.damaged: list[str] = []

    def find(self, limit: int | None, report: LoadReport, progress: Progress) -> Content | None:
        """What an earlier load stored, if the file has not changed since."""
        with contextlib.suppress(OSError, TypeError):  # a record may contain anything
            stat = stat_of(self.path)
            record = self._record()
            if unchanged(stat, record.get("stat"), record.get("saved", 0)):
                names = [record.get("full")]
                if limit is not None and limit <= record.get("rows", 0):
                    names.append(record.get("limited"))
                for name in names:
                    if isinstance(name, str) and (content := self._open(name, limit, report, progress)):
                        return content
            elif any(self.folder.glob(f"{stat[0]}-{self.format}-*.safetensors")):
                name = self._full_name(stat, sha256_of_file(self.path, progress))
                if content := self._open(name, limit, report, progress):
                    self._write_record(stat, full=name)
                    return content
        return None

    def sink(self, request: Request, dim: int) -> CacheSink:
        return CacheSink(self, request, dim)

    def _full_name(self, stat: list[int], digest: str) -> str:
        # The size is in the name so that a listing of the folder shows whether hashing can pay off.
        return f"{stat[0]}-{self.format}-{digest}.safetensors"

    def _record(self) -> dict[str, Any]:
        try:
            return read_json_object(self._record_path)
        except (OSError, FormatError):
            return {}

    def _write_record(self, stat: list[int], **names: object) -> None:
        with contextlib.suppress(OSError, IsoglotError), atomic_path(self._record_path, own=True) as temporary:
            record = {"path": str(self.path), "stat": stat, "saved": time.time_ns(), **names}
            temporary.write_text(json.dumps(record), encoding="utf-8")

    def _open(self, name: str, limit: int | None, report: LoadReport, progress: Progress) -> Content | None:
        entry = self.folder / Path(name).name
        if not entry.is_file():
            return None
        damage = find_damage(_check_of(entry), progress)
        if damage is None:
            return None  # its writer was killed, or is still writing
        try:
            if damage:
                raise ValueError("digest mismatch")
            file = open_native(entry, limit)
            content = Content(file.words, file.vectors, file.counts, self._subwords(file), file.metadata["lang"])
            if not file.words:
                raise ValueError("no words")
            for problem, recovery, times, where in json.loads(file.metadata["report"]):
                report.add(problem, recovery, where.replace("{path}", report.path, 1), times)
        except (IsoglotError, ValueError, KeyError, TypeError, OSError):
            _remove_entry(entry)
            self.damaged.append(entry.name)
            report.counts.clear()
            report.first.clear()
            return None
        report.from_cache = True
        return content

    def _subwords(self, file: NativeFile) -> SubwordTable | None:
        if "bucket" not in file.metadata:
            return None
        minn, maxn, bucket = (int(file.metadata[name]) for name in ("minn", "maxn", "bucket"))
        matrix, offset = file.ngrams, None
        if matrix is None:
            # They stay in the source file, whose content is known to be the same.
            offset = int(file.metadata["ngrams_offset"])
            shape = (bucket, file.vectors.shape[1])
            matrix = np.memmap(self.path, dtype="<f4", mode="r", offset=offset, shape=shape).view(np.ndarray)
        return SubwordTable(minn, maxn, bucket, matrix, offset=offset)


class CacheSink:
    """Rows go straight into the cache file; the result is a memory map of it."""

    def __init__(self, cache: SpaceCache, request: Request, dim: int) -> None:
        self._cache = cache
        self._request = request
        try:
            self._stat = stat_of(cache.path)
            cache.folder.mkdir(parents=True, exist_ok=True)
            for folder in (cache.folder, cache.folder / "paths"):
                remove_abandoned(folder)
            self._temporary = cache.folder / part_name(cache.path.name)
            self._file = self._temporary.open("xb")
        except OSError as error:
            raise CacheFailure(str(error)) from error
        self._writer = NativeWriter(self._file, dim)

    def append(self, block: FloatMatrix) -> None:
        try:
            self._writer.append(block)
        except OSError as error:
            raise CacheFailure(str(error)) from error

    def finish(self, content: Content) -> FloatMatrix:
        request, cache = self._request, self._cache
        metadata = {"source_format": cache.format, "report": _report(request.report)}
        in_source = content.subwords is not None and content.subwords.offset is not None
        if in_source and content.subwords is not None:
            metadata["ngrams_offset"] = str(content.subwords.offset)
        try:
            self._writer.finish(content, metadata, ngrams=not in_source)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            if request.complete:
                name = cache._full_name(self._stat, request.digest.hexdigest())
                names: dict[str, object] = {"full": name}
            else:
                name = f"first-{digest(cache._record_path.name, self._stat)}-{len(content.words)}.safetensors"
                names = {"limited": name, "rows": len(content.words)}
                old = cache._record()
                if old.get("stat") == self._stat and "limited" in old:
                    _remove_entry(cache.folder / Path(str(old["limited"])).name)
            self._temporary.replace(cache.folder / name)
            seal(_check_of(cache.folder / name), [cache.folder / name])
            cache._write_record(self._stat, **names)
            file = open_native(cache.folder / name)
        except (OSError, IsoglotError) as error:
            raise CacheFailure(str(error)) from error
        if content.subwords is not None and file.ngrams is not None:
            content.subwords = dataclasses.replace(content.subwords, matrix=file.ngrams)
        return file.vectors

    def discard(self) -> None:
        """Remove what was written, unless it got its final name."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink(missing_ok=True)


def _report(report: LoadReport) -> str:
    """The repairs as JSON, with a placeholder for the path: the same content may be found under another."""
    kinds = [
        [problem, recovery, times, report.first[problem, recovery].replace(report.path, "{path}", 1)[:300]]
        for (problem, recovery), times in report.counts.items()
    ]
    while len(text := json.dumps(kinds)) > _LONGEST_REPORT:
        kinds.pop()
    return text


def _check_of(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}.check")


def _remove_entry(entry: Path) -> None:
    for file in (entry, _check_of(entry)):
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
