"""Cache files that must not have changed since they were written: a digest of each, and when it was last checked.

While a file's size, times and inode are those of the last check, nothing is hashed; otherwise the whole file is, and
the record is renewed if the digest matches. Any change through the file system changes the ctime, which programs
cannot set, so a changed byte is noticed even if the modification time was restored. A change beneath the file system
(bit rot) is noticed only once something else touches the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from isoglot.errors import InputError, IsoglotError
from isoglot.files import atomic_path, sha256_of_file
from isoglot.manifests import TensorFile, read_json_object
from isoglot.progress import Progress, silent

# A file that is changed twice within one clock tick keeps its times: do not trust times as recent as this.
_FRESH_NS = 20_000_000


def seal(record: Path, files: Iterable[Path]) -> None:
    """Write the digests of `files`, which lie in the folder of `record` or below, to `record`."""
    _write(record, {file.relative_to(record.parent).as_posix(): _checked(file) for file in files})


def find_damage(record: Path, progress: Progress = silent) -> list[str] | None:
    """Names of the files that changed since they were sealed; None if there is no such record.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_bytes(b"some bytes")
    >>> seal(folder / "check.json", [folder / "a"])
    >>> find_damage(folder / "check.json")
    []
    >>> _ = (folder / "a").write_bytes(b"same bytes")
    >>> find_damage(folder / "check.json"), find_damage(folder / "none.json")
    (['a'], None)
    """
    try:
        files = read_json_object(record)["files"]
        digests = {name: (entry["sha256"], entry["stat"], int(entry["checked"])) for name, entry in files.items()}
    except (OSError, IsoglotError, ValueError, KeyError, TypeError, AttributeError):
        return None
    damaged = []
    renewed = {}
    for name, (digest, known, checked) in digests.items():
        file = record.parent / name
        try:
            if unchanged(stat_of(file), known, checked):
                continue
            renewed[name] = _checked(file, progress)
            if renewed[name]["sha256"] != digest:
                damaged.append(name)
        except OSError:
            damaged.append(name)
    if renewed and not damaged:
        with contextlib.suppress(OSError, IsoglotError):  # a cache that we may only read
            _write(record, {**files, **renewed})
    return damaged


def keep_vectors(path: Path, vectors: npt.NDArray[np.float32], facts: Mapping[str, str] = {}) -> None:
    """Write a matrix with its digest and these facts about it, atomically."""
    from safetensors.numpy import save_file

    vectors = np.ascontiguousarray(vectors)
    with atomic_path(path, own=True) as temporary:
        save_file({"vectors": vectors}, temporary, metadata={**facts, "sha256": digest_of_array(vectors)})


def kept_vectors(path: Path) -> tuple[npt.NDArray[np.float32], Mapping[str, str]] | None:
    """What `keep_vectors` wrote; None if it is missing or has changed."""
    try:
        file = TensorFile.read(path)
        vectors = file.take("vectors")
    except InputError:
        return None
    # Every time: hashing is cheap beside making them, or reading them from disk.
    return (vectors, file.metadata) if digest_of_array(vectors) == file.metadata.get("sha256") else None


def digest_of_array(array: npt.NDArray[Any]) -> str:
    """A digest of shape, type and bytes of a contiguous array, to be stored with it.

    >>> digest_of_array(np.zeros((2, 3))) == digest_of_array(np.zeros((3, 2)))
    False
    """
    digest = hashlib.sha256(repr((array.shape, array.dtype.str)).encode())
    digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def stat_of(file: Path) -> list[int]:
    """What changes when a file does: size, times, inode and device."""
    stat = file.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev]


def unchanged(stat: list[int], known: object, checked: int) -> bool:
    """Whether a file is still what it was at the time `checked`, when its `stat_of` was `known`."""
    return stat == known and checked - max(stat[1], stat[2]) > _FRESH_NS


def _checked(file: Path, progress: Progress = silent) -> dict[str, Any]:
    # The times from before hashing: a change while we hash must not go unnoticed.
    stat = stat_of(file)
    return {"sha256": sha256_of_file(file, progress), "stat": stat, "checked": time.time_ns()}


def _write(record: Path, files: dict[str, dict[str, Any]]) -> None:
    with atomic_path(record, own=True) as temporary:
        temporary.write_text(json.dumps({"files": files}, indent=1) + "\n", encoding="utf-8")
