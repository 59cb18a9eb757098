"""Finished runs as JSON files, so that a killed recipe resumes where it was."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import isoglot
from isoglot.errors import InputError
from isoglot.files import atomic_path
from isoglot.manifests import read_json_object

__all__ = ["digest", "earlier_run", "keep_run", "kept_or_measured", "run_key"]


def earlier_run(place: Path, key: str) -> dict[str, Any] | None:
    """What an earlier run with this key left; None if there is nothing, or it is damaged or of another key."""
    try:
        found = read_json_object(place)
    except (OSError, InputError):
        return None  # a damaged record is measured again
    sha256 = found.pop("sha256", None)
    return found if found.get("key") == key and sha256 == _digest(found) else None


def keep_run(place: Path, outcome: Mapping[str, Any]) -> None:
    """Write the outcome, which holds its "key", atomically."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(place, own=True) as temporary:
        plain = json.loads(json.dumps(outcome))  # as it will be read
        content = {**plain, "sha256": _digest(plain)}
        temporary.write_text(json.dumps(content, ensure_ascii=False), "utf-8", "backslashreplace")


def kept_or_measured(
    place: Path, key: str, facts: Mapping[str, Any], measured: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What an earlier run with this key left, else the facts with what is measured now and the seconds it took."""
    row = earlier_run(place, key)
    if row is None:
        began = time.perf_counter()
        row = {"key": key, **facts, **measured()}
        row["seconds"] = round(time.perf_counter() - began, 1)
        keep_run(place, row)
    return row


def run_key(*parts: Any) -> str:
    """Tells runs apart by plain data and by our version.

    >>> run_key("a", 1) == run_key("a", 1) != run_key("a", 2)
    True
    """
    return digest(isoglot.__version__, *parts)


def digest(*parts: Any) -> str:
    """A short name for plain data that stays the same in all versions."""
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:16]


def _digest(outcome: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(outcome, sort_keys=True).encode()).hexdigest()
