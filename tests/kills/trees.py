"""What a command leaves: every file with a digest of its content, without times, dates and sizes of memory."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["difference", "is_leftover", "leftovers", "tree"]

#: Keys of JSON documents whose values differ from run to run, as docs/reliability.md says.
VOLATILE = re.compile(
    r"(^|_)(seconds|minutes|time|times|fetched|date|memory|megabytes|mb|peak|speed|saved|stat|checked|tokens_per_second)(_|$)"
)
#: Of the cache of parsed vectors only its cleanness is looked at: it holds times and inodes.
APART = ("cache/spaces/",)
_LEFT = re.compile(r"(^|/)\.[^/]+|\.(part|old|tmp|lock)($|/)|\.download-")


def tree(work: Path, inputs: Iterable[str]) -> dict[str, str]:
    """Digest by path of all that is not an input; folders without files are there by their names."""
    given = set(inputs)
    found = {}
    for path in sorted(work.rglob("*")):
        name = str(path.relative_to(work))
        if name.split("/")[0] in given or name.startswith(APART) or f"{name}/".startswith(APART):
            continue
        if path.is_dir():
            if not any(path.iterdir()):
                found[f"{name}/"] = "empty folder"
        else:
            found[name] = _digest(path)
    return found


def leftovers(work: Path, inputs: Iterable[str]) -> list[str]:
    """Hidden files, parts, locks and downloads, in all folders."""
    given = set(inputs)
    names = (str(path.relative_to(work)) for path in work.rglob("*"))
    return sorted(name for name in names if name.split("/")[0] not in given and is_leftover(name))


def is_leftover(name: str) -> bool:
    """Whether a path is that of something unfinished, by its name."""
    return _LEFT.search(name) is not None


def difference(before: dict[str, str], after: dict[str, str]) -> str:
    """In words, or nothing."""
    parts = []
    for what, names in (
        ("missing", before.keys() - after.keys()),
        ("new", after.keys() - before.keys()),
        ("other content", {name for name in before.keys() & after.keys() if before[name] != after[name]}),
    ):
        if names:
            parts.append(f"{what}: {', '.join(sorted(names)[:4])}{' ...' if len(names) > 4 else ''}")
    return "; ".join(parts)


def _digest(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".json":
        data = _plain(data)
    elif path.suffix == ".jsonl":
        data = b"\n".join(_plain(line) for line in data.splitlines())
    elif path.suffix == ".html":
        # A page draws times in places: that it is whole is all that can be told.
        data = b"whole" if data.rstrip().endswith(b"</html>") else b"cut"
    elif path.suffix == ".safetensors":
        data = _tensors(data)
    return hashlib.sha256(data).hexdigest()[:16]


def _plain(data: bytes) -> bytes:
    try:
        return json.dumps(_without_times(json.loads(data)), sort_keys=True).encode()
    except ValueError:
        return data


def _tensors(data: bytes) -> bytes:
    """The header as a document: its metadata may tell seconds."""
    try:
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        for key, value in header.get("__metadata__", {}).items():
            header["__metadata__"][key] = _plain(value.encode()).decode()
        return json.dumps(header, sort_keys=True).encode() + data[8 + size :]
    except (ValueError, struct.error):
        return data


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        # Digests of documents with times in them: of a kept run or a checkpoint, and of a download's provenance.
        value = {key: inner for key, inner in value.items() if key != "provenance.json"}
        if "key" in value or value.get("format") == "isoglot-checkpoint":
            value.pop("sha256", None)
        return {key: _without_times(inner) for key, inner in value.items() if not VOLATILE.search(key)}
    if isinstance(value, list):
        return [_without_times(inner) for inner in value]
    return value
