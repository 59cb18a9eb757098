"""Finished runs as JSON files, so that a killed run resumes where it was.

A run is a record: a small frozen dataclass of plain data, other records, and tuples, lists or mappings of them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import isoglot
from isoglot.errors import InputError
from isoglot.files import atomic_path
from isoglot.manifests import read_json_object

R = TypeVar("R")


def kept(place: Path | None, key: str, kind: type[R], make: Callable[[], R]) -> R:
    """The record that an earlier run with this key saved to the file, else a new one, which is saved there."""
    record = None if place is None else earlier_record(place, key, kind)
    if record is None:
        record = make()
        if place is not None:
            keep_run(place, {"key": key, **to_plain(record)})
    return record


def timed(make: Callable[[], R]) -> Callable[[], R]:
    """`make`, with the seconds it took in the record's field `seconds`."""

    def run() -> R:
        began = time.perf_counter()
        record: Any = make()
        timed_record: R = dataclasses.replace(record, seconds=round(time.perf_counter() - began, 1))
        return timed_record

    return run


def earlier_record(place: Path, key: str, kind: type[R]) -> R | None:
    """The record that a run with this key saved; None if it is missing, damaged or has another key."""
    content = earlier_run(place, key)
    try:
        return None if content is None else from_plain(kind, content)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def earlier_run(place: Path, key: str) -> dict[str, Any] | None:
    """The same, as plain data."""
    try:
        content = read_json_object(place)
    except (OSError, InputError):
        return None  # a damaged record is made again
    digest = content.pop("sha256", None)
    return content if content.get("key") == key and digest == _digest(content) else None


def keep_run(place: Path, outcome: Mapping[str, Any]) -> None:
    """Write the outcome, which holds its "key", atomically."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(place, own=True) as temporary:
        plain = json.loads(json.dumps(outcome))  # as it will be read back
        content = {**plain, "sha256": _digest(plain)}
        temporary.write_text(json.dumps(content, ensure_ascii=False), "utf-8", "backslashreplace")


def run_key(*parts: Any) -> str:
    """A key that identifies a run by plain data and by our version.

    >>> run_key("a", 1) == run_key("a", 1) != run_key("a", 2)
    True
    """
    return digest(isoglot.__version__, *parts)


def digest(*parts: Any) -> str:
    """A short digest of plain data that stays the same in all versions."""
    return hashlib.sha256(json.dumps(parts, default=str, sort_keys=True).encode()).hexdigest()[:16]


def to_plain(value: Any) -> Any:
    """Records as plain data for JSON.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Row:
    ...     name: str
    ...     interval: tuple[float, float] | None = None
    >>> to_plain(Row("a", (0.1, 0.2)))
    {'name': 'a', 'interval': [0.1, 0.2]}
    >>> from_plain(Row, to_plain(Row("a", (0.1, 0.2))))
    Row(name='a', interval=(0.1, 0.2))
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(one) for key, one in value.items()}
    return [to_plain(one) for one in value] if isinstance(value, list | tuple) else value


def from_plain(kind: Any, value: Any) -> Any:
    """The inverse of `to_plain`, by the types of the fields. Keys that the record has no field for are left out."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        fields = {field.name for field in dataclasses.fields(kind)}
        return kind(**{name: from_plain(hints[name], one) for name, one in value.items() if name in fields})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if value is None or kind is Any or not inner:
        return value
    if origin in (types.UnionType, typing.Union):
        known = [one for one in inner if one is not type(None)]
        return from_plain(known[0], value) if len(known) == 1 else value
    if isinstance(value, dict):
        return {key: from_plain(inner[1], one) for key, one in value.items()}
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(from_plain(one, part) for one, part in zip(inner, value, strict=True))
    parts = [from_plain(inner[0], one) for one in value]
    return tuple(parts) if origin is tuple else parts


def _digest(outcome: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(outcome, sort_keys=True).encode()).hexdigest()
