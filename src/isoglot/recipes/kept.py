"""Finished runs as JSON files, so that a killed recipe goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isoglot.files import atomic_path

__all__ = ["earlier_run", "keep_run"]


def earlier_run(place: Path, key: str) -> dict[str, Any] | None:
    """What an earlier run with this key left; None if there is nothing, or it is damaged or of another key."""
    try:
        found = json.loads(place.read_text("utf-8"))
    except (OSError, ValueError):
        return None  # a damaged record is measured again
    return found if isinstance(found, dict) and found.get("key") == key else None


def keep_run(place: Path, outcome: Mapping[str, Any]) -> None:
    """Write the outcome, which holds its "key", atomically."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(place) as temporary:
        temporary.write_text(json.dumps(outcome, ensure_ascii=False), "utf-8")
